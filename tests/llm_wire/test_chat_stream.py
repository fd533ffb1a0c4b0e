"""Chat completions as servers other than OpenAI's stream them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.llm_wire import chat_completions, sse
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


def read(*chunks: Any, done: bool = True) -> list[AgentEvent]:
    stream = chat_completions.ChatCompletionStream()
    told: list[AgentEvent] = []
    for chunk in chunks:
        told += stream.feed(sse.encode_event(json.dumps(chunk).encode()))
    return told + stream.feed(sse.DONE if done else b"") + stream.close()


def delta(finish: str | None = None, **said: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def call(arguments: Any, index: int | None = 0, **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    piece = {"index": index, "function": {"name": name, "arguments": arguments}} | more
    return delta(tool_calls=[piece])


def ready(events: list[AgentEvent]) -> list[tuple[str, str, str]]:
    return [(e.call_id, e.name, e.args_json) for e in events if isinstance(e, ToolCallReady)]


def test_calls_that_are_written_by_turns() -> None:
    events = read(
        call("", 0, id="a", name="f"),
        call("", 1, id="b", name="g"),
        call("[1", 0),
        call("[2", 1),
        call("]", 0),
        call("]", 1),
        delta("tool_calls"),
    )
    assert ready(events) == [("a", "f", "[1]"), ("b", "g", "[2]")]


def test_no_index_a_new_id_begins_a_call() -> None:
    events = read(
        call("{}", None, id="a", name="f"),
        call('{"x"', None, id="b", name="g"),
        call(":1}", None, id="b"),
        call(" ", None),
        delta("tool_calls"),
    )
    assert ready(events) == [("a", "f", "{}"), ("b", "g", '{"x":1} ')]


def test_no_ids_are_given_by_whoever_reads() -> None:
    stream = chat_completions.ChatCompletionStream(lambda number: f"mine_{number}")
    chunks = (call("{}", 0, name="f"), call("{}", 1, name="g"), delta("tool_calls"))
    told = [
        e for chunk in chunks for e in stream.feed(sse.encode_event(json.dumps(chunk).encode()))
    ]
    assert ready(told) == [("mine_0", "f", "{}"), ("mine_1", "g", "{}")]


def test_a_name_that_comes_late_and_is_repeated() -> None:
    events = read(
        call('{"a"', id="a", name=""), call(":1", name="f"), call("}", name="f"), delta("stop")
    )
    assert events == [
        ToolCallStarted("a", "f"),
        ToolCallArgsDelta("a", '{"a":1'),
        ToolCallArgsDelta("a", "}"),
        ToolCallReady("a", "f", '{"a":1}'),
        ResponseCompleted("tool_calls", None),
    ]


def test_arguments_that_are_an_object() -> None:
    events = read(call({"a": 1}, id="a", name="f"), delta("stop"))
    assert ready(events) == [("a", "f", '{"a":1}')]


def test_malformed_arguments_are_the_models_and_whole() -> None:
    assert ready(read(call('{"a": ', id="a", name="f"), delta("tool_calls"))) == [
        ("a", "f", '{"a": ')
    ]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_what_is_cut_short_has_no_ready_calls(reason: str) -> None:
    events = read(call("{}", id="a", name="f"), delta(reason))
    assert ready(events) == []
    assert events[-1] == ResponseCompleted(reason, None)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("choices", [[], None])
def test_usage_after_the_reason_with_and_without_a_done(done: bool, choices: Any) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    events = read(delta("stop", content="x"), {"choices": choices, "usage": usage}, done=done)
    used = Usage(input_tokens=3, output_tokens=2)
    assert events == [TextDelta("x"), ResponseCompleted("stop", used)]


def test_a_done_without_a_reason() -> None:
    assert read(delta(content="x"))[-1] == ResponseCompleted("stop", None)
    assert read(call("{}", id="a", name="f"))[-1] == ResponseCompleted("tool_calls", None)


def test_a_reason_nobody_knows() -> None:
    assert read(delta("bored", content="x")) == [
        TextDelta("x"),
        TraceEvent("unknown", {"finish_reason": "bored"}),
        ResponseCompleted("stop", None),
    ]


def test_other_choices_are_left_out() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    assert read(other, delta("stop", content="x"))[0] == TextDelta("x")


def test_content_in_parts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "thinking"}, {"type": "text", "text": "b"}]
    assert read(delta("stop", content=parts))[0] == TextDelta("ab")


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ("out of memory", "refused", "out of memory"),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, "overloaded", "slow down"),
        ({"message": "", "type": "server_error", "code": 500}, "overloaded", "server_error"),
        ({}, "refused", "no reason was given"),
    ],
)
def test_errors_in_every_form(error: Any, kind: str, words: str) -> None:
    trace, end = read({"error": error})
    assert isinstance(trace, TraceEvent)
    assert trace.data["kind"] == kind
    assert trace.data["message"].endswith(words)
    assert end == ResponseCompleted("error", None)
