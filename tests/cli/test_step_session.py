"""What a person is shown, message by message, without a Core."""

from __future__ import annotations

from msgspec.structs import replace

from agentstepper_nb.cli.core_connection import (
    CoreConnectionLost,
    CoreConnectionRefused,
)
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Reaction
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventSide,
    Failure,
    FileChange,
    RunEnding,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.cli.step_harness import HALTED, ROW, RUN, StepSessionHarness, halted


def test_the_newest_run_of_a_program_is_chosen_and_followed() -> None:
    older = replace(RUN, id="r2", name="Run #1 of second", program="second", state=RunState.IDLE)
    newer = replace(older, id="r3", name="Run #2 of second")
    harness = StepSessionHarness("second")
    harness.hello(older, newer, HALTED)
    assert harness.sent == [ui.OpenRun(run="r3")]
    harness.push(ui.RunChanged(run=replace(RUN, id="r4")))
    assert harness.sent == [ui.OpenRun(run="r3")]
    next = replace(newer, id="r5", name="Run #3 of second", state=RunState.STEP)
    harness.push(ui.RunChanged(run=next))
    assert harness.sent[-1] == ui.OpenRun(run="r5")


def test_keys_that_take_no_words_take_none() -> None:
    harness = halted()
    sent = list(harness.sent)
    for line in ("s now", "v 1 please", "x all of them"):
        harness.keys.execute_line(line)
        assert f"{line} is not a command" in harness.take_shown()
    assert harness.sent == sent


def test_what_halted_the_run_is_told() -> None:
    harness = StepSessionHarness()
    harness.hello(HALTED)
    for id, then in (("s1", Reaction.HALT), ("s2", Reaction.LOG), ("s3", Reaction.HALT)):
        harness.push(
            ui.BreakpointChanged(
                breakpoint=BreakpointRule(id=id, side=EventSide.BEGIN, reaction=then)
            )
        )
    harness.push(ui.BreakpointGone(breakpoint="s3"))
    harness.open_run(
        HALTED, replace(ROW, breakpoints=("s1", "s2", "s3"), breakpoint_error="no \x1b[1m number")
    )
    harness.take_shown()
    harness.push_halt()
    *before, halted, _, _ = harness.take_shown().splitlines()
    assert before == [
        "Halted by breakpoint before any.",
        "Halted because a breakpoint failed here. no \\x1b[1m number",
    ]
    assert halted.startswith("Halted at 1")


def test_the_run_that_halted_is_chosen() -> None:
    other = replace(RUN, id="r2", name="Run #2 of demo")
    ended = replace(RUN, id="r3", name="Run #3 of demo", state=RunState.IDLE)
    harness = StepSessionHarness()
    harness.hello(HALTED, other, ended)
    assert harness.sent == [ui.OpenRun(run="r1")]


def test_runs_that_hello_leaves_out_are_asked_for_before_one_is_chosen() -> None:
    ended = [replace(RUN, id=f"r{n}", name=f"Run #{n}", state=RunState.IDLE) for n in range(6)]
    harness = StepSessionHarness("Run #1")
    harness.hello(replace(ended[0], state=RunState.STEP), *ended[4:], more=3)
    assert harness.sent == [ui.ListRuns(before="r4")]  # the first is there because it lives
    harness.push(ui.RunChanged(run=replace(ended[3], name="Run #3 of me")))
    harness.answers(ui.RunsListed(runs=tuple(ended[2:4]), more=2))
    assert harness.sent[-1] == ui.ListRuns(before="r2")
    harness.answers(ui.RunsListed(runs=(ended[0], ended[1]), more=0))
    assert harness.sent[-1] == ui.OpenRun(run="r1")
    harness.take_shown()
    harness.keys.execute_line("l")
    names = [line[6:].partition(":")[0] for line in harness.take_shown().splitlines()[:6]]
    assert names == ["Run #0", "Run #1", "Run #2", "Run #3 of me", "Run #4", "Run #5"]


def test_a_message_before_the_last_page_can_be_viewed() -> None:
    run = replace(HALTED, rows=900)
    harness = StepSessionHarness()
    harness.hello(run)
    harness.open_run(run, replace(ROW, seq=900))
    harness.push_halt()
    harness.keys.execute_line("v 3")
    assert harness.sent[-1] == ui.GetRows(run="r1", first=3, last=3)
    harness.answers(ui.RowsPage(run="r1", rows=(replace(ROW, id="b3", seq=3),), commits=()))
    harness.push_halt('"the third"', message="b3")
    assert "3, Agent → LLM:\nthe third" in harness.take_shown()
    harness.keys.execute_line("v 901")
    assert "No message is chosen" in harness.take_shown()


def test_changes_before_the_last_page_are_numbered_and_listed() -> None:
    run = replace(HALTED, commits=5)
    change = FileChange(path="a.py", kind=ChangeKind.CHANGED, added=1)
    commits = [
        Commit(id=f"k{n}", at=0.0, title=f"Change {n}", changes=(change,)) for n in range(1, 6)
    ]
    first = Commit(id="k0", at=0.0, title="Nothing has changed")
    harness = StepSessionHarness()
    harness.hello(run)
    assert harness.sent == [ui.GetCommits(run="r1")]
    harness.answers(ui.CommitsPage(run="r1", commits=tuple(commits[2:]), before=3))
    assert harness.sent[-1] == ui.GetCommits(run="r1", before=3)
    harness.answers(ui.CommitsPage(run="r1", commits=(first, *commits[:2]), before=None))
    assert harness.sent[-1] == ui.OpenRun(run="r1")
    harness.answers(ui.RunOpened(run=run, rows=(ROW,), commits=tuple(commits[4:]), notes=()))
    shown = harness.take_shown()
    assert "Change 5" in shown
    assert "Change 4" not in shown
    harness.push_halt()
    harness.push(ui.CommitAdded(run="r1", commit=replace(commits[0], id="k6", title="Change 6")))
    harness.take_shown()
    harness.keys.execute_line("d")
    listed = harness.take_shown().splitlines()[:6]
    assert listed == [f"      changes {n}: Change {n} (1 file, +1 -0)" for n in range(1, 7)]


def test_a_run_is_waited_for_by_its_name() -> None:
    harness = StepSessionHarness("Run #2 of demo")
    harness.hello(RUN)
    assert (
        "no run Run #2 of demo yet; it is shown once it begins. l lists 1 earlier"
        in harness.take_shown()
    )
    harness.push(ui.RunChanged(run=replace(RUN, id="r3", name="Run #3 of demo")))
    assert harness.sent == []
    harness.push(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert harness.sent == [ui.OpenRun(run="r2")]


def test_a_new_run_follows_the_one_that_ended() -> None:
    harness = halted()
    failure = Failure(type="ValueError", message="no \x1b[1m luck")
    harness.push(
        ui.RunChanged(
            run=replace(
                RUN, state=RunState.IDLE, pending=(), ending=RunEnding.CRASHED, failure=failure
            )
        )
    )
    assert "Run #1 of demo: crashed (ValueError: no \\x1b[1m luck)" in harness.take_shown()
    harness.push(ui.RunChanged(run=replace(RUN, id="r2", name="Run #2 of demo")))
    assert harness.sent[-2:] == [ui.CloseRun(run="r1"), ui.OpenRun(run="r2")]


def test_after_a_reconnect_only_what_is_new_is_shown() -> None:
    harness = halted()
    harness.session.handle(CoreConnectionLost("the debugger closed the connection", 0.5))
    assert (
        harness.take_shown()
        == "Connection lost: the debugger closed the connection. Next try in 0.5 s.\n"
    )
    harness.connected = False
    harness.keys.execute_line("s")
    assert "hasn't arrived yet" in harness.take_shown()
    harness.keys.execute_line("c")
    assert "The debugger isn't connected right now" in harness.take_shown()
    harness.connected = True
    harness.hello(HALTED)
    second = replace(ROW, id="b2", seq=2, summary="new")
    harness.open_run(replace(HALTED, pending=("b1", "b2")), ROW, second)
    harness.push_halt()
    shown = harness.take_shown()
    assert "   1  " not in shown
    assert "   2  Agent → LLM     new" in shown
    assert "Halted at 1" in shown


def test_a_run_that_is_gone_after_a_reconnect() -> None:
    harness = halted()
    harness.session.handle(CoreConnectionLost("", 0.5))
    harness.hello()
    assert "No agent is running" in harness.take_shown()


def test_what_another_person_edits_is_shown_again() -> None:
    harness = halted()
    harness.push(ui.RowChanged(run="r1", row=replace(ROW, revision=2, edited=True)))
    assert "was edited elsewhere" in harness.take_shown()
    harness.push_halt('"edited"', revision=2)
    harness.keys.execute_line("s")
    assert harness.sent[-1] == ui.StepRun(
        run="r1", halt_point="b1", revision=2, target=StepTarget(kind=StepKind.INTO)
    )


def test_a_message_that_was_answered_while_it_was_fetched_is_not_shown() -> None:
    harness = StepSessionHarness()
    harness.hello(HALTED)
    harness.open_run(HALTED, ROW)
    harness.push(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    harness.push_halt()
    assert "Halted" not in harness.take_shown()
    assert not harness.session.is_waiting


def test_what_is_refused_is_said_and_the_state_shown_again() -> None:
    harness = halted()
    harness.keys.execute_line("s")
    harness.answers(ui.UiError(code="stale", message="Answered meanwhile.", run="r1"))
    assert "Refused (stale): Answered meanwhile." in harness.take_shown()
    harness.push_halt()
    assert "Halted at 1" in harness.take_shown()
    harness.push(ui.RunChanged(run=RUN))
    harness.keys.execute_line("h")
    harness.answers(ui.UiError(code="watch_only", message="Only watch.", run="r1"))
    assert "Run #1 of demo: running" in harness.take_shown()


def test_keys_without_a_run() -> None:
    harness = StepSessionHarness()
    harness.hello(control=False)
    assert "This login may watch, not control." in harness.take_shown()
    for key in "schx":
        harness.keys.execute_line(key)
        assert "There is no run to show yet" in harness.take_shown()
    for key, said in (
        ("e", "can be edited"),
        ("v", "No message is chosen"),
        ("v 7", "No message is chosen"),
        ("d", "No changes yet"),
        ("l", "No runs yet"),
        ("", ""),
        ("zap 3 4", "zap 3 4 is not a command"),
    ):
        harness.keys.execute_line(key)
        assert said in harness.take_shown()
    assert harness.sent == []


def test_keys_while_it_is_halted() -> None:
    harness = halted()
    harness.keys.execute_line("h")
    assert "The agent is halted already." in harness.take_shown()
    harness.keys.execute_line("continue")
    command = harness.answers(ui.CommandDone())
    assert command == ui.ContinueRun(run="r1", halt_point="b1", revision=1)


def test_keys_while_it_runs() -> None:
    harness = halted()
    harness.push(ui.RunChanged(run=RUN))
    harness.keys.execute_line("s")
    assert "it halts at its next message" in harness.take_shown()
    harness.push(ui.RunChanged(run=replace(RUN, mode=RunMode.CONTINUE, state=RunState.CONTINUE)))
    harness.keys.execute_line("s")
    assert harness.answers(ui.CommandDone()) == ui.StepRun(run="r1")
    assert "halts at its next message" in harness.take_shown()
    harness.keys.execute_line("x")
    assert harness.answers(ui.CommandDone()) == ui.StopRun(run="r1")
    assert "The agent ends at its next message" in harness.take_shown()


def test_an_edit_that_comes_too_late_changes_nothing() -> None:
    harness = halted()
    harness.keys.execute_line("e")
    harness.push(ui.RunChanged(run=RUN))
    harness.keys.execute_line('"edit"')
    assert "The agent already continued" in harness.take_shown()


def test_a_run_that_was_deleted() -> None:
    harness = halted()
    harness.push(ui.RunRemoved(run="r1"))
    assert "Run #1 of demo was deleted." in harness.take_shown()
    assert harness.session.run is None


def test_a_refusal_ends_it() -> None:
    harness = StepSessionHarness()
    harness.session.handle(CoreConnectionRefused("unauthorized"))
    assert harness.session.is_over and harness.session.has_failed
