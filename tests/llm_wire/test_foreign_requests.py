"""Requests as other clients write them, and what is none."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agentstepper_nb.llm_wire import chat_completions, messages, responses
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)

DECODERS: dict[str, Callable[[bytes], ModelRequest]] = {
    "chat": chat_completions.decode_model_request,
    "responses": responses.decode_request,
    "messages": messages.decode_request,
}


def test_chat_as_others_write_it() -> None:
    asked = {
        "model": "m",
        "seed": 3,
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
            {"role": "assistant", "content": None, "tool_calls": None},
            {"role": "system", "content": "Be kind."},
        ],
        "tools": [{"type": "function", "function": {"name": "now"}}],
        "tool_choice": {"type": "function", "function": {"name": "now"}},
    }
    assert chat_completions.decode_model_request(json.dumps(asked)) == ModelRequest(
        model="m",
        messages=(UserMessage(content="a"), AssistantMessage()),
        tools=(ToolSpec(name="now", description="", input_schema={}),),
        system="Be brief.\n\nBe kind.",
        tool_choice="now",
    )


def test_responses_as_others_write_them() -> None:
    asked = {
        "model": "m",
        "input": [
            {"role": "developer", "content": "Be kind."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "function_call", "call_id": "c", "name": "now", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "12:00"}],
            },
        ],
        "tools": [{"type": "web_search"}, {"type": "function", "name": "now"}],
    }
    assert responses.decode_request(json.dumps(asked)) == ModelRequest(
        model="m",
        messages=(
            UserMessage(content="a"),
            AssistantMessage(tool_calls=(ToolCall(call_id="c", name="now", args_json="{}"),)),
            ToolResultMessage(call_id="c", content="12:00"),
        ),
        tools=(ToolSpec(name="now", description="", input_schema={}),),
        system="Be kind.",
    )
    simple = responses.decode_request(b'{"model": "m", "input": "a"}')
    assert simple.messages == (UserMessage(content="a"),)


def test_messages_as_others_write_them() -> None:
    asked = {
        "model": "m",
        "max_tokens": 5,
        "temperature": 0,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "system", "content": "Be kind."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "text", "text": "b"},
                    {"type": "tool_use", "id": "c", "name": "now", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c"},
                    {"type": "text", "text": "d"},
                    {"type": "text", "text": "e"},
                ],
            },
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
    }
    assert messages.decode_request(json.dumps(asked)) == ModelRequest(
        model="m",
        messages=(
            UserMessage(content="a"),
            AssistantMessage(
                content="b", tool_calls=(ToolCall(call_id="c", name="now", args_json="{}"),)
            ),
            ToolResultMessage(call_id="c", content=""),
            UserMessage(content="de"),
        ),
        system="Be brief.\n\nBe kind.",
        max_tokens=5,
        temperature=0,
        tool_choice="auto",
    )


@pytest.mark.parametrize(
    ("api", "asked", "why"),
    [
        ("chat", b'{"model": "m"}', "messages"),
        ("chat", b'{"model": "m", "messages": [{"role": "bot"}]}', r"\$.messages\[0\].role"),
        ("chat", b'{"model": "m", "messages": [{"role": "tool"}]}', "tool_call_id"),
        ("responses", b'{"model": "m"}', "input"),
        ("responses", b'{"model": "m", "input": [{"type": "item"}]}', r"\$.input\[0\]"),
        ("responses", b'{"model": "m", "input": [{"role": "bot"}]}', r"\$.input\[0\]"),
        ("messages", b'{"model": "m"}', "messages"),
        (
            "messages",
            b'{"model": "m", "messages": [{"role": "bot", "content": ""}]}',
            r"\$.messages\[0\].role",
        ),
    ],
)
def test_what_is_no_request(api: str, asked: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        DECODERS[api](asked)


@pytest.mark.parametrize("api", DECODERS)
@pytest.mark.parametrize("asked", [b"", b"{", b"[]", b"7", b"\xff", b'{"a":' + b"[" * 100_000])
def test_rubbish(api: str, asked: bytes) -> None:
    with pytest.raises(ValueError):
        DECODERS[api](asked)
