"""Questions and answers as the debugger shows them: as JSON of the Chat Completions API."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from .. import typed_json
from . import chat_completions
from .conversation import AssistantMessage, ModelRequest, ToolCall


def encode_request(request: ModelRequest) -> dict[str, Any]:
    """A request as a person sees it."""
    shown: dict[str, Any] = msgspec.json.decode(
        chat_completions.encode_model_request(request, stream=False)
    )
    return shown


def decode_request(value: Any, original: ModelRequest) -> ModelRequest:
    """The request that a person edited.

    Args:
        value: What they made of it.
        original: What it was. Messages that they left alone are the same again, with what JSON of
            this API doesn't say of them.

    Raises:
        ValueError: It is no request any more.
    """
    edited = _decoded(value)
    before = _decoded(encode_request(original))
    same = dict(zip(before.messages, original.messages, strict=True))
    return replace(edited, messages=tuple(same.get(each, each) for each in edited.messages))


def encode_answer(message: AssistantMessage) -> dict[str, Any]:
    """An answer as a person sees it."""
    calls = (
        chat_completions.ChatToolCall(
            call.call_id, chat_completions.ChatFunctionCall(call.name, call.args_json)
        )
        for call in message.tool_calls
    )
    said = chat_completions.make_assistant_message(message.content or None, calls)
    shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(said))
    return shown


def decode_answer(value: Any) -> AssistantMessage:
    """The answer that a person gave or edited; a text alone is one.

    Raises:
        ValueError: It is none.
    """
    if isinstance(value, str):
        return AssistantMessage(content=value)
    message = typed_json.convert(value, chat_completions.ChatCompletionMessage)
    calls = tuple(
        ToolCall(call_id=call.id, name=call.function.name, args_json=call.function.arguments)
        for call in message.calls
    )
    return AssistantMessage(content=message.text, tool_calls=calls)


def _decoded(value: Any) -> ModelRequest:
    return chat_completions.decode_model_request(msgspec.json.encode(value))
