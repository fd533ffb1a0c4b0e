"""The messages of LLM APIs and frameworks, read from JSON: roles and parts.

Chat Completions, Responses, Messages and Gemini as sent, and the messages of LangChain and
pydantic-ai as dumped. A message is recognized by its shape, for any of these sources; a value that is
no message gives None, never an error. `js/src/inspector/parsed/message_shapes.ts` has the same code
for the view.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple


class PartKind(Enum):
    """The kind of a message's part."""

    TEXT = "text"
    THOUGHT = "thought"
    CALL = "call"
    RESULT = "result"
    MEDIA = "medium"
    OTHER = "other"


class Part(NamedTuple):
    """A part of a message.

    Args:
        kind: The kind of the part.
        value: The text; a call's arguments, or the text with their JSON; a result's content.
        name: The tool of a call or a result, where the part names it; the description of a medium.
        call: The id of the part's call, or of the call that the part is the result of.
    """

    kind: PartKind
    value: Any
    name: str | None = None
    call: str | None = None


class LlmMessage(NamedTuple):
    """A message.

    Args:
        role: "user", "assistant", "system", "tool", or another role of the API.
        parts: The parts, in order.
    """

    role: str
    parts: tuple[Part, ...]


#: The fields of LLM requests that have the prompt.
PROMPT_KEYS: Final = ("messages", "input", "contents", "prompt")

#: LangChain's types of messages, Gemini's and OpenAI's roles, pydantic-ai's kinds: who speaks.
_ROLES: Final = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "developer": "system",
    "function": "tool",
    "request": "user",
    "response": "assistant",
}
_LANGCHAIN_TYPES: Final = frozenset({"human", "ai", "system", "tool", "function", "chat"})
_CHUNK: Final = re.compile(r"(AI|Human|System|Tool|Function|Chat)MessageChunk")
_TEXT_TYPES: Final = frozenset(
    {"text", "input_text", "output_text", "summary_text", "reasoning_text", "refusal"}
)
_THOUGHT_TYPES: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_CALL_TYPE: Final = re.compile(r"(?:\w+_)?(?:tool_use|tool_call|function_call|call)(?:_chunk)?")
_RESULT_TYPE: Final = re.compile(r"(?:\w+_)?(?:tool_result|call_output|tool_call_result)")
_MEDIUM: Final = re.compile(r"image|audio|video|file|document|binary")


def find_messages(value: Any) -> Any:
    """The prompt of a request: a list of messages or a text; another value is returned as it is."""
    if isinstance(value, Mapping):
        return next((value[key] for key in PROMPT_KEYS if key in value), value)
    return value


def read_message(item: Any) -> LlmMessage | None:
    """A message, or an item that stands beside messages, as calls do in the Responses API.

    Args:
        item: A member of a list of messages.

    Returns:
        The message; None where the item is none.
    """
    item = _unwrap(item)
    if not isinstance(item, Mapping):
        return None
    role = _find_role(item)
    if role is None:
        parts = read_parts(item)
        alone = _ALONE.get(parts[0].kind) if len(parts) == 1 else None
        return LlmMessage(alone, parts) if alone else None
    content = item["content"] if "content" in item else _leave_out_system(item.get("parts"))
    if role == "tool" and "parts" not in item:
        name, call = _find_text(item, "name"), _find_text(item, "tool_call_id")
        return LlmMessage(role, (Part(PartKind.RESULT, content, name, call),))
    calls = tuple(_list_calls(item))
    ids = {part.call for part in calls} - {None}  # LangChain has calls in the content, too
    return LlmMessage(role, (*(p for p in read_parts(content) if p.call not in ids), *calls))


def _leave_out_system(parts: Any) -> Any:
    """The user's parts of a pydantic-ai request, which may begin with system prompts."""
    blocks = as_list(parts)
    kinds = [block.get("part_kind") if isinstance(block, Mapping) else None for block in blocks]
    return [b for b, kind in zip(blocks, kinds, strict=True) if kind != "system-prompt"] or blocks


#: The speaker of a part that stands alone among messages.
_ALONE: Final = {
    PartKind.CALL: "assistant",
    PartKind.THOUGHT: "assistant",
    PartKind.RESULT: "tool",
}


def read_framework_message(value: Any) -> LlmMessage | None:
    """The message that a value is, or ends with, where a framework made it; else None.

    Args:
        value: A message of LangChain's or pydantic-ai's, a list of them, a graph's state or command, or
            a result of MCP's.
    """
    match item := _unwrap(value):
        case {"update": {} as update, "goto": _}:  # LangGraph's Command
            return read_framework_message(update)
        case {"messages": [*_, {} as last]} | [*_, {} as last]:
            return read_framework_message(last)
        case {"content": [{"type": str()}, *_] as content, **others} if others.keys() <= _MCP_KEYS:
            return LlmMessage("tool", (Part(PartKind.RESULT, content),))
        case {} if item is not value or _is_of_framework(item):
            return read_message(item)
    return None


#: The fields of an MCP result besides its content.
_MCP_KEYS: Final = frozenset({"isError", "structuredContent", "_meta", "meta"})


def count_messages(value: Any) -> int:
    """The number of messages in a list of a framework's messages, or in a graph's state; else 0."""
    held = value.get("messages") if isinstance(value, Mapping) else value
    messages = as_list(held)
    return len(messages) if messages and read_framework_message(messages) is not None else 0


def _is_of_framework(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a dumped message, and no data of a tool that look like one."""
    if isinstance(item.get("parts"), list):
        return item.get("kind") in ("request", "response")
    is_message = "content" in item and _find_langchain_type(item) is not None
    return is_message and ("additional_kwargs" in item or "tool_call_id" in item)


def read_answer(value: Any) -> tuple[Part, ...] | None:
    """Read an answer's parts; None where the value is no answer of an API or a framework.

    Args:
        value: A response's body, a message, its content's blocks, or what ends with messages.
    """
    items = [value]
    if isinstance(value, Mapping):
        items = _find_answers(value)
    elif isinstance(value, list):
        blocks = read_parts(value)
        if all(part.kind is not PartKind.OTHER for part in blocks):
            return blocks
        items = value[-1:]
    messages = [message for message in map(read_message, items) if message is not None]
    if not items or len(messages) < len(items):
        return None
    return tuple(part for message in messages for part in message.parts)


def _find_answers(value: Mapping[str, Any]) -> list[Any]:
    """The messages of an answer's body; the body itself where it is a message."""
    for first in [*as_list(value.get("choices")), *as_list(value.get("candidates"))][:1]:
        return [_find_choice(first)]
    content = value.get("content")
    if isinstance(content, Mapping) and "parts" in content:  # ADK's answer
        return [content]
    output = as_list(value.get("output"))
    if output and all(_is_object(item) and "type" in item for item in output):
        return output
    if messages := as_list(value.get("messages")):
        return messages[-1:]  # a graph's state
    if value.get("object") == "response":
        return [{"role": "assistant", "content": None}]
    is_bare = not {"role", "type", "lc", "parts"} & value.keys()
    has_content = isinstance(value.get("content"), list | str) or "tool_calls" in value
    return [{"role": "assistant", **value} if is_bare and has_content else value]


def _find_choice(choice: Any) -> Any:
    """The message in one choice of an answer."""
    if isinstance(choice, Mapping):
        keys = ("message", "content", "text")  # of a chat, of Gemini, of completions without chat
        choice = next((choice[key] for key in keys if key in choice), None)
    is_message = isinstance(choice, Mapping)
    return {"role": "model", **choice} if is_message else {"role": "model", "content": choice}


def read_parts(content: Any) -> tuple[Part, ...]:
    """The parts of a message's content: a text, a block, or a list of these."""
    if content is None or content == "":
        return ()
    if isinstance(content, list):
        return tuple(part for block in content for part in read_parts(block))
    if isinstance(content, str):
        return (Part(PartKind.TEXT, content),)
    if not _is_object(content):
        return (Part(PartKind.OTHER, content),)
    return tuple(_read_block(content))


def _read_block(block: Mapping[str, Any]) -> Iterator[Part]:
    if kind := _find_text(block, "part_kind"):
        yield from _read_pydantic_part(block, kind)
        return
    kind = _find_text(block, "type", "kind")
    if kind is None:
        yield _read_gemini_part(block)
    elif kind == "message":  # of the Responses API, without a role
        yield from read_parts(block.get("content"))
    else:
        yield _read_typed_block(block, kind)


def _read_typed_block(block: Mapping[str, Any], kind: str) -> Part:
    if kind in _TEXT_TYPES:
        return Part(PartKind.TEXT, _find_text(block, "text", "refusal"))
    if kind in _THOUGHT_TYPES:
        return Part(PartKind.THOUGHT, block.get("thinking"))
    if _CALL_TYPE.fullmatch(kind):
        return _read_call(block, kind)
    if _RESULT_TYPE.fullmatch(kind):
        call = _find_text(block, "tool_use_id", "call_id", "tool_call_id")
        result = block.get("content", block.get("output"))
        return Part(PartKind.RESULT, result, _find_text(block, "name"), call)
    medium = _MEDIUM.search(kind)
    return Part(PartKind.MEDIA, block, medium[0]) if medium else Part(PartKind.OTHER, block)


def _read_pydantic_part(part: Mapping[str, Any], kind: str) -> Iterator[Part]:
    content, name = part.get("content"), _find_text(part, "tool_name")
    call = _find_text(part, "tool_call_id")
    if kind.endswith("tool-call"):
        yield Part(PartKind.CALL, part.get("args"), name, call)
    elif kind.endswith("tool-return") or (kind == "retry-prompt" and name):
        yield Part(PartKind.RESULT, content, name, call)
    elif kind == "thinking":
        yield Part(PartKind.THOUGHT, content)
    else:
        yield from read_parts(content)


def _read_gemini_part(part: Mapping[str, Any]) -> Part:
    """A part without a type: Gemini's, by the one member that it has."""
    match part:
        case {"text": str() as text}:
            return Part(PartKind.THOUGHT if part.get("thought") is True else PartKind.TEXT, text)
        case {"functionCall": {} as call} | {"function_call": {} as call}:
            return Part(PartKind.CALL, call.get("args"), _find_text(call, "name"))
        case {"functionResponse": {} as given} | {"function_response": {} as given}:
            result = given.get("response")
            match result:
                case {"result": inner, **others} | {"output": inner, **others} if not others:
                    result = inner  # what the SDK puts around what a tool returned
            return Part(PartKind.RESULT, result, _find_text(given, "name"))
        case {"toolUse": {} as call}:  # Bedrock's
            return Part(PartKind.CALL, call.get("input"), _find_text(call, "name"))
        case {"toolResult": {} as given}:
            return Part(PartKind.RESULT, given.get("content"))
        case {"inlineData": {} as data} | {"inline_data": {} as data} | {"fileData": {} as data}:
            medium = _MEDIUM.search(str(data.get("mimeType", data.get("mime_type"))))
            return Part(PartKind.MEDIA, part, medium[0] if medium else "file")
    return Part(PartKind.OTHER, part)


def _list_calls(message: Mapping[str, Any]) -> Iterator[Part]:
    """The calls that stand beside a message's content."""
    several = (as_list(message.get(key)) for key in ("tool_calls", "invalid_tool_calls"))
    for call in [*(call for calls in several for call in calls), message.get("function_call")]:
        if _is_object(call) and call:
            yield _read_call(call, "")


def _read_call(call: Mapping[str, Any], kind: str) -> Part:
    inner = next((call[key] for key in ("function", "custom") if _is_object(call.get(key))), call)
    keys = ("arguments", "input", "args", "action", "queries", "code")
    args = next((inner[key] for key in keys if key in inner), None)
    own = kind.removesuffix("_call") if kind.endswith("_call") else None  # web_search_call
    name = _find_text(inner, "name") or (own if own not in ("function", "custom_tool") else None)
    return Part(PartKind.CALL, args, name, _find_text(call, "call_id", "id"))


def _unwrap(item: Any) -> Any:
    """A message out of what LangChain's `dumpd` and `message_to_dict` put around it."""
    match item:
        case {"lc": int(), "type": "constructor", "kwargs": {} as inner}:
            return {"type": _type_of_class(item.get("id")), **inner}
        case {"type": str() as kind, "data": {} as inner} if kind in _LANGCHAIN_TYPES:
            return {"type": kind, **inner}
    return item


def _type_of_class(names: Any) -> str:
    last = as_list(names)[-1:]
    return str(*last).removesuffix("Chunk").removesuffix("Message").lower()


def _find_role(item: Mapping[str, Any]) -> str | None:
    role = _find_text(item, "role")
    if role is None and isinstance(item.get("parts"), list):
        role = _find_text(item, "kind") or "user"
    if role is None and "content" in item:
        role = _find_langchain_type(item)
    if role is None and item.get("type") == "message":
        role = "assistant"
    return role and _ROLES.get(role, role)


def _find_langchain_type(item: Mapping[str, Any]) -> str | None:
    kind = _find_text(item, "type") or ""
    chunk = _CHUNK.fullmatch(kind)
    kind = chunk[1].lower() if chunk else kind
    return kind if kind in _LANGCHAIN_TYPES else None


def _find_text(item: Mapping[str, Any], *keys: str) -> str | None:
    """The first of these members that is a text."""
    return next((item[key] for key in keys if isinstance(item.get(key), str)), None)


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def as_list(value: Any) -> list[Any]:
    """A list; an empty one where the value is none."""
    return value if isinstance(value, list) else []
