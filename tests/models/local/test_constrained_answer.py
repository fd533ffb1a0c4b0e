"""A constrained answer as events, however it is cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)
from agentstepper_nb.models.local.constrained_answer import ConstrainedAnswerReader
from agentstepper_nb.protocol.data_model import Usage

USAGE = Usage(input_tokens=3, output_tokens=5)


def read(*pieces: str, reason: str = "stop") -> list[AgentEvent]:
    answer = ConstrainedAnswerReader("c1")
    heard = [*map(TextDelta, pieces), ResponseCompleted(reason, USAGE)]
    return [event for came in heard for event in answer.read(came)]


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def text_of(events: list[AgentEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


CALL = '{"tool": "write_file", "arguments": {"path": "a\\"}.py", "content": "{\\n\\u00fc]"}}'
ARGUMENTS = '{"path": "a\\"}.py", "content": "{\\n\\u00fc]"}'


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_a_call(size: int) -> None:
    first, *pieces, ready, end = read(*cut(CALL, size))
    assert first == ToolCallStarted("c1", "write_file")
    assert all(isinstance(piece, ToolCallArgsDelta) and piece.call_id == "c1" for piece in pieces)
    assert "".join(p.fragment for p in pieces if isinstance(p, ToolCallArgsDelta)) == ARGUMENTS
    assert ready == ToolCallReady("c1", "write_file", ARGUMENTS)
    assert end == ResponseCompleted("tool_calls", USAGE)


def test_a_call_is_told_before_its_end() -> None:
    answer = ConstrainedAnswerReader("c1")
    assert list(answer.read(TextDelta('{\n  "tool": "f",\n "arguments": '))) == []
    assert list(answer.read(TextDelta('{"a'))) == [
        ToolCallStarted("c1", "f"),
        ToolCallArgsDelta("c1", '{"a'),
    ]


@given(st.text(), st.booleans(), st.integers(1, 40))
def test_a_text(text: str, ascii: bool, size: int) -> None:
    said = json.dumps({"text": text}, ensure_ascii=ascii)
    *events, end = read(*cut(said, size))
    assert text_of(events) == text
    assert all(isinstance(event, TextDelta) for event in events)
    assert end == ResponseCompleted("stop", USAGE)


@pytest.mark.slow
@given(st.recursive(st.text() | st.integers() | st.none(), st.lists), st.integers(1, 40))
def test_arguments_of_any_json(value: object, size: int) -> None:
    arguments = json.dumps({"a": value})
    events = read(*cut(f'{{"tool":"f","arguments":{arguments} }}', size))
    assert events[-2:] == [
        ToolCallReady("c1", "f", arguments),
        ResponseCompleted("tool_calls", USAGE),
    ]


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "Hello, I am a model.",
        '  {"tools": 3} what is this?',
        '{"tool": "f", "arguments": "none"}',
        '["text"]',
        "{",
        " \n",
        '{"a": "' + "b" * 900,
    ],
)
def test_what_is_no_such_object_is_a_text(text: str, size: int) -> None:
    *events, end = read(*cut(text, size))
    assert text_of(events) == text
    assert end == ResponseCompleted("stop", USAGE)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize(
    ("said", "text"),
    [
        (r"a\udc00b\ud83d\ude00", "a\N{REPLACEMENT CHARACTER}b😀"),
        (r"a\ud83db", "a\N{REPLACEMENT CHARACTER}b"),
        (r"a\ud83d", "a\N{REPLACEMENT CHARACTER}"),
        (r"\uD83D\n", "\N{REPLACEMENT CHARACTER}\n"),
        (r"\ud83d\u00fc", "\N{REPLACEMENT CHARACTER}ü"),
        (r"\ud83d\ud7ff", "\N{REPLACEMENT CHARACTER}\ud7ff"),
        (r"\ud83d\ud83d\ude00", "\N{REPLACEMENT CHARACTER}😀"),
    ],
)
def test_half_a_pair_is_no_character(said: str, text: str, size: int) -> None:
    *events, end = read(*cut(f'{{"text": "{said}"}}', size))
    assert text_of(events) == text
    assert end == ResponseCompleted("stop", USAGE)


@pytest.mark.parametrize("half", ['{"tool": "f", "arguments": {"a": 1', '{"text": "and then'])
def test_an_answer_that_ends_in_the_middle(half: str) -> None:
    *_, trace, end = read(half)
    assert isinstance(trace, TraceEvent) and trace.kind == "error"
    assert end == ResponseCompleted("error", None)
    *events, end = read(half, reason="length")
    assert end == ResponseCompleted("length", USAGE)
    assert not any(isinstance(event, ToolCallReady) for event in events)


def test_what_is_not_the_models_text_is_passed_on() -> None:
    trace = TraceEvent("error", {"kind": "timeout", "message": "too long"})
    answer = ConstrainedAnswerReader("c1")
    assert list(answer.read(trace)) == [trace]
    failed = ResponseCompleted("error", None)
    assert list(answer.read(failed)) == [failed]
