"""Paths into nested mappings and lists: `code.lines.0` in `{"code": {"lines": ["a"]}}`."""

from __future__ import annotations

import re
from typing import Any, Final

from ..errors import ProtocolError

#: How deep a mapping that is flattened may be nested, and how many values and characters of paths it
#: may have.
DEPTH_LIMIT: Final = 32
SIZE_LIMIT: Final = 1_000_000

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
# Of a path: an escaped character, a dot, or what stands between these.
_PARTS: Final = re.compile(r"\\(.)|(\.)|([^.\\]+|\\$)", re.DOTALL)


def flatten(value: Any) -> dict[str, Any]:
    """The values of a nested mapping or list, by their paths.

    Keys are joined by dots, lists have indices; a dot or backslash in a key stands behind a backslash.
    An empty mapping or list is a value. What is neither has the path "".

    Args:
        value: The mapping.

    Raises:
        ProtocolError: `invalid_message`: a key is no text, or it is too deep or too large.
    """
    flat: dict[str, Any] = {}
    todo: list[tuple[tuple[str, ...], Any]] = [((), value)]
    size = 0
    while todo:
        path, each = todo.pop()
        below = _items(each)
        size += 1 + sum(map(len, path))
        if len(path) > DEPTH_LIMIT or size + len(below) > SIZE_LIMIT:
            text = f"It is nested deeper than {DEPTH_LIMIT} levels, or larger than {SIZE_LIMIT}."
            raise ProtocolError("invalid_message", text)
        if not below:
            flat[".".join(path)] = each
        todo.extend(((*path, _escaped(key)), of) for key, of in reversed(below))
    return flat


def value_at(value: Any, path: str, default: Any = None) -> Any:
    """What a path of `flatten` leads to, or one that ends before: what is nested there.

    Args:
        value: The mapping.
        path: The path; "" is the whole.
        default: What is given where it leads nowhere.
    """
    for key in _keys(path):
        match value:
            case dict() if key in value:
                value = value[key]
            case list() if _INDEX.fullmatch(key) and int(key) < len(value):
                value = value[int(key)]
            case _:
                return default
    return value


def _items(value: Any) -> list[tuple[Any, Any]]:
    match value:
        case dict():
            return list(value.items())
        case list():
            return [(str(index), each) for index, each in enumerate(value)]
    return []


def _escaped(key: Any) -> str:
    if not isinstance(key, str):
        raise ProtocolError("invalid_message", f"A key is a text, not {type(key).__name__}.")
    return key.replace("\\", "\\\\").replace(".", "\\.")


def _keys(path: str) -> list[str]:
    """The keys of a path, which are escaped there."""
    if not path:
        return []
    keys = [""]
    for escaped, dot, plain in _PARTS.findall(path):
        if dot:
            keys.append("")
        else:
            keys[-1] += escaped or plain
    return keys
