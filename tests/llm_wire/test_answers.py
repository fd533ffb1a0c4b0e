"""Answers as a server writes them in each API, read again by the client's half: the same events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import chat, messages, responses, sse
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    TraceEvent,
)
from agentstepper_nb.llm_wire.messages import answer as messages_answer
from agentstepper_nb.llm_wire.responses import answer as responses_answer
from agentstepper_nb.llm_wire.streaming import AnswerStream, WholeAnswer
from agentstepper_nb.protocol.values import Usage

USAGE = chat.Usage(3, 5, 8)
REASONS = get_args(chat.FinishReason)


def chat_events(completion: chat.Completion) -> Iterable[bytes]:
    chunks = chat.chunks(completion, include_usage=True)
    return (*(sse.encode_event(chat.encode(chunk)) for chunk in chunks), sse.DONE)


Write = Callable[[chat.Completion], bytes]
Cut = Callable[[chat.Completion], Iterable[bytes]]
APIS: dict[str, tuple[type[AnswerStream], Write, Cut]] = {
    "chat": (chat.Stream, chat.encode, chat_events),
    "responses": (responses.Stream, responses_answer.encode, responses_answer.events),
    "messages": (messages.Stream, messages_answer.encode, messages_answer.events),
}


def completion(
    text: str | None, calls: list[tuple[str, str]], reason: chat.FinishReason
) -> chat.Completion:
    called = [
        chat.ToolCall(f"call_{number}", chat.FunctionCall(name, arguments))
        for number, (name, arguments) in enumerate(calls)
    ]
    choice = chat.Choice(0, chat.assistant(text, called), reason)
    return chat.Completion("chatcmpl-k", 0, "m", (choice,), USAGE)


def heard(api: str, answer: chat.Completion) -> list[list[AgentEvent]]:
    """What a client hears of it, as a stream and as a whole."""
    reader, write, cut = APIS[api]
    stream, whole = reader(), WholeAnswer(reader())
    streamed = [event for piece in cut(answer) for event in stream.feed(piece)]
    return [[*streamed, *stream.close()], [*whole.feed(write(answer)), *whole.close()]]


names = st.from_regex(r"[a-z_]{1,9}", fullmatch=True)
arguments = st.text() | st.just('{"path": "ü 😀", "n": [1, null]}') | st.just("{}")


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=50, deadline=None)
@given(st.none() | st.text(), st.lists(st.tuples(names, arguments), max_size=3))
def test_what_is_written_is_read(api: str, text: str | None, calls: list[tuple[str, str]]) -> None:
    reason: chat.FinishReason = "tool_calls" if calls else "stop"
    for events in heard(api, completion(text, calls, reason)):
        assert "".join(e.text for e in events if isinstance(e, TextDelta)) == (text or "")
        ready = [event for event in events if isinstance(event, ToolCallReady)]
        assert [event.call_id for event in ready] == [f"call_{n}" for n in range(len(calls))]
        # No arguments at all are none.
        written = [(name, arguments or "{}") for name, arguments in calls]
        assert [(event.name, event.args_json or "{}") for event in ready] == written
        assert not any(isinstance(event, TraceEvent) for event in events)
        assert events[-1] == ResponseCompleted(reason, Usage(input_tokens=3, output_tokens=5))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("reason", [reason for reason in REASONS if reason != "tool_calls"])
def test_every_reason_to_end(api: str, reason: chat.FinishReason) -> None:
    for events in heard(api, completion("Half an ans", [], reason)):
        end = events[-1]
        assert isinstance(end, ResponseCompleted) and end.reason == reason


def test_an_error_has_its_kind_in_messages() -> None:
    def kind(status: int) -> str:
        body = messages_answer.encode_error(status, chat.Error("No.", "any"))
        return str(body)

    assert "rate_limit_error" in kind(429) and "authentication_error" in kind(401)
    assert "invalid_request_error" in kind(400) and "api_error" in kind(500)
    assert "overloaded_error" in kind(529)
