"""Streams of the Responses and Messages APIs as compatible servers send them, or as they rarely are."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.llm_wire import messages, responses, sse
from agentstepper_nb.llm_wire.answer_stream import AnswerStream
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)
from agentstepper_nb.protocol.data_model import Usage

ARGS = '{"a":1}'
CALLED = [
    ToolCallStarted("c", "f"),
    ToolCallArgsDelta("c", ARGS),
    ToolCallReady("c", "f", ARGS),
]


def read(stream: AnswerStream, *events: dict[str, Any]) -> list[AgentEvent]:
    told: list[AgentEvent] = []
    for event in events:
        told += stream.feed(sse.encode_event(json.dumps(event, separators=(",", ":")).encode()))
    return told + stream.close()


# ---- responses ---------------------------------------------------------------------------------------


def response(*events: dict[str, Any]) -> list[AgentEvent]:
    return read(responses.ResponsesStream(), *events)


def item(kind: str, status: str = "completed", arguments: str = ARGS) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}
    return {
        "type": f"response.output_item.{kind}",
        "output_index": 0,
        "item": call | {"status": status},
    }


def ended(word: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": f"response.{word}", "response": {"status": word, "output": []} | more}


def arguments(fragment: str) -> dict[str, Any]:
    kind = "response.function_call_arguments.delta"
    return {"type": kind, "output_index": 0, "delta": fragment}


CALL_ITEM = item("done")["item"]
DONE = [*CALLED, ResponseCompleted("tool_calls", None)]


@pytest.mark.parametrize(
    "events",
    [
        [item("added", arguments=""), arguments(ARGS), item("done"), ended()],
        [item("added", arguments=""), item("done"), ended()],
        [item("done"), ended()],
        [ended(output=[CALL_ITEM])],
        [item("added", arguments=""), ended(output=[CALL_ITEM])],
        [item("done"), ended(output=[CALL_ITEM])],
    ],
    ids=["all", "no fragments", "item alone", "end alone", "begun, and the end", "said twice"],
)
def test_a_call_is_told_once_whatever_tells_of_it(events: list[dict[str, Any]]) -> None:
    assert response(*events) == DONE


def test_what_the_item_says_holds_over_the_fragments() -> None:
    told = response(item("added", arguments=""), arguments("[2"), item("done"), ended())
    assert ToolCallReady("c", "f", ARGS) in told


def test_fragments_of_a_call_that_never_began() -> None:
    (trace, *_) = response(arguments("x"), ended())
    assert isinstance(trace, TraceEvent)
    assert trace.kind == "unknown"


def test_text_that_the_end_alone_has() -> None:
    parts = [{"type": "output_text", "text": "a"}, {"type": "refusal", "refusal": "b"}]
    told = response(ended(output=[{"type": "message", "content": parts}]))
    assert told == [TextDelta("a"), TextDelta("b"), ResponseCompleted("stop", None)]


@pytest.mark.parametrize(
    ("reason", "means"),
    [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "length")],
)
def test_an_incomplete_response(reason: str, means: str) -> None:
    told = response(ended("incomplete", incomplete_details={"reason": reason}))
    assert told == [ResponseCompleted(means, None)]


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "message": "no", "code": "server_error"},
        {"type": "error", "error": {"message": "no", "type": "server_error"}},
        {"error": {"message": "no", "code": "server_error"}},
        ended("failed", error={"message": "no", "code": "server_error"}),
    ],
)
def test_errors_of_a_response_in_every_form(event: dict[str, Any]) -> None:
    trace, end = response(event)
    assert isinstance(trace, TraceEvent)
    assert trace.data["kind"] == "overloaded"
    assert trace.data["message"].endswith("no")
    assert end == ResponseCompleted("error", None)


def test_a_failure_that_says_nothing() -> None:
    trace, _ = response(ended("failed"))
    assert isinstance(trace, TraceEvent)
    assert trace.data["message"].endswith("no reason was given")


# ---- messages ----------------------------------------------------------------------------------------


def message(*events: dict[str, Any]) -> list[AgentEvent]:
    return read(messages.MessagesStream(), *events)


def begun(**more: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "c", "name": "f", "input": {}} | more
    return {"type": "content_block_start", "index": 0, "content_block": block}


def piece(written: str) -> dict[str, Any]:
    delta = {"type": "input_json_delta", "partial_json": written}
    return {"type": "content_block_delta", "index": 0, "delta": delta}


STOP = {"type": "content_block_stop", "index": 0}
OVER = {"type": "message_stop"}


def stopped(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def test_a_call_whose_input_comes_with_its_block() -> None:
    told = message(begun(input={"a": 1}), STOP, stopped("tool_use"), OVER)
    assert told == [*CALLED, ResponseCompleted("tool_calls", None)]


def test_a_call_is_ready_with_its_block_not_with_the_answer() -> None:
    assert message(begun(), piece(ARGS), STOP)[:3] == CALLED


@pytest.mark.parametrize(("reason", "ready"), [("tool_use", True), ("max_tokens", False)])
def test_malformed_arguments_are_whole_unless_the_answer_was_cut_short(
    reason: str, ready: bool
) -> None:
    told = message(begun(), piece('{"a": '), STOP, stopped(reason), OVER)
    assert (ToolCallReady("c", "f", '{"a": ') in told) == ready


def test_malformed_arguments_are_whole_where_the_model_goes_on() -> None:
    other = {"index": 1, "content_block": {"type": "tool_use", "id": "d", "name": "g", "input": {}}}
    told = message(begun(), piece("{"), STOP, begun() | other, STOP | {"index": 1})
    ready = [event.call_id for event in told if isinstance(event, ToolCallReady)]
    assert ready == ["c", "d"]


@pytest.mark.parametrize("ends", [[stopped("end_turn"), OVER], [OVER]])
def test_calls_of_an_answer_that_is_said_to_be_just_over(ends: list[dict[str, Any]]) -> None:
    called = ToolCallReady("c", "f", "{")
    told = message(begun(), piece("{"), STOP, *ends)
    assert told[-2:] == [called, ResponseCompleted("tool_calls", None)]


def test_an_end_that_misses_its_last_event() -> None:
    assert message(stopped("end_turn", output_tokens=3)) == [
        ResponseCompleted("stop", Usage(output_tokens=3))
    ]


def test_the_newest_numbers_hold() -> None:
    start = {
        "type": "message_start",
        "message": {"usage": {"input_tokens": 5, "output_tokens": 1, "cache_read_input_tokens": 4}},
    }
    told = message(start, stopped(None, output_tokens=2), stopped("end_turn", input_tokens=6), OVER)
    assert told == [ResponseCompleted("stop", Usage(input_tokens=10, output_tokens=2))]


def test_a_reason_nobody_knows() -> None:
    assert message(stopped("bored"), OVER) == [
        TraceEvent("unknown", {"stop_reason": "bored"}),
        ResponseCompleted("stop", None),
    ]


def test_blocks_nobody_asked_for() -> None:
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    assert message(start, piece("{}"), STOP, stopped("end_turn"), OVER) == [
        TraceEvent("unknown", {"content_block": "server_tool_use"}),
        TraceEvent(
            "unknown",
            {"type": "input_json_delta", "text": "", "thinking": "", "partial_json": "{}"},
        ),
        ResponseCompleted("stop", None),
    ]


def test_calls_whose_arguments_are_no_json_are_all_told() -> None:
    told = message(
        *(
            {"type": "content_block_start", "index": i, "content_block": block}
            for i, block in CALLS
        ),
        *({"type": "content_block_delta", "index": i, "delta": BROKEN} for i, _ in CALLS),
        *({"type": "content_block_stop", "index": i} for i, _ in CALLS),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    ready = [event for event in told if isinstance(event, ToolCallReady)]
    assert ready == [ToolCallReady("a", "f", "{bad"), ToolCallReady("b", "f", "{bad")]


CALLS = [(i, {"type": "tool_use", "id": id, "name": "f", "input": {}}) for i, id in enumerate("ab")]
BROKEN = {"type": "input_json_delta", "partial_json": "{bad"}
