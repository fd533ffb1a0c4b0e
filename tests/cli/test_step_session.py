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
    TimelineRow,
)
from agentstepper_nb.protocol.store_info import StoreInfo

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


class DebuggerHarness:
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


def halted() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.hello(HALTED)
    harness.opens(HALTED, ROW)
    harness.halts()
    harness.shown()
    return harness


CALL = '{"Tool": "run_command", "Argument": {"command": "rm -r build"}}'
DELETES = ApprovalPrompt(risk=Risk.MEDIUM, why="It deletes files.", rule="rm -r *")


def asking(risk: Risk = Risk.MEDIUM, data: str = CALL, run: Run = HALTED) -> DebuggerHarness:
    """Halted by what asks for an approval."""
    harness = DebuggerHarness()
    run = replace(run, mode=RunMode.CONTINUE)
    harness.hello(run)
    harness.opens(run, replace(ROW, approval=True))
    harness.halts(data, approval=replace(DELETES, risk=risk))
    return harness


def test_what_is_asked_is_told_and_how_to_answer() -> None:
    shown = asking().shown().splitlines()
    *_, prompt = shown
    asks, always, halted = shown[3:6]
    assert asks == "Asks for approval, medium risk: It deletes files."
    assert always == "“a always” allows such calls from now on: rm -r *"
    assert halted.startswith("Halted at 1")
    assert prompt.startswith("[a]pprove [a always] [deny WHY]")


def test_it_is_approved_or_denied() -> None:
    harness = asking()
    for line, always in (("a", False), ("a always", True), ("approve always", True)):
        harness.keys.execute_line(line)
        sent = harness.answers(ui.CommandDone())
        assert sent == ui.ApproveCall(run="r1", halt_point="b1", revision=1, always=always)
    harness.keys.execute_line("deny Not  today, 3 times.")
    sent = harness.answers(ui.CommandDone())
    assert sent == ui.DenyCall(run="r1", halt_point="b1", revision=1, reason="Not  today, 3 times.")


@pytest.mark.parametrize("key", ["n", "next", "s", "step"])
def test_n_is_next(key: str) -> None:
    harness = halted()
    harness.keys.execute_line(key)
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b1", revision=1)


@pytest.mark.parametrize("risk", [Risk.MEDIUM, Risk.HIGH])
@pytest.mark.parametrize("line", [*("n", "next", "s", "step", "n Not today.", "s 1"), *("", " ")])
def test_no_step_and_no_enter_is_a_yes_or_a_no(line: str, risk: Risk) -> None:
    harness = asking(risk)
    sent = list(harness.sent)
    for _ in range(20):
        harness.shown()
        harness.keys.execute_line(line)
        *_, prompt = harness.shown().splitlines()
        assert prompt.startswith("[a]pprove")
    assert harness.sent == sent


def test_a_step_leaves_what_asks_and_shows_what_else_waits() -> None:
    run = replace(HALTED, pending=("b1", "b2"))
    harness = asking(run=run)
    other = replace(ROW, id="b2", seq=2, event="e2")
    harness.comes(ui.RowChanged(run="r1", row=other))
    harness.keys.execute_line("s")
    assert (
        "A step never approves: press a to approve this call, or deny WHY to deny it."
        in harness.shown()
    )
    harness.halts(message="b2")
    harness.keys.execute_line("s")
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1", halt_point="b2", revision=1)
    harness.comes(ui.RunChanged(run=HALTED))
    harness.halts(CALL, approval=DELETES)
    assert harness.shown().splitlines()[-1].startswith("[a]pprove")


@pytest.mark.parametrize("key", ["a", "approve", "a always"])
def test_what_is_of_high_risk_is_approved_by_two_gestures(key: str) -> None:
    harness = asking(Risk.HIGH)
    before = list(harness.sent)
    for wrong in ("a", "", " ", "s", "y", "yes", "approve", key, "Run_Command"):
        harness.keys.execute_line(key)
        assert (
            "High risk: type “run_command” and Enter to approve; any other text cancels"
            in harness.shown()
        )
        harness.keys.execute_line(wrong)
        assert "Nothing was approved." in harness.shown()
        assert harness.sent == before
    harness.keys.execute_line(key)
    harness.keys.execute_line(" run_command ")
    sent = harness.answers(ui.CommandDone())
    always = key.endswith("always")
    assert sent == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, always=always, confirmed=True
    )


@pytest.mark.parametrize(
    "tool", ["a", "s", "approve", "deny", "rm -r", "löschen", "x" * 60, "\n", "", 7]
)
def test_a_tool_whose_name_cannot_confirm(tool: str | int) -> None:
    harness = asking(Risk.HIGH, json.dumps({"Tool": tool, "Argument": None}))
    before = list(harness.sent)
    harness.keys.execute_line("a")
    assert "type “I approve” and Enter" in harness.shown()
    harness.keys.execute_line(str(tool))
    assert harness.sent == before
    harness.keys.execute_line("a")
    harness.keys.execute_line("I approve")
    assert harness.answers(ui.CommandDone()) == ui.ApproveCall(
        run="r1", halt_point="b1", revision=1, confirmed=True
    )


def test_a_call_that_was_edited_meanwhile_is_not_confirmed() -> None:
    harness = asking(Risk.HIGH)
    harness.keys.execute_line("a")
    harness.comes(ui.RowChanged(run="r1", row=replace(ROW, approval=True, revision=2, edited=True)))
    harness.halts('{"Tool": "run_command", "Argument": "rm -r /"}', 2, approval=DELETES)
    before = list(harness.sent)
    harness.keys.execute_line("run_command")
    assert (
        "The call was already answered, or edited elsewhere.\nNothing was approved."
        in harness.shown()
    )
    assert harness.sent == before


def test_what_was_typed_before_a_question_is_no_answer_to_it() -> None:
    typed = ["a"]
    harness = DebuggerHarness()
    harness.session = StepSession(harness.session.screen, harness._send, None, typed.clear)
    harness.keys = StepCommands(harness.session)
    harness.hello(HALTED)
    harness.opens(HALTED, replace(ROW, approval=True))
    assert typed == ["a"]
    harness.halts(CALL, approval=DELETES)
    assert typed == []


def test_a_word_with_a_wrong_letter() -> None:
    harness = halted()
    harness.keys.execute_line("contineu")
    assert (
        "contineu is not a command: ? lists the commands. Did you mean “continue”?"
        in harness.shown()
    )


def test_the_newest_run_of_a_program_is_chosen_and_followed() -> None:
    older = replace(RUN, id="r2", name="Run #1 of second", program="second", state=RunState.IDLE)
    newer = replace(older, id="r3", name="Run #2 of second")
    harness = DebuggerHarness("second")
    harness.hello(older, newer, HALTED)
    assert harness.sent == [ui.OpenRun(run="r3")]
    harness.comes(ui.RunChanged(run=replace(RUN, id="r4")))
    assert harness.sent == [ui.OpenRun(run="r3")]
    next = replace(newer, id="r5", name="Run #3 of second", state=RunState.STEP)
    harness.comes(ui.RunChanged(run=next))
    assert harness.sent[-1] == ui.OpenRun(run="r5")


def test_the_reason_may_come_as_a_line_of_its_own() -> None:
    harness = asking()
    harness.keys.execute_line("deny")
    harness.keys.execute_line(" Not today. ")
    assert harness.answers(ui.CommandDone()) == ui.DenyCall(
        run="r1", halt_point="b1", revision=1, reason="Not today."
    )
    sent = list(harness.sent)
    harness.shown()
    harness.keys.execute_line("deny")
    harness.keys.execute_line("")
    assert "Nothing was denied." in harness.shown()
    harness.keys.execute_line("deny")
    harness.session.halted = None
    harness.keys.execute_line("Too late.")
    assert "The agent already continued, so that nothing was denied." in harness.shown()
    harness.keys.execute_line("deny")
    assert "Only a call at which the agent is halted can be denied." in harness.shown()
    assert harness.sent == sent


def test_what_asks_for_nothing_is_not_approved() -> None:
    harness = halted()
    sent = list(harness.sent)
    harness.keys.execute_line("a")
    assert "No call asks for an approval here. Press s to step." in harness.shown()
    harness = asking()
    harness.shown()
    harness.keys.execute_line("a never")
    assert "Press a to approve, or “a always” to allow such calls from now on." in harness.shown()
    assert harness.sent[-1] == sent[-1]


def test_to_continue_leaves_what_asks() -> None:
    harness = asking()
    harness.shown()
    harness.keys.execute_line("c")
    assert harness.answers(ui.CommandDone()) == ui.ContinueRun(
        run="r1", halt_point="b1", revision=1
    )
    first, prompt = harness.shown().splitlines()
    assert first == "The agent continues. Calls that ask for approval still wait."
    assert prompt.startswith("[a]pprove")


def test_keys_that_take_no_words_take_none() -> None:
    harness = halted()
    sent = list(harness.sent)
    for line in ("s now", "v 1 please", "x all of them"):
        harness.keys.execute_line(line)
        assert f"{line} is not a command" in harness.shown()
    assert harness.sent == sent


def test_what_halted_the_run_is_told() -> None:
    harness = DebuggerHarness()
    harness.hello(HALTED)
    for id, then in (("s1", Reaction.HALT), ("s2", Reaction.LOG), ("s3", Reaction.HALT)):
        harness.comes(
            ui.BreakpointChanged(
                breakpoint=BreakpointRule(id=id, side=EventSide.BEGIN, reaction=then)
            )
        )
    harness.comes(ui.BreakpointGone(breakpoint="s3"))
    harness.opens(
        HALTED, replace(ROW, breakpoints=("s1", "s2", "s3"), breakpoint_error="no \x1b[1m number")
    )
    harness.shown()
    harness.halts()
    *before, halted, _, _ = harness.shown().splitlines()
    assert before == [
        "Halted by breakpoint before any.",
        "Halted because a breakpoint failed here. no \\x1b[1m number",
    ]
    assert halted.startswith("Halted at 1")


def test_the_run_that_halted_is_chosen() -> None:
    other = replace(RUN, id="r2", name="Run #2 of demo")
    ended = replace(RUN, id="r3", name="Run #3 of demo", state=RunState.IDLE)
    harness = DebuggerHarness()
    harness.hello(HALTED, other, ended)
    assert harness.sent == [ui.OpenRun(run="r1")]


def test_runs_that_hello_leaves_out_are_asked_for_before_one_is_chosen() -> None:
    ended = [replace(RUN, id=f"r{n}", name=f"Run #{n}", state=RunState.IDLE) for n in range(6)]
    harness = DebuggerHarness("Run #1")
    harness.hello(replace(ended[0], state=RunState.STEP), *ended[4:], more=3)
    assert harness.sent == [ui.ListRuns(before="r4")]  # the first is there because it lives
    harness.comes(ui.RunChanged(run=replace(ended[3], name="Run #3 of me")))
    harness.answers(ui.RunsListed(runs=tuple(ended[2:4]), more=2))
    assert harness.sent[-1] == ui.ListRuns(before="r2")
    harness.answers(ui.RunsListed(runs=(ended[0], ended[1]), more=0))
    assert harness.sent[-1] == ui.OpenRun(run="r1")
    harness.shown()
    harness.keys.execute_line("r")
    names = [line[6:].partition(":")[0] for line in harness.shown().splitlines()[:6]]
    assert names == ["Run #0", "Run #1", "Run #2", "Run #3 of me", "Run #4", "Run #5"]


def test_a_message_before_the_last_page_can_be_viewed() -> None:
    run = replace(HALTED, rows=900)
    harness = DebuggerHarness()
    harness.hello(run)
    harness.opens(run, replace(ROW, seq=900))
    harness.halts()
    harness.keys.execute_line("v 3")
    assert harness.sent[-1] == ui.GetRows(run="r1", first=3, last=3)
    harness.answers(ui.RowsPage(run="r1", rows=(replace(ROW, id="b3", seq=3),), commits=()))
    harness.halts('"the third"', message="b3")
    assert "3, Agent → LLM:\nthe third" in harness.shown()
    harness.keys.execute_line("v 901")
    assert "No message is chosen" in harness.shown()


def test_changes_before_the_last_page_are_numbered_and_listed() -> None:
    run = replace(HALTED, commits=5)
    change = FileChange(path="a.py", kind=ChangeKind.CHANGED, added=1)
    commits = [
        Commit(id=f"k{n}", at=0.0, title=f"Change {n}", changes=(change,)) for n in range(1, 6)
    ]
    first = Commit(id="k0", at=0.0, title="Nothing has changed")
    harness = DebuggerHarness()
    harness.hello(run)
    assert harness.sent == [ui.GetCommits(run="r1")]
    harness.answers(ui.CommitsPage(run="r1", commits=tuple(commits[2:]), before=3))
    assert harness.sent[-1] == ui.GetCommits(run="r1", before=3)
    harness.answers(ui.CommitsPage(run="r1", commits=(first, *commits[:2]), before=None))
    assert harness.sent[-1] == ui.OpenRun(run="r1")
    harness.answers(ui.RunOpened(run=run, rows=(ROW,), commits=tuple(commits[4:]), notes=()))
    shown = harness.shown()
    assert "Change 5" in shown
    assert "Change 4" not in shown
    harness.halts()
    harness.comes(ui.CommitAdded(run="r1", commit=replace(commits[0], id="k6", title="Change 6")))
    harness.shown()
    harness.keys.execute_line("d")
    listed = harness.shown().splitlines()[:6]
    assert listed == [f"      changes {n}: Change {n} (1 file, +1 -0)" for n in range(1, 7)]


def test_a_run_is_waited_for_by_its_name() -> None:
    harness = DebuggerHarness("Run #2 of demo")
    harness.hello(RUN)
    assert (
        "no run Run #2 of demo yet; it is shown once it begins. r lists 1 earlier"
        in harness.shown()
    )
    harness.comes(ui.RunChanged(run=replace(RUN, id="r3", name="Run #3 of demo")))
    assert harness.sent == []
    harness.comes(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert harness.sent == [ui.OpenRun(run="r2")]


def test_a_new_run_follows_the_one_that_ended() -> None:
    harness = halted()
    failure = Failure(type="ValueError", message="no \x1b[1m luck")
    harness.comes(
        ui.RunChanged(
            run=replace(
                RUN, state=RunState.IDLE, pending=(), ending=RunEnding.CRASHED, failure=failure
            )
        )
    )
    assert "Run #1 of demo: crashed (ValueError: no \\x1b[1m luck)" in harness.shown()
    harness.comes(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert harness.sent[-2:] == [ui.CloseRun(run="r1"), ui.OpenRun(run="r2")]


def test_after_a_reconnect_only_what_is_new_is_shown() -> None:
    harness = halted()
    harness.session.handle(CoreConnectionLost("the debugger closed the connection", 0.5))
    assert (
        harness.shown()
        == "Connection lost: the debugger closed the connection. Next try in 0.5 s.\n"
    )
    harness.connected = False
    harness.keys.execute_line("s")
    assert "hasn't arrived yet" in harness.shown()
    harness.keys.execute_line("c")
    assert "The debugger isn't connected right now" in harness.shown()
    harness.connected = True
    harness.hello(HALTED)
    second = replace(ROW, id="b2", seq=2, summary="new")
    harness.opens(replace(HALTED, pending=("b1", "b2")), ROW, second)
    harness.halts()
    shown = harness.shown()
    assert "   1  " not in shown
    assert "   2  Agent → LLM     new" in shown
    assert "Halted at 1" in shown


def test_a_run_that_is_gone_after_a_reconnect() -> None:
    harness = halted()
    harness.session.handle(CoreConnectionLost("", 0.5))
    harness.hello()
    assert "No agent is running" in harness.shown()


def test_what_another_person_edits_is_shown_again() -> None:
    harness = halted()
    harness.comes(ui.RowChanged(run="r1", row=replace(ROW, revision=2, edited=True)))
    assert "was edited elsewhere" in harness.shown()
    harness.halts('"edited"', revision=2)
    harness.keys.execute_line("s")
    assert harness.sent[-1] == ui.StepRun(run="r1", halt_point="b1", revision=2)


def test_a_message_that_was_answered_while_it_was_fetched_is_not_shown() -> None:
    harness = DebuggerHarness()
    harness.hello(HALTED)
    harness.opens(HALTED, ROW)
    harness.comes(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    harness.halts()
    assert "Halted" not in harness.shown()
    assert not harness.session.is_waiting


def test_what_is_refused_is_said_and_the_state_shown_again() -> None:
    harness = halted()
    harness.keys.execute_line("s")
    harness.answers(ui.UiError(code="stale", message="Answered meanwhile.", run="r1"))
    assert "Refused (stale): Answered meanwhile." in harness.shown()
    harness.halts()
    assert "Halted at 1" in harness.shown()
    harness.comes(ui.RunChanged(run=RUN))
    harness.keys.execute_line("h")
    harness.answers(ui.UiError(code="watch_only", message="Only watch.", run="r1"))
    assert "Run #1 of demo: running" in harness.shown()


def test_keys_without_a_run() -> None:
    harness = DebuggerHarness()
    harness.hello(control=False)
    assert "This login may watch, not control." in harness.shown()
    for key in "schx":
        harness.keys.execute_line(key)
        assert "There is no run to show yet" in harness.shown()
    for key, said in (
        ("e", "can be edited"),
        ("v", "No message is chosen"),
        ("v 7", "No message is chosen"),
        ("d", "No changes yet"),
        ("r", "No runs yet"),
        ("", ""),
        ("zap 3 4", "zap 3 4 is not a command"),
    ):
        harness.keys.execute_line(key)
        assert said in harness.shown()
    assert harness.sent == []


def test_keys_while_it_is_halted() -> None:
    harness = halted()
    harness.keys.execute_line("h")
    assert "The agent is halted already." in harness.shown()
    harness.keys.execute_line("continue")
    command = harness.answers(ui.CommandDone())
    assert command == ui.ContinueRun(run="r1", halt_point="b1", revision=1)


def test_keys_while_it_runs() -> None:
    harness = halted()
    harness.comes(ui.RunChanged(run=RUN))
    harness.keys.execute_line("s")
    assert "it halts at its next message" in harness.shown()
    harness.comes(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    harness.keys.execute_line("s")
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1")
    assert "halts at its next message" in harness.shown()
    harness.keys.execute_line("x")
    assert harness.answers(ui.CommandDone()) == ui.StopRun(run="r1")
    assert "The agent ends at its next message" in harness.shown()


def test_an_edit_that_comes_too_late_changes_nothing() -> None:
    harness = halted()
    harness.keys.execute_line("e")
    harness.comes(ui.RunChanged(run=RUN))
    harness.keys.execute_line('"edit"')
    assert "The agent already continued" in harness.shown()


def test_a_run_that_was_deleted() -> None:
    harness = halted()
    harness.comes(ui.RunRemoved(run="r1"))
    assert "Run #1 of demo was deleted." in harness.shown()
    assert harness.session.run is None


def test_a_refusal_ends_it() -> None:
    harness = DebuggerHarness()
    harness.session.handle(CoreConnectionRefused("unauthorized"))
    assert harness.session.is_over and harness.session.has_failed
