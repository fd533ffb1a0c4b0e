"""Marks: values that JSON can't carry, as they stand in JSON: `{"$repr": "<a socket>", "$ref": 1}`.

A mark can be looked at, moved and removed with what it stands in. It can't be edited, since nothing
could be made of the edit. The view, the terminal, the Core and the SDK refuse it by this one rule.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TypeGuard

#: The text that stands for the object.
REPR_KEY: Final = "$repr"
#: The object's number in the message, by which the agent's process finds the object.
REF: Final = "$ref"
#: Why the mark can't be edited, for a person; SDKs before 0017 omit the reason.
REASON_KEY: Final = "$why"

_UNKNOWN: Final = "JSON can't carry it"
_WHOLE: Final = "The value"


def is_opaque_value(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a JSON value is a mark."""
    return isinstance(value, dict) and isinstance(value.get(REPR_KEY), str) and REF in value


def find_opaque_values(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the path of each mark in a JSON value, and why the mark is read-only."""
    for path, mark in _iterate_marks(value, ""):
        yield path or _WHOLE, _read_reason(mark)


def find_edited_opaque_value(sent: Any, edit: Any) -> str | None:
    """Find a mark that an edit changes or replaces.

    Args:
        sent: The JSON value as the agent sent it.
        edit: The edited JSON value.

    Returns:
        Why the edit is refused, for a person; None where all marks are left as they are.
    """
    known = {_key(mark): path for path, mark in _iterate_marks(sent, "")}
    left = {_key(mark): path for path, mark in _iterate_marks(edit, "")}
    for key, path in left.items():
        if key not in known:
            return _refusal(path, json.loads(key))
    if not known:
        return None
    for path, mark in _replaced(sent, edit, ""):
        if _key(mark) not in left:
            return _refusal(path, mark)
    return None


def _refusal(path: str, mark: dict[str, Any]) -> str:
    return f"{path or _WHOLE} is read-only, since {_read_reason(mark)}. Restore its original value."


def _read_reason(mark: dict[str, Any]) -> str:
    why = mark.get(REASON_KEY)
    return why if isinstance(why, str) else _UNKNOWN


def _key(mark: dict[str, Any]) -> str:
    return json.dumps(mark, sort_keys=True)


def _iterate_marks(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each mark in a JSON value, with its path."""
    todo = [(path, value)]
    while todo:
        path, value = todo.pop()
        if is_opaque_value(value):
            yield path, value
        elif isinstance(value, dict):
            todo += [(_member(path, key), item) for key, item in value.items()]
        elif isinstance(value, list):
            todo += [(f"{path}[{index}]", item) for index, item in enumerate(value)]


def _replaced(sent: Any, edit: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each mark of the sent value that another value replaces in the edit, with its path."""
    todo = [(path, sent, edit)]
    while todo:
        path, sent, edit = todo.pop()
        if is_opaque_value(sent):
            if not is_opaque_value(edit):
                yield path, sent
        elif isinstance(sent, dict) and isinstance(edit, dict):
            both = [key for key in sent if key in edit]
            todo += [(_member(path, key), sent[key], edit[key]) for key in both]
        elif isinstance(sent, list) and isinstance(edit, list) and len(sent) == len(edit):
            pairs = enumerate(zip(sent, edit, strict=True))
            todo += [(f"{path}[{index}]", one, other) for index, (one, other) in pairs]


def _member(path: str, key: str) -> str:
    step = key if key.isidentifier() else f"[{json.dumps(key)}]"
    return step if not path else f"{path}.{step}" if key.isidentifier() else path + step
