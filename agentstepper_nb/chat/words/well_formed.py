"""Whether a message has the form of one, whatever its type: what its fields are, and how large."""

from __future__ import annotations

import math
from typing import Any, Final

import msgspec

from ...errors import ProtocolError
from ...protocol.chat import Message
from ...protocol.forms import wrong_form
from ...protocol.pictures import PICTURE_LIMIT

#: Characters of a message's content.
CONTENT_LIMIT: Final = 1_000_000
#: Bytes of a call's arguments or result, and of details, as JSON.
VALUE_LIMIT: Final = 1_000_000
#: How deep these are nested at most.
DEPTH_LIMIT: Final = 64

#: The longest that the other texts may be.
_LENGTHS: Final = {
    "content": CONTENT_LIMIT,
    "data": PICTURE_LIMIT,
    "path": 4096,
    "language": 100,
    "format": 100,
    "media_type": 100,
    "call_id": 200,
    "name": 1000,
    "chosen": 1000,
}
_VALUES: Final = ("arguments", "result", "details")
# Python itself writes no longer numbers.
_BITS: Final = 10_000
_TOO_DEEP: Final = f"It is nested deeper than {DEPTH_LIMIT} levels"


def well_formed(message: Message) -> Message:
    """Check the fields of a message, each by itself.

    Args:
        message: Made here or elsewhere; nothing of it is relied on.

    Returns:
        The same, its values as JSON has them: a set is a list, no number is infinite, and what is no
        Unicode is replaced.

    Raises:
        ProtocolError: `invalid_message`, with the field.
    """
    try:
        given = msgspec.to_builtins(message, builtin_types=(bytes,), str_keys=True)
    except RecursionError:
        raise _refused(None, _TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise _refused(None, f"A message holds what JSON can carry: {error}") from None
    fields = {name: _mended(name, value) for name, value in given.items()}
    try:
        made = msgspec.convert(fields, Message)
    except msgspec.ValidationError as error:
        raise wrong_form(error) from None
    _check_sizes(made)
    return made


def _mended(field: str, value: Any, depth: int = 0) -> Any:
    """A value of built-in types as JSON has it."""
    if depth > DEPTH_LIMIT:
        raise _refused(field, _TOO_DEEP)
    match value:
        case str():
            return _text(value)
        case dict():
            return {_text(key): _mended(field, of, depth + 1) for key, of in value.items()}
        case list() | tuple():
            return [_mended(field, each, depth + 1) for each in value]
        case float() if not math.isfinite(value):
            return None
        case int() if value.bit_length() > _BITS:
            raise _refused(field, f"It holds a number of more than {_BITS} bits")
        case bytes() if depth or field != "data":
            raise _refused(field, "It holds bytes, which JSON can't carry")
    return value


def _text(text: str) -> str:
    """The text; halves of characters, which no UTF-8 has, are question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def _check_sizes(message: Message) -> None:
    for field, limit in _LENGTHS.items():
        value = getattr(message, field)
        if value is not None and len(value) > limit:
            raise _refused(field, f"It is larger than {limit}")
    for field in _VALUES:
        value = getattr(message, field)
        if value is not None and len(msgspec.json.encode(value)) > VALUE_LIMIT:
            raise _refused(field, f"As JSON it is larger than {VALUE_LIMIT} bytes")


def _refused(field: str | None, what: str) -> ProtocolError:
    return ProtocolError("invalid_message", f"{field}: {what}." if field else f"{what}.", field)
