"""The parts of a value, a page at a time, read without a call of the agent's own code.

Containers are read by the methods of Python's own types, attributes from where they are stored, so that
neither a property nor a `__len__` of the agent's runs.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Final, NamedTuple

#: Types whose attributes are left out of the tree of variables.
_LEAVES: Final = (
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.CodeType,
    types.FrameType,
)
_ITEMS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, deque)


class Child(NamedTuple):
    """A part of a value."""

    key: Any  # a name, or a dict's key
    value: Any
    is_key: bool = False  # whether the key is a value of the agent's


def count_children(value: Any) -> int:
    """The number of a value's parts."""
    if isinstance(value, dict):
        return dict.__len__(value)
    if isinstance(value, types.MappingProxyType):
        return len(value)
    for kind in _ITEMS:
        if isinstance(value, kind):
            return int(kind.__len__(value))
    return len(list_attributes(value))


def list_children(value: Any, start: int, count: int) -> list[Child]:
    """Some parts of a value.

    Args:
        value: The value.
        start: The index of the first part.
        count: The most parts.
    """
    if isinstance(value, dict):
        items: Iterable[tuple[Any, Any]] = dict.items(value)
        return [Child(*item, is_key=True) for item in islice(items, start, start + count)]
    if isinstance(value, types.MappingProxyType):
        pairs = islice(value.items(), start, start + count)
        return [Child(*pair, is_key=True) for pair in pairs]
    for kind in _ITEMS:
        if isinstance(value, kind):
            members = islice(kind.__iter__(value), start, start + count)
            names = _find_field_names(value)
            return [
                Child(names[index] if index < len(names) else str(index), member)
                for index, member in enumerate(members, start)
            ]
    return [Child(*pair) for pair in list_attributes(value)[start : start + count]]


def list_attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes that are stored in an object, in the order in which they were set."""
    if value is None or isinstance(value, _LEAVES):
        return []
    found: dict[str, Any] = {}
    if isinstance(value, BaseException):
        found["args"] = value.args
    try:
        stored = object.__getattribute__(value, "__dict__")
    except Exception:
        stored = {}
    if isinstance(stored, dict):
        found.update((key, item) for key, item in dict.items(stored) if isinstance(key, str))
    for name, item in _list_slots(value):
        found.setdefault(name, item)
    return [pair for pair in found.items() if not _is_internal(pair[0])]


def _list_slots(value: Any) -> Iterator[tuple[str, Any]]:
    for kind in type(value).__mro__:
        for name, member in vars(kind).items():
            if isinstance(member, types.MemberDescriptorType):
                with suppress(AttributeError):  # nothing was stored there
                    yield name, member.__get__(value)


def _is_internal(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _find_field_names(value: Any) -> tuple[str, ...]:
    """The names of a named tuple's fields."""
    fields = type(value).__dict__.get("_fields", ()) if isinstance(value, tuple) else ()
    return fields if isinstance(fields, tuple) and all(isinstance(f, str) for f in fields) else ()
