"""A conversation as a request of the Messages API, and back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

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

#: Holds a text that is no object: malformed JSON, say.
_MALFORMED: Final = "malformed_arguments"


def encode_arguments(args_json: str) -> msgspec.Raw:
    """Encode arguments as a JSON object. The text of a valid object is unchanged."""
    parsed = _parsed(args_json)
    if not isinstance(parsed, dict) or _wrapped(parsed) is not None:
        return msgspec.Raw(msgspec.json.encode({_MALFORMED: args_json}))
    return msgspec.Raw(args_json.encode())


def decode_arguments(value: msgspec.Raw) -> str:
    """Decode a JSON object to its text. Some servers send text in place of an object."""
    written = bytes(value).decode()
    parsed = _parsed(written)
    if isinstance(parsed, str):
        return parsed
    text = _wrapped(parsed)
    return written if text is None else text


def _wrapped(parsed: Any) -> str | None:
    """The text that an object holds for `encode_arguments`; None where it is one of its own."""
    if not isinstance(parsed, dict) or parsed.keys() != {_MALFORMED}:
        return None
    text = parsed[_MALFORMED]
    return text if isinstance(text, str) else None


def _parsed(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None


#: The token limit of requests without one, since the API requires a limit. All models allow this limit.
DEFAULT_MAX_TOKENS: Final = 32_000

#: Stands before a text without words: the API refuses those. Never said by a block among others.
_BLANK: Final = "(no text)"

_TO_CHOICE: Final = {"auto": "auto", "none": "none", "required": "any"}
_FROM_CHOICE: Final = {theirs: ours for ours, theirs in _TO_CHOICE.items()}


def encode_request(
    request: ModelRequest, *, stream: bool = True, is_prompt_cached: bool = False
) -> bytes:
    """Write a request's body.

    A temperature isn't sent: the API refuses any since its version 2026-10-21.

    Args:
        request: What to ask.
        stream: Whether the answer is to come as a stream.
        is_prompt_cached: Whether the service is to keep what it read for some minutes: a session
            asks with the same beginning again and again, which then costs a tenth.
    """
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": DEFAULT_MAX_TOKENS if request.max_tokens is None else request.max_tokens,
        "messages": _turns(request.messages),
    }
    if request.system:
        body["system"] = request.system
    if request.tools:  # a choice among none is refused
        body["tools"] = [_tool(spec) for spec in request.tools]
        if request.tool_choice is not None:
            body["tool_choice"] = _choice(request.tool_choice)
    if is_prompt_cached:
        body["cache_control"] = {"type": "ephemeral"}
    if stream:
        body["stream"] = True
    return msgspec.json.encode(body)


def _turns(messages: tuple[ChatMessage, ...]) -> list[dict[str, Any]]:
    """The results of an answer's calls in one turn, and what a person says to them after these."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        blocks = [*_blocks(message)]
        if role == "user" and turns and turns[-1]["content"][-1]["type"] == "tool_result":
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    return turns


def _blocks(message: ChatMessage) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield from _texts(message.content)
        case AssistantMessage():
            if message.content or not message.tool_calls:
                yield from _texts(message.content)
            for call in message.tool_calls:
                yield {
                    "type": "tool_use",
                    "id": call.call_id,
                    "name": call.name,
                    "input": encode_arguments(call.args_json),
                }
        case ToolResultMessage():
            yield {
                "type": "tool_result",
                "tool_use_id": message.call_id,
                "content": message.content,
                "is_error": not message.ok,
            }


def _texts(text: str) -> Iterator[dict[str, Any]]:
    if not text.strip():
        pieces: tuple[str, ...] = (_BLANK + text,)
    elif _is_blank(text):  # said by somebody: in two blocks, not to be taken for the above
        pieces = (text[:1], text[1:])
    else:
        pieces = (text,)
    for piece in pieces:
        yield {"type": "text", "text": piece}


def _is_blank(text: str) -> bool:
    return text.startswith(_BLANK) and not text.removeprefix(_BLANK).strip()


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "description": spec.description,
        "input_schema": {"type": "object"} | spec.input_schema,
    }


def _choice(choice: str) -> dict[str, Any]:
    if choice in _TO_CHOICE:
        return {"type": _TO_CHOICE[choice]}
    return {"type": "tool", "name": choice}


class _Block(Struct):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str = ""
    content: Content = None
    is_error: bool | None = False


class _Turn(Struct):
    role: str
    content: str | tuple[_Block, ...]


class _Tool(Struct):
    name: str
    description: str | None = None
    input_schema: dict[str, Any] | None = None


class _Choice(Struct):
    type: str
    name: str = ""


class _RequestBody(Struct):
    model: str
    messages: tuple[_Turn, ...]
    max_tokens: int | None = None
    system: Content = None
    tools: tuple[_Tool, ...] | None = None
    tool_choice: _Choice | None = None
    temperature: float | None = None


_decoder = msgspec.json.Decoder(_RequestBody)


def decode_request(body: bytes | str) -> ModelRequest:
    """Read a request as the conversation that it is.

    What a model thought is left out, and so are pictures and documents.

    Raises:
        ValueError: It isn't JSON, or not of this shape; says where.
    """
    try:
        asked = _decoder.decode(body)
    except RecursionError:
        raise msgspec.DecodeError("JSON is nested too deeply") from None
    system = [join_text(asked.system)] if asked.system else []
    system += [_join_blocks(_as_blocks(turn)) for turn in asked.messages if turn.role == "system"]
    choice = asked.tool_choice
    return ModelRequest(
        model=asked.model,
        messages=tuple(
            message for index, turn in enumerate(asked.messages) for message in _read(turn, index)
        ),
        tools=tuple(_spec(tool) for tool in asked.tools or ()),
        system="\n\n".join(system) if system else None,
        max_tokens=asked.max_tokens,
        temperature=asked.temperature,
        tool_choice=None if choice is None else choice.name or _FROM_CHOICE.get(choice.type),
    )


def _read(turn: _Turn, index: int) -> Iterator[ChatMessage]:
    blocks = _as_blocks(turn)
    match turn.role:
        case "user":
            yield from _user_messages(blocks)
        case "assistant":
            calls = (
                ToolCall(call_id=block.id, name=block.name, args_json=decode_arguments(block.input))
                for block in blocks
                if block.type == "tool_use"
            )
            yield AssistantMessage(content=_join_blocks(blocks), tool_calls=tuple(calls))
        case "system":
            pass  # is in the system prompt
        case _:
            text = f"Unknown role {turn.role!r} - at `$.messages[{index}].role`"
            raise msgspec.ValidationError(text)


def _as_blocks(turn: _Turn) -> tuple[_Block, ...]:
    if isinstance(turn.content, str):
        return (_Block("text", turn.content),)
    return turn.content


def _user_messages(blocks: tuple[_Block, ...]) -> Iterator[ChatMessage]:
    """Each result, and each run of blocks between them as one message."""
    said: list[_Block] = []
    for block in blocks:
        if block.type != "tool_result":
            said.append(block)
            continue
        if said:
            yield UserMessage(content=_join_blocks(tuple(said)))
            said.clear()
        yield ToolResultMessage(
            call_id=block.tool_use_id, content=join_text(block.content), ok=not block.is_error
        )
    if said:
        yield UserMessage(content=_join_blocks(tuple(said)))


def _join_blocks(blocks: tuple[_Block, ...]) -> str:
    texts = [block.text for block in blocks if block.type == "text"]
    if len(texts) == 1 and _is_blank(texts[0]):
        return texts[0].removeprefix(_BLANK)
    return "".join(texts)


def _spec(tool: _Tool) -> ToolSpec:
    return ToolSpec(
        name=tool.name, description=tool.description or "", input_schema=tool.input_schema or {}
    )
