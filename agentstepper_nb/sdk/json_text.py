"""Values to JSON text and back, without losing anything on the way.

The standard library's `json` is used on purpose: it keeps integers of any size, `1.0` and the order
of keys. What it would bend silently (keys that aren't text, NaN) is refused, with its place. Values that
`msgspec` writes with the same letters are left to it, since it is ten times as fast.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import msgspec

from ..errors import NotJSONError
from .value_hooks import HookError, ToJson

#: Deeper nesting is refused here, since the parsers on the way would give up at some depth.
MAX_DEPTH: Final = 500

_MAX_PATH_CHARS: Final = 200
#: Containers that are looked at one by one; a value of more may contain itself.
_MAX_CONTAINERS: Final = 100_000
#: Between these `msgspec` writes a float as `json` does, without an exponent.
_MIN_FLOAT, _MAX_FLOAT = 1e-4, 1e15
_CONTAINERS: Final = (dict, list, tuple)
_KEYS: Final = frozenset({str})
#: Simple types besides str and float, which are checked first.
_SIMPLE: Final = frozenset({int, bool, type(None)})


class JsonDumper:
    """Writes JSON text.

    Args:
        to_json: The hook for values that JSON doesn't have.
    """

    def __init__(self, to_json: ToJson | None = None) -> None:
        self._to_json = to_json
        self._encoder = json.JSONEncoder(
            allow_nan=False,
            ensure_ascii=False,
            separators=(",", ":"),
            default=self._default if to_json else None,
        )

    def dump(self, value: Any) -> str:
        """Give the JSON text of a value.

        Raises:
            NotJSONError: JSON can't carry it; the error has the path, as `$.messages[2].content`.
        """
        if (quick := dump_plain_json(value)) is not None:
            return quick
        try:
            text = self._encoder.encode(value)
            _check(value)
        except (TypeError, ValueError, RecursionError) as error:
            self._explain(value, error)
        return text

    def _default(self, value: Any) -> Any:
        assert self._to_json is not None
        converted = self._to_json(value)
        _check(converted)
        return converted

    def _explain(self, value: Any, error: Exception) -> NoReturn:
        found = next(_find_non_json(value, self._to_json), None)
        if found is None:
            raise NotJSONError("$", f"a value that json refuses ({error})") from None
        path, reason = found
        if len(path) > _MAX_PATH_CHARS:
            path = f"{path[: _MAX_PATH_CHARS // 2]}…{path[-_MAX_PATH_CHARS // 2 :]}"
        raise NotJSONError(path, reason) from None


def is_same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values would be written alike: `1` is neither `1.0` nor `true`."""
    return json.dumps(left) == json.dumps(right)


def dump_json(value: Any) -> str:
    """Give the text of a value that came out of JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Give a JSON value with every string in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {map_strings(key, change): map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [map_strings(item, change) for item in value]
    return value


def dump_plain_json(value: Any) -> str | None:
    """The text of a value; None where it isn't of JSON's own types, or `json` might write another."""
    level: list[Any] | None = [(value,)]
    count = depth = 0
    while level:
        level = _list_containers(level)
        if level is None:
            return None
        count += len(level)
        depth += 1
        if level and (count > _MAX_CONTAINERS or depth > MAX_DEPTH):
            return None
    try:
        return msgspec.json.encode(value).decode()
    except (ValueError, RecursionError):  # lone surrogates; an integer of thousands of digits
        return None


def _list_containers(level: list[Any]) -> list[Any] | None:
    """The containers in containers; None where something in these isn't of JSON's own types."""
    below: list[Any] = []
    for item in level:
        if type(item) is dict:
            if not _KEYS.issuperset(map(type, item)):
                return None
            item = item.values()
        for child in item:
            kind = type(child)
            if kind is str:
                continue
            if kind is dict or kind is list or kind is tuple:
                below.append(child)
            elif (
                child and not _MIN_FLOAT <= abs(child) < _MAX_FLOAT
                if kind is float
                else kind not in _SIMPLE
            ):
                return None
    return below


def _check(value: Any) -> None:
    """Refuse values that `json` would write in another form, and values that are nested too deeply.

    The check goes level by level, without recursion or bookkeeping: `json` has checked before that no
    container contains itself.
    """
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict) and not all(isinstance(key, str) for key in item):
                raise TypeError
            children = item.values() if isinstance(item, dict) else item
            below += [child for child in children if isinstance(child, _CONTAINERS)]
        if not below:
            return
        level = below
    raise TypeError


def _find_non_json(root: Any, to_json: ToJson | None) -> Iterator[tuple[str, str]]:
    """Give each place that JSON can't carry, and what stands there. Slow; for the error's text."""
    todo: list[tuple[Any, str, frozenset[int]]] = [(root, "$", frozenset())]
    while todo:
        value, path, around = todo.pop()
        if not isinstance(value, _CONTAINERS):
            value, reason = _converted(value, to_json)
            if reason:
                yield path, reason
                continue
            if not isinstance(value, _CONTAINERS):
                continue
        if id(value) in around:
            yield path, "a value that contains itself"
        elif len(around) >= MAX_DEPTH:
            yield path, f"nested more than {MAX_DEPTH} levels deep"
        else:
            inside = around | {id(value)}
            for key in [key for key in value if not _is_key(value, key)]:
                yield path, f"an object with the key {key!r} ({type(key).__name__})"
            children = [(item, path + step, inside) for step, item in _children(value)]
            todo += reversed(children)


def _converted(value: Any, to_json: ToJson | None) -> tuple[Any, str | None]:
    """Apply the hook to a value that is no container; returns the value and its remaining flaw."""
    reason = _reason(value)
    if reason is None or to_json is None or not _is_foreign(value):
        return value, reason
    try:
        value = to_json(value)
    except TypeError:
        return value, reason
    except HookError as failed:
        return value, f"a value for which {failed}"
    return value, None if isinstance(value, _CONTAINERS) else _reason(value)


def _is_key(container: Any, key: Any) -> bool:
    return not isinstance(container, dict) or isinstance(key, str)


def _children(container: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(container, dict):
        for key, item in container.items():
            yield _step(key), item
    else:
        for index, item in enumerate(container):
            yield f"[{index}]", item


def _step(key: Any) -> str:
    text = str(key)
    return f".{text}" if text.isidentifier() else f"[{json.dumps(text)}]"


def _is_foreign(value: Any) -> bool:
    return not (value is None or isinstance(value, str | int | float))


def _reason(value: Any) -> str | None:
    """The reason why a value that is no container isn't JSON, or None."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    if isinstance(value, int) and _is_too_long(value):
        return f"an integer of more than {sys.get_int_max_str_digits()} digits"
    if not _is_foreign(value):
        return None
    kind = type(value)
    name = (
        kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    )
    return f"of the type {name}"


def _is_too_long(value: int) -> bool:
    try:
        int.__repr__(value)
    except ValueError:
        return True
    return False
