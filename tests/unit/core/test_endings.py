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
from agentstepper_nb.protocol.records import EndedRunLoaded, RunTagged
from tests.helpers.stage import Stage, replayed

FAILURE = Failure(type="KeyError", message="It broke.")
DAMAGE = Failure(type="StoreDamaged", message="Some is lost.")


@pytest.fixture
def stage() -> Stage:
    stage = Stage()
    stage.start()
    return stage


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
    stage: Stage, told: list[Usage | None], sum: Usage | None
) -> None:
    stage.resume()
    for usage in told:
        event, _ = stage.query()
        stage.reach(event, EventSide.END, usage=usage)
    assert stage.run().usage == sum
    assert replayed(stage.records).status["run"].run == stage.run()


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
def test_who_broke_off_says_what_came_last(stage: Stage, ending: RunEnding) -> None:
    stage.query()
    stage.say('"here"')
    stage.begin()  # it did not come to its halt point
    stage.finish(ending=ending)
    broke_off = ending in (RunEnding.CRASHED, RunEnding.LOST)
    assert stage.run().last_event == ("debug message (row 2)" if broke_off else None)


# ---- ends ------------------------------------------------------------------------------------------


def test_what_was_lost_before_is_said_at_the_end(stage: Stage) -> None:
    stage.detach()
    stage.attach(failure=DAMAGE)
    assert (stage.state(), stage.run().failure) == (RunState.STEP, DAMAGE)
    stage.detach()
    stage.attach()
    stage.finish(ending=RunEnding.CRASHED, failure=FAILURE)
    both = Failure(type="KeyError", message="It broke. Some is lost.")
    assert stage.run().failure == both


def test_a_run_that_was_damaged_and_finished(stage: Stage) -> None:
    stage.attach(failure=DAMAGE)
    stage.finish()
    assert (stage.run().ending, stage.run().failure) == (RunEnding.FINISHED, DAMAGE)


def test_an_exit_code_that_is_told_late(stage: Stage) -> None:
    stage.finish(ending=RunEnding.LOST)
    stage.report_exit(-9, FAILURE)
    run = stage.run()
    assert (run.ending, run.failure, run.exit_code) == (RunEnding.CRASHED, FAILURE, -9)
    stage.report_exit(1)
    assert stage.run() == replace(run, exit_code=1)


def test_an_exit_code_with_the_end(stage: Stage) -> None:
    stage.finish(ending=RunEnding.CRASHED, failure=FAILURE, exit_code=3)
    assert stage.run().exit_code == 3


def test_what_the_store_lost_and_its_agent_sends_again_is_no_failure(stage: Stage) -> None:
    lost = Failure(type=CHANGES_LOST, message="The last change is lost.")
    stage.debugger.restore([RunTagged(run=replace(stage.run(), failure=lost))])
    stage.detach()
    assert stage.run().failure == lost
    stage.attach()
    assert stage.run().failure is None


# ---- away ------------------------------------------------------------------------------------------


def test_away_is_since_the_first_time(stage: Stage) -> None:
    stage.detach()
    stage.now += 5
    stage.detach()
    assert stage.run().detached_at == 1000.0
    records = len(stage.records)
    stage.attach()
    stage.attach()
    assert len(stage.records) == records + 1
    assert stage.run().detached_at is None


def test_a_run_that_has_ended_is_neither_away_nor_back(stage: Stage) -> None:
    stage.finish()
    for does in (stage.detach, stage.attach):
        with pytest.raises(ProtocolError) as refused:
            does()
        assert refused.value.code == "run_ended"
    records = list(stage.records)
    stage.hear(9)
    assert stage.records == records


def test_what_is_known_of_its_agent(stage: Stage) -> None:
    stage.hear(4)
    assert stage.debugger.last_received("run") == 4
    proof = stage.debugger.agent_credentials("run")
    assert proof is not None
    assert proof.secret == "s"
    stage.finish()
    assert stage.debugger.agent_credentials("run") is None
    with pytest.raises(CommandError):
        stage.debugger.last_received("other")


# ---- what people add -------------------------------------------------------------------------------


def test_tags(stage: Stage) -> None:
    stage.tag("slow", " two  words ", "slow")
    assert stage.run().tags == ("slow", "two words")
    stage.finish()
    stage.tag()
    assert stage.run().tags == ()
    assert isinstance(stage.records[-1], RunTagged)
    with pytest.raises(ProtocolError, match="A tag can't be empty"):
        stage.tag("x", " ")


def test_a_sentence_of_what_is_pending_stays_with_it(stage: Stage) -> None:
    _, point = stage.query()
    stage.sentence(stage.point(point), "It asks.")
    assert stage.debugger.pending("run")[0].model_summary == "It asks."
    stage.edit(point, '"edited"')
    stage.step()
    assert [each.answer for each in stage.answers] == [AnswerKind.RESUME]


def test_a_run_that_was_found_has_ended() -> None:
    stage = Stage()
    found = Run(id="old", name="Old", program="P", started_at=1.0, state=RunState.IDLE, rows=7)
    stage.debugger.restore([EndedRunLoaded(run=found)])
    assert (stage.debugger.runs, stage.debugger.active) == ([found], None)
    stage.rename("Older", "old")
    stage.delete("old")
    assert stage.debugger.runs == []
