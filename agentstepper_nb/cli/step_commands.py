"""The commands that a person types in `agentstepper step`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import UNSET, Struct

from ..protocol import ui
from ..protocol.data_model import EventKind, EventSide, Run, RunMode, RunState
from ..protocol.opaque_values import is_opaque_value
from ..protocol.step_targets import StepKind, StepTarget
from ..suggestions import did_you_mean
from .approval_commands import ApprovalCommands
from .call_answer_commands import CallAnswerCommands
from .json_editor import EditorError
from .run_formatting import describe_step, format_run
from .screen import ScreenPrompt
from .step_session import APPROVAL_PROMPT, HALTED_PROMPT, StepSession
from .terminal_text import (
    find_json_error,
    find_read_only_edit,
    indent_json,
    list_read_only_values,
)
from .view_commands import ViewCommands

HELP: Final = """\
s         step into: send the message at which the agent is halted, and halt at
          the next; no step approves a call
n         next, step over: run the call to its end, with all that it calls
r         return, step out: run to the end of the call around this one
to query  run to the next LLM query; to tool, to tool NAME: to the next tool call
freeze    whether other agents, tasks and threads wait while one steps
c         continue: run without halting; calls that ask for approval still wait
a         approve the call, edited or not; a always: also allow such calls from
          now on; a call of high risk needs a confirmation
deny WHY  deny the call, and tell the agent why
skip JSON give the result of the call, which isn't made
raise TYPE: MESSAGE
          let the agent's code see an exception in the call's place
guide TEXT
          add a message to the prompt
h         halt the agent at its next message
e         edit, as JSON, the message at which the agent is halted; e sticky: of
          a prompt, and edit its messages so in later prompts, too
x         stop: end the agent at its next message
v N       view message N whole; v alone: the message at which the agent is halted
d N       show the diffs of changes N; d alone lists all changes
l N       show run N; l alone lists all runs
q         quit; the agents stay as they are\
"""

_ABBREVIATIONS: Final = {
    "step": "s",
    "into": "s",
    "next": "n",
    "over": "n",
    "return": "r",
    "out": "r",
    "to": "to",
    "freeze": "freeze",
    "continue": "c",
    "halt": "h",
    "edit": "e",
    "approve": "a",
    "deny": "deny",
    "skip": "skip",
    "raise": "raise",
    "guide": "guide",
    "stop": "x",
    "view": "v",
    "diff": "d",
    "changes": "d",
    "runs": "l",
    "list": "l",
    "quit": "q",
    "help": "?",
}
_COMMAND: Final = re.compile(r"([^\W\d]+|\?)(?:\s*(\d*)|\s+(.+))")
_HALTED_PROMPT: Final = ScreenPrompt(f"{HALTED_PROMPT.rstrip()}\n> ", has_history=True)
_APPROVAL_PROMPT: Final = ScreenPrompt(f"{APPROVAL_PROMPT.rstrip()}\n> ", has_history=True)
_RUNNING_PROMPT: Final = ScreenPrompt(
    "Running: [h]alt [c]ontinue [x] stop [v]iew N [d]iff N [l]ist runs [q]uit [?]\n> ",
    has_history=True,
)
_IDLE_PROMPT: Final = ScreenPrompt("[v]iew N [d]iff N [l]ist runs [q]uit [?]\n> ", has_history=True)
#: The commands that take an argument.
_TEXT_COMMANDS: Final = ("a", "deny", "e", "to", "skip", "raise", "guide")
#: The event kinds of the arguments of `to`.
_STEP_GOALS: Final = {"query": EventKind.LLM_QUERY, "tool": EventKind.TOOL_INVOCATION}
#: Characters of a line that is shown where it means nothing.
_MAX_SHOWN_CHARS: Final = 40


class StepCommands:
    """Executes typed lines.

    Args:
        session: The session with the Core.
        edit: Opens the person's editor on a text and returns the saved text; None: there is no
            terminal, and the text is the next line.
    """

    def __init__(self, session: StepSession, edit: Callable[[str], str] | None = None) -> None:
        self._session = session
        self._screen = session.screen
        self._edit_text = edit
        self._freezes_others = False  # while one steps
        self._is_sticky = False  # whether the edit is to hold in later prompts, too
        self._draft: tuple[str, str] | None = None  # a halt point, and an edit that wasn't JSON
        self._line_handler: Callable[[str], None] | None = None  # what the next line is for
        self._approvals = ApprovalCommands(session, self._read_next_line)
        answers = CallAnswerCommands(session, self._read_next_line)
        self._views = ViewCommands(session)
        self._commands: dict[str, Callable[[str], None]] = {
            "s": lambda _: self._step(StepKind.INTO),
            "n": lambda _: self._step(StepKind.OVER),
            "r": lambda _: self._step(StepKind.OUT),
            "to": self._step_to,
            "freeze": self._freeze,
            "c": self._continue,
            "h": self._halt,
            "e": self._edit,
            "a": self._approve,
            "deny": answers.deny,
            "skip": answers.skip,
            "raise": answers.raise_error,
            "guide": answers.guide,
            "x": self._stop,
            "v": self._views.show_message,
            "d": self._views.show_changes,
            "l": self._views.show_runs,
            "q": self._quit,
            "?": self._help,
        }

    def execute_line(self, text: str) -> None:
        """Execute a line."""
        self._screen.end_prompt()
        if self._line_handler is not None:
            handler, self._line_handler = self._line_handler, None
            handler(text)
            return
        form = _COMMAND.fullmatch(text.strip())
        word = form[1].lower() if form else ""
        name = _ABBREVIATIONS.get(word, word)
        key = self._commands.get(name)
        if form and key and (form[3] is None or name in _TEXT_COMMANDS):
            key(form[3] or form[2] or "")
            return
        if text.strip():
            typed = text.strip()[:_MAX_SHOWN_CHARS]
            like = did_you_mean(word, _ABBREVIATIONS) if key is None else ""
            answer = f"{typed} is not a command: ? lists the commands.{like}"
            self._screen.write_line(answer, "yellow")
        self._session.prompt()

    @property
    def question(self) -> ScreenPrompt:
        """The prompt for a line editor."""
        run, halted = self._session.run, self._session.halted
        if self._line_handler is not None:
            return ScreenPrompt(self._screen.question)
        if halted is not None:
            return _HALTED_PROMPT if halted.approval is None else _APPROVAL_PROMPT
        return _RUNNING_PROMPT if run is not None and run.live else _IDLE_PROMPT

    def find_completions(self, text_before_cursor: str) -> Iterable[tuple[str, str]]:
        """Find the words that may follow the beginning of a line, and their descriptions."""
        match _ABBREVIATIONS.get(text_before_cursor.strip(), text_before_cursor.strip()):
            case "":
                return [(word, word) for word in _ABBREVIATIONS]
            case "a":
                return [("always", "always")]
            case "e":
                return [("sticky", "sticky")]
            case "to":
                return [("query", "query"), ("tool", "tool")]
            case "l":
                return _numbered(format_run(run) for run in self._session.runs.values())
            case "d":
                return _numbered(commit.title for commit in self._session.commits.values())
        return []

    def _read_next_line(self, handler: Callable[[str], None]) -> None:
        """Pass the next line to a function instead of executing it."""
        self._line_handler = handler

    # ---- control ------------------------------------------------------------------------------------

    def _step(
        self, kind: StepKind, event_kind: EventKind | None = None, name: str | None = None
    ) -> None:
        run, halted = self._live_run(), self._session.halted
        if run is None:
            return
        target = StepTarget(
            kind=kind,
            freeze_others=self._freezes_others,
            event_kind=event_kind,
            side=None if event_kind is None else EventSide.BEGIN,
            name=name,
        )
        if halted and halted.approval:
            self._step_past(run, halted.message)
        elif halted:
            command = ui.StepRun(
                run=run.id, halt_point=halted.message, revision=halted.revision, target=target
            )
            self._session.send_command(command, self._tell_step)
        elif run.pending:
            text = "The halted message hasn't arrived yet: try again in a moment."
            self._screen.write_line(text, "yellow")
        elif run.mode is RunMode.CONTINUE or kind is StepKind.TO:
            goal, tell = (
                (target, self._tell_step) if kind is StepKind.TO else (UNSET, self._will_halt)
            )
            self._session.send_command(ui.StepRun(run=run.id, target=goal), tell)
        else:
            self._screen.write_line("The agent is running; it halts at its next message.")

    def _step_past(self, run: Run, asks: str) -> None:
        """Leave halt points that need an approval pending, and show another pending one."""
        text = "A step never approves: press a to approve this call, or deny WHY to deny it."
        self._screen.write_line(text, "yellow")
        later = run.pending[run.pending.index(asks) + 1 :]
        if later:
            self._session.show_message(later[0])
        else:
            self._session.prompt()

    def _continue(self, _: str) -> None:
        run, halted = self._live_run(), self._session.halted
        if run is None:
            return
        command = ui.ContinueRun(run=run.id)
        if halted:
            command = ui.ContinueRun(
                run=run.id, halt_point=halted.message, revision=halted.revision
            )
        self._session.send_command(command, self._goes_on)

    def _goes_on(self, _: Struct) -> None:
        halted = self._session.halted
        if halted is None or halted.approval is None:
            self._screen.write_line("The agent continues. h halts it.", "dim")
            return
        text = "The agent continues. Calls that ask for approval still wait."
        self._screen.write_line(text, "dim")
        self._session.prompt()

    def _halt(self, _: str) -> None:
        run = self._live_run()
        if run and run.state is RunState.HALTED:
            self._screen.write_line("The agent is halted already.")
            self._session.prompt()
        elif run:
            self._session.send_command(ui.HaltRun(run=run.id), self._will_halt)

    def _stop(self, _: str) -> None:
        run = self._live_run()
        if run:
            answer = "The agent ends at its next message."
            if run.pending:
                answer = "The agent was told to stop."
            command = ui.StopRun(run=run.id)
            self._session.send_command(command, lambda _: self._screen.write_line(answer, "dim"))

    def _approve(self, how: str) -> None:
        if self._live_run() is not None:
            self._approvals.approve(how)

    def _live_run(self) -> Run | None:
        run = self._session.run
        if run is None:
            self._screen.write_line("There is no run to show yet. l lists the runs.", "yellow")
        elif not run.live:
            text = "The run has ended: start the agent again, or choose another run with l."
            self._screen.write_line(text, "yellow")
        else:
            return run
        return None

    def _step_to(self, what: str) -> None:
        """Run to the next query or tool call."""
        word, _, name = what.strip().partition(" ")
        kind = _STEP_GOALS.get(word.lower())
        if kind is None:
            text = "Say what to run to: to query, to tool, or to tool NAME."
            self._screen.write_line(text, "yellow")
            self._session.prompt()
        else:
            self._step(StepKind.TO, kind, name.strip() or None)

    def _freeze(self, _: str) -> None:
        self._freezes_others = not self._freezes_others
        others = "wait" if self._freezes_others else "go on"
        self._screen.write_line(f"Other agents, tasks and threads {others} while one steps.")
        self._session.prompt()

    def _tell_step(self, _: Struct) -> None:
        """Describe the step, unless it goes to the next message."""
        run = self._session.run
        step = "" if run is None or run.pending else describe_step(run)
        if step:
            self._screen.write_line(f"{step[:1].upper()}{step[1:]}. h halts it.", "dim")

    def _will_halt(self, _: Struct) -> None:
        self._screen.write_line("The agent halts at its next message.", "dim")

    # ---- editing ------------------------------------------------------------------------------------

    def _edit(self, how: str) -> None:
        halted = self._session.halted
        self._is_sticky = how.strip().lower() == "sticky"
        if halted is None:
            self._screen.write_line(
                "Only the message at which the agent is halted can be edited.", "yellow"
            )
        elif self._is_read_only(halted):
            self._session.prompt()
        elif self._edit_text is None:
            self._line_handler = self._send_edit
            self._screen.show_prompt(
                "The new message as a line of JSON (an empty line changes nothing): "
            )
        else:
            self._edit_in(self._edit_text, halted)

    def _is_read_only(self, halted: ui.MessageBody) -> bool:
        """Report the read-only values of a message. Returns whether the whole message is read-only."""
        places = list_read_only_values(halted.data)
        for place, why in places:
            self._screen.write_line(f"{place} is read-only: {why}.", "dim")
        return len(places) == 1 and is_opaque_value(json.loads(halted.data))

    def _edit_in(self, edit: Callable[[str], str], halted: ui.MessageBody) -> None:
        before = indent_json(halted.data if halted.edit is None else halted.edit)
        draft = self._draft
        begin = draft[1] if draft and draft[0] == halted.message else before
        self._draft = None
        try:
            text = edit(begin)
        except EditorError as error:
            self._screen.write_line(f"{error} Nothing was changed.", "red")
            self._session.prompt()
            return
        self._send_edit("" if text == before else text)

    def _send_edit(self, text: str) -> None:
        run, halted = self._session.run, self._session.halted
        if run is None or halted is None:
            self._screen.write_line(
                "The agent already continued, so that nothing was changed.", "yellow"
            )
        elif not text.strip():
            self._screen.write_line("Nothing was changed.")
            self._session.prompt()
        elif problem := find_json_error(text):
            self._draft = (halted.message, text)
            self._screen.write_line(
                f"The edit isn't JSON: {problem}. Nothing was sent; press e to edit again.", "red"
            )
            self._session.prompt()
        elif refusal := find_read_only_edit(halted.data, text):
            self._draft = (halted.message, text)
            self._screen.write_line(f"{refusal} Nothing was sent; press e to edit again.", "red")
            self._session.prompt()
        else:
            point = self._session.editing = halted.message
            command = ui.SetEdit(
                run=run.id,
                halt_point=point,
                revision=halted.revision,
                edit=text,
                sticky=self._is_sticky or UNSET,
            )
            self._session.send_command(command, self._edited)

    def _edited(self, _: Struct) -> None:
        edited, self._session.editing = self._session.editing, None
        if edited:
            self._session.show_message(edited)

    # ---- the rest -----------------------------------------------------------------------------------

    def _help(self, _: str) -> None:
        self._screen.write_line(HELP)
        self._session.prompt()

    def _quit(self, _: str) -> None:
        self._session.is_over = True


def _numbered(lines: Iterable[str]) -> list[tuple[str, str]]:
    return [(f"{number}", f"{number} {line}") for number, line in enumerate(lines, 1)]
