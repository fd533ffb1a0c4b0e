"""A streamed answer as one JSON value: what the APIs' joins and splits have in common.

Unlike `answer_stream`, which reads what an agent of ours needs, these lose nothing: a member that is
unknown here passes through, since a person edits the answer that the agent's own client will read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct

from .sse import SseEvent, encode_event

#: A JSON object.
JsonObject = dict[str, Any]


class JoinedAnswer(Struct, frozen=True):
    """A streamed answer in one piece."""

    answer: Any
    """The answer in the API's format without streaming, as far as the answer was received."""
    error: str | None = None
    """The service's error message within the answer; None: there was no error."""
    is_complete: bool = True
    """Whether the model ended it: not where its client or the connection did."""


def decode_events(events: Iterable[SseEvent]) -> list[JsonObject]:
    """The JSON objects that events carry; an event that carries none, such as `[DONE]`, is passed over.

    Raises:
        ValueError: An event's data looks like a JSON object, and isn't one.
    """
    texts = (event.data.lstrip() for event in events)
    return [msgspec.json.decode(text) for text in texts if text.startswith("{")]


def encode_json_event(data: Any, name: str | None = None) -> bytes:
    """Frame one event that carries JSON.

    Args:
        data: Any JSON value.
        name: The event's name; None leaves that field out.
    """
    return encode_event(msgspec.json.encode(data), name)


def find_error_message(event: Mapping[str, Any]) -> str | None:
    """Return the message of an error within an answer, `{"error": {"message": …}}`; None: no error."""
    match event.get("error"):
        case None:
            return None
        case {"message": str() as message} if message:
            return message
        case other:
            return str(other)


#: Members that a later delta replaces; other texts are continued by it.
_REPLACED: Final = frozenset(
    {"id", "type", "role", "name", "index", "object", "format", "call_id", "finish_reason"}
)


def merge_delta(target: JsonObject, delta: Mapping[str, Any]) -> None:
    """Add a delta to what came before it, member by member, in place.

    Texts are continued, lists are extended, and an item that names its `index` continues the item of
    that index. An empty value replaces nothing: servers repeat names and ids as empty texts.
    """
    for name, value in delta.items():
        before = target.get(name)
        if value is None or (value == "" and before is not None):
            target.setdefault(name, value)
        elif isinstance(value, str) and isinstance(before, str) and name not in _REPLACED:
            target[name] = before + value
        elif isinstance(value, dict):
            target[name] = before if isinstance(before, dict) else {}
            merge_delta(target[name], value)
        elif isinstance(value, list):
            target[name] = before if isinstance(before, list) else []
            _merge_items(target[name], value)
        else:
            target[name] = value


def _merge_items(items: list[Any], deltas: list[Any]) -> None:
    for delta in deltas:
        index = delta.get("index") if isinstance(delta, dict) else None
        if index is None:
            items.append(delta)
            continue
        known = (item for item in items if isinstance(item, dict) and item.get("index") == index)
        item = next(known, None)
        if item is None:
            item = {}
            items.append(item)
        merge_delta(item, delta)
