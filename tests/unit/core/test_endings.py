"""What a run's header says of it besides its state: what it cost, what it did last, how it ended."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agentstepper_nb.core.timeline_rows import describe_row
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.data_model import (
    CHANGES_LOST,
    AnswerKind,
    EventKind,
    EventSide,
    Failure,
    HaltPoint,
    Run,
    RunEnding,
    RunState,
    Usage,
)
from agentstepper_nb.protocol.effects import CheckRun
from agentstepper_nb.protocol.records import EndedRunLoaded, RunTagged
from tests.helpers.debugger_harness import DebuggerHarness, replay_states

FAILURE = Failure(type="KeyError", message="It broke.")
DAMAGE = Failure(type="StoreDamaged", message="Some is lost.")


@pytest.fixture
def harness() -> DebuggerHarness:
    harness = DebuggerHarness()
    harness.start()
    return harness


# ---- cost ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "sum"),
    [
        ([None, None], None),
        ([Usage(input_tokens=3), None], Usage(input_tokens=3)),
        ([Usage(input_tokens=3), Usage(output_tokens=4)], Usage(input_tokens=3, output_tokens=4)),
        (
            [Usage(input_tokens=3, output_tokens=1), Usage(input_tokens=0, output_tokens=2)],
            Usage(input_tokens=3, output_tokens=3),
        ),
        (
            [Usage(cost=0.25), Usage(input_tokens=1, cost=0.5, estimated=True), Usage(cost=0.25)],
            Usage(input_tokens=1, cost=1.0, estimated=True),
        ),
        ([Usage(cost=0.0), Usage(output_tokens=2)], Usage(output_tokens=2, cost=0.0)),
    ],
)
def test_tokens_and_costs_of_all_queries_are_summed(
    harness: DebuggerHarness, told: list[Usage | None], sum: Usage | None
) -> None:
    harness.resume()
    for usage in told:
        event, _ = harness.begin_query()
        harness.reach(event, EventSide.END, usage=usage)
    assert harness.run().usage == sum
    assert replay_states(harness.records).status["run"].run == harness.run()


# ---- the last event --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name", "side", "words"),
    [
        (EventKind.TOOL_INVOCATION, "run_tests", EventSide.BEGIN, "tool call run_tests (row 12)"),
        (EventKind.TOOL_INVOCATION, None, EventSide.END, "tool result (row 12)"),
        (EventKind.LLM_QUERY, "m-1", EventSide.BEGIN, "LLM query m-1 (row 12)"),
        (EventKind.LLM_QUERY, "a\nb", EventSide.END, "LLM answer a (row 12)"),
        (EventKind.CUSTOM, "retrieval", EventSide.BEGIN, "begin of retrieval (row 12)"),
        (EventKind.CUSTOM, "retrieval", EventSide.END, "end of retrieval (row 12)"),
        (EventKind.PROGRAM_STARTED, None, EventSide.BEGIN, "program started (row 12)"),
        (EventKind.LLM_QUERY, "x" * 999, EventSide.BEGIN, f"LLM query {'x' * 80} (row 12)"),
    ],
)
def test_a_row_in_words(kind: EventKind, name: str | None, side: EventSide, words: str) -> None:
    point = HaltPoint(
        id="b", run="r", event="e", seq=12, side=side, kind=kind, name=name, at=1.0, data="1"
    )
    assert describe_row(point) == words


@pytest.mark.parametrize("ending", RunEnding)
def test_who_broke_off_says_what_came_last(harness: DebuggerHarness, ending: RunEnding) -> None:
    harness.begin_query()
    harness.post_debug_message('"here"')
    harness.begin()  # it did not come to its halt point
    harness.finish(ending=ending)
    broke_off = ending in (RunEnding.CRASHED, RunEnding.LOST)
    assert harness.run().last_event == ("debug message (row 2)" if broke_off else None)


# ---- ends ------------------------------------------------------------------------------------------


def test_what_was_lost_before_is_said_at_the_end(harness: DebuggerHarness) -> None:
    harness.detach()
    harness.attach(failure=DAMAGE)
    assert (harness.state(), harness.run().failure) == (RunState.STEP, DAMAGE)
    harness.detach()
    harness.attach()
    harness.finish(ending=RunEnding.CRASHED, failure=FAILURE)
    both = Failure(type="KeyError", message="It broke. Some is lost.")
    assert harness.run().failure == both


def test_a_run_that_was_damaged_and_finished(harness: DebuggerHarness) -> None:
    harness.attach(failure=DAMAGE)
    harness.finish()
    assert (harness.run().ending, harness.run().failure) == (RunEnding.FINISHED, DAMAGE)


def test_an_exit_code_that_is_told_late(harness: DebuggerHarness) -> None:
    harness.finish(ending=RunEnding.LOST)
    harness.report_exit(-9, FAILURE)
    run = harness.run()
    assert (run.ending, run.failure, run.exit_code) == (RunEnding.CRASHED, FAILURE, -9)
    harness.report_exit(1)
    assert harness.run() == replace(run, exit_code=1)


def test_an_exit_code_with_the_end(harness: DebuggerHarness) -> None:
    harness.finish(ending=RunEnding.CRASHED, failure=FAILURE, exit_code=3)
    assert harness.run().exit_code == 3


def test_what_the_store_lost_and_its_agent_sends_again_is_no_failure(
    harness: DebuggerHarness,
) -> None:
    lost = Failure(type=CHANGES_LOST, message="The last change is lost.")
    harness.debugger.restore([RunTagged(run=replace(harness.run(), failure=lost))])
    harness.detach()
    assert harness.run().failure == lost
    harness.attach()
    assert harness.run().failure is None


# ---- away ------------------------------------------------------------------------------------------


def test_away_is_since_the_first_time(harness: DebuggerHarness) -> None:
    harness.detach()
    harness.now += 5
    harness.detach()
    assert harness.run().detached_at == 1000.0
    records = len(harness.records)
    harness.attach()
    harness.attach()
    assert len(harness.records) == records + 1
    assert harness.run().detached_at is None


def test_a_run_that_has_ended_is_neither_away_nor_back(harness: DebuggerHarness) -> None:
    harness.finish()
    for does in (harness.detach, harness.attach):
        with pytest.raises(ProtocolError) as refused:
            does()
        assert refused.value.code == "run_ended"
    records = list(harness.records)
    harness.acknowledge(9)
    assert harness.records == records


def test_what_is_known_of_its_agent(harness: DebuggerHarness) -> None:
    harness.acknowledge(4)
    assert harness.debugger.last_received("run") == 4
    proof = harness.debugger.agent_credentials("run")
    assert proof is not None
    assert proof.secret == "s"
    harness.finish()
    assert harness.debugger.agent_credentials("run") is None
    with pytest.raises(CommandError):
        harness.debugger.last_received("other")


# ---- what people add -------------------------------------------------------------------------------


def test_tags(harness: DebuggerHarness) -> None:
    harness.tag("slow", " two  words ", "slow")
    assert harness.run().tags == ("slow", "two words")
    harness.finish()
    harness.tag()
    assert harness.run().tags == ()
    assert isinstance(harness.records[-1], RunTagged)
    with pytest.raises(ProtocolError, match="A tag can't be empty"):
        harness.tag("x", " ")


def test_a_sentence_of_what_is_pending_stays_with_it(harness: DebuggerHarness) -> None:
    _, point = harness.begin_query()
    harness.record_summary(harness.find_halt_point(point), "It asks.")
    assert harness.debugger.pending("run")[0].model_summary == "It asks."
    harness.edit(point, '"edited"')
    harness.step()
    assert [each.answer for each in harness.answers] == [AnswerKind.RESUME]


def test_a_run_that_was_found_has_ended() -> None:
    harness = DebuggerHarness()
    found = Run(id="old", name="Old", program="P", started_at=1.0, state=RunState.IDLE, rows=7)
    harness.debugger.restore([EndedRunLoaded(run=found)])
    assert (harness.debugger.runs, harness.debugger.active) == ([found], None)
    harness.rename("Older", "old")
    harness.delete("old")
    assert harness.debugger.runs == []


def test_the_last_checks_of_how_a_run_came_out_are_kept(harness: DebuggerHarness) -> None:
    harness.begin_query()
    for code in range(21):
        check = CheckRun(command="pytest -q", exit_code=code, at=harness.now)
        harness.perform(harness.debugger.record_check_run("run", check))
    checks = harness.run().checks or ()
    assert [each.exit_code for each in checks] == list(range(1, 21))
    assert {each.rows for each in checks} == {1}
    with pytest.raises(CommandError) as unknown:
        harness.debugger.record_check_run("none", check)
    assert unknown.value.code == "unknown_run"


def test_of_runs_that_ended_while_halted_the_last_thousand_are_known(
    harness: DebuggerHarness,
) -> None:
    harness.finish()
    for number in range(1001):
        run = harness.start(f"halted {number}")
        harness.begin_query(run)
        harness.finish(run=run)
    assert harness.debugger.halted_runs == tuple(f"halted {each}" for each in range(1, 1001))


def test_a_run_that_is_halted_stays_known_however_many_end(harness: DebuggerHarness) -> None:
    harness.finish()
    harness.begin_query(harness.start("waits"))
    for number in range(1002):
        run = harness.start(f"halted {number}")
        harness.begin_query(run)
        harness.finish(run=run)
    assert "waits" in harness.debugger.halted_runs
