"""Converts mappings of other systems to answer items, by rules.

A nested value has a path of keys and indices: `code.lines.0` in `{"code": {"lines": ["a"]}}`. A
rule maps a path to a field of an answer item. Two rules for one field would depend on their order;
the converter refuses them when it is created.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import msgspec

from .. import typed_json
from ..errors import ProtocolError
from ..protocol.chat import AgentOutput, MessageType
from ..protocol.field_errors import make_field_error
from .message_types import find_message_type

# Paths that an error names.
_MAX_NAMED_KEYS: Final = 10
_NOTHING: Final = object()


@dataclass(frozen=True)
class MappingRule:
    """Maps a path of a mapping to a field of an answer item.

    Args:
        source_path: The path of the value; a nested value is taken as a whole.
        target: The field of `AgentOutput`.
        transform: Converts the value to the field's value; None: the value is taken as it is.
    """

    source_path: str
    target: str
    transform: Callable[[Any], Any] | None = None


class RequestConverter:
    """Converts a mapping to an answer item.

    Args:
        rules: At most one rule for each field. If a path isn't in a mapping, its field is left out.
            Values that no rule names are ignored.

    Raises:
        ValueError: Two rules are for the same field, or a rule is for a field that answer items
            don't have.
    """

    def __init__(self, rules: Iterable[MappingRule]) -> None:
        self.rules = tuple(rules)
        targets = [rule.target for rule in self.rules]
        twice = sorted({target for target in targets if targets.count(target) > 1})
        if twice:
            raise ValueError(
                f"Two rules set the same field: {', '.join(twice)}. Give one rule for each."
            )
        unknown = sorted(set(targets) - set(AgentOutput.__struct_fields__))
        if unknown:
            raise ValueError(
                f"A piece has no field {', '.join(unknown)}; its fields are "
                f"{', '.join(AgentOutput.__struct_fields__)}."
            )

    def convert(self, mapping: Mapping[str, Any]) -> AgentOutput:
        """Convert a mapping.

        Args:
            mapping: The mapping that an agent gave.

        Raises:
            ProtocolError: `invalid_message`: no rule fits, a value is invalid for its field, its
                type is unknown, or the mapping is too deep or too large.
        """
        given = dict(mapping)
        found = ((rule, find_value(given, rule.source_path, _NOTHING)) for rule in self.rules)
        fields = {
            rule.target: _transformed(rule, value) for rule, value in found if value is not _NOTHING
        }
        if not fields:
            raise self._no_message(given)
        try:
            piece = typed_json.convert(fields, AgentOutput)
        except msgspec.ValidationError as error:
            raise make_field_error(error) from None
        find_message_type(piece.type)
        return piece

    def _no_message(self, given: dict[str, Any]) -> ProtocolError:
        wanted = ", ".join(f"`{rule.source_path}`" for rule in self.rules)
        paths = islice(flatten(given), _MAX_NAMED_KEYS) if given else ()
        there = ", ".join(f"`{path:.100}`" for path in paths) or "nothing"
        return ProtocolError(
            "invalid_message", f"The mapping has {there}, but a message needs one of {wanted}."
        )


def _transformed(rule: MappingRule, value: Any) -> Any:
    if rule.transform is None:
        return value
    try:
        return rule.transform(value)
    except ProtocolError:
        raise
    except Exception as error:  # whatever its author's code does with what an agent gave
        text = f"`{rule.source_path}` can't be converted to {rule.target}: {error!r:.500}."
        raise ProtocolError("invalid_message", text, field=rule.target) from error


# ---- the words of others ----------------------------------------------------------------------------

#: The names of roles in chat APIs.
_ROLES: Final = {"tool": "computer", "function": "computer", "developer": "system"}


def _role(value: Any) -> Any:
    return _ROLES.get(value, value) if isinstance(value, str) else value


def _content(value: Any) -> Any:
    """A content that may be missing, or a list of parts of which some are text."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "".join(part["text"] for part in value if part.get("type") == "text")
    return value


def _type(value: Any) -> Any:
    """A type in small letters, as open-interpreter has it."""
    small = isinstance(value, str) and value == value.lower()
    return value.upper() if small and value.upper() in MessageType.__members__ else value


#: Pieces as they are, and `{"role": "assistant", "content": "…"}` as chat APIs have it.
DEFAULT_RULES: Final = (
    MappingRule("type", "type", _type),
    MappingRule("role", "role", _role),
    MappingRule("content", "content", _content),
    *(
        MappingRule(field, field)
        for field in AgentOutput.__struct_fields__
        if field not in ("type", "role", "content")
    ),
)


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def _code_format(given: dict[str, Any]) -> Any:
    """A mapping of code that doesn't say what it is, is source."""
    named = given.get("format")
    return named if named in ("source", "result") else "source"


def _code_language(given: dict[str, Any]) -> Any:
    """A mapping of code has its language as such, or as its format."""
    return given.get("language") or given.get("format")


_ROLE_RULES: Final = (MappingRule("role", "role", _role),)
_CODE_RULES: Final = (*_ROLE_RULES, MappingRule("", "type", _constant(MessageType.CODE.value)))
_IMAGE_RULES: Final = (*_ROLE_RULES, MappingRule("", "type", _constant(MessageType.IMAGE.value)))

#: `{"code": {"language": "python", "code": "print(1)"}}`.
NESTED_CODE_CONVERTER: Final = RequestConverter(
    (
        *_CODE_RULES,
        MappingRule("code.code", "content"),
        MappingRule("code.language", "language"),
        MappingRule("code", "format", _code_format),
    )
)
#: `{"language": "python", "code": "print(1)"}`.
FLAT_CODE_CONVERTER: Final = RequestConverter(
    (
        *_CODE_RULES,
        MappingRule("code", "content"),
        MappingRule("language", "language"),
        MappingRule("", "format", _code_format),
    )
)
#: `{"type": "code", "format": "python", "content": "print(1)"}`, as open-interpreter has it.
TYPED_CODE_CONVERTER: Final = RequestConverter(
    (
        *_CODE_RULES,
        MappingRule("content", "content", _content),
        MappingRule("", "language", _code_language),
        MappingRule("", "format", _code_format),
    )
)
#: `{"type": "console", "format": "output", "content": "1"}`.
TYPED_CONSOLE_CONVERTER: Final = RequestConverter(
    (
        MappingRule("type", "type", _type),
        MappingRule("", "role", _constant("computer")),
        MappingRule("content", "content", _content),
    )
)
#: `{"type": "image", "format": "path", "content": "plot.png"}`.
IMAGE_FILE_CONVERTER: Final = RequestConverter((*_IMAGE_RULES, MappingRule("content", "path")))
#: `{"type": "image", "format": "base64.png", "content": "iVBORw0KG…"}`.
IMAGE_BYTES_CONVERTER: Final = RequestConverter((*_IMAGE_RULES, MappingRule("content", "data")))
DEFAULT_CONVERTER: Final = RequestConverter(DEFAULT_RULES)


def convert_mapping(mapping: Mapping[str, Any]) -> AgentOutput:
    """Convert a mapping of a known form to an answer item.

    Args:
        mapping: The fields of an answer item, or a message in the form of chat APIs or
            open-interpreter.

    Raises:
        ProtocolError: `invalid_message`: the mapping has none of these forms.
    """
    return _converter_for(mapping).convert(mapping)


def _converter_for(mapping: Mapping[str, Any]) -> RequestConverter:
    match mapping.get("code"):
        case dict():
            return NESTED_CODE_CONVERTER
        case str():
            return FLAT_CODE_CONVERTER
    match mapping.get("type"), mapping.get("format"):
        case "code", _:
            return TYPED_CODE_CONVERTER
        case "console", _:
            return TYPED_CONSOLE_CONVERTER
        case "image", "path":
            return IMAGE_FILE_CONVERTER
        case "image", str():
            return IMAGE_BYTES_CONVERTER
    return DEFAULT_CONVERTER


#: How deep a mapping that is flattened may be nested, and how many values and characters of paths it
#: may have.
MAX_DEPTH: Final = 32
MAX_VALUES: Final = 1_000_000

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)
# Of a path: an escaped character, a dot, or what stands between these.
_PARTS: Final = re.compile(r"\\(.)|(\.)|([^.\\]+|\\$)", re.DOTALL)


def flatten(value: Any) -> dict[str, Any]:
    """Return the values of a nested mapping or list, by their paths.

    Keys are joined by dots, lists have indices; a dot or backslash in a key stands behind a
    backslash. An empty mapping or list is a value. A value that is neither a mapping nor a list has
    the path "".

    Args:
        value: The mapping.

    Raises:
        ProtocolError: `invalid_message`: a key is no text, or the mapping is too deep or too large.
    """
    flat: dict[str, Any] = {}
    todo: list[tuple[tuple[str, ...], Any]] = [((), value)]
    size = 0
    while todo:
        path, each = todo.pop()
        below = _items(each)
        size += 1 + sum(map(len, path))
        if len(path) > MAX_DEPTH or size + len(below) > MAX_VALUES:
            text = (
                f"The mapping is nested deeper than {MAX_DEPTH} levels, or larger than "
                f"{MAX_VALUES} values."
            )
            raise ProtocolError("invalid_message", text)
        if not below:
            flat[".".join(path)] = each
        todo.extend(((*path, _escaped(key)), of) for key, of in reversed(below))
    return flat


def find_value(value: Any, path: str, default: Any = None) -> Any:
    """Return the value, or the nested part, at a path of `flatten`.

    Args:
        value: The mapping.
        path: The path; "": the whole mapping.
        default: The result if the path doesn't exist.
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
        raise ProtocolError(
            "invalid_message",
            f"A key of the mapping must be a text, not {type(key).__name__}.",
        )
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
