"""The settings of a coding session as options of a command line, made of their description."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import inspect

from ..protocol.coding_settings import DEFAULTS, FIELDS, CodingSettings

#: Options that aren't called as their settings are.
_FLAGS: Final = {"auto_approve": "--yes"}
_UNITS: Final = {"timeout": "SECONDS", "limit": "BYTES", "bytes": "BYTES"}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add an option for each setting. One that isn't given is None.

    Args:
        parser: Describes a command.
    """
    described = inspect.type_info(CodingSettings)
    assert isinstance(described, inspect.StructType)
    for field in described.fields:
        _add(parser, field.name, field.type)


def settings_of(given: argparse.Namespace) -> CodingSettings:
    """The settings that a command line gives.

    Args:
        given: What the command line says.
    """
    values = {name: getattr(given, name) for name in FIELDS}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return CodingSettings(**values | lists)


def _add(parser: argparse.ArgumentParser, name: str, kind: inspect.Type) -> None:
    description, plain = _described(kind)
    flag = _FLAGS.get(name, "--" + name.replace("_", "-"))
    default = getattr(DEFAULTS, name)
    shown = f"{default:g}" if isinstance(default, float) else default
    said: dict[str, Any] = {"dest": name, "default": None, "help": description}
    if default is not None and default is not False:
        said["help"] = f"{description} ({shown})"
    if isinstance(plain, inspect.BoolType):
        is_switch = name in _FLAGS
        action = "store_true" if is_switch else argparse.BooleanOptionalAction
        parser.add_argument(flag, action=action, **said)
    elif isinstance(plain, inspect.LiteralType):
        parser.add_argument(flag, choices=plain.values, **said)
    elif isinstance(plain, inspect.VarTupleType):
        parser.add_argument(flag, action="append", metavar="PATH", **said)
    else:
        parser.add_argument(flag, type=_parser(name), metavar=_metavar(name, plain), **said)


def _described(kind: inspect.Type) -> tuple[str, inspect.Type]:
    """A setting's description, and its type where it is not left out."""
    description = ""
    while isinstance(kind, inspect.Metadata | inspect.UnionType):
        if isinstance(kind, inspect.Metadata):
            description = (kind.extra_json_schema or {}).get("description", description)
            kind = kind.type
        else:
            kind = next(each for each in kind.types if not isinstance(each, inspect.NoneType))
    return description, kind


def _metavar(name: str, kind: inspect.Type) -> str:
    unit = _UNITS.get(name.rpartition("_")[2])
    return unit or ("NAME" if isinstance(kind, inspect.StrType) else "N")


def _parser(name: str) -> Callable[[str], Any]:
    """Reads a setting's value."""

    def parse(text: str) -> Any:
        try:
            return msgspec.convert(text, FIELDS[name].type, strict=False)
        except msgspec.ValidationError as error:
            raise argparse.ArgumentTypeError(f"{text[:80]!r} can't be: {error}") from None

    return parse
