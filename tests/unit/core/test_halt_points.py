"""What agents send: events, halt points, commits, and a run's end."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentstepper_nb.errors import AgentStepperError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    RunEnding,
    RunMode,
    RunState,
)
from agentstepper_nb.protocol.records import HaltPointAnswered
from tests.helpers.debugger_harness import DebuggerHarness, SentAnswer


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


def test_a_program_starts_in_step(harness: DebuggerHarness) -> None:
    run = harness.run()
    assert (run.mode, run.state, run.agent_state) == (
        RunMode.STEP,
        RunState.STEP,
        AgentActivity.RUNNING,
    )


def test_a_program_is_named_by_its_number_in_the_history(harness: DebuggerHarness) -> None:
    harness.start("second")
    harness.start("other", program="Q")
    names = [run.name for run in harness.debugger.runs]
    assert names == ["Run #1 of P", "Run #2 of P", "Run #1 of Q"]


def test_a_query_is_walked_through_in_step(harness: DebuggerHarness) -> None:
    event, asked = harness.begin_query()
    run = harness.run()
    assert (run.state, run.agent_state, run.pending) == (
        RunState.HALTED,
        AgentActivity.HALTED,
        (asked,),
    )
    assert harness.answers == []

    harness.step()
    assert harness.answers == [SentAnswer(asked)]
    assert (harness.state(), harness.run().agent_state) == (
        RunState.STEP,
        AgentActivity.LLM_THINKING,
    )

    answer = harness.reach(event, EventSide.END, data='"hi"')
    assert harness.state() is RunState.HALTED
    harness.step()
    assert harness.answers == [SentAnswer(asked), SentAnswer(answer)]
    assert harness.run().agent_state is AgentActivity.RUNNING


def test_a_tool_executes_between_its_breakpoints(harness: DebuggerHarness) -> None:
    harness.begin_tool_call('{"Tool": "ls", "Argument": null}')
    harness.step()
    assert harness.run().agent_state is AgentActivity.TOOL_EXECUTING


def test_in_continue_breakpoints_are_answered_at_once(harness: DebuggerHarness) -> None:
    harness.resume()
    event, asked = harness.begin_query()
    assert harness.answers == [SentAnswer(asked)]
    assert harness.run().agent_state is AgentActivity.LLM_THINKING
    answer = harness.reach(event, EventSide.END)
    assert harness.answers == [SentAnswer(asked), SentAnswer(answer)]
    assert (harness.state(), harness.run().agent_state) == (
        RunState.CONTINUE,
        AgentActivity.RUNNING,
    )
    assert harness.run().pending == ()


def test_halt_in_continue_is_halting_until_the_next_breakpoint(harness: DebuggerHarness) -> None:
    harness.resume()
    harness.halt()
    assert (harness.state(), harness.run().agent_state) == (RunState.STEP, AgentActivity.HALTING)
    harness.begin_query()
    assert (harness.state(), harness.run().agent_state) == (RunState.HALTED, AgentActivity.HALTED)


def test_halting_ends_with_continue(harness: DebuggerHarness) -> None:
    harness.halt()
    harness.resume()
    assert (harness.state(), harness.run().agent_state) == (
        RunState.CONTINUE,
        AgentActivity.RUNNING,
    )


def test_halting_outlasts_a_breakpoint_that_does_not_wait(harness: DebuggerHarness) -> None:
    harness.halt()
    harness.reach(harness.begin(), waits=False)
    assert (harness.state(), harness.run().agent_state) == (RunState.STEP, AgentActivity.HALTING)


def test_step_in_continue_halts_at_the_next_breakpoint(harness: DebuggerHarness) -> None:
    harness.resume()
    harness.step()
    _, asked = harness.begin_query()
    assert harness.run().pending == (asked,)


def test_a_breakpoint_that_does_not_wait_is_never_pending_nor_answered(
    harness: DebuggerHarness,
) -> None:
    passed = harness.reach(harness.begin(), waits=False)
    assert harness.answers == []
    assert harness.run().pending == ()
    assert harness.find_halt_point(passed).answer is AnswerKind.RESUME


def test_halt_while_halted_stays_so_when_the_breakpoint_is_withdrawn(
    harness: DebuggerHarness,
) -> None:
    _, asked = harness.begin_query()
    harness.halt()
    assert harness.run().agent_state is AgentActivity.HALTED
    harness.withdraw(asked)
    assert harness.state() is RunState.STEP


# ---- several at once --------------------------------------------------------------------------------


def test_threads_wait_each_on_their_own(harness: DebuggerHarness) -> None:
    (_, first), (_, second), (_, third) = (
        harness.begin_query(),
        harness.begin_query(),
        harness.begin_query(),
    )
    assert harness.run().pending == (first, second, third)

    harness.step(second)
    assert harness.answers == [SentAnswer(second)]
    assert (harness.state(), harness.run().agent_state) == (RunState.HALTED, AgentActivity.HALTED)
    harness.step()
    assert harness.answers[-1] == SentAnswer(first)
    harness.step()
    assert harness.answers[-1] == SentAnswer(third)
    assert harness.state() is RunState.STEP


def test_continue_answers_all_in_their_order(harness: DebuggerHarness) -> None:
    points = [harness.begin_query()[1] for _ in range(4)]
    harness.resume()
    assert harness.answers == [SentAnswer(point) for point in points]
    assert harness.state() is RunState.CONTINUE


def test_a_withdrawn_breakpoint_leaves_the_others(harness: DebuggerHarness) -> None:
    (_, first), (_, second) = harness.begin_query(), harness.begin_query()
    harness.withdraw(first)
    assert harness.run().pending == (second,)
    harness.withdraw(second)
    assert (harness.state(), harness.run().agent_state) == (RunState.STEP, AgentActivity.RUNNING)
    assert harness.answers == []


def test_a_withdrawal_that_crosses_the_answer_is_no_error(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.step()
    before = list(harness.records)
    harness.withdraw(asked)
    assert harness.records == before
    assert harness.answers == [SentAnswer(asked)]


# ---- the order and form of events -------------------------------------------------------------------

Say = Callable[[DebuggerHarness], object]


def ends_twice(harness: DebuggerHarness) -> None:
    event, _ = harness.begin_query()
    harness.reach(event, EventSide.END)
    harness.reach(event, EventSide.END)


def begins_twice(harness: DebuggerHarness) -> None:
    event, _ = harness.begin_query()
    harness.reach(event)


def same_event(harness: DebuggerHarness) -> None:
    harness.begin(id="e")
    harness.begin(id="e")


def same_ended_event(harness: DebuggerHarness) -> None:
    harness.post_debug_message('"x"')
    harness.begin(id="e1")


def same_breakpoint_while_pending(harness: DebuggerHarness) -> None:
    event, asked = harness.begin_query()
    harness.reach(event, EventSide.END, id=asked)


def same_breakpoint_after_its_answer(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.step()
    harness.reach(harness.begin(), id=asked)


def message_with_a_breakpoints_id(harness: DebuggerHarness) -> None:
    _, asked = harness.begin_query()
    harness.begin(EventKind.DEBUG_MESSAGE, id=asked)


def breakpoint_with_a_messages_id(harness: DebuggerHarness) -> None:
    said = harness.post_debug_message('"x"')
    harness.reach(harness.begin(), id=said)


def same_commit(harness: DebuggerHarness) -> None:
    harness.commit(id="c")
    harness.commit(id="c")


def message_with_a_breakpoint(harness: DebuggerHarness) -> None:
    harness.reach(harness.post_debug_message('"x"'))


def start_twice(harness: DebuggerHarness) -> None:
    harness.start()


FORBIDDEN: dict[str, tuple[Say, str, str]] = {
    "unknown event": (
        lambda harness: harness.reach("none"),
        "unknown_event",
        "Send the event before",
    ),
    "end without begin": (
        lambda harness: harness.reach(harness.begin(), EventSide.END),
        "event_not_begun",
        "hasn't begun",
    ),
    "ends twice": (ends_twice, "event_ended", "has ended"),
    "begins twice": (begins_twice, "event_ended", "has begun already"),
    "message with a halt point": (message_with_a_breakpoint, "event_ended", "has ended"),
    "same event": (same_event, "duplicate", "Event e was sent already"),
    "same ended event": (same_ended_event, "duplicate", "Event e1 was sent already"),
    "same pending": (same_breakpoint_while_pending, "duplicate", "Halt point b2 was sent"),
    "same answered": (same_breakpoint_after_its_answer, "duplicate", "Halt point b2 was sent"),
    "halt point's id": (message_with_a_breakpoints_id, "duplicate", "Message b2 was sent already"),
    "message's id": (breakpoint_with_a_messages_id, "duplicate", "Halt point e1 was sent already"),
    "same commit": (same_commit, "duplicate", "Commit c was sent already"),
    "same run": (start_twice, "already_open", "A run with the id run exists already"),
    "event of no run": (lambda harness: harness.begin(run="none"), "run_ended", "Start a new run"),
    "commit of no run": (
        lambda harness: harness.commit(run="none"),
        "run_ended",
        "Start a new run",
    ),
    "withdraw of no run": (
        lambda harness: harness.withdraw("b", "none"),
        "run_ended",
        "Start a new",
    ),
    "end of no run": (lambda harness: harness.finish("none"), "run_ended", "Start a new run"),
}


@pytest.mark.parametrize(("says", "code", "text"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_an_agent_may_not_send(
    harness: DebuggerHarness, says: Say, code: str, text: str
) -> None:
    with pytest.raises(AgentStepperError, match=text) as refused:
        says(harness)
    assert refused.value.code == code
    # It has changed nothing, and the agent goes on.
    _, asked = harness.begin_query()
    harness.step(asked)
    assert harness.answers[-1] == SentAnswer(asked)


def test_rows_are_numbered_and_debug_messages_are_rows(harness: DebuggerHarness) -> None:
    event, asked = harness.begin_query()
    said = harness.post_debug_message('"look"')
    answered = harness.reach(event, EventSide.END)
    assert [
        harness.find_halt_point(asked).seq,
        harness.find_event(said).seq,
        harness.find_halt_point(answered).seq,
    ] == [
        1,
        2,
        3,
    ]
    assert harness.run().rows == 3
    assert harness.answers == []


def test_events_know_their_depth(harness: DebuggerHarness) -> None:
    outer = harness.begin(EventKind.TOOL_INVOCATION)
    inner = harness.begin(parent=outer)
    innermost = harness.begin(parent=inner)
    depths = [harness.find_event(each).depth for each in (outer, inner, innermost)]
    assert depths == [0, 1, 2]
    assert harness.find_halt_point(harness.reach(innermost)).depth == 2
    assert harness.find_event(harness.begin(parent="never-seen")).depth == 0


def test_breakpoints_take_kind_and_name_from_their_event(harness: DebuggerHarness) -> None:
    point = harness.find_halt_point(
        harness.reach(harness.begin(EventKind.TOOL_INVOCATION, name="ls"))
    )
    assert (point.kind, point.name) == (EventKind.TOOL_INVOCATION, "ls")


def test_an_events_duration_is_from_its_begins_answer_to_its_end(harness: DebuggerHarness) -> None:
    event, asked = harness.begin_query()
    harness.now += 60  # the person reads
    harness.step()
    harness.now += 2.5  # the model thinks
    answer = harness.reach(event, EventSide.END)
    assert harness.find_halt_point(answer).duration == 2.5
    assert harness.find_halt_point(asked).duration is None


def test_an_event_ends_with_its_outcome(harness: DebuggerHarness) -> None:
    event, _ = harness.begin_query()
    harness.step()
    failure = Failure(type="OSError", message="gone")
    harness.reach(event, EventSide.END, outcome=EventOutcome.ERROR, failure=failure)
    assert harness.find_event(event).outcome is EventOutcome.ERROR
    other, _ = harness.begin_query()
    harness.reach(other, EventSide.END)
    assert harness.find_event(other).outcome is EventOutcome.OK


def test_commits_stand_after_the_last_row(harness: DebuggerHarness) -> None:
    harness.commit(id="first")
    harness.begin_query()
    harness.commit(id="second")
    commits = [r.commit for r in harness.records if hasattr(r, "commit")]
    assert [(c.id, c.seq) for c in commits] == [("first", 0), ("second", 1)]
    assert harness.run().commits == 2


def test_snapshots_are_counted_until_a_commit_covers_them(harness: DebuggerHarness) -> None:
    counts = []
    for snapshot in (False, True, True, False, False, True):
        harness.commit(snapshot=snapshot)
        counts.append(harness.run().commits)
    assert counts == [1, 2, 3, 2, 3, 4]
    assert [r.commit.snapshot for r in harness.records if hasattr(r, "commit")].count(True) == 3
    harness.commit(id="snap", snapshot=True)
    with pytest.raises(AgentStepperError, match="snap"):
        harness.commit(id="snap")


# ---- the end ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (RunEnding.FINISHED, EventOutcome.OK),
        (RunEnding.STOPPED, EventOutcome.STOPPED),
        (RunEnding.CRASHED, EventOutcome.ERROR),
        (RunEnding.LOST, EventOutcome.ERROR),
    ],
)
def test_a_run_ends_with_a_last_message(
    harness: DebuggerHarness, ending: RunEnding, outcome: EventOutcome
) -> None:
    failure = Failure(type="E", message="m") if ending is RunEnding.CRASHED else None
    harness.now += 5
    harness.finish(ending=ending, failure=failure)
    run = harness.run()
    assert (run.state, run.agent_state, run.ending, run.failure, run.ended_at) == (
        RunState.IDLE,
        AgentActivity.FINISHED,
        ending,
        failure,
        harness.now,
    )
    last = next(r.halt_point for r in reversed(harness.records) if hasattr(r, "halt_point"))
    assert (last.kind, last.summary, last.outcome, last.seq) == (
        EventKind.PROGRAM_FINISHED,
        "Agent execution finished.",
        outcome,
        1,
    )
    assert not last.waits


def test_what_is_pending_at_the_end_is_withdrawn_not_answered(harness: DebuggerHarness) -> None:
    points = [harness.begin_query()[1] for _ in range(3)]
    harness.finish(ending=RunEnding.LOST)
    withdrawn = [r for r in harness.records if isinstance(r, HaltPointAnswered)]
    assert [(r.halt_point, r.answer) for r in withdrawn] == [
        (point, AnswerKind.WITHDRAWN) for point in points
    ]
    assert harness.answers == []
    assert harness.run().pending == ()
    assert harness.debugger.pending("run") == []
