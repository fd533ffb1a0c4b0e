"""Checks of inputs: edits that no agent could read, and inputs that don't fit their run."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, Final, NoReturn

import msgspec
from msgspec import Raw

from ..errors import CommandError, ProtocolError, StaleError
from ..protocol.data_model import PAIRED_EVENT_KINDS, Event, EventKind, EventSide, HaltPoint, Risk
from ..protocol.field_types import EVENT_NAME, EVENT_NAME_RULE
from ..protocol.opaque_values import REPR_KEY, find_edited_opaque_value
from .run_state import EventStatus, RunStatus
from .summaries import describe_call

#: The message of `cannot_approve`.
NO_APPROVAL_PENDING: Final = (
    "This message doesn't ask for an approval. Use Step to continue from it."
)

#: Levels of nesting that an edit leaves free: who reads it has calls of its own below.
_NESTING_MARGIN: Final = 400
#: Digits that Python's parsers take.
_MAX_INT_DIGITS: Final = 4300
#: Stands in the text of a value that has marks.
_HINT_AT_MARK: Final = f'"{REPR_KEY}"'

#: Strings, so that nothing is found inside them, and Python's constants that JSON doesn't have.
_CONSTANT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')


def check_edit(text: str, current: HaltPoint, *, is_agents: bool = False) -> None:
    """Check an edit: its JSON text, its form where the agent needs one, and its marks.

    Args:
        text: The edit.
        current: The halt point that is edited.
        is_agents: Whether the agent's own people made the edit: of its own objects an agent may say
            anything.

    Raises:
        ProtocolError: `invalid_edit`, with the line and column, with the form that is needed, or with
            why a value is read-only.
    """
    value = _read_json(text)
    if current.kind is EventKind.TOOL_INVOCATION and current.side is EventSide.BEGIN:
        _check_call(value)
    # A text that escapes a letter may spell the key of a mark so.
    has_marks = _HINT_AT_MARK in current.data or REPR_KEY in text or "\\u" in text
    if has_marks and not is_agents:
        _check_marks(value, current)


def _read_json(text: str) -> Any:
    try:
        # Strictly first: Python's parser takes what others may not.
        msgspec.json.decode("[" * _NESTING_MARGIN + text + "]" * _NESTING_MARGIN, type=Raw)
        return json.loads(text, parse_int=_parse_int)
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        raise ProtocolError("invalid_edit", _describe_flaw(text, error)) from None


def _check_marks(value: Any, current: HaltPoint) -> None:
    """Refuse an edit of a value that is shown by its repr."""
    sent = None
    if _HINT_AT_MARK in current.data:
        # Version 1 sends what only a lenient parser takes.
        with suppress(ValueError, RecursionError):
            sent = json.loads(current.data)
    if (refusal := find_edited_opaque_value(sent, value)) is not None:
        raise ProtocolError("invalid_edit", refusal)


def _describe_flaw(text: str, error: Exception) -> str:
    """Describe the flaw of an edit that a parser refused.

    Args:
        text: The edit.
        error: The parser's error.
    """

    def refuse_constant(name: str) -> NoReturn:
        places = (match.start(1) for match in _CONSTANT.finditer(text) if match[1])
        raise json.JSONDecodeError(
            f"{name} is valid in Python, but not in JSON", text, next(places, 0)
        )

    try:
        json.loads(text, parse_constant=refuse_constant, parse_int=_parse_int)
    except json.JSONDecodeError as refusal:
        reason = f"line {refusal.lineno}, column {refusal.colno}: {refusal.msg}"
    except ValueError as refusal:
        reason = str(refusal)
    except RecursionError:
        reason = "it is nested too deeply"
    else:
        if isinstance(error, RecursionError):
            return "The edit is nested too deeply."
        reason = "it contains half of a surrogate pair"
    return f"The edit isn't JSON: {reason}."


def _parse_int(digits: str) -> int:
    if len(digits) > _MAX_INT_DIGITS:
        raise ValueError(f"a number has more than {_MAX_INT_DIGITS} digits")
    return int(digits)


def _check_call(value: Any) -> None:
    form = isinstance(value, dict) and set(value) == {"Tool", "Argument"}
    if not form or not isinstance(value["Tool"], str):
        raise ProtocolError(
            "invalid_edit",
            'A tool call must stay of the form {"Tool": text, "Argument": any}: edit its values only.',
        )


def check_event(status: RunStatus, event: Event) -> None:
    """Check an event that begins.

    Raises:
        ProtocolError: `duplicate`, or `invalid_message` for a custom event's type.
    """
    if event.id in status.open_events or event.id in status.ended:
        raise make_duplicate_error("Event", event.id)
    if event.kind is EventKind.DEBUG_MESSAGE and event.id in status.rows:
        raise make_duplicate_error("Message", event.id)
    name = event.name or ""
    if event.kind is EventKind.CUSTOM and not EVENT_NAME.fullmatch(name):
        raise ProtocolError(
            "invalid_message", f"{name[:80]!r} isn't a valid event type: {EVENT_NAME_RULE}"
        )


def find_open_event(status: RunStatus, halt_point: HaltPoint) -> EventStatus:
    """The event of a halt point that a run reports.

    Raises:
        ProtocolError: `unknown_event`, `event_not_begun`, `event_ended`, `duplicate`, or
            `invalid_message`: the event allows no approval.
    """
    event_id = halt_point.event
    opened = status.open_events.get(event_id)
    if opened is None:
        if event_id in status.ended:
            raise ProtocolError(
                "event_ended", f"Event {event_id} has ended already. Begin a new event."
            )
        raise ProtocolError(
            "unknown_event",
            f"This run has no event {event_id}. Send the event before its halt points.",
        )
    if halt_point.id in status.rows:
        raise make_duplicate_error("Halt point", halt_point.id)
    if opened.has_begun and halt_point.side is EventSide.BEGIN:
        raise ProtocolError(
            "event_ended", f"Event {event_id} has begun already. Send only its end halt point now."
        )
    if not opened.has_begun and halt_point.side is EventSide.END:
        raise ProtocolError(
            "event_not_begun",
            f"Event {event_id} hasn't begun. Send its begin halt point first.",
        )
    is_call = opened.event.kind is EventKind.TOOL_INVOCATION and halt_point.side is EventSide.BEGIN
    if halt_point.approval is not None and not is_call:
        raise ProtocolError(
            "invalid_message",
            "Only the begin halt point of a tool invocation can ask for an approval.",
        )
    return opened


def make_duplicate_error(kind: str, id: str) -> ProtocolError:
    """The error for an id that a run has already."""
    return ProtocolError("duplicate", f"{kind} {id} was sent already. Give each one its own id.")


def check_edit_target(halt_point_id: str | None, revision: int | None) -> None:
    """Refuse an edit that comes with a command which names no halt point as the person saw it.

    Raises:
        ProtocolError: `invalid_message`.
    """
    if halt_point_id is None or revision is None:
        raise ProtocolError(
            "invalid_message",
            "The edit doesn't name its halt point and revision. Send both with the edit.",
        )


def check_sticky_edit(status: RunStatus, current: HaltPoint) -> None:
    """Refuse a sticky edit of data other than a prompt, or for an agent without sticky edits.

    Raises:
        CommandError: `cannot_stick`.
    """
    is_prompt = current.kind is EventKind.LLM_QUERY and current.side is EventSide.BEGIN
    if not is_prompt or status.run.can_stick_edits is not True:
        raise CommandError(
            "cannot_stick",
            "This edit can't be made in later prompts too: only a prompt's edit can, of an agent "
            "whose AgentStepper is new enough. Send the edit for this message alone.",
            status.run.id,
        )


def check_approval(current: HaltPoint, *, confirmed: bool) -> None:
    """Refuse an approval at a halt point that asks for none, or one that isn't confirmed.

    Raises:
        CommandError: `cannot_approve`, or `needs_confirmation`: the call is of high risk.
    """
    if current.approval is None:
        raise CommandError("cannot_approve", NO_APPROVAL_PENDING, current.run)
    if current.approval.risk is Risk.HIGH and not confirmed:
        message = (
            f"The call {describe_call(current)} was not approved: it is of high risk, and the "
            "approval wasn't confirmed. Confirm the approval, deny the call, or upgrade a "
            "view that can't confirm."
        )
        raise CommandError("needs_confirmation", message, current.run)


def check_denial(status: RunStatus, current: HaltPoint) -> None:
    """Refuse a denial where no call begins, or for an agent that can't receive denials.

    Raises:
        CommandError: `cannot_deny`.
    """
    if current.side is not EventSide.BEGIN or current.kind not in PAIRED_EVENT_KINDS:
        message = (
            "Only a call that hasn't been made can be denied. Edit the data of this halt "
            "point, or step."
        )
    elif not status.run.can_stop:
        message = (
            "This agent speaks protocol version 1, which has no denial. Edit the call instead."
        )
    else:
        return
    raise CommandError("cannot_deny", message, status.run.id)


def check_skip(status: RunStatus, current: HaltPoint, result: str) -> None:
    """Refuse a result where no call begins, or for an agent that can't receive results.

    Raises:
        CommandError: `cannot_skip`.
        ProtocolError: `invalid_edit`: the result isn't JSON, or holds a mark of an object.
    """
    if current.side is not EventSide.BEGIN or current.kind not in PAIRED_EVENT_KINDS:
        message = (
            "Only a call that hasn't been made can be skipped. Edit the data of this halt "
            "point, or step."
        )
        raise CommandError("cannot_skip", message, status.run.id)
    if not status.run.can_stop:
        message = (
            "This agent speaks protocol version 1, which can't skip a call. Edit the call instead."
        )
        raise CommandError("cannot_skip", message, status.run.id)
    if (refusal := find_edited_opaque_value(None, _read_json(result))) is not None:
        raise ProtocolError("invalid_edit", refusal)


def check_raise(status: RunStatus, current: HaltPoint) -> None:
    """Refuse an exception where no call could fail, or for an agent that can't receive exceptions.

    Raises:
        CommandError: `cannot_raise`.
    """
    if current.kind not in PAIRED_EVENT_KINDS:
        message = (
            "Only an LLM query, a tool call or a custom event can be let fail. Step, or stop the "
            "run."
        )
    elif not status.run.can_stop:
        message = (
            "This agent speaks protocol version 1, which has no exceptions. Edit the data instead."
        )
    else:
        return
    raise CommandError("cannot_raise", message, status.run.id)


def find_current(
    status: RunStatus, halt_point_id: str, revision: int | None, *, is_edit: bool = False
) -> HaltPoint:
    """The pending halt point of a command; one that only edits isn't stale without a revision.

    Raises:
        CommandError: `not_pending`, `stale`.
    """
    current = status.pending.get(halt_point_id)
    if current is not None and revision in (None, current.revision):
        return current
    if current is not None:
        what = "Another view has edited this message meanwhile"
    elif is_edit and revision is None:
        raise CommandError(
            "not_pending",
            "This message isn't waiting at a halt point. Only data of the halt point "
            "where a run is halted can be edited.",
            status.run.id,
        )
    else:
        what = "This halt point has been answered already"
    raise StaleError(
        f"{what}. Look at the new state and decide again.", status.run.id, halt_point_id
    )
