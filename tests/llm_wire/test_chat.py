import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import chat

USAGE = chat.Usage(3, 4, 7)
CALL = chat.ToolCall("call_1", chat.FunctionCall("read_file", '{"path": "a/long/path.py"}'))


def completion(text: str | None, *calls: chat.ToolCall) -> chat.Completion:
    message = chat.assistant(text, calls)
    return chat.Completion("id", 0, "m", (chat.Choice(0, message, "stop"),), USAGE)


def decode(**fields: Any) -> chat.Request:
    return chat.decode_request(json.dumps({"model": "m", "messages": [], **fields}).encode())


def test_a_request_is_read_and_what_is_unknown_ignored() -> None:
    request = decode(
        messages=[
            {"role": "developer", "content": "be brief", "name": "x"},
            {"role": "assistant", "tool_calls": [msgspec.to_builtins(CALL)]},
            {"role": "tool", "tool_call_id": "call_1", "content": "text"},
        ],
        temperature=0.5,
        stream=True,
        stream_options={"include_usage": True},
    )
    assert request.messages == (
        chat.Message("developer", "be brief"),
        chat.Message("assistant", tool_calls=(CALL,)),
        chat.Message("tool", "text", tool_call_id="call_1"),
    )
    assert request.stream
    assert request.include_usage


def test_null_is_as_good_as_absent() -> None:
    request = decode(
        messages=[{"role": "assistant", "content": None, "tool_calls": None}],
        tools=None,
        n=None,
        stream=None,
        stream_options=None,
    )
    assert request.messages[0].calls == ()
    assert not request.stream
    assert not request.include_usage


def test_the_text_of_a_message_in_parts() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "image_url"}, {"type": "text", "text": "2"}]
    (message,) = decode(messages=[{"role": "user", "content": parts}]).messages
    assert message.text == "one\n2"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"", "truncated"),
        (b"{", "truncated"),
        (b"\xff", "malformed"),
        (b"[]", "Expected `object`"),
        (b'{"model": "m"}', "`messages`"),
        (b'{"model": "m", "messages": [{"role": 1}]}', r"\$\.messages\[0\]\.role"),
        (b'{"model": "m", "messages": [], "n": 2}', r"\$\.n"),
        (b'{"model": "m", "messages": [], "tools": [' + b'{"a":' * 9999, "nested too deeply"),
    ],
)
def test_what_is_no_request_is_an_error_that_says_where(body: bytes, where: str) -> None:
    with pytest.raises(msgspec.DecodeError, match=where):
        chat.decode_request(body)


def test_the_same_question_is_the_same_bytes() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"a": 1, "b": 2}}}
    turned = {"function": {"parameters": {"b": 2, "a": 1}, "name": "f"}, "type": "function"}
    asked = chat.encode_question(decode(tools=[tool]))
    assert asked == chat.encode_question(decode(tools=[turned], stream=True))
    assert asked != chat.encode_question(decode(tools=[]))


def test_a_completion_is_written_as_the_api_writes_it() -> None:
    assert json.loads(chat.encode(completion(None, CALL))) == {
        "id": "id",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {
                                "name": "read_file",
                                "arguments": '{"path": "a/long/path.py"}',
                            },
                        }
                    ],
                },
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }


def test_a_stream_without_usage_does_not_speak_of_it() -> None:
    chunks = [json.loads(chat.encode(chunk)) for chunk in chat.chunks(completion("Hello you"))]
    assert [chunk["choices"][0] for chunk in chunks] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"index": 0, "delta": {"content": "Hello "}, "finish_reason": None},
        {"index": 0, "delta": {"content": "you"}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    assert all("usage" not in chunk for chunk in chunks)


def test_a_stream_with_usage_ends_with_it() -> None:
    *others, last = chat.chunks(completion("Hello"), include_usage=True)
    assert (last.choices, last.usage) == ((), USAGE)
    assert all(chunk.usage is None for chunk in others)


calls = st.builds(chat.ToolCall, st.text(), st.builds(chat.FunctionCall, st.text(), st.text()))


@given(st.none() | st.text(), st.lists(calls, max_size=3))
def test_the_chunks_of_a_stream_joined_are_the_completion(
    text: str | None, calls: list[chat.ToolCall]
) -> None:
    whole = completion(text, *calls)
    assert join(chat.chunks(whole)) == whole.choices[0].message


def join(chunks: Any) -> chat.Message:
    text, calls = None, dict[int, chat.ToolCall]()
    for chunk in chunks:
        delta = chunk.choices[0].delta
        if isinstance(delta.content, str):
            text = (text or "") + delta.content
        for piece in delta.tool_calls or ():
            if piece.id is not msgspec.UNSET:
                calls[piece.index] = chat.ToolCall(
                    piece.id, chat.FunctionCall(piece.function.name, "")
                )
            known = calls[piece.index]
            grown = known.function.arguments + piece.function.arguments
            calls[piece.index] = chat.ToolCall(
                known.id, chat.FunctionCall(known.function.name, grown)
            )
    return chat.assistant(text, calls.values())
