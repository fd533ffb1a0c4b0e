"""Errors that name the invalid field of a value."""

from __future__ import annotations

import re
from typing import Final

from ..errors import ProtocolError

#: Patterns by which msgspec's errors name a path, a missing field or an unknown field.
_AT: Final = re.compile(r" - at `(?:key in )?\$\.?(.*)`$")
_NAMED: Final = re.compile(r"(?:missing required|contains unknown) field `(\w+)`")


def find_field(message: str, path_prefix: str = "") -> str | None:
    """The field that a message of msgspec's is about.

    Args:
        message: The message.
        path_prefix: The field that the refused value stands in.

    Returns:
        The field's path, as `payload.limits.retries`; None: the whole value.
    """
    names = [found[1] for found in (_AT.search(message), _NAMED.search(message)) if found]
    return ".".join(filter(None, [path_prefix, *names])) or None


def make_field_error(error: Exception, path_prefix: str = "") -> ProtocolError:
    """Make the error for a value that msgspec refused.

    Args:
        error: The error that msgspec raised.
        path_prefix: The field that the refused value stands in.
    """
    said = str(error)
    field = find_field(said, path_prefix)
    what = _AT.sub("", said)
    return ProtocolError("invalid_message", f"{field}: {what}." if field else f"{what}.", field)
