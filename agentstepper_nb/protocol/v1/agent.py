"""Version 1 between an agent and the Core: `{"message": "event"|"breakpoint"|"commit", "data": …}`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec import Raw, Struct

from ... import typed_json
from ...errors import ProtocolError
from ..data_model import EventKind, Failure, HaltPoint
from ..field_types import EVENT_NAME, Id, Time

#: Event types travel by their enum's name.
EVENT_TYPES: Final[dict[str, EventKind]] = {
    kind.name: kind for kind in EventKind if kind is not EventKind.CUSTOM
}

JSON_NULL: Final = Raw(b"null")


class V1Event(Struct, frozen=True, kw_only=True):
    """An event of version 1; `breakpoints` is always empty on the wire."""

    uuid: Id
    type: str
    time: Time
    data: Raw = JSON_NULL
    breakpoints: list[Any] = []


class V1Breakpoint(Struct, frozen=True, kw_only=True):
    """A breakpoint of version 1, the same form both ways."""

    uuid: Id
    agent: str = ""
    event_id: Id
    time: Time
    original_data: Raw = JSON_NULL
    modified_data: Raw = JSON_NULL
    summary: str | None = None


def find_summary(halt_point: HaltPoint) -> str | None:
    """A breakpoint's summary where version 1 reads it, which has no other word for an exception."""
    if halt_point.failure is not None and not halt_point.is_replaced:
        return format_failure(halt_point.failure)
    return halt_point.summary or halt_point.model_summary


def format_failure(failure: Failure) -> str:
    """An exception as a summary: “ValueError: no”."""
    return f"{failure.type}: {failure.message}"


class V1Change(Struct, frozen=True, kw_only=True):
    """A changed file of version 1; `change_type` is `new file`, `change` or `deleted file`."""

    path: str
    change_type: str
    diff: str = ""
    content: str = ""
    previous_content: str = ""


class V1Commit(Struct, frozen=True, kw_only=True):
    """A commit of version 1."""

    id: Id
    date: Time
    title: str
    changes: list[V1Change] = []


class V1Error(Struct, frozen=True, kw_only=True):
    """An error to an agent: only in answer to what the original client can't have sent."""

    code: str
    message: str


class _Custom(Struct, forbid_unknown_fields=True):
    """The data of a custom event, which goes as a tool invocation: those have no data of their own."""

    custom: str


def dump_kind(kind: EventKind, name: str | None, data: Raw) -> tuple[str, Raw]:
    """Encode an event's kind as its type and its data on the wire.

    Args:
        kind: The event's kind.
        name: A custom event's type.
        data: The event's own data, which custom events don't have.
    """
    if kind is EventKind.CUSTOM and name:
        return EventKind.TOOL_INVOCATION.name, Raw(msgspec.json.encode(_Custom(name)))
    return kind.name, data


def load_kind(type: str, data: Raw) -> tuple[EventKind | None, str | None]:
    """Read an event's kind, and a custom event's type; the kind is None where the type is unknown.

    Args:
        type: The event's type on the wire.
        data: The event's data on the wire.
    """
    kind = EVENT_TYPES.get(type)
    if kind is EventKind.TOOL_INVOCATION and data != JSON_NULL:
        try:
            custom = typed_json.decode(data, _Custom).custom
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return kind, None
        if EVENT_NAME.fullmatch(custom):
            return EventKind.CUSTOM, custom
    return kind, None


V1Message = V1Event | V1Breakpoint | V1Commit | V1Error

# The envelope, one class a kind, so that a message is read in one pass.


class _Event(Struct, tag_field="message", tag="event"):
    data: V1Event


class _Breakpoint(Struct, tag_field="message", tag="breakpoint"):
    data: V1Breakpoint


class _Commit(Struct, tag_field="message", tag="commit"):
    data: V1Commit


class _Error(Struct, tag_field="message", tag="error"):
    data: V1Error


_KINDS: Final[dict[str, type[Struct]]] = {
    "event": V1Event,
    "breakpoint": V1Breakpoint,
    "commit": V1Commit,
    "error": V1Error,
}
_ENVELOPES: Final[dict[type[Struct], Callable[[Any], Struct]]] = {
    V1Event: _Event,
    V1Breakpoint: _Breakpoint,
    V1Commit: _Commit,
    V1Error: _Error,
}
_decoder = msgspec.json.Decoder(_Event | _Breakpoint | _Commit | _Error)
_encoder = msgspec.json.Encoder()


def encode_message(value: V1Message) -> str:
    """Encode a message with its envelope. Contents are embedded as they came."""
    return _encoder.encode(_ENVELOPES[type(value)](value)).decode()


class LenientMessage(NamedTuple):
    """A message, and whether every JSON parser takes its text."""

    message: V1Message
    is_strict_json: bool


def decode_message(text: str) -> V1Message:
    """Decode a message, as `read` does."""
    return read_message(text).message


def read_message(text: str) -> LenientMessage:
    """Decode a message.

    The original's clients write Python's JSON, which may hold NaN, Infinity and lone surrogates: such
    a message is read leniently, and its contents are written again.

    Raises:
        ProtocolError: Not JSON, an unknown envelope, or a field is wrong.
    """
    try:
        return LenientMessage(_decoder.decode(text).data, True)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        relaxed = _relax(text)
        if relaxed is None:
            raise ProtocolError("malformed", f"Failed to parse the message: {error}.") from None
    try:
        return LenientMessage(_convert(relaxed), False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ProtocolError("invalid_message", f"Failed to parse the message: {error}.") from None


def _relax(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _convert(value: Any) -> V1Message:
    """The typed message of what the lenient parser read."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        raise ProtocolError(
            "malformed", 'The message is not of the form {"message": …, "data": {…}}.'
        )
    name = to_convertible(str(value.get("message")))
    kind = _KINDS.get(name)
    if kind is None:
        raise ProtocolError(
            "unknown_message",
            f"Failed to parse client server event message: “{name[:80]}” is none of event, breakpoint, "
            "commit.",
        )
    return cast(V1Message, typed_json.convert(to_convertible(value["data"]), kind))


#: The fields that hold contents, wherever they stand.
_CONTENTS: Final = frozenset({"data", "original_data", "modified_data"})


def to_convertible(value: Any) -> Any:
    """Prepare a value that the lenient parser read for `msgspec.convert`.

    Contents become JSON text again; in all else, half a surrogate pair becomes a replacement character,
    as UTF-8 can't carry it.
    """
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [to_convertible(item) for item in value]
    if isinstance(value, dict):
        return {
            name: Raw(dump_json(item).encode()) if name in _CONTENTS else to_convertible(item)
            for name, item in value.items()
        }
    return value


def decode_text_data(data: Raw) -> str:
    """A JSON string's text, nothing for null, and any other JSON as it stands."""
    value = _relax(bytes(data).decode())
    if value is None:
        return ""
    return str(to_convertible(value)) if isinstance(value, str) else bytes(data).decode()


def dump_json(value: Any) -> str:
    """Python's JSON of a leniently read value: NaN stands as NaN, surrogates are escaped."""
    return json.dumps(value)


def is_strict(text: str) -> bool:
    """Whether every JSON parser accepts this text (NaN and Infinity are Python's own)."""
    try:
        msgspec.json.decode(text, type=Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
