import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import chat_completions

USAGE = chat_completions.ChatCompletionUsage(3, 4, 7)
CALL = chat_completions.ChatToolCall(
    "call_1", chat_completions.ChatFunctionCall("read_file", '{"path": "a/long/path.py"}')
)


def completion(
    text: str | None, *calls: chat_completions.ChatToolCall
) -> chat_completions.ChatCompletion:
    message = chat_completions.make_assistant_message(text, calls)
    return chat_completions.ChatCompletion(
        "id", 0, "m", (chat_completions.ChatCompletionChoice(0, message, "stop"),), USAGE
    )


def decode(**fields: Any) -> chat_completions.ChatCompletionRequest:
    return chat_completions.decode_request(
        json.dumps({"model": "m", "messages": [], **fields}).encode()
    )


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
        chat_completions.ChatCompletionMessage("developer", "be brief"),
        chat_completions.ChatCompletionMessage("assistant", tool_calls=(CALL,)),
        chat_completions.ChatCompletionMessage("tool", "text", tool_call_id="call_1"),
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
        chat_completions.decode_request(body)


def test_the_same_question_is_the_same_bytes() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"a": 1, "b": 2}}}
    turned = {"function": {"parameters": {"b": 2, "a": 1}, "name": "f"}, "type": "function"}
    asked = chat_completions.encode_request_for_hash(decode(tools=[tool]))
    assert asked == chat_completions.encode_request_for_hash(decode(tools=[turned], stream=True))
    assert asked != chat_completions.encode_request_for_hash(decode(tools=[]))


def test_a_completion_is_written_as_the_api_writes_it() -> None:
    assert json.loads(chat_completions.encode_json(completion(None, CALL))) == {
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
    chunks = [
        json.loads(chat_completions.encode_json(chunk))
        for chunk in chat_completions.split_completion(completion("Hello you"))
    ]
    assert [chunk["choices"][0] for chunk in chunks] == [
        {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"index": 0, "delta": {"content": "Hello "}, "finish_reason": None},
        {"index": 0, "delta": {"content": "you"}, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    ]
    assert all("usage" not in chunk for chunk in chunks)


def test_a_stream_with_usage_ends_with_it() -> None:
    *others, last = chat_completions.split_completion(completion("Hello"), include_usage=True)
    assert (last.choices, last.usage) == ((), USAGE)
    assert all(chunk.usage is None for chunk in others)


calls = st.builds(
    chat_completions.ChatToolCall,
    st.text(),
    st.builds(chat_completions.ChatFunctionCall, st.text(), st.text()),
)


@given(st.none() | st.text(), st.lists(calls, max_size=3))
def test_the_chunks_of_a_stream_joined_are_the_completion(
    text: str | None, calls: list[chat_completions.ChatToolCall]
) -> None:
    whole = completion(text, *calls)
    assert join(chat_completions.split_completion(whole)) == whole.choices[0].message


def join(chunks: Any) -> chat_completions.ChatCompletionMessage:
    text, calls = None, dict[int, chat_completions.ChatToolCall]()
    for chunk in chunks:
        delta = chunk.choices[0].delta
        if isinstance(delta.content, str):
            text = (text or "") + delta.content
        for piece in delta.tool_calls or ():
            if piece.id is not msgspec.UNSET:
                calls[piece.index] = chat_completions.ChatToolCall(
                    piece.id, chat_completions.ChatFunctionCall(piece.function.name, "")
                )
            known = calls[piece.index]
            grown = known.function.arguments + piece.function.arguments
            calls[piece.index] = chat_completions.ChatToolCall(
                known.id, chat_completions.ChatFunctionCall(known.function.name, grown)
            )
    return chat_completions.make_assistant_message(text, calls.values())
