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
from tests.helpers.stage import Answered, Stage


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.start()
    return stage


def test_a_program_starts_in_step(stage: Stage) -> None:
    run = stage.run()
    assert (run.mode, run.state, run.agent_state) == (
        RunMode.STEP,
        RunState.STEP,
        AgentActivity.RUNNING,
    )


def test_a_program_is_named_by_its_number_in_the_history(stage: Stage) -> None:
    stage.start("second")
    stage.start("other", program="Q")
    names = [run.name for run in stage.debugger.runs]
    assert names == ["Run #1 of P", "Run #2 of P", "Run #1 of Q"]


def test_a_query_is_walked_through_in_step(stage: Stage) -> None:
    event, asked = stage.query()
    run = stage.run()
    assert (run.state, run.agent_state, run.pending) == (
        RunState.HALTED,
        AgentActivity.HALTED,
        (asked,),
    )
    assert stage.answers == []

    stage.step()
    assert stage.answers == [Answered(asked)]
    assert (stage.state(), stage.run().agent_state) == (RunState.STEP, AgentActivity.LLM_THINKING)

    answer = stage.reach(event, EventSide.END, data='"hi"')
    assert stage.state() is RunState.HALTED
    stage.step()
    assert stage.answers == [Answered(asked), Answered(answer)]
    assert stage.run().agent_state is AgentActivity.RUNNING


def test_a_tool_executes_between_its_breakpoints(stage: Stage) -> None:
    stage.call('{"Tool": "ls", "Argument": null}')
    stage.step()
    assert stage.run().agent_state is AgentActivity.TOOL_EXECUTING


def test_in_continue_breakpoints_are_answered_at_once(stage: Stage) -> None:
    stage.resume()
    event, asked = stage.query()
    assert stage.answers == [Answered(asked)]
    assert stage.run().agent_state is AgentActivity.LLM_THINKING
    answer = stage.reach(event, EventSide.END)
    assert stage.answers == [Answered(asked), Answered(answer)]
    assert (stage.state(), stage.run().agent_state) == (RunState.CONTINUE, AgentActivity.RUNNING)
    assert stage.run().pending == ()


def test_halt_in_continue_is_halting_until_the_next_breakpoint(stage: Stage) -> None:
    stage.resume()
    stage.halt()
    assert (stage.state(), stage.run().agent_state) == (RunState.STEP, AgentActivity.HALTING)
    stage.query()
    assert (stage.state(), stage.run().agent_state) == (RunState.HALTED, AgentActivity.HALTED)


def test_halting_ends_with_continue(stage: Stage) -> None:
    stage.halt()
    stage.resume()
    assert (stage.state(), stage.run().agent_state) == (RunState.CONTINUE, AgentActivity.RUNNING)


def test_halting_outlasts_a_breakpoint_that_does_not_wait(stage: Stage) -> None:
    stage.halt()
    stage.reach(stage.begin(), waits=False)
    assert (stage.state(), stage.run().agent_state) == (RunState.STEP, AgentActivity.HALTING)


def test_step_in_continue_halts_at_the_next_breakpoint(stage: Stage) -> None:
    stage.resume()
    stage.step()
    _, asked = stage.query()
    assert stage.run().pending == (asked,)


def test_a_breakpoint_that_does_not_wait_is_never_pending_nor_answered(stage: Stage) -> None:
    passed = stage.reach(stage.begin(), waits=False)
    assert stage.answers == []
    assert stage.run().pending == ()
    assert stage.point(passed).answer is AnswerKind.RESUME


def test_halt_while_halted_stays_so_when_the_breakpoint_is_withdrawn(stage: Stage) -> None:
    _, asked = stage.query()
    stage.halt()
    assert stage.run().agent_state is AgentActivity.HALTED
    stage.withdraw(asked)
    assert stage.state() is RunState.STEP


# ---- several at once --------------------------------------------------------------------------------


def test_threads_wait_each_on_their_own(stage: Stage) -> None:
    (_, first), (_, second), (_, third) = stage.query(), stage.query(), stage.query()
    assert stage.run().pending == (first, second, third)

    stage.step(second)
    assert stage.answers == [Answered(second)]
    assert (stage.state(), stage.run().agent_state) == (RunState.HALTED, AgentActivity.HALTED)
    stage.step()
    assert stage.answers[-1] == Answered(first)
    stage.step()
    assert stage.answers[-1] == Answered(third)
    assert stage.state() is RunState.STEP


def test_continue_answers_all_in_their_order(stage: Stage) -> None:
    points = [stage.query()[1] for _ in range(4)]
    stage.resume()
    assert stage.answers == [Answered(point) for point in points]
    assert stage.state() is RunState.CONTINUE


def test_a_withdrawn_breakpoint_leaves_the_others(stage: Stage) -> None:
    (_, first), (_, second) = stage.query(), stage.query()
    stage.withdraw(first)
    assert stage.run().pending == (second,)
    stage.withdraw(second)
    assert (stage.state(), stage.run().agent_state) == (RunState.STEP, AgentActivity.RUNNING)
    assert stage.answers == []


def test_a_withdrawal_that_crosses_the_answer_is_no_error(stage: Stage) -> None:
    _, asked = stage.query()
    stage.step()
    before = list(stage.records)
    stage.withdraw(asked)
    assert stage.records == before
    assert stage.answers == [Answered(asked)]


# ---- the order and form of events -------------------------------------------------------------------

Say = Callable[[Stage], object]


def ends_twice(stage: Stage) -> None:
    event, _ = stage.query()
    stage.reach(event, EventSide.END)
    stage.reach(event, EventSide.END)


def begins_twice(stage: Stage) -> None:
    event, _ = stage.query()
    stage.reach(event)


def same_event(stage: Stage) -> None:
    stage.begin(id="e")
    stage.begin(id="e")


def same_ended_event(stage: Stage) -> None:
    stage.say('"x"')
    stage.begin(id="e1")


def same_breakpoint_while_pending(stage: Stage) -> None:
    event, asked = stage.query()
    stage.reach(event, EventSide.END, id=asked)


def same_breakpoint_after_its_answer(stage: Stage) -> None:
    _, asked = stage.query()
    stage.step()
    stage.reach(stage.begin(), id=asked)


def message_with_a_breakpoints_id(stage: Stage) -> None:
    _, asked = stage.query()
    stage.begin(EventKind.DEBUG_MESSAGE, id=asked)


def breakpoint_with_a_messages_id(stage: Stage) -> None:
    said = stage.say('"x"')
    stage.reach(stage.begin(), id=said)


def same_commit(stage: Stage) -> None:
    stage.commit(id="c")
    stage.commit(id="c")


def message_with_a_breakpoint(stage: Stage) -> None:
    stage.reach(stage.say('"x"'))


def start_twice(stage: Stage) -> None:
    stage.start()


FORBIDDEN: dict[str, tuple[Say, str, str]] = {
    "unknown event": (lambda stage: stage.reach("none"), "unknown_event", "Send the event before"),
    "end without begin": (
        lambda stage: stage.reach(stage.begin(), EventSide.END),
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
    "event of no run": (lambda stage: stage.begin(run="none"), "run_ended", "Start a new run"),
    "commit of no run": (lambda stage: stage.commit(run="none"), "run_ended", "Start a new run"),
    "withdraw of no run": (lambda stage: stage.withdraw("b", "none"), "run_ended", "Start a new"),
    "end of no run": (lambda stage: stage.finish("none"), "run_ended", "Start a new run"),
}


@pytest.mark.parametrize(("says", "code", "text"), FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_an_agent_may_not_send(stage: Stage, says: Say, code: str, text: str) -> None:
    with pytest.raises(AgentStepperError, match=text) as refused:
        says(stage)
    assert refused.value.code == code
    # It has changed nothing, and the agent goes on.
    _, asked = stage.query()
    stage.step(asked)
    assert stage.answers[-1] == Answered(asked)


def test_rows_are_numbered_and_debug_messages_are_rows(stage: Stage) -> None:
    event, asked = stage.query()
    said = stage.say('"look"')
    answered = stage.reach(event, EventSide.END)
    assert [stage.point(asked).seq, stage.event(said).seq, stage.point(answered).seq] == [1, 2, 3]
    assert stage.run().rows == 3
    assert stage.answers == []


def test_events_know_their_depth(stage: Stage) -> None:
    outer = stage.begin(EventKind.TOOL_INVOCATION)
    inner = stage.begin(parent=outer)
    innermost = stage.begin(parent=inner)
    depths = [stage.event(each).depth for each in (outer, inner, innermost)]
    assert depths == [0, 1, 2]
    assert stage.point(stage.reach(innermost)).depth == 2
    assert stage.event(stage.begin(parent="never-seen")).depth == 0


def test_breakpoints_take_kind_and_name_from_their_event(stage: Stage) -> None:
    point = stage.point(stage.reach(stage.begin(EventKind.TOOL_INVOCATION, name="ls")))
    assert (point.kind, point.name) == (EventKind.TOOL_INVOCATION, "ls")


def test_an_events_duration_is_from_its_begins_answer_to_its_end(stage: Stage) -> None:
    event, asked = stage.query()
    stage.now += 60  # the person reads
    stage.step()
    stage.now += 2.5  # the model thinks
    answer = stage.reach(event, EventSide.END)
    assert stage.point(answer).duration == 2.5
    assert stage.point(asked).duration is None


def test_an_event_ends_with_its_outcome(stage: Stage) -> None:
    event, _ = stage.query()
    stage.step()
    failure = Failure(type="OSError", message="gone")
    stage.reach(event, EventSide.END, outcome=EventOutcome.ERROR, failure=failure)
    assert stage.event(event).outcome is EventOutcome.ERROR
    other, _ = stage.query()
    stage.reach(other, EventSide.END)
    assert stage.event(other).outcome is EventOutcome.OK


def test_commits_stand_after_the_last_row(stage: Stage) -> None:
    stage.commit(id="first")
    stage.query()
    stage.commit(id="second")
    commits = [r.commit for r in stage.records if hasattr(r, "commit")]
    assert [(c.id, c.seq) for c in commits] == [("first", 0), ("second", 1)]
    assert stage.run().commits == 2


def test_snapshots_are_counted_until_a_commit_covers_them(stage: Stage) -> None:
    counts = []
    for snapshot in (False, True, True, False, False, True):
        stage.commit(snapshot=snapshot)
        counts.append(stage.run().commits)
    assert counts == [1, 2, 3, 2, 3, 4]
    assert [r.commit.snapshot for r in stage.records if hasattr(r, "commit")].count(True) == 3
    stage.commit(id="snap", snapshot=True)
    with pytest.raises(AgentStepperError, match="snap"):
        stage.commit(id="snap")


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
    stage: Stage, ending: RunEnding, outcome: EventOutcome
) -> None:
    failure = Failure(type="E", message="m") if ending is RunEnding.CRASHED else None
    stage.now += 5
    stage.finish(ending=ending, failure=failure)
    run = stage.run()
    assert (run.state, run.agent_state, run.ending, run.failure, run.ended_at) == (
        RunState.IDLE,
        AgentActivity.FINISHED,
        ending,
        failure,
        stage.now,
    )
    last = next(r.halt_point for r in reversed(stage.records) if hasattr(r, "halt_point"))
    assert (last.kind, last.summary, last.outcome, last.seq) == (
        EventKind.PROGRAM_FINISHED,
        "Agent execution finished.",
        outcome,
        1,
    )
    assert not last.waits


def test_what_is_pending_at_the_end_is_withdrawn_not_answered(stage: Stage) -> None:
    points = [stage.query()[1] for _ in range(3)]
    stage.finish(ending=RunEnding.LOST)
    withdrawn = [r for r in stage.records if isinstance(r, HaltPointAnswered)]
    assert [(r.halt_point, r.answer) for r in withdrawn] == [
        (point, AnswerKind.WITHDRAWN) for point in points
    ]
    assert stage.answers == []
    assert stage.run().pending == ()
    assert stage.debugger.pending("run") == []
