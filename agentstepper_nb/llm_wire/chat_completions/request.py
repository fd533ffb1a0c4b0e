"""A conversation as a request of the Chat Completions API, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct

from .. import conversation
from ..conversation import (
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
)
from ..conversation import ToolCall as Call
from .wire import ChatCompletionMessage, ChatFunctionCall, ChatToolCall, make_assistant_message

#: The name of the token limit: OpenAI's own models require the newer name, most servers the older.
LimitName = Literal["max_tokens", "max_completion_tokens"]

_TOOL_CHOICES = ("auto", "none", "required")
_SYSTEM_ROLES = ("system", "developer")


def encode_model_request(
    request: ModelRequest, *, stream: bool = True, limit: LimitName = "max_tokens"
) -> bytes:
    """Write a request's body.

    Args:
        request: What to ask.
        stream: Whether the answer is to come as a stream, which then ends with the usage.
        limit: The name that the endpoint has for the longest answer.
    """
    body: dict[str, Any] = {"model": request.model, "messages": [*_messages(request)]}
    if request.tools:  # a choice among none is refused
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _choice(request.tool_choice)
    if request.max_tokens is not None:
        body[limit] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return msgspec.json.encode(body)


def _messages(request: ModelRequest) -> Iterator[ChatCompletionMessage]:
    if request.system is not None:
        yield ChatCompletionMessage("system", request.system)
    for message in request.messages:
        match message:
            case UserMessage():
                yield ChatCompletionMessage("user", message.content)
            case AssistantMessage():
                calls = [
                    ChatToolCall(call.call_id, ChatFunctionCall(call.name, call.args_json))
                    for call in message.tool_calls
                ]
                yield make_assistant_message(message.content or (None if calls else ""), calls)
            case ToolResultMessage():
                sent = conversation.encode_tool_outcome(message.content, message.ok)
                yield ChatCompletionMessage("tool", sent, tool_call_id=message.call_id)


def _tool(spec: ToolSpec) -> dict[str, Any]:
    told = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.input_schema,
    }
    return {"type": "function", "function": told}


def _choice(choice: str) -> str | dict[str, Any]:
    if choice in _TOOL_CHOICES:
        return choice
    return {"type": "function", "function": {"name": choice}}


class _Function(Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(Struct):
    function: _Function


class _Named(Struct):
    name: str


class _Choice(Struct):
    function: _Named


class _RequestBody(Struct):
    model: str
    messages: tuple[ChatCompletionMessage, ...]
    tools: tuple[_Tool, ...] | None = None
    tool_choice: str | _Choice | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None


_decoder = msgspec.json.Decoder(_RequestBody)


def decode_model_request(body: bytes | str) -> ModelRequest:
    """Read a request as the conversation that it is.

    System messages, wherever they stand, are joined to the one system prompt.

    Raises:
        ValueError: It isn't JSON, or not of this shape; says where.
    """
    try:
        asked = _decoder.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None
    system = [m.text for m in asked.messages if m.role in _SYSTEM_ROLES]
    limits = (asked.max_tokens, asked.max_completion_tokens)
    choice = asked.tool_choice
    return ModelRequest(
        model=asked.model,
        messages=tuple(
            _message(message, f"$.messages[{index}]")
            for index, message in enumerate(asked.messages)
            if message.role not in _SYSTEM_ROLES
        ),
        tools=tuple(_spec(tool.function) for tool in asked.tools or ()),
        system="\n\n".join(system) if system else None,
        max_tokens=next((limit for limit in limits if limit is not None), None),
        temperature=asked.temperature,
        tool_choice=choice.function.name if isinstance(choice, _Choice) else choice,
    )


def _message(message: ChatCompletionMessage, path: str) -> ChatMessage:
    match message.role:
        case "user":
            return UserMessage(content=message.text)
        case "assistant":
            calls = (
                Call(call_id=call.id, name=call.function.name, args_json=call.function.arguments)
                for call in message.calls
            )
            return AssistantMessage(content=message.text, tool_calls=tuple(calls))
        case "tool":
            if message.tool_call_id is UNSET or message.tool_call_id is None:
                raise msgspec.ValidationError(
                    f"A tool's message names no tool_call_id - at `{path}`"
                )
            content, ok = conversation.decode_tool_outcome(message.text)
            return ToolResultMessage(call_id=message.tool_call_id, content=content, ok=ok)
    raise msgspec.ValidationError(f"Unknown role {message.role!r} - at `{path}.role`")


def _spec(function: _Function) -> ToolSpec:
    return ToolSpec(
        name=function.name,
        description=function.description or "",
        input_schema=function.parameters or {},
    )
