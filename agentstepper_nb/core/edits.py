"""What an edit must be before an agent may see it."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Raw

from ..errors import ProtocolError
from ..protocol.values import EventKind, Side

#: Levels of nesting that an edit leaves free: who reads it has calls of its own below.
_MARGIN: Final = 400
#: Digits that Python's parsers take.
_DIGITS: Final = 4300

#: Strings, so that nothing is found inside them, and Python's constants that JSON doesn't have.
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')


def check_edit(text: str, kind: EventKind, side: Side) -> None:
    """Check an edit's JSON text, and its form where the agent needs one.

    Args:
        text: The edit.
        kind: The kind of event that is edited.
        side: The side of the event.

    Raises:
        ProtocolError: `invalid_edit`, with the line and column, or with the form that is needed.
    """
    value = _parse(text)
    if kind is EventKind.TOOL_INVOCATION and side is Side.BEGIN:
        _check_call(value)


def _parse(text: str) -> Any:
    def refuse_constant(name: str) -> NoReturn:
        places = (match.start(1) for match in _CONSTANT.finditer(text) if match[1])
        raise json.JSONDecodeError(f"{name} is Python's, not JSON", text, next(places, 0))

    try:
        value = json.loads(text, parse_constant=refuse_constant, parse_int=_parse_int)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except ValueError as error:
        reason = str(error)
    except RecursionError:
        reason = "it is nested too deeply"
    else:
        _check_strictly(text)
        return value
    raise ProtocolError("invalid_edit", f"The edit isn't JSON: {reason}.")


def _parse_int(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has more than {_DIGITS} digits")
    return int(digits)


def _check_strictly(text: str) -> None:
    """Refuse what Python's parser takes and others may not."""
    try:
        msgspec.json.decode("[" * _MARGIN + text + "]" * _MARGIN, type=Raw)
    except RecursionError:
        raise ProtocolError("invalid_edit", "The edit is nested too deeply.") from None
    except msgspec.DecodeError:
        raise ProtocolError(
            "invalid_edit", "The edit isn't JSON: one half of a surrogate pair stands alone."
        ) from None


def _check_call(value: Any) -> None:
    form = isinstance(value, dict) and set(value) == {"Tool", "Argument"}
    if not form or not isinstance(value["Tool"], str):
        raise ProtocolError(
            "invalid_edit",
            'A tool call must stay of the form {"Tool": text, "Argument": any}: edit its values only.',
        )
