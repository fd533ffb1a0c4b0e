"""Any value as JSON, to be looked at and edited; nothing that a value does can make this fail.

What JSON hasn't is shown by its codec (`value_codecs`), and what has no codec as a mark
(`protocol.opaque_values`).
"""

from __future__ import annotations

import logging
import math
import reprlib
from dataclasses import dataclass, field
from typing import Any, Final

from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.opaque_values import REASON_KEY, REF, REPR_KEY
from .json_text import dump_json
from .value_codecs import (
    FieldsCodec,
    ItemsCodec,
    MembersCodec,
    ScalarCodec,
    ValueCodec,
    find_value_codec,
)
from .value_hooks import NO_HOOKS, HookError, ValueHooks

log = logging.getLogger("agentstepper_nb.sdk")

#: Levels of nesting that are shown.
MAX_VALUE_DEPTH: Final = 100
#: Letters of a mark's text.
_MAX_REPR_CHARS: Final = 10_000
#: The most characters of the extract of a value that is too large.
_MAX_EXTRACT_CHARS: Final = 1000
#: The weight of a value besides its text, so that many small values are too large as well.
_CONTAINER_WEIGHT, _LEAF_WEIGHT = 32, 4
#: An integer of more bits has more digits than Python writes, by default.
_MAX_INT_BITS: Final = 14_000
#: The deepest level at which a part that is too large becomes a mark: an argument by itself, say.
_MAX_CUT_DEPTH: Final = 3

_TOO_LARGE: Final = "it is too large to be shown: a message may have {} MiB"


class _TooLargeError(Exception):
    """The values shown so far weigh more than a message may."""


@dataclass(slots=True, eq=False)
class EncodedValue:
    """The JSON form of one value, with the data that an edit of it is read by.

    Attributes:
        value: The value.
        json: The JSON value that represents the value.
        objects_by_mark: The object that each mark stands for, by the mark's JSON text.
        set_members: The members of each set, in the order in which they were shown, by the set's id.
        hook_results: Each value that the agent's `to_json=` turned into JSON, and the hook's result, by
            the value's id.
        hook_failures: The errors that `to_json=` raised, by the type of the value and of the exception.
    """

    value: Any
    json: Any = None
    objects_by_mark: dict[str, Any] = field(default_factory=dict)
    set_members: dict[int, list[Any]] = field(default_factory=dict)
    hook_results: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    hook_failures: dict[tuple[type, type], str] = field(default_factory=dict)

    def is_json(self) -> bool:
        """Whether the value is of JSON's own types throughout; none of its own code is called."""
        return _is_json(self.value, self.json)


def _is_json(value: Any, shown: Any) -> bool:
    kind = type(value)
    if kind is dict:
        alike = type(shown) is dict and len(shown) == len(value)
        return alike and all(
            type(key) is str and key in shown and _is_json(item, shown[key])
            for key, item in value.items()
        )
    if kind is list or kind is tuple:
        alike = type(shown) is list and len(shown) == len(value)
        return alike and all(map(_is_json, value, shown))
    return kind in (str, int, float, bool, type(None)) and kind is type(shown)


def encode_value(
    value: Any,
    hooks: ValueHooks = NO_HOOKS,
    max_chars: int = MAX_MESSAGE_BYTES,
    message_limit_bytes: int = MAX_MESSAGE_BYTES,
) -> EncodedValue:
    """Show a value as JSON.

    Args:
        value: Any value.
        hooks: The agent's own hooks, which are called before a codec is chosen.
        max_chars: The approximate limit of the JSON, in characters; a larger part becomes a mark.
        message_limit_bytes: Bytes of the largest message, which the mark names.
    """
    shown = EncodedValue(value)
    shown.json = _Encoder(shown, hooks, max_chars, message_limit_bytes).encode(value)
    return shown


def encode_redacted(shown: EncodedValue, changed: Any, hooks: ValueHooks = NO_HOOKS) -> Any:
    """Encode the result of the agent's `redact=` on the JSON form of a value.

    Args:
        shown: The value's JSON form; its marks stay marks.
        changed: The hook's result.
        hooks: The agent's own hooks, as for `encode_value`.
    """
    return _Encoder(shown, hooks, MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES).encode(changed)


class _Encoder:
    """One traversal of a value."""

    def __init__(
        self, shown: EncodedValue, hooks: ValueHooks, max_chars: int, message_limit_bytes: int
    ) -> None:
        self._shown = shown
        self._hooks = hooks
        self._remaining_weight = max_chars
        self._too_large = _TOO_LARGE.format(message_limit_bytes // 1024 // 1024)
        self._inside: set[int] = set()  # the containers around the current value, by id
        # What was shown before, by id: the value itself, its JSON and its weight. What stands in a value
        # twice is walked once, also where that doubles at each level.
        self._encoded: dict[int, tuple[Any, Any, int]] = {}

    def encode(self, value: Any) -> Any:
        try:
            return self._member(value, 0)
        except RecursionError:  # the agent's own stack is deep already
            return self._make_opaque_mark(value, _describe(value), "it is nested too deeply")

    def _member(self, value: Any, depth: int) -> Any:
        remaining_weight = self._remaining_weight
        try:
            return self._encode(value, depth)
        except _TooLargeError:
            if depth >= _MAX_CUT_DEPTH:
                raise
            self._remaining_weight = remaining_weight
            return self._make_opaque_mark(value, _extract(value), self._too_large)

    def _encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            self._count_chars(len(value) + _LEAF_WEIGHT)
            return value
        self._count_chars(_LEAF_WEIGHT)
        if value is None or kind is bool or (kind is int and value.bit_length() < _MAX_INT_BITS):
            return value
        if kind is float and math.isfinite(value):
            return value
        if kind is int or kind is float:
            return self._make_opaque_mark(value, _repr(value), "JSON has no such number")
        return self._encode_object(value, kind, depth)

    def _encode_object(self, value: Any, kind: type, depth: int) -> Any:
        if id(value) in self._encoded:
            _, json, weight = self._encoded[id(value)]
            self._count_chars(weight)
            return json
        remaining_weight = self._remaining_weight
        self._count_chars(_CONTAINER_WEIGHT)
        if depth >= MAX_VALUE_DEPTH:
            return self._make_opaque_mark(value, _describe(value), "it is nested too deeply")
        if id(value) in self._inside:
            return self._make_opaque_mark(value, _describe(value), "it contains itself")
        self._inside.add(id(value))
        try:
            json = self._encode_by_form(value, kind, depth)
        finally:
            self._inside.discard(id(value))
        self._encoded[id(value)] = value, json, remaining_weight - self._remaining_weight
        return json

    def _encode_by_form(self, value: Any, kind: type, depth: int) -> Any:
        try:
            converted = self._converted(value, kind)
            if converted is not value:
                return self._member(converted, depth + 1)
            codec = find_value_codec(kind)
            parts = None if codec is None else _parts(codec, value)
        except (RecursionError, _TooLargeError):
            raise
        except Exception as error:
            return self._mark_unreadable(value, kind, error)
        if isinstance(parts, dict):
            return self._object(value, parts, depth)
        if isinstance(parts, list):
            assert isinstance(codec, ItemsCodec)
            return self._list(value, parts, depth, is_set=codec.is_set)
        if codec is None:
            return self._make_opaque_mark(
                value, _repr(value), f"its type, {_name(kind)}, has no fields"
            )
        return self._scalar(value, parts)

    def _mark_unreadable(self, value: Any, kind: type, error: Exception) -> dict[str, Any]:
        if isinstance(error, OverflowError):
            return self._make_opaque_mark(value, _extract(value), self._too_large)
        if not isinstance(error, HookError):
            why = f"its fields can't be read ({type(error).__name__})"
            return self._make_opaque_mark(value, _repr(value), why)
        cause = error.__cause__
        shown = (
            f"A value of the type {_name(kind)} is shown by its repr and can't be edited: {error}."
        )
        log.warning("%s", shown, exc_info=cause)
        self._shown.hook_failures[kind, type(cause)] = shown
        return self._make_opaque_mark(value, _repr(value), str(error))

    def _converted(self, value: Any, kind: type) -> Any:
        """The value after the agent's hook; the value itself where the hook isn't called or declines."""
        hooks = self._hooks
        if not hooks.can_encode or issubclass(kind, dict | list | tuple | str | int | float):
            return value
        try:
            given = hooks.encode(value)
        except TypeError:
            return value
        if given is not value:
            self._shown.hook_results[id(value)] = value, given
        return given

    def _object(self, value: Any, parts: dict[Any, Any], depth: int) -> Any:
        if REPR_KEY in parts:
            return self._reuse_mark(value, parts)
        if not all(isinstance(key, str) for key in parts):
            return self._make_opaque_mark(value, _repr(value), "not all of its keys are texts")
        self._count_chars(sum(map(len, parts)))
        return {str.__str__(key): self._member(item, depth + 1) for key, item in parts.items()}

    def _reuse_mark(self, value: Any, parts: dict[Any, Any]) -> Any:
        """A mark that was made before; what only looks like one becomes a mark itself."""
        try:
            if dump_json(parts) in self._shown.objects_by_mark:
                return parts
        except (TypeError, ValueError):
            pass
        return self._make_opaque_mark(
            value, _repr(value), f"it has the key “{REPR_KEY}”, which stands for a mark"
        )

    def _list(self, value: Any, parts: list[Any], depth: int, *, is_set: bool) -> list[Any]:
        shown = [self._member(item, depth + 1) for item in parts]
        if is_set:
            order = sorted(range(len(shown)), key=lambda index: dump_json(shown[index]))
            self._shown.set_members[id(value)] = [parts[index] for index in order]
            return [shown[index] for index in order]
        return shown

    def _scalar(self, value: Any, text: Any) -> Any:
        if isinstance(text, float) and not math.isfinite(text):
            return self._make_opaque_mark(value, _repr(value), "JSON has no such number")
        if isinstance(text, str):
            self._count_chars(len(text))
        return text

    def _make_opaque_mark(self, value: Any, text: str, why: str) -> dict[str, Any]:
        marked = self._shown.objects_by_mark
        mark = {REPR_KEY: text, REF: len(marked) + 1, REASON_KEY: why}
        marked[dump_json(mark)] = value
        self._remaining_weight -= len(text)
        return mark

    def _count_chars(self, weight: int) -> None:
        self._remaining_weight -= weight
        if self._remaining_weight < 0:
            raise _TooLargeError


def _parts(codec: ValueCodec, value: Any) -> Any:
    """The parts of a value: a dict, a list, or a scalar."""
    match codec:
        case FieldsCodec():
            return codec.read(value)
        case MembersCodec():
            return dict(value)
        case ItemsCodec():
            return list(value)
        case ScalarCodec():
            return codec.show(value)


# ---- texts of marks ---------------------------------------------------------------------------------


def name_class(kind: type) -> str:
    """A class's name, with its module unless that is `builtins` or `__main__`."""
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _name(kind: type) -> str:
    try:
        return str(kind.__qualname__)
    except Exception:
        return "?"


def _describe(value: Any) -> str:
    """A value's type and size. Its own repr could be as large as the value."""
    kind = type(value)
    try:
        return f"<{_name(kind)} of {len(value)} items>"
    except Exception:
        return f"<{_name(kind)}>"


def _extract(value: Any) -> str:
    """The beginning of a text or of bytes; of other values what they are."""
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return repr(value[:_MAX_EXTRACT_CHARS]) + "…"
    return _describe(value)


class _Repr(reprlib.Repr):
    """Python's repr, bounded; of a value with fields only its type: it may hold much."""

    def repr_instance(self, x: Any, level: int) -> str:
        kind = type(x)
        if isinstance(find_value_codec(kind), FieldsCodec):
            return f"<{_name(kind)}>"
        text = repr(x)
        return text if len(text) <= _MAX_REPR_CHARS else text[:_MAX_REPR_CHARS] + "…"


_bounded = _Repr()
_bounded.fillvalue = "…"
_bounded.maxstring = _bounded.maxother = _MAX_REPR_CHARS
_bounded.maxdict = _bounded.maxlist = _bounded.maxtuple = _bounded.maxset = 100


def _repr(value: Any) -> str:
    try:
        return str(_bounded.repr(value))[: 2 * _MAX_REPR_CHARS]
    except Exception:
        return f"<{_name(type(value))} whose repr fails>"
