"""The parts of a value, a page at a time, read without a call of the agent's own code.

Containers are read by the methods of the types of Python itself, attributes from where they are stored,
so that neither a property nor a `__len__` of the agent runs. A value is asked for its type by `type()`:
`isinstance` reads `__class__`, which a proxy computes.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterator
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
#: How C keeps an attribute.
_STORED: Final = (types.GetSetDescriptorType, types.MemberDescriptorType)
#: The bases of a class and its namespace, also where its metaclass computes others.
_MRO: Final = type.__dict__["__mro__"].__get__
_NAMESPACE: Final = type.__dict__["__dict__"].__get__
_ITEMS: Final[tuple[Any, ...]] = (list, tuple, set, frozenset, deque)


class Child(NamedTuple):
    """A part of a value."""

    key: Any  # a name, or a dict's key
    value: Any
    is_key: bool = False  # whether the key is a value of the agent's


def count_children(value: Any) -> int:
    """The number of a value's parts."""
    mapping = _find_dict(value)
    if mapping is not None:
        return dict.__len__(mapping)
    for kind in _ITEMS:
        if issubclass(type(value), kind):
            return int(kind.__len__(value))
    return len(list_attributes(value))


def list_children(value: Any, start: int, count: int) -> list[Child]:
    """Some parts of a value.

    Args:
        value: The value.
        start: The index of the first part.
        count: The most parts.
    """
    mapping = _find_dict(value)
    if mapping is not None:
        items = islice(dict.items(mapping), start, start + count)
        return [Child(*item, is_key=True) for item in items]
    for kind in _ITEMS:
        if issubclass(type(value), kind):
            members = islice(kind.__iter__(value), start, start + count)
            names = _find_field_names(value)
            return [
                Child(names[index] if index < len(names) else str(index), member)
                for index, member in enumerate(members, start)
            ]
    return [Child(*pair) for pair in list_attributes(value)[start : start + count]]


def list_attributes(value: Any) -> list[tuple[str, Any]]:
    """The attributes that are stored in an object, in the order in which they were set."""
    if value is None or issubclass(type(value), _LEAVES):
        return []
    found: dict[str, Any] = {}
    if issubclass(type(value), BaseException):
        found["args"] = BaseException.args.__get__(value)  # type: ignore[attr-defined]
    found.update(
        (key, item) for key, item in dict.items(_get_stored(value)) if isinstance(key, str)
    )
    for name, item in _list_slots(value):
        found.setdefault(name, item)
    return [pair for pair in found.items() if not _is_internal(pair[0])]


def computes_class(value: Any) -> bool:
    """Whether a value's type computes `__class__`, as those of proxies do."""
    return any("__class__" in _NAMESPACE(kind) for kind in _MRO(type(value))[:-1])


def _find_dict(value: Any) -> dict[Any, Any] | None:
    """The dictionary that a value is, or shows read-only."""
    while type(value) is types.MappingProxyType:
        (value,) = gc.get_referents(value)  # its own methods call those of what it shows
    return value if issubclass(type(value), dict) else None


def _get_stored(value: Any) -> dict[Any, Any]:
    """The dictionary in which an object has its attributes; empty: it has none, or computes it."""
    for kind in _MRO(type(value)):
        place = _NAMESPACE(kind).get("__dict__")
        if place is not None:
            stored: Any = place.__get__(value) if type(place) in _STORED else None
            return stored if issubclass(type(stored), dict) else {}
    return {}


def _list_slots(value: Any) -> Iterator[tuple[str, Any]]:
    for kind in _MRO(type(value)):
        for name, member in _NAMESPACE(kind).items():
            if type(member) is types.MemberDescriptorType:
                with suppress(AttributeError):  # nothing was stored there
                    yield name, member.__get__(value)


def _is_internal(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _find_field_names(value: Any) -> tuple[str, ...]:
    """The names of a named tuple's fields."""
    fields = _NAMESPACE(type(value)).get("_fields", ()) if issubclass(type(value), tuple) else ()
    return fields if isinstance(fields, tuple) and all(isinstance(f, str) for f in fields) else ()
