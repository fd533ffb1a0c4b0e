"""Codecs that show values of each type as JSON, and make values of the same type from an edit.

The codec is chosen by `type(value)` alone: `isinstance` would ask the value's own `__class__`.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import sys
from collections import deque
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, NamedTuple
from uuid import UUID

#: Bytes of a value that is shown as text.
_MAX_SHOWN_BYTES: Final = 100_000


class FieldsCodec(NamedTuple):
    """A value that is shown as an object, by its fields."""

    read: Callable[[Any], dict[str, Any]]
    #: Makes the value anew, with some fields changed; raises where its type refuses that.
    replace: Callable[[Any, dict[str, Any]], Any]
    #: Whether fields may be added.
    is_open: Callable[[Any], bool] = lambda _: False


class MembersCodec(NamedTuple):
    """A value that is shown as an object, by its keys."""

    make: Callable[[Any, dict[Any, Any]], Any]


class ItemsCodec(NamedTuple):
    """A value that is shown as a list."""

    make: Callable[[Any, list[Any]], Any]
    is_set: bool = False


class ScalarCodec(NamedTuple):
    """A value that is shown as a text, a number or a boolean."""

    show: Callable[[Any], Any]
    #: Makes a value of the held one's type from an edit; raises where that isn't one.
    make: Callable[[Any, Any], Any]


ValueCodec = FieldsCodec | MembersCodec | ItemsCodec | ScalarCodec


def find_value_codec(kind: type) -> ValueCodec | None:
    """The form of a type's values; None where JSON has them, or they are only shown by their repr."""
    if kind in JSON_SCALAR_TYPES:
        return None
    for find in (_enum, _dataclass, _attrs, _pydantic, _named_tuple):
        if (codec := find(kind)) is not None:
            return codec
    return next((codec for base, codec in _BASES if issubclass(kind, base)), None)


# ---- classes with fields ----------------------------------------------------------------------------


def _dataclass(kind: type) -> ValueCodec | None:
    if not isinstance(getattr(kind, "__dataclass_fields__", None), dict):
        return None
    names = [each.name for each in dataclasses.fields(kind) if each.repr]
    return FieldsCodec(
        lambda original: {name: getattr(original, name) for name in names},
        lambda original, changes: dataclasses.replace(original, **changes),
    )


def _attrs(kind: type) -> ValueCodec | None:
    attributes = getattr(kind, "__attrs_attrs__", None)
    attrs = sys.modules.get("attr")
    if attrs is None or not isinstance(attributes, tuple):
        return None
    names = {each.name: each.alias for each in attributes if each.repr}
    return FieldsCodec(
        lambda original: {name: getattr(original, name) for name in names},
        lambda original, changes: attrs.evolve(
            original, **{names[name]: value for name, value in changes.items()}
        ),
    )


def _pydantic(kind: type) -> ValueCodec | None:
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    if model is None or not issubclass(kind, model) or kind is model:
        return None
    fields = kind.model_fields  # type: ignore[attr-defined]
    names = [name for name, info in fields.items() if info.repr and not info.exclude]

    def read(original: Any) -> dict[str, Any]:
        shown = {name: original.__dict__[name] for name in names if name in original.__dict__}
        return shown | (original.__pydantic_extra__ or {})

    def is_open(original: Any) -> bool:
        return original.__pydantic_extra__ is not None

    return FieldsCodec(read, _assign_fields, is_open)


def _assign_fields(original: Any, changes: dict[str, Any]) -> Any:
    """A pydantic model with fields assigned: every validator of theirs and of the model runs."""
    kind = type(original)
    frozen = kind.model_config.get("frozen") or any(
        name in kind.model_fields and kind.model_fields[name].frozen for name in changes
    )
    if frozen:
        return _validate_fields(original, changes)
    new = original.model_copy()
    try:
        for name, value in changes.items():
            new = kind.__pydantic_validator__.validate_assignment(new, name, value)
    except ValueError:
        if len(changes) == 1:
            raise
        return _validate_fields(original, changes)  # what one field may be can depend on another
    return new


def _validate_fields(original: Any, changes: dict[str, Any]) -> Any:
    """A pydantic model, made anew from all its values at once."""
    kind = type(original)
    values = original.__dict__ | (original.__pydantic_extra__ or {}) | changes
    fields = kind.model_fields
    new = kind.model_validate(
        {_alias(name, fields.get(name)): value for name, value in values.items()}
    )
    object.__setattr__(new, "__pydantic_private__", copy.copy(original.__pydantic_private__))
    set_before = original.__pydantic_fields_set__
    object.__setattr__(new, "__pydantic_fields_set__", set_before | set(changes))
    return new


def _alias(name: str, info: Any) -> str:
    """The name that a pydantic field is validated by."""
    alias = getattr(info, "validation_alias", None) or getattr(info, "alias", None)
    return alias if isinstance(alias, str) else name


def _named_tuple(kind: type) -> ValueCodec | None:
    names = getattr(kind, "_fields", None)
    if not issubclass(kind, tuple) or not isinstance(names, tuple):
        return None
    return FieldsCodec(
        lambda original: dict(zip(names, original, strict=True)),
        lambda original, changes: original._replace(**changes),
    )


# ---- scalars ----------------------------------------------------------------------------------------


def _enum(kind: type) -> ValueCodec | None:
    return _ENUM if issubclass(kind, Enum) else None


def _show_enum(original: Any) -> Any:
    return original.value if type(original.value) in (str, int, float, bool) else original.name


def _make_enum(original: Any, edit: Any) -> Any:
    kind = type(original)
    return (
        kind[_text(edit)] if _show_enum(original) == original.name != original.value else kind(edit)
    )


def _text(edit: Any) -> str:
    if not isinstance(edit, str):
        raise TypeError("the value must stay a text")
    return edit


def _from_text(original: Any, edit: Any) -> Any:
    return type(original)(_text(edit))


def _from_iso(original: Any, edit: Any) -> Any:
    return type(original).fromisoformat(_text(edit))


def _date_and_time(original: Any, edit: Any) -> Any:
    """A datetime in the held one's time zone, where the edit has the offset of that zone."""
    new = _from_iso(original, edit)
    zoned = new.replace(tzinfo=original.tzinfo)
    return zoned if zoned.utcoffset() == new.utcoffset() else new


def _decimal(original: Any, edit: Any) -> Any:
    if type(edit) is int:
        return type(original)(edit)
    return _from_text(original, edit)


def _show_bytes(original: Any) -> str:
    if len(original) > _MAX_SHOWN_BYTES:
        raise OverflowError(f"{len(original)} bytes")
    return repr(bytes(original))


def _bytes(original: Any, edit: Any) -> Any:
    text = _text(edit)
    value = ast.literal_eval(text) if text.startswith(("b'", 'b"')) else None
    if not isinstance(value, bytes):
        raise TypeError("the value must stay bytes, written as in Python: b'…'")
    return type(original)(value)


def _number(original: Any, edit: Any) -> Any:
    if type(edit) not in (int, float):
        raise TypeError("the value must stay a number")
    new = type(original)(edit)
    if new != edit:
        raise ValueError(f"{type(original).__name__} can't hold {edit}")
    return new


# ---- containers -------------------------------------------------------------------------------------


def _make_dict(original: Any, members: dict[Any, Any]) -> Any:
    """A dict of the original's type; other state of a subclass is copied (a default factory, say)."""
    if type(original) is dict:
        return members
    new = copy.copy(original)
    new.clear()
    new.update(members)
    return new


def _make_list(original: Any, items: list[Any]) -> Any:
    if type(original) is list:
        return items
    new = copy.copy(original)
    new.clear()
    new.extend(items)
    if len(new) != len(items):
        raise ValueError(f"its type keeps {len(new)} of {len(items)} items")
    return new


def _make_set(original: Any, items: list[Any]) -> Any:
    new = type(original)(items)
    if len(new) != len(items):
        raise ValueError("a set holds each value once")
    return new


#: Types whose values are the same in JSON, and are edited as such.
JSON_SCALAR_TYPES: Final = frozenset({str, int, float, bool, type(None)})
_ENUM: Final = ScalarCodec(_show_enum, _make_enum)
#: Codecs by base class; the first one that fits is used.
_BASES: Final[tuple[tuple[type, ValueCodec], ...]] = (
    (dict, MembersCodec(_make_dict)),
    (list, ItemsCodec(_make_list)),
    (deque, ItemsCodec(_make_list)),
    (tuple, ItemsCodec(lambda original, items: type(original)(items))),
    (set, ItemsCodec(_make_set, is_set=True)),
    (frozenset, ItemsCodec(_make_set, is_set=True)),
    (PurePath, ScalarCodec(str, _from_text)),
    (datetime, ScalarCodec(lambda original: original.isoformat(), _date_and_time)),
    (date, ScalarCodec(lambda original: original.isoformat(), _from_iso)),
    (time, ScalarCodec(lambda original: original.isoformat(), _from_iso)),
    (Decimal, ScalarCodec(str, _decimal)),
    (UUID, ScalarCodec(str, _from_text)),
    (bytes, ScalarCodec(_show_bytes, _bytes)),
    (bytearray, ScalarCodec(_show_bytes, _bytes)),
    (str, ScalarCodec(lambda original: str.__str__(original), _from_text)),
    (int, ScalarCodec(lambda original: int.__int__(original), _number)),
    (float, ScalarCodec(lambda original: float.__float__(original), _number)),
)
