"""What an edit must be before an agent may see it."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Raw

from ..errors import ProtocolError
from ..protocol.marks import REPR, edited_mark
from ..protocol.values import Breakpoint, EventKind, Side

#: Levels of nesting that an edit leaves free: who reads it has calls of its own below.
_MARGIN: Final = 400
#: Digits that Python's parsers take.
_DIGITS: Final = 4300
#: Stands in the text of a value that has marks.
_HINT_AT_MARK: Final = f'"{REPR}"'

#: Strings, so that nothing is found inside them, and Python's constants that JSON doesn't have.
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')


def check_edit(text: str, current: Breakpoint) -> None:
    """Check a person's edit: its JSON text, its form where the agent needs one, and its marks.

    Args:
        text: The edit.
        current: The breakpoint that is edited.

    Raises:
        ProtocolError: `invalid_edit`, with the line and column, with the form that is needed, or with
            why a value is read-only.
    """
    value = check_form(text, current)
    if (refusal := edited_mark(_sent(current), value)) is not None:
        raise ProtocolError("invalid_edit", refusal)


def check_form(text: str, current: Breakpoint) -> Any:
    """Check an edit as `check_edit` does, but for marks: of its own objects an agent may say anything.

    Returns:
        The edited value.
    """
    value = _parse(text)
    if current.kind is EventKind.TOOL_INVOCATION and current.side is Side.BEGIN:
        _check_call(value)
    return value


def _sent(current: Breakpoint) -> Any:
    """What an agent sent, where it has marks."""
    if _HINT_AT_MARK not in current.data:
        return None
    try:
        return json.loads(current.data)
    except (ValueError, RecursionError):  # of version 1: what only a lenient parser takes
        return None


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
