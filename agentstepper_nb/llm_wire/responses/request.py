"""A conversation as a request of the Responses API, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import conversation
from ..conversation import (
    AssistantMessage,
    ChatMessage,
    Content,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    ToolSpec,
    UserMessage,
    join_text,
)

_TOOL_CHOICES = ("auto", "none", "required")
_SYSTEM_ROLES = ("system", "developer")


def encode_request(request: ModelRequest, *, stream: bool = True) -> bytes:
    """Write a request's body; the whole conversation is in it, and the service is to keep nothing.

    Args:
        request: What to ask.
        stream: Whether the answer is to come as a stream.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "input": [*_items(request.messages)],
        "store": False,
    }
    if request.system is not None:
        body["instructions"] = request.system
    if request.tools:  # a choice among none is refused
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _choice(request.tool_choice)
    if request.max_tokens is not None:
        body["max_output_tokens"] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if stream:
        body["stream"] = True
    return msgspec.json.encode(body)


def _items(messages: tuple[ChatMessage, ...]) -> Iterator[dict[str, Any]]:
    before: ChatMessage | None = None
    for message in messages:
        match message:
            case UserMessage():
                yield {"role": "user", "content": message.content}
            case AssistantMessage():
                # Calls belong to the answer before them: an empty text keeps two answers apart.
                apart = isinstance(before, AssistantMessage)
                if message.content or apart or not message.tool_calls:
                    yield {"role": "assistant", "content": message.content}
                yield from map(_call, message.tool_calls)
            case ToolResultMessage():
                yield {
                    "type": "function_call_output",
                    "call_id": message.call_id,
                    "output": conversation.encode_tool_outcome(message.content, message.ok),
                }
        before = message


def _call(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "function_call",
        "call_id": call.call_id,
        "name": call.name,
        "arguments": call.args_json,
    }


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.input_schema,
        "strict": False,  # it is the default here, and refuses schemas that have optional fields
    }


def _choice(choice: str) -> str | dict[str, Any]:
    return choice if choice in _TOOL_CHOICES else {"type": "function", "name": choice}


class _Item(Struct):
    type: str = "message"
    role: str = ""
    content: Content = None
    call_id: str = ""
    name: str = ""
    arguments: str = ""
    output: Content = None


class _Tool(Struct):
    type: str
    name: str = ""
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Named(Struct):
    name: str


class _RequestBody(Struct):
    model: str
    input: str | tuple[_Item, ...]
    instructions: str | None = None
    tools: tuple[_Tool, ...] | None = None
    tool_choice: str | _Named | None = None
    max_output_tokens: int | None = None
    temperature: float | None = None


_decoder = msgspec.json.Decoder(_RequestBody)


def decode_request(body: bytes | str) -> ModelRequest:
    """Read a request as the conversation that it is.

    What a model reasoned is left out, and so are tools that the service itself runs.

    Raises:
        ValueError: It isn't JSON, or not of this shape; says where.
    """
    try:
        asked = _decoder.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None
    items = (
        (_Item(role="user", content=asked.input),) if isinstance(asked.input, str) else asked.input
    )
    system = [] if asked.instructions is None else [asked.instructions]
    system += [join_text(item.content) for item in items if item.role in _SYSTEM_ROLES]
    choice = asked.tool_choice
    return ModelRequest(
        model=asked.model,
        messages=tuple(_messages(items)),
        tools=tuple(_spec(tool) for tool in asked.tools or () if tool.type == "function"),
        system="\n\n".join(system) if system else None,
        max_tokens=asked.max_output_tokens,
        temperature=asked.temperature,
        tool_choice=choice.name if isinstance(choice, _Named) else choice,
    )


def _messages(items: tuple[_Item, ...]) -> list[ChatMessage]:
    messages: list[ChatMessage] = []
    answering = False  # whether the item before was an answer's text, or a call of it
    for index, item in enumerate(items):
        if item.type == "reasoning" or item.role in _SYSTEM_ROLES:
            continue
        last = messages[-1] if messages else None
        if item.type == "function_call" and answering and isinstance(last, AssistantMessage):
            messages[-1] = replace(last, tool_calls=(*last.tool_calls, _tool_call(item)))
        else:
            messages.append(_message(item, f"$.input[{index}]"))
        answering = isinstance(messages[-1], AssistantMessage)
    return messages


def _message(item: _Item, path: str) -> ChatMessage:
    match item.type, item.role:
        case "message", "user":
            return UserMessage(content=join_text(item.content))
        case "message", "assistant":
            return AssistantMessage(content=join_text(item.content))
        case "function_call", _:
            return AssistantMessage(tool_calls=(_tool_call(item),))
        case "function_call_output", _:
            content, ok = conversation.decode_tool_outcome(join_text(item.output))
            return ToolResultMessage(call_id=item.call_id, content=content, ok=ok)
    raise msgspec.ValidationError(f"Unknown item {item.type!r} of role {item.role!r} - at `{path}`")


def _tool_call(item: _Item) -> ToolCall:
    return ToolCall(call_id=item.call_id, name=item.name, args_json=item.arguments)


def _spec(tool: _Tool) -> ToolSpec:
    return ToolSpec(
        name=tool.name, description=tool.description or "", input_schema=tool.parameters or {}
    )
