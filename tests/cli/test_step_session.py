"""What a person is shown, message by message, without a Core."""

from __future__ import annotations

import io
import json

import pytest
from msgspec import Struct
from msgspec.structs import replace

from agentstepper_nb.cli.core_connection import (
    CoreConnected,
    CoreConnectionLost,
    CoreConnectionRefused,
    CoreMessageReceived,
)
from agentstepper_nb.cli.screen import Screen
from agentstepper_nb.cli.step_commands import StepCommands
from agentstepper_nb.cli.step_session import StepSession
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Reaction
from agentstepper_nb.protocol.data_model import (
    Actor,
    ApprovalPrompt,
    ChangeKind,
    Commit,
    EventKind,
    EventSide,
    Failure,
    FileChange,
    Risk,
    Run,
    RunEnding,
    RunMode,
    RunState,
    StoreInfo,
    TimelineRow,
)

RUN = Run(id="r1", name="Run #1 of demo", program="demo", started_at=0.0)
ROW = TimelineRow(
    id="b1",
    seq=1,
    event="e1",
    kind=EventKind.LLM_QUERY,
    side=EventSide.BEGIN,
    source=Actor.AGENT,
    target=Actor.LLM,
    summary="a prompt",
    at=0.0,
    size=10,
    pending=True,
)
HALTED = replace(RUN, state=RunState.HALTED, pending=("b1",))


class Stage:
    """A session without a Core: what it sends is answered by the test."""

    def __init__(self, wanted: str | None = None) -> None:
        self._out = io.StringIO()
        self.sent: list[Struct] = []
        self.connected = True
        screen = Screen(self._out, is_coloured=False, terminal=False)
        self.session = StepSession(screen, self._send, wanted)
        self.keys = StepCommands(self.session)

    def _send(self, command: Struct) -> str | None:
        if not self.connected:
            return None
        self.sent.append(command)
        return str(len(self.sent))

    def hello(self, *runs: Run, control: bool = True, more: int = 0) -> None:
        hello = ui.CoreHello(
            version=2,
            core="a Core",
            control=control,
            runs=runs,
            more=more,
            store=StoreInfo(kind="memory"),
            breakpoints=(),
            prices=(),
        )
        self.session.handle(CoreConnected(hello))

    def comes(self, message: Struct) -> None:
        """The Core pushes a message."""
        self.session.handle(CoreMessageReceived(message, None))

    def answers(self, message: Struct) -> Struct:
        """The Core answers the last command, which is returned."""
        self.session.handle(CoreMessageReceived(message, str(len(self.sent))))
        return self.sent[-1]

    def opens(self, run: Run, *rows: TimelineRow) -> None:
        command = self.sent[-1]
        assert command == ui.OpenRun(run=run.id)
        self.answers(ui.RunOpened(run=run, rows=rows, commits=(), notes=()))

    def halts(
        self,
        data: str = '"a prompt"',
        revision: int = 1,
        message: str = "b1",
        approval: ApprovalPrompt | None = None,
    ) -> None:
        command = self.sent[-1]
        assert command == ui.GetMessage(run="r1", message=message)
        self.answers(
            ui.MessageBody(
                run="r1",
                message=message,
                revision=revision,
                data=data,
                edit=None,
                is_strict_json=True,
                approval=approval,
            )
        )

    def shown(self) -> str:
        """What was written since the last time."""
        text = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return text


def halted() -> Stage:
    stage = Stage()
    stage.hello(HALTED)
    stage.opens(HALTED, ROW)
    stage.halts()
    stage.shown()
    return stage


CALL = '{"Tool": "run_command", "Argument": {"command": "rm -r build"}}'
DELETES = ApprovalPrompt(risk=Risk.MEDIUM, why="It deletes files.", rule="rm -r *")


def asking(risk: Risk = Risk.MEDIUM, data: str = CALL, run: Run = HALTED) -> Stage:
    """Halted by what asks for an approval."""
    stage = Stage()
    run = replace(run, mode=RunMode.CONTINUE)
    stage.hello(run)
    stage.opens(run, replace(ROW, approval=True))
    stage.halts(data, approval=replace(DELETES, risk=risk))
    return stage


def test_what_is_asked_is_told_and_how_to_answer() -> None:
    shown = asking().shown().splitlines()
    *_, prompt = shown
    asks, always, halted = shown[3:6]
    assert asks == "Asks for approval, medium risk: It deletes files."
    assert always == "“a always” allows such calls from now on: rm -r *"
    assert halted.startswith("Halted at 1")
    assert prompt.startswith("[a]pprove [a always] [deny WHY]")


def test_it_is_approved_or_denied() -> None:
    stage = asking()
    for line, always in (("a", False), ("a always", True), ("approve always", True)):
        stage.keys.execute_line(line)
        sent = stage.answers(ui.CommandDone())
        assert sent == ui.ApproveCall(run="r1", halt_point="b1", revision=1, always=always)
    stage.keys.execute_line("deny Not  today, 3 times.")
    sent = stage.answers(ui.CommandDone())
    assert sent == ui.DenyCall(run="r1", halt_point="b1", revision=1, reason="Not  today, 3 times.")


@pytest.mark.parametrize("key", ["n", "next", "s", "step"])
def test_n_is_next(key: str) -> None:
    stage = halted()
    stage.keys.execute_line(key)
    assert stage.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b1", revision=1)


@pytest.mark.parametrize("risk", [Risk.MEDIUM, Risk.HIGH])
@pytest.mark.parametrize("line", [*("n", "next", "s", "step", "n Not today.", "s 1"), *("", " ")])
def test_no_step_and_no_enter_is_a_yes_or_a_no(line: str, risk: Risk) -> None:
    stage = asking(risk)
    sent = list(stage.sent)
    for _ in range(20):
        stage.shown()
        stage.keys.execute_line(line)
        *_, prompt = stage.shown().splitlines()
        assert prompt.startswith("[a]pprove")
    assert stage.sent == sent


def test_a_step_leaves_what_asks_and_shows_what_else_waits() -> None:
    run = replace(HALTED, pending=("b1", "b2"))
    stage = asking(run=run)
    other = replace(ROW, id="b2", seq=2, event="e2")
    stage.comes(ui.RowChanged(run="r1", row=other))
    stage.keys.execute_line("s")
    assert (
        "A step never approves: press a to approve this call, or deny WHY to deny it."
        in stage.shown()
    )
    stage.halts(message="b2")
    stage.keys.execute_line("s")
    assert stage.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b2", revision=1)
    stage.comes(ui.RunChanged(run=HALTED))
    stage.halts(CALL, approval=DELETES)
    assert stage.shown().splitlines()[-1].startswith("[a]pprove")


@pytest.mark.parametrize("key", ["a", "approve", "a always"])
def test_what_is_of_high_risk_is_approved_by_two_gestures(key: str) -> None:
    stage = asking(Risk.HIGH)
    before = list(stage.sent)
    for wrong in ("a", "", " ", "s", "y", "yes", "approve", key, "Run_Command"):
        stage.keys.execute_line(key)
        assert (
            "High risk: type “run_command” and Enter to approve; any other text cancels"
            in stage.shown()
        )
        stage.keys.execute_line(wrong)
        assert "Nothing was approved." in stage.shown()
        assert stage.sent == before
    stage.keys.execute_line(key)
    stage.keys.execute_line(" run_command ")
    sent = stage.answers(ui.CommandDone())
    always = key.endswith("always")
    assert sent == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, always=always, confirmed=True
    )


@pytest.mark.parametrize(
    "tool", ["a", "s", "approve", "deny", "rm -r", "löschen", "x" * 60, "\n", "", 7]
)
def test_a_tool_whose_name_cannot_confirm(tool: str | int) -> None:
    stage = asking(Risk.HIGH, json.dumps({"Tool": tool, "Argument": None}))
    before = list(stage.sent)
    stage.keys.execute_line("a")
    assert "type “I approve” and Enter" in stage.shown()
    stage.keys.execute_line(str(tool))
    assert stage.sent == before
    stage.keys.execute_line("a")
    stage.keys.execute_line("I approve")
    assert stage.answers(ui.CommandDone()) == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, confirmed=True
    )


def test_a_call_that_was_edited_meanwhile_is_not_confirmed() -> None:
    stage = asking(Risk.HIGH)
    stage.keys.execute_line("a")
    stage.comes(ui.RowChanged(run="r1", row=replace(ROW, approval=True, revision=2, edited=True)))
    stage.halts('{"Tool": "run_command", "Argument": "rm -r /"}', 2, approval=DELETES)
    before = list(stage.sent)
    stage.keys.execute_line("run_command")
    assert (
        "The call was already answered, or edited elsewhere.\nNothing was approved."
        in stage.shown()
    )
    assert stage.sent == before


def test_what_was_typed_before_a_question_is_no_answer_to_it() -> None:
    typed = ["a"]
    stage = Stage()
    stage.session = StepSession(stage.session.screen, stage._send, None, typed.clear)
    stage.keys = StepCommands(stage.session)
    stage.hello(HALTED)
    stage.opens(HALTED, replace(ROW, approval=True))
    assert typed == ["a"]
    stage.halts(CALL, approval=DELETES)
    assert typed == []


def test_a_word_with_a_wrong_letter() -> None:
    stage = halted()
    stage.keys.execute_line("contineu")
    assert (
        "contineu is not a command: ? lists the commands. Did you mean “continue”?" in stage.shown()
    )


def test_the_newest_run_of_a_program_is_chosen_and_followed() -> None:
    older = replace(RUN, id="r2", name="Run #1 of second", program="second", state=RunState.IDLE)
    newer = replace(older, id="r3", name="Run #2 of second")
    stage = Stage("second")
    stage.hello(older, newer, HALTED)
    assert stage.sent == [ui.OpenRun(run="r3")]
    stage.comes(ui.RunChanged(run=replace(RUN, id="r4")))
    assert stage.sent == [ui.OpenRun(run="r3")]
    next = replace(newer, id="r5", name="Run #3 of second", state=RunState.STEP)
    stage.comes(ui.RunChanged(run=next))
    assert stage.sent[-1] == ui.OpenRun(run="r5")


def test_the_reason_may_come_as_a_line_of_its_own() -> None:
    stage = asking()
    stage.keys.execute_line("deny")
    stage.keys.execute_line(" Not today. ")
    assert stage.answers(ui.CommandDone()) == ui.DenyCall(
        run="r1", halt_point="b1", revision=1, reason="Not today."
    )
    sent = list(stage.sent)
    stage.shown()
    stage.keys.execute_line("deny")
    stage.keys.execute_line("")
    assert "Nothing was denied." in stage.shown()
    stage.keys.execute_line("deny")
    stage.session.halted = None
    stage.keys.execute_line("Too late.")
    assert "The agent already continued, so that nothing was denied." in stage.shown()
    stage.keys.execute_line("deny")
    assert "Only a call at which the agent is halted can be denied." in stage.shown()
    assert stage.sent == sent


def test_what_asks_for_nothing_is_not_approved() -> None:
    stage = halted()
    sent = list(stage.sent)
    stage.keys.execute_line("a")
    assert "No call asks for an approval here. Press s to step." in stage.shown()
    stage = asking()
    stage.shown()
    stage.keys.execute_line("a never")
    assert "Press a to approve, or “a always” to allow such calls from now on." in stage.shown()
    assert stage.sent[-1] == sent[-1]


def test_to_continue_leaves_what_asks() -> None:
    stage = asking()
    stage.shown()
    stage.keys.execute_line("c")
    assert stage.answers(ui.CommandDone()) == ui.ContinueRun(run="r1", halt_point="b1", revision=1)
    first, prompt = stage.shown().splitlines()
    assert first == "The agent continues. Calls that ask for approval still wait."
    assert prompt.startswith("[a]pprove")


def test_keys_that_take_no_words_take_none() -> None:
    stage = halted()
    sent = list(stage.sent)
    for line in ("s now", "v 1 please", "x all of them"):
        stage.keys.execute_line(line)
        assert f"{line} is not a command" in stage.shown()
    assert stage.sent == sent


def test_what_halted_the_run_is_told() -> None:
    stage = Stage()
    stage.hello(HALTED)
    for id, then in (("s1", Reaction.HALT), ("s2", Reaction.LOG), ("s3", Reaction.HALT)):
        stage.comes(
            ui.BreakpointChanged(
                breakpoint=BreakpointRule(id=id, side=EventSide.BEGIN, reaction=then)
            )
        )
    stage.comes(ui.BreakpointGone(breakpoint="s3"))
    stage.opens(
        HALTED, replace(ROW, breakpoints=("s1", "s2", "s3"), breakpoint_error="no \x1b[1m number")
    )
    stage.shown()
    stage.halts()
    *before, halted, _, _ = stage.shown().splitlines()
    assert before == [
        "Halted by breakpoint before any.",
        "Halted because a breakpoint failed here. no \\x1b[1m number",
    ]
    assert halted.startswith("Halted at 1")


def test_the_run_that_halted_is_chosen() -> None:
    other = replace(RUN, id="r2", name="Run #2 of demo")
    ended = replace(RUN, id="r3", name="Run #3 of demo", state=RunState.IDLE)
    stage = Stage()
    stage.hello(HALTED, other, ended)
    assert stage.sent == [ui.OpenRun(run="r1")]


def test_runs_that_hello_leaves_out_are_asked_for_before_one_is_chosen() -> None:
    ended = [replace(RUN, id=f"r{n}", name=f"Run #{n}", state=RunState.IDLE) for n in range(6)]
    stage = Stage("Run #1")
    stage.hello(replace(ended[0], state=RunState.STEP), *ended[4:], more=3)
    assert stage.sent == [ui.ListRuns(before="r4")]  # the first is there because it lives
    stage.comes(ui.RunChanged(run=replace(ended[3], name="Run #3 of me")))
    stage.answers(ui.RunsListed(runs=tuple(ended[2:4]), more=2))
    assert stage.sent[-1] == ui.ListRuns(before="r2")
    stage.answers(ui.RunsListed(runs=(ended[0], ended[1]), more=0))
    assert stage.sent[-1] == ui.OpenRun(run="r1")
    stage.shown()
    stage.keys.execute_line("r")
    names = [line[6:].partition(":")[0] for line in stage.shown().splitlines()[:6]]
    assert names == ["Run #0", "Run #1", "Run #2", "Run #3 of me", "Run #4", "Run #5"]


def test_a_message_before_the_last_page_can_be_viewed() -> None:
    run = replace(HALTED, rows=900)
    stage = Stage()
    stage.hello(run)
    stage.opens(run, replace(ROW, seq=900))
    stage.halts()
    stage.keys.execute_line("v 3")
    assert stage.sent[-1] == ui.GetRows(run="r1", first=3, last=3)
    stage.answers(ui.RowsPage(run="r1", rows=(replace(ROW, id="b3", seq=3),), commits=()))
    stage.halts('"the third"', message="b3")
    assert "3, Agent → LLM:\nthe third" in stage.shown()
    stage.keys.execute_line("v 901")
    assert "No message is chosen" in stage.shown()


def test_changes_before_the_last_page_are_numbered_and_listed() -> None:
    run = replace(HALTED, commits=5)
    change = FileChange(path="a.py", kind=ChangeKind.CHANGED, added=1)
    commits = [
        Commit(id=f"k{n}", at=0.0, title=f"Change {n}", changes=(change,)) for n in range(1, 6)
    ]
    first = Commit(id="k0", at=0.0, title="Nothing has changed")
    stage = Stage()
    stage.hello(run)
    assert stage.sent == [ui.GetCommits(run="r1")]
    stage.answers(ui.CommitsPage(run="r1", commits=tuple(commits[2:]), before=3))
    assert stage.sent[-1] == ui.GetCommits(run="r1", before=3)
    stage.answers(ui.CommitsPage(run="r1", commits=(first, *commits[:2]), before=None))
    assert stage.sent[-1] == ui.OpenRun(run="r1")
    stage.answers(ui.RunOpened(run=run, rows=(ROW,), commits=tuple(commits[4:]), notes=()))
    shown = stage.shown()
    assert "Change 5" in shown
    assert "Change 4" not in shown
    stage.halts()
    stage.comes(ui.CommitAdded(run="r1", commit=replace(commits[0], id="k6", title="Change 6")))
    stage.shown()
    stage.keys.execute_line("d")
    listed = stage.shown().splitlines()[:6]
    assert listed == [f"      changes {n}: Change {n} (1 file, +1 -0)" for n in range(1, 7)]


def test_a_run_is_waited_for_by_its_name() -> None:
    stage = Stage("Run #2 of demo")
    stage.hello(RUN)
    assert (
        "no run Run #2 of demo yet; it is shown once it begins. r lists 1 earlier" in stage.shown()
    )
    stage.comes(ui.RunChanged(run=replace(RUN, id="r3", name="Run #3 of demo")))
    assert stage.sent == []
    stage.comes(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert stage.sent == [ui.OpenRun(run="r2")]


def test_a_new_run_follows_the_one_that_ended() -> None:
    stage = halted()
    failure = Failure(type="ValueError", message="no \x1b[1m luck")
    stage.comes(
        ui.RunChanged(
            run=replace(
                RUN, state=RunState.IDLE, pending=(), ending=RunEnding.CRASHED, failure=failure
            )
        )
    )
    assert "Run #1 of demo: crashed (ValueError: no \\x1b[1m luck)" in stage.shown()
    stage.comes(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert stage.sent[-2:] == [ui.CloseRun(run="r1"), ui.OpenRun(run="r2")]


def test_after_a_reconnect_only_what_is_new_is_shown() -> None:
    stage = halted()
    stage.session.handle(CoreConnectionLost("the debugger closed the connection", 0.5))
    assert (
        stage.shown() == "Connection lost: the debugger closed the connection. Next try in 0.5 s.\n"
    )
    stage.connected = False
    stage.keys.execute_line("s")
    assert "hasn't arrived yet" in stage.shown()
    stage.keys.execute_line("c")
    assert "The debugger isn't connected right now" in stage.shown()
    stage.connected = True
    stage.hello(HALTED)
    second = replace(ROW, id="b2", seq=2, summary="new")
    stage.opens(replace(HALTED, pending=("b1", "b2")), ROW, second)
    stage.halts()
    shown = stage.shown()
    assert "   1  " not in shown
    assert "   2  Agent → LLM     new" in shown
    assert "Halted at 1" in shown


def test_a_run_that_is_gone_after_a_reconnect() -> None:
    stage = halted()
    stage.session.handle(CoreConnectionLost("", 0.5))
    stage.hello()
    assert "No agent is running" in stage.shown()


def test_what_another_person_edits_is_shown_again() -> None:
    stage = halted()
    stage.comes(ui.RowChanged(run="r1", row=replace(ROW, revision=2, edited=True)))
    assert "was edited elsewhere" in stage.shown()
    stage.halts('"edited"', revision=2)
    stage.keys.execute_line("s")
    assert stage.sent[-1] == ui.StepRun(run="r1", halt_point="b1", revision=2)


def test_a_message_that_was_answered_while_it_was_fetched_is_not_shown() -> None:
    stage = Stage()
    stage.hello(HALTED)
    stage.opens(HALTED, ROW)
    stage.comes(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    stage.halts()
    assert "Halted" not in stage.shown()
    assert not stage.session.is_waiting


def test_what_is_refused_is_said_and_the_state_shown_again() -> None:
    stage = halted()
    stage.keys.execute_line("s")
    stage.answers(ui.UiError(code="stale", message="Answered meanwhile.", run="r1"))
    assert "Refused (stale): Answered meanwhile." in stage.shown()
    stage.halts()
    assert "Halted at 1" in stage.shown()
    stage.comes(ui.RunChanged(run=RUN))
    stage.keys.execute_line("h")
    stage.answers(ui.UiError(code="watch_only", message="Only watch.", run="r1"))
    assert "Run #1 of demo: running" in stage.shown()


def test_keys_without_a_run() -> None:
    stage = Stage()
    stage.hello(control=False)
    assert "This login may watch, not control." in stage.shown()
    for key in "schx":
        stage.keys.execute_line(key)
        assert "There is no run to show yet" in stage.shown()
    for key, said in (
        ("e", "can be edited"),
        ("v", "No message is chosen"),
        ("v 7", "No message is chosen"),
        ("d", "No changes yet"),
        ("r", "No runs yet"),
        ("", ""),
        ("zap 3 4", "zap 3 4 is not a command"),
    ):
        stage.keys.execute_line(key)
        assert said in stage.shown()
    assert stage.sent == []


def test_keys_while_it_is_halted() -> None:
    stage = halted()
    stage.keys.execute_line("h")
    assert "The agent is halted already." in stage.shown()
    stage.keys.execute_line("continue")
    command = stage.answers(ui.CommandDone())
    assert command == ui.ContinueRun(run="r1", halt_point="b1", revision=1)


def test_keys_while_it_runs() -> None:
    stage = halted()
    stage.comes(ui.RunChanged(run=RUN))
    stage.keys.execute_line("s")
    assert "it halts at its next message" in stage.shown()
    stage.comes(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    stage.keys.execute_line("s")
    assert stage.answers(ui.CommandDone()) == ui.StepRun(run="r1")
    assert "halts at its next message" in stage.shown()
    stage.keys.execute_line("x")
    assert stage.answers(ui.CommandDone()) == ui.StopRun(run="r1")
    assert "The agent ends at its next message" in stage.shown()


def test_an_edit_that_comes_too_late_changes_nothing() -> None:
    stage = halted()
    stage.keys.execute_line("e")
    stage.comes(ui.RunChanged(run=RUN))
    stage.keys.execute_line('"edit"')
    assert "The agent already continued" in stage.shown()


def test_a_run_that_was_deleted() -> None:
    stage = halted()
    stage.comes(ui.RunRemoved(run="r1"))
    assert "Run #1 of demo was deleted." in stage.shown()
    assert stage.session.run is None


def test_a_refusal_ends_it() -> None:
    stage = Stage()
    stage.session.handle(CoreConnectionRefused("unauthorized"))
    assert stage.session.is_over and stage.session.has_failed
