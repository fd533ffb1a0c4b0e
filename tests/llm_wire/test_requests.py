"""A conversation in the form of each API: what is written, and that it is read back the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentstepper_nb.llm_wire import chat_completions, messages, responses
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)

Encode = Callable[[ModelRequest], bytes]
Decode = Callable[[bytes], ModelRequest]

CODECS: dict[str, tuple[Encode, Decode]] = {
    "chat": (chat_completions.encode_model_request, chat_completions.decode_model_request),
    "responses": (responses.encode_request, responses.decode_request),
    "messages": (messages.encode_request, messages.decode_request),
}
every_api = pytest.mark.parametrize("api", CODECS)


def body(api: str, request: ModelRequest) -> Any:
    return json.loads(CODECS[api][0](request))


def round_trip(api: str, request: ModelRequest) -> ModelRequest:
    encode, decode = CODECS[api]
    return decode(encode(request))


SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec(name="read_file", description="Read a file.", input_schema=SCHEMA)

CONVERSATION: tuple[ChatMessage, ...] = (
    UserMessage(content="Grüße 🙂: fix it"),
    AssistantMessage(
        content="I look.",
        tool_calls=(
            ToolCall(call_id="a", name="read_file", args_json='{"path": "x.py"}'),
            ToolCall(call_id="b", name="read_file", args_json='{"path": "größe.py"}'),
        ),
    ),
    ToolResultMessage(call_id="a", content='{"ok": true, "data": 1}'),
    ToolResultMessage(call_id="b", content="no such file", ok=False),
    UserMessage(content="Go on."),
    AssistantMessage(content="Done."),
)
REQUEST = ModelRequest(
    model="m",
    messages=CONVERSATION,
    tools=(READ,),
    system="Be brief.",
    max_tokens=100,
    temperature=0.5,
    tool_choice="required",
)


# ---- what is written ---------------------------------------------------------------------------------


def test_chat() -> None:
    calls = [
        {
            "id": id_,
            "type": "function",
            "function": {"name": "read_file", "arguments": f'{{"path": "{path}"}}'},
        }
        for id_, path in (("a", "x.py"), ("b", "größe.py"))
    ]
    assert body("chat", REQUEST) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Grüße 🙂: fix it"},
            {"role": "assistant", "content": "I look.", "tool_calls": calls},
            {"role": "tool", "content": '{"ok": true, "data": 1}', "tool_call_id": "a"},
            {"role": "tool", "content": "[failed]\nno such file", "tool_call_id": "b"},
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Read a file.",
                    "parameters": SCHEMA,
                },
            }
        ],
        "tool_choice": "required",
        "max_tokens": 100,
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_responses() -> None:
    calls = [
        {
            "type": "function_call",
            "call_id": id_,
            "name": "read_file",
            "arguments": f'{{"path": "{path}"}}',
        }
        for id_, path in (("a", "x.py"), ("b", "größe.py"))
    ]
    result = {"type": "function_call_output", "call_id": "a", "output": '{"ok": true, "data": 1}'}
    failed = {"type": "function_call_output", "call_id": "b", "output": "[failed]\nno such file"}
    assert body("responses", REQUEST) == {
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"role": "user", "content": "Grüße 🙂: fix it"},
            {"role": "assistant", "content": "I look."},
            *calls,
            result,
            failed,
            {"role": "user", "content": "Go on."},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [
            {
                "type": "function",
                "name": "read_file",
                "description": "Read a file.",
                "parameters": SCHEMA,
                "strict": False,
            }
        ],
        "tool_choice": "required",
        "max_output_tokens": 100,
        "temperature": 0.5,
        "store": False,
        "stream": True,
    }


def test_messages() -> None:
    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    calls = [
        {"type": "tool_use", "id": id_, "name": "read_file", "input": {"path": path}}
        for id_, path in (("a", "x.py"), ("b", "größe.py"))
    ]
    results = [
        {"type": "tool_result", "tool_use_id": id_, "content": content, "is_error": failed}
        for id_, content, failed in (
            ("a", '{"ok": true, "data": 1}', False),
            ("b", "no such file", True),
        )
    ]
    assert body("messages", REQUEST) == {
        "model": "m",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": [text("Grüße 🙂: fix it")]},
            {"role": "assistant", "content": [text("I look."), *calls]},
            {"role": "user", "content": [*results, text("Go on.")]},
            {"role": "assistant", "content": [text("Done.")]},
        ],
        "tools": [{"name": "read_file", "description": "Read a file.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "any"},
        "max_tokens": 100,
        "stream": True,
    }


@every_api
def test_what_isnt_asked_for_isnt_sent(api: str) -> None:
    sent = body(api, ModelRequest(model="m", messages=(), tool_choice="required"))
    assert not sent.keys() & {"tools", "tool_choice", "temperature", "system", "instructions"}
    assert sent.get("max_tokens") == (messages.DEFAULT_MAX_TOKENS if api == "messages" else None)


def test_not_streamed_and_the_newer_name_of_the_limit() -> None:
    request = ModelRequest(model="m", messages=(), max_tokens=9)
    sent = chat_completions.encode_model_request(
        request, stream=False, limit="max_completion_tokens"
    )
    assert json.loads(sent) == {"model": "m", "messages": [], "max_completion_tokens": 9}
    assert chat_completions.decode_model_request(sent).max_tokens == 9
    assert "stream" not in json.loads(responses.encode_request(request, stream=False))
    assert "stream" not in json.loads(messages.encode_request(request, stream=False))


# ---- and read back -----------------------------------------------------------------------------------


@every_api
def test_the_whole_request_comes_back(api: str) -> None:
    back = round_trip(api, REQUEST)
    assert back.temperature == (None if api == "messages" else 0.5)
    assert (back.model, back.system, back.max_tokens) == ("m", "Be brief.", 100)
    assert (back.tools, back.messages) == (REQUEST.tools, REQUEST.messages)


@every_api
@pytest.mark.parametrize("choice", ["auto", "none", "required", "read_file"])
def test_the_choice_of_tools(api: str, choice: str) -> None:
    request = ModelRequest(model="m", messages=(), tools=(READ,), tool_choice=choice)
    assert round_trip(api, request).tool_choice == choice


texts = st.one_of(
    st.sampled_from(
        [
            "",
            " ",
            "\n",
            "(no text)",
            "(no text) ",
            "(no text)!",
            "[ok]\n",
            "[failed]\n",
            "[failed]\nx",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
ids = st.text("abcdefgh_0123", min_size=1, max_size=8)
arguments = st.one_of(
    st.sampled_from(["{}", "", "{", '{"a" : 1.0}', "[1]", "7", '{"malformed_arguments": "{"}']),
    st.sampled_from(['{"a": "ü\\ud83d\\ude42"}', '{"n": 123456789012345678901234567890}']),
    st.dictionaries(texts, st.one_of(texts, st.integers(), st.none())).map(json.dumps),
)
calls = st.builds(ToolCall, call_id=ids, name=ids, args_json=arguments)
results = st.one_of(texts, st.sampled_from(['{"ok": false}', '{"ok": true}', '{"ok": 7}', "[]"]))
conversations = st.lists(
    st.one_of(
        st.builds(UserMessage, content=texts),
        st.builds(
            AssistantMessage, content=texts, tool_calls=st.lists(calls, max_size=3).map(tuple)
        ),
        st.builds(ToolResultMessage, call_id=ids, content=results, ok=st.booleans()),
    ),
    max_size=6,
).map(tuple)


@every_api
@given(conversations)
@example(CONVERSATION)
@example(
    (AssistantMessage(), AssistantMessage(content="a"), AssistantMessage(), UserMessage(content=""))
)
def test_the_same_messages_come_back_from_every_api(
    api: str, conversation: tuple[ChatMessage, ...]
) -> None:
    request = ModelRequest(model="m", messages=conversation)
    assert round_trip(api, request).messages == conversation


@given(conversations)
def test_texts_without_words_are_never_sent_to_an_api_that_refuses_them(
    conversation: tuple[ChatMessage, ...],
) -> None:
    sent = body("messages", ModelRequest(model="m", messages=conversation))
    for turn in sent["messages"]:
        assert turn["content"]
        assert all(block["text"].strip() for block in turn["content"] if block["type"] == "text")
