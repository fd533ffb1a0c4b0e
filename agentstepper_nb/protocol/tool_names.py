"""The name of the tool in a tool call's JSON."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from .field_types import Name


class _Call(Struct):
    tool: Name = msgspec.field(name="Tool")


_decoder: Final = msgspec.json.Decoder(_Call)


def find_tool_name(data: str | bytes) -> str | None:
    """Find the name of the called tool; None where the JSON names no tool.

    Args:
        data: The JSON text of the call's begin: `{"Tool": …, "Argument": …}`.
    """
    try:
        return _decoder.decode(data).tool or None
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
