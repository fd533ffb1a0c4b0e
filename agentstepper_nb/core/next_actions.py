"""An agent's next action by an LLM answer: the tools that it calls, else its text. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec

from .message_parts import Part, PartKind, read_answer
from .summaries import MAX_READ_CHARS, flatten_json, summarize_answer


class NextAction(NamedTuple):
    """The next action of an agent, by an LLM answer.

    Args:
        key: Equal for two answers with the same action: ids and times don't count.
        label: One line for a person.
    """

    key: str
    label: str


def find_next_action(answer: str) -> NextAction:
    """Find an agent's next action by an LLM answer, or by another outcome.

    Args:
        answer: The outcome's JSON text.
    """
    if len(answer) > MAX_READ_CHARS:
        return NextAction(answer, flatten_json(answer))
    try:
        value = msgspec.json.decode(answer)
        return NextAction(_make_key(value), summarize_answer(answer))
    except (msgspec.DecodeError, RecursionError, UnicodeError, ValueError):
        return NextAction(answer, flatten_json(answer))


def _make_key(value: Any) -> str:
    parts = read_answer(value)
    if parts is None:
        return _dump(value)
    calls = [["call", part.name, _read_arguments(part)] for part in parts if _is_call(part)]
    texts = [part.value or "" for part in parts if part.kind is PartKind.TEXT]
    if calls:
        return _dump(calls)
    return _dump(["text", "".join(texts).strip()] if texts else value)


def _is_call(part: Part) -> bool:
    return part.kind is PartKind.CALL


def _read_arguments(part: Part) -> Any:
    """A call's arguments: models write the same JSON with other white space."""
    if not isinstance(part.value, str):
        return part.value
    try:
        return msgspec.json.decode(part.value)
    except msgspec.DecodeError:
        return part.value


def _dump(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
