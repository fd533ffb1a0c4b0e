"""A model's answer, put together from its events: the model's order, and ids that tell calls apart."""

from __future__ import annotations

from agentstepper_nb.llm_wire.answer_builder import AnswerBuilder
from agentstepper_nb.llm_wire.conversation import AssistantMessage, ToolCall, UserMessage
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
)


def gathered(
    *events: AgentEvent, before: tuple[str, ...] = ()
) -> tuple[list[AgentEvent], list[str]]:
    """What is told of events, and the ids of the answer's calls."""
    calls = tuple(ToolCall(call_id=id, name="t", args_json="{}") for id in before)
    gathering = AnswerBuilder((UserMessage(content="Go."), AssistantMessage(tool_calls=calls)))
    told = [gathering.add(event) for event in (*events, ResponseCompleted("tool_calls"))]
    return told[:-1], [call.call_id for call in gathering.answer().message.tool_calls]


def whole(id: str) -> tuple[AgentEvent, ...]:
    return ToolCallStarted(id, "t"), ToolCallArgsDelta(id, "{}"), ToolCallReady(id, "t", "{}")


def test_calls_stand_in_the_order_in_which_they_began() -> None:
    _, ids = gathered(
        ToolCallStarted("a", "t"),
        ToolCallStarted("never", "t"),
        ToolCallStarted("b", "t"),
        ToolCallReady("b", "t", "{}"),
        ToolCallReady("a", "t", "{bad"),
        ToolCallReady("c", "t", "{}"),
    )
    assert ids == ["a", "b", "c"]


def test_all_events_of_a_call_have_the_id_that_it_is_given() -> None:
    told, ids = gathered(*whole("x"), *whole("x"), *whole(""), *whole("call"))
    assert ids == ["x", "x_2", "call", "call_2"]
    assert told == [event for id in ids for event in whole(id)]


def test_calls_that_are_written_at_once_keep_apart() -> None:
    told, ids = gathered(
        ToolCallStarted("x", "t"),
        ToolCallStarted("x", "t"),
        ToolCallReady("x", "t", "1"),
        ToolCallReady("x", "t", "2"),
    )
    assert ids == ["x", "x_2"]
    assert told[2:] == [ToolCallReady("x", "t", "1"), ToolCallReady("x_2", "t", "2")]


def test_an_id_of_the_conversation_is_not_used_again() -> None:
    told, ids = gathered(*whole("call_0"), before=("call_0", "call_0_2"))
    assert ids == ["call_0_3"]
    assert told == [*whole("call_0_3")]


def test_half_characters_are_told_as_they_are_kept() -> None:
    told, ids = gathered(
        TextDelta("\ud83d"),
        ToolCallStarted("\ud83d", "t"),
        ToolCallArgsDelta("\ud83d", '"\ud83d"'),
        ToolCallReady("\ud83d", "t\ud83d", '"\ud83d"'),
    )
    assert told == [
        TextDelta("?"),
        ToolCallStarted("?", "t"),
        ToolCallArgsDelta("?", '"?"'),
        ToolCallReady("?", "t?", '"?"'),
    ]
    assert ids == ["?"]
