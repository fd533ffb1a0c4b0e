"""The payload of each kind of action."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct

from ... import typed_json
from ...errors import CommandError, ProtocolError
from ...protocol.field_errors import make_field_error
from ...protocol.runtime import ActionKind, AgentLimits
from ...protocol.runtime_requests import (
    CreateAgentPayload,
    DestroyPayload,
    InputPayload,
    InterruptPayload,
)

#: Bytes of JSON that a client's payload, metadata or data may have: a claim answers with an action and
#: its session in one message, and one that doesn't fit would be in the way of all others.
MAX_PAYLOAD_BYTES: Final = 8_000_000


class EmptyPayload(Struct, frozen=True):
    """The payload of an action whose kind says all."""


#: The class of each kind's payload.
PAYLOADS: Final[dict[ActionKind, type[Struct]]] = {
    ActionKind.CREATE: CreateAgentPayload,
    ActionKind.PAUSE: EmptyPayload,
    ActionKind.RESUME: EmptyPayload,
    ActionKind.INTERRUPT: InterruptPayload,
    ActionKind.INPUT: InputPayload,
    ActionKind.DESTROY: DestroyPayload,
}


def check_payload(kind: ActionKind, payload: Any) -> Struct:
    """Decode an action's payload to its struct; no payload means one without fields.

    Args:
        kind: The action's kind.
        payload: The payload, as JSON values.

    Raises:
        ProtocolError: `invalid_message`, with the field: it has another form, or a field that the
            kind doesn't know, which else would do nothing, silently.
    """
    given = {} if payload is None else payload
    expected = PAYLOADS[kind]
    try:
        found: Struct = typed_json.convert(given, expected)
    except (msgspec.ValidationError, RecursionError) as error:
        raise make_field_error(error, "payload") from None
    _refuse_unknown(given, expected, "payload")
    if isinstance(found, CreateAgentPayload):
        _refuse_unknown(given.get("limits", {}), AgentLimits, "payload.limits")
    return found


def refuse_large(value: Any, field: str) -> None:
    """Refuse values that are too large for a row.

    Args:
        value: JSON values.
        field: The name of the values, for the error.

    Raises:
        CommandError: `too_large`.
    """
    size = len(msgspec.json.encode(value))
    if size > MAX_PAYLOAD_BYTES:
        raise CommandError(
            "too_large",
            f"{field}: the value has {size:,} bytes of JSON, and {MAX_PAYLOAD_BYTES:,} "
            "are the limit. Write the data to a file, and send its path.",
            field=field,
        )


def encode_payload(payload: Struct) -> Any:
    """Encode a payload for its row, as JSON values with all defaults."""
    return msgspec.json.decode(msgspec.json.encode(payload)) or None


def _refuse_unknown(given: dict[str, Any], expected: type[Struct], under: str) -> None:
    for name in given:
        if name not in expected.__struct_fields__:
            field = f"{under}.{name[:100]}"
            known = ", ".join(expected.__struct_fields__) or "none"
            raise ProtocolError(
                "invalid_message",
                f"{field}: there is no such field. The fields are: {known}.",
                field,
            )
