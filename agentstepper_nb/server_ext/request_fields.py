"""Converts a request's query and body to one struct; errors name the invalid field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from .. import typed_json
from ..protocol import field_errors
from .json_errors import JsonHTTPError, convert_hub_error, make_error

StructT = TypeVar("StructT", bound=msgspec.Struct)

#: Parameters that are Jupyter's, on any path: a login, and its guard against other sites.
_JUPYTER_PARAMETERS = frozenset({"token", "_xsrf"})


class NoParameters(msgspec.Struct, frozen=True):
    """A query without a parameter."""


def decode_query(
    query: Mapping[str, list[str]], struct_type: type[StructT], path_fields: Mapping[str, str]
) -> StructT:
    """Convert a query to a struct: its parameters are the struct's fields, except those in the path.

    Args:
        query: The values of each parameter, as they were sent.
        struct_type: The struct.
        path_fields: The fields in the path.

    Raises:
        JsonHTTPError: 400: there is no such parameter, it occurs twice, or it has another form.
    """
    kinds = _kinds(struct_type)
    parameters = {
        name: values for name, values in query.items() if not _is_jupyter_parameter(name, values)
    }
    _refuse_unknown("parameter", parameters, struct_type, path_fields)
    return _converted(
        {name: _value(name, values, kinds[name]) for name, values in parameters.items()},
        struct_type,
        path_fields,
    )


def decode_body(body: bytes, struct_type: type[StructT], path_fields: Mapping[str, str]) -> StructT:
    """Convert a JSON body to a struct.

    Args:
        body: The body.
        struct_type: The struct.
        path_fields: The fields in the path.

    Raises:
        JsonHTTPError: 400: the body isn't JSON, or one of its fields has another form.
    """
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.ValidationError as error:
        raise make_field_error(f"The body: {error}.") from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise make_error(400, "malformed", f"The body isn't JSON: {error}.") from None
    _refuse_unknown("field", fields, struct_type, path_fields)
    return _converted(fields, struct_type, path_fields)


def make_field_error(message: str, field: str | None = None) -> JsonHTTPError:
    """Make the error of an invalid field."""
    return make_error(400, "invalid_message", message, field)


def _is_jupyter_parameter(name: str, values: list[str]) -> bool:
    """Whether a parameter isn't for us: JupyterLab adds the time by itself, against caches."""
    return name in _JUPYTER_PARAMETERS or (name.isdecimal() and values == [""])


def _refuse_unknown(
    what: str,
    given: Mapping[str, Any],
    struct_type: type[msgspec.Struct],
    path_fields: Mapping[str, str],
) -> None:
    known = [name for name in _kinds(struct_type) if name not in path_fields]
    for name in given:
        if name not in known:
            these = ", ".join(known) or "none"
            raise make_field_error(
                f"There is no {what} {name[:100]!r} here. The names are: {these}.", name[:100]
            )


def _value(name: str, values: list[str], kind: Any) -> Any:
    """Convert the values of a parameter: to one value, unless its field is a list."""
    several = get_origin(kind) is tuple
    if len(values) > 1 and not several:
        raise make_field_error(
            f"{name}: the parameter is given {len(values)} times. Give it once.", name
        )
    try:
        return typed_json.convert(values if several else values[0], kind, strict=False)
    except msgspec.ValidationError as error:
        raise make_field_error(f"{name}: {error}.", name) from None


def _converted(
    fields: Mapping[str, Any], struct_type: type[StructT], path_fields: Mapping[str, str]
) -> StructT:
    try:
        return typed_json.convert({**fields, **path_fields}, struct_type)
    except msgspec.ValidationError as error:
        raise convert_hub_error(field_errors.make_field_error(error)) from None


@cache
def _kinds(struct_type: type[msgspec.Struct]) -> dict[str, Any]:
    """Map a struct's fields to their types without None, which no query text means."""
    return {
        field.encode_name: _without_none(field.type)
        for field in msgspec.structs.fields(struct_type)
    }


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    return Union[tuple(each for each in get_args(kind) if each is not NoneType)]  # noqa: UP007
