"""How values of each type are shown as JSON, and made anew by their own type from an edit.

A form is chosen by `type(value)` alone: `isinstance` would ask the value's own `__class__`.
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
_MOST_BYTES: Final = 100_000


class FieldsForm(NamedTuple):
    """A value that is shown as an object, by its fields."""

    read: Callable[[Any], dict[str, Any]]
    #: Makes the value anew, with some fields changed; raises where its type refuses that.
    replace: Callable[[Any, dict[str, Any]], Any]
    #: Whether fields may be added.
    is_open: Callable[[Any], bool] = lambda _: False


class MembersForm(NamedTuple):
    """A value that is shown as an object, by its keys."""

    make: Callable[[Any, dict[Any, Any]], Any]


class ItemsForm(NamedTuple):
    """A value that is shown as a list."""

    make: Callable[[Any, list[Any]], Any]
    is_set: bool = False


class ScalarForm(NamedTuple):
    """A value that is shown as a text, a number or a boolean."""

    show: Callable[[Any], Any]
    #: Makes a value of the held one's type from an edit; raises where that isn't one.
    make: Callable[[Any, Any], Any]


Form = FieldsForm | MembersForm | ItemsForm | ScalarForm


def find_form(kind: type) -> Form | None:
    """The form of a type's values; None where JSON has them, or they are only shown by their repr."""
    if kind in PLAIN:
        return None
    for find in (_enum, _dataclass, _attrs, _pydantic, _named_tuple):
        if (form := find(kind)) is not None:
            return form
    return next((form for base, form in _BASES if issubclass(kind, base)), None)


# ---- classes with fields ----------------------------------------------------------------------------


def _dataclass(kind: type) -> Form | None:
    if not isinstance(getattr(kind, "__dataclass_fields__", None), dict):
        return None
    names = [each.name for each in dataclasses.fields(kind) if each.repr]
    return FieldsForm(
        lambda held: {name: getattr(held, name) for name in names},
        lambda held, changes: dataclasses.replace(held, **changes),
    )


def _attrs(kind: type) -> Form | None:
    attributes = getattr(kind, "__attrs_attrs__", None)
    attrs = sys.modules.get("attr")
    if attrs is None or not isinstance(attributes, tuple):
        return None
    names = {each.name: each.alias for each in attributes if each.repr}
    return FieldsForm(
        lambda held: {name: getattr(held, name) for name in names},
        lambda held, changes: attrs.evolve(
            held, **{names[name]: value for name, value in changes.items()}
        ),
    )


def _pydantic(kind: type) -> Form | None:
    model = getattr(sys.modules.get("pydantic"), "BaseModel", None)
    if model is None or not issubclass(kind, model) or kind is model:
        return None
    fields = kind.model_fields  # type: ignore[attr-defined]
    names = [name for name, info in fields.items() if info.repr and not info.exclude]

    def read(held: Any) -> dict[str, Any]:
        shown = {name: held.__dict__[name] for name in names if name in held.__dict__}
        return shown | (held.__pydantic_extra__ or {})

    def is_open(held: Any) -> bool:
        return held.__pydantic_extra__ is not None

    return FieldsForm(read, _assigned, is_open)


def _assigned(held: Any, changes: dict[str, Any]) -> Any:
    """A pydantic model with fields assigned: every validator of theirs and of the model runs."""
    kind = type(held)
    frozen = kind.model_config.get("frozen") or any(
        name in kind.model_fields and kind.model_fields[name].frozen for name in changes
    )
    if frozen:
        return _validated(held, changes)
    new = held.model_copy()
    try:
        for name, value in changes.items():
            new = kind.__pydantic_validator__.validate_assignment(new, name, value)
    except ValueError:
        if len(changes) == 1:
            raise
        return _validated(held, changes)  # what one field may be can depend on another
    return new


def _validated(held: Any, changes: dict[str, Any]) -> Any:
    """A pydantic model, made anew from all its values at once."""
    kind = type(held)
    values = held.__dict__ | (held.__pydantic_extra__ or {}) | changes
    fields = kind.model_fields
    new = kind.model_validate(
        {_alias(name, fields.get(name)): value for name, value in values.items()}
    )
    object.__setattr__(new, "__pydantic_private__", copy.copy(held.__pydantic_private__))
    set_before = held.__pydantic_fields_set__
    object.__setattr__(new, "__pydantic_fields_set__", set_before | set(changes))
    return new


def _alias(name: str, info: Any) -> str:
    """The name that a pydantic field is validated by."""
    alias = getattr(info, "validation_alias", None) or getattr(info, "alias", None)
    return alias if isinstance(alias, str) else name


def _named_tuple(kind: type) -> Form | None:
    names = getattr(kind, "_fields", None)
    if not issubclass(kind, tuple) or not isinstance(names, tuple):
        return None
    return FieldsForm(
        lambda held: dict(zip(names, held, strict=True)),
        lambda held, changes: held._replace(**changes),
    )


# ---- scalars ----------------------------------------------------------------------------------------


def _enum(kind: type) -> Form | None:
    return _ENUM if issubclass(kind, Enum) else None


def _show_enum(held: Any) -> Any:
    return held.value if type(held.value) in (str, int, float, bool) else held.name


def _make_enum(held: Any, edit: Any) -> Any:
    kind = type(held)
    return kind[_text(edit)] if _show_enum(held) == held.name != held.value else kind(edit)


def _text(edit: Any) -> str:
    if not isinstance(edit, str):
        raise TypeError("it must stay a text")
    return edit


def _from_text(held: Any, edit: Any) -> Any:
    return type(held)(_text(edit))


def _from_iso(held: Any, edit: Any) -> Any:
    return type(held).fromisoformat(_text(edit))


def _date_and_time(held: Any, edit: Any) -> Any:
    """A datetime in the held one's time zone, where the edit has the offset of that zone."""
    new = _from_iso(held, edit)
    zoned = new.replace(tzinfo=held.tzinfo)
    return zoned if zoned.utcoffset() == new.utcoffset() else new


def _decimal(held: Any, edit: Any) -> Any:
    if type(edit) is int:
        return type(held)(edit)
    return _from_text(held, edit)


def _show_bytes(held: Any) -> str:
    if len(held) > _MOST_BYTES:
        raise OverflowError(f"{len(held)} bytes")
    return repr(bytes(held))


def _bytes(held: Any, edit: Any) -> Any:
    text = _text(edit)
    value = ast.literal_eval(text) if text.startswith(("b'", 'b"')) else None
    if not isinstance(value, bytes):
        raise TypeError("it must stay bytes, as Python writes them: b'…'")
    return type(held)(value)


def _number(held: Any, edit: Any) -> Any:
    if type(edit) not in (int, float):
        raise TypeError("it must stay a number")
    new = type(held)(edit)
    if new != edit:
        raise ValueError(f"{type(held).__name__} can't hold {edit}")
    return new


# ---- containers -------------------------------------------------------------------------------------


def _make_dict(held: Any, members: dict[Any, Any]) -> Any:
    """A dict of the held one's type; what else a subclass holds is kept (a default factory, say)."""
    if type(held) is dict:
        return members
    new = copy.copy(held)
    new.clear()
    new.update(members)
    return new


def _make_list(held: Any, items: list[Any]) -> Any:
    if type(held) is list:
        return items
    new = copy.copy(held)
    new.clear()
    new.extend(items)
    return new


def _make_set(held: Any, items: list[Any]) -> Any:
    new = type(held)(items)
    if len(new) != len(items):
        raise ValueError("a set holds each value once")
    return new


#: What is the same in JSON, and edited as such.
PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_ENUM: Final = ScalarForm(_show_enum, _make_enum)
#: By base class, the first that fits.
_BASES: Final[tuple[tuple[type, Form], ...]] = (
    (dict, MembersForm(_make_dict)),
    (list, ItemsForm(_make_list)),
    (deque, ItemsForm(_make_list)),
    (tuple, ItemsForm(lambda held, items: type(held)(items))),
    (set, ItemsForm(_make_set, is_set=True)),
    (frozenset, ItemsForm(_make_set, is_set=True)),
    (PurePath, ScalarForm(str, _from_text)),
    (datetime, ScalarForm(lambda held: held.isoformat(), _date_and_time)),
    (date, ScalarForm(lambda held: held.isoformat(), _from_iso)),
    (time, ScalarForm(lambda held: held.isoformat(), _from_iso)),
    (Decimal, ScalarForm(str, _decimal)),
    (UUID, ScalarForm(str, _from_text)),
    (bytes, ScalarForm(_show_bytes, _bytes)),
    (bytearray, ScalarForm(_show_bytes, _bytes)),
    (str, ScalarForm(lambda held: str.__str__(held), _from_text)),
    (int, ScalarForm(lambda held: int.__int__(held), _number)),
    (float, ScalarForm(lambda held: float.__float__(held), _number)),
)
