"""Rows of the timeline: what they show of a halt point or a message, and how it ended."""

from __future__ import annotations

import pytest

from agentstepper_nb.core import make_debug_row, make_row
from agentstepper_nb.core.summaries import MAX_SUMMARY_CHARS, flatten_json
from agentstepper_nb.protocol.data_model import (
    Actor,
    AnswerKind,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    Usage,
)
from tests.unit.core.points import ANSWER, ASK, CALL, RESULT, Where, point

END = (EventKind.PROGRAM_FINISHED, EventSide.BEGIN)


@pytest.mark.parametrize("answer", [None, AnswerKind.RESUME])
def test_an_exception_that_a_person_replaced_is_no_failure(answer: AnswerKind | None) -> None:
    failure = Failure(type="TimeoutError", message="60 s")
    replaced = point(
        RESULT, "null", outcome=EventOutcome.ERROR, failure=failure, edit='"fine"', answer=answer
    )
    made = make_row(replaced)
    assert (made.summary, made.outcome) == ("fine", EventOutcome.OK)
    assert made.failure == failure  # who looks at the original still reads it


@pytest.mark.parametrize("answer", [AnswerKind.WITHDRAWN, AnswerKind.STOP])
def test_an_exception_stays_where_the_agent_never_got_its_replacement(answer: AnswerKind) -> None:
    failure = Failure(type="TimeoutError", message="60 s")
    kept = point(
        RESULT, "null", outcome=EventOutcome.ERROR, failure=failure, edit='"fine"', answer=answer
    )
    assert (make_row(kept).summary, make_row(kept).outcome) == (
        "Failed: TimeoutError: 60 s",
        EventOutcome.ERROR,
    )


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ('"loop finished ✓"', "loop finished ✓"),
        ('{"a": 1}', '{"a":1}'),
        ("null", ""),
        ("NaN", "NaN"),
        ('"' + "x" * 2_000_000 + '"', "x" * (MAX_SUMMARY_CHARS - 1) + "…"),
    ],
    ids=["text", "object", "null", "NaN", "huge"],
)
def test_debug_messages(data: str, line: str) -> None:
    assert flatten_json(data) == line
    event = Event(id="e", run="r", kind=EventKind.DEBUG_MESSAGE, at=1.0, seq=4, data=data)
    made = make_debug_row(event)
    assert (made.summary, made.seq, made.side, made.size) == (line, 4, None, len(data.encode()))
    assert (made.source, made.target, made.pending) == (Actor.AGENT, Actor.SYSTEM, False)


@pytest.mark.parametrize(
    ("where", "source", "target"),
    [
        (ASK, Actor.AGENT, Actor.LLM),
        (ANSWER, Actor.LLM, Actor.AGENT),
        (CALL, Actor.AGENT, Actor.TOOLS),
        (RESULT, Actor.TOOLS, Actor.AGENT),
        ((EventKind.PROGRAM_STARTED, EventSide.BEGIN), Actor.SYSTEM, Actor.AGENT),
        ((EventKind.PROGRAM_FINISHED, EventSide.BEGIN), Actor.AGENT, Actor.SYSTEM),
    ],
)
def test_who_speaks_to_whom(where: Where, source: Actor, target: Actor) -> None:
    made = make_row(point(where, '"x"'))
    assert (made.source, made.target) == (source, target)


def test_a_row_is_a_breakpoint_without_its_contents() -> None:
    usage = Usage(input_tokens=1, output_tokens=2)
    made = make_row(point(ANSWER, '"é"', name="m", depth=2, usage=usage, duration=1.5))
    assert (made.pending, made.edited, made.revision, made.size) == (True, False, 1, 4)
    assert (made.name, made.depth, made.usage, made.duration) == ("m", 2, usage, 1.5)
    edited = make_row(point(ANSWER, '"é"', edit="null", revision=2, answer=AnswerKind.RESUME))
    assert (edited.pending, edited.edited, edited.revision) == (False, True, 2)
    assert (edited.size, edited.summary) == (4, "Answers with nothing")


@pytest.mark.parametrize(
    ("outcome", "failure", "line"),
    [
        (EventOutcome.OK, None, "Agent execution finished"),
        (EventOutcome.STOPPED, None, "Agent execution was stopped"),
        (EventOutcome.ERROR, None, "The agent broke off"),
        (
            EventOutcome.ERROR,
            Failure(type="KeyError", message="'total'"),
            "Failed: KeyError: 'total'",
        ),
        (None, None, "Agent execution finished"),
    ],
)
def test_the_last_message_says_how_the_run_ended(
    outcome: EventOutcome | None, failure: Failure | None, line: str
) -> None:
    """Its own summary is version 1's, which is the same for all."""
    own = "Agent execution finished."
    ended = point(END, "null", summary=own, outcome=outcome, failure=failure)
    assert make_row(ended).summary == line
