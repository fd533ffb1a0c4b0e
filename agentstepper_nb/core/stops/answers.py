"""What a model answered, in the shapes that LLM APIs have: the words, and the calls it asks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec


def answer_of(data: Any) -> dict[str, Any]:
    """An answer with all it has, its `text` and `tool_calls`, which have `name`, `args` and `id`."""
    parts = list(_parts(data))
    said = [part for part in parts if isinstance(part, str)]
    calls = [part for part in parts if not isinstance(part, str)]
    own = data if isinstance(data, dict) else {}
    return {**own, "text": "\n".join(said), "tool_calls": calls}


def messages_of(prompt: Any) -> list[Any]:
    """The messages of a prompt; none where it has another shape."""
    match prompt:
        case {"messages": list() as messages} | {"input": list() as messages}:
            return messages
        case list() as messages:
            return messages
    return []


def _parts(data: Any) -> Iterator[str | dict[str, Any]]:
    """What was said and asked for, in its order, wherever one of the shapes has it."""
    match data:
        case str():
            yield data
        case list():
            for item in data:
                yield from _part(item)
        case {"choices": [{"message": dict() as message}, *_]}:
            yield from _message(message)
        case {"output": list() as items}:
            for item in items:
                yield from _part(item)
        case dict():
            yield from _message(data)


def _message(message: dict[str, Any]) -> Iterator[str | dict[str, Any]]:
    """A message with its `content`, be it a text or a list of parts, and `tool_calls`."""
    match message.get("content"):
        case str() as text:
            yield text
        case list() as content:
            for part in content:
                yield from _part(part)
    match message.get("tool_calls"):
        case list() as calls:
            for call in calls:
                yield from _part(call)


def _part(part: Any) -> Iterator[str | dict[str, Any]]:
    match part:
        case str():
            yield part
        case {"function": {"name": str() as name, **function}}:
            yield _call(name, function.get("arguments"), part.get("id"))
        case {"type": "function_call", "name": str() as name}:
            yield _call(name, part.get("arguments"), part.get("call_id"))
        case {"type": "tool_use", "name": str() as name}:
            yield _call(name, part.get("input"), part.get("id"))
        case {"type": "message"} | {"role": str()}:
            yield from _message(part)
        case {"type": "text" | "output_text", "text": str() as text}:
            yield text


def _call(name: str, args: Any, id: Any) -> dict[str, Any]:
    if isinstance(args, str):  # JSON, as the model wrote it: it may be malformed
        args = read_json(args)
    return {"name": name, "args": args, "id": id}


def read_json(text: str | bytes) -> Any:
    """What a JSON text says; one that isn't strict JSON is a text to us."""
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return text if isinstance(text, str) else text.decode("utf-8", "replace")
