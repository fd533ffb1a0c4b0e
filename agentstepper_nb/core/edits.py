"""What an edit must be before an agent may see it."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ..errors import ProtocolError
from ..protocol.values import EventKind, Side


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
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        reason = f"line {error.lineno}, column {error.colno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        reason = str(error)
    raise ProtocolError("invalid_edit", f"The edit isn't JSON: {reason}.")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _check_call(value: Any) -> None:
    form = isinstance(value, dict) and set(value) == {"Tool", "Argument"}
    if not form or not isinstance(value["Tool"], str):
        raise ProtocolError(
            "invalid_edit", 'An edited tool call must stay {"Tool": text, "Argument": any}.'
        )
