"""The JSON Schema of a traced tool's arguments, from its signature."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

#: The schemas of `*args` and `**kwargs`, each as one argument.
_VARIADIC: Final[dict[Any, dict[str, Any]]] = {
    inspect.Parameter.VAR_POSITIONAL: {"type": "array"},
    inspect.Parameter.VAR_KEYWORD: {"type": "object"},
}


def make_schema(function: Callable[..., Any]) -> Raw | UnsetType:
    """The schema of an object with one field for each parameter.

    A parameter whose type doesn't map to JSON may have any value.

    Args:
        function: The function, bound where it is a method.

    Returns:
        The schema; UNSET where the function has no readable parameters.
    """
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return UNSET
    if not parameters:
        return UNSET
    types = _read_types(function)
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for key, parameter in parameters.items():
        if parameter.kind in _VARIADIC:
            properties[key] = _VARIADIC[parameter.kind]
            continue
        shown, defined = _describe(types.get(key, Any))
        definitions |= defined
        properties[key] = _with_default(shown, parameter.default)
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key, each in parameters.items() if _is_required(each)],
        "additionalProperties": False,
    }
    return Raw(msgspec.json.encode(schema | ({"$defs": definitions} if definitions else {})))


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in _VARIADIC


def _read_types(function: Callable[..., Any]) -> dict[str, Any]:
    """The parameters' types; none where one of them can't be read."""
    try:
        return typing.get_type_hints(inspect.unwrap(function), include_extras=True)
    except Exception:  # a name that is only there for a type checker
        return {}


def _describe(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A type's schema and the definitions that it refers to; nothing of a type that JSON hasn't."""
    try:
        (shown,), defined = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    except Exception:  # a class of the agent's own, or of a framework
        return {}, {}
    return shown, defined


def _with_default(shown: dict[str, Any], default: Any) -> dict[str, Any]:
    is_plain = default is None or type(default) in (str, int, float, bool)
    return {**shown, "default": default} if is_plain else shown
