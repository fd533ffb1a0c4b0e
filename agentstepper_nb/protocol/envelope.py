"""Version 2's frame: `{"n": 7, "type": "step", "id": "c1", "body": {…}}`.

`n` numbers the messages of one direction from 1. `id` stands on commands and on their answers. `run`
names the run of a message where several runs of a process share a connection
(docs/design/0009-resume.md). The body is decoded by a table once its type is known, so that one bad body
can't hurt another message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from .. import typed_json
from ..errors import ProtocolError
from .field_types import Count

#: The WebSocket subprotocol that chooses version 2.
SUBPROTOCOL = "agentstepper.v2"
#: The version spoken.
VERSION = 2
#: The largest message taken, in bytes, on every socket.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024


class Envelope(Struct, frozen=True, kw_only=True):
    """The outer form of every message."""

    n: Count
    type: str
    id: str | UnsetType = UNSET
    run: str | UnsetType = (
        UNSET  # whose message it is; without it: the run that opened the connection
    )
    body: Raw


#: Types that an error names: more than these no person reads.
_MAX_LISTED_TYPES: Final = 20
#: Errors that msgspec raises for invalid text; deep nesting ends in a RecursionError.
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeError)

_envelope = msgspec.json.Decoder(Envelope)
_encoder = msgspec.json.Encoder()


class _Outgoing(Struct, kw_only=True):
    run: str | UnsetType = UNSET
    n: int
    type: str
    id: str | UnsetType
    body: Struct


def encode_message(type: str, body: Struct, n: int, id: str | None = None) -> str:
    """Encode one message under a name that no table has.

    Args:
        type: The name.
        body: The message.
        n: Its number in this direction.
        id: The command's id, on its answer.
    """
    outgoing = _Outgoing(n=n, type=type, id=UNSET if id is None else id, body=body)
    return _encoder.encode(outgoing).decode()


def add_run(text: str, run: str) -> str:
    """Name the run that an encoded message belongs to.

    Args:
        text: The message, as `encode` gives it without a run.
        run: The run.
    """
    return f'{{"run":{_encoder.encode(run).decode()},{text[1:]}'


def decode_envelope(text: str | bytes) -> Envelope:
    """Decode the envelope of a message, and leave the body.

    Raises:
        ProtocolError: `malformed`: it isn't JSON, or not of the envelope's form.
    """
    try:
        return _envelope.decode(text)
    except _UNREADABLE as error:
        raise ProtocolError(
            "malformed",
            f'The message doesn\'t have the form {{"n": 1, "type": …, "body": {{…}}}}: {error}.',
        ) from None


class MessageTable:
    """The messages of one direction, by the names they have in the envelope.

    Args:
        unknown: The code of the error that an unknown name is.
        types: Each name's message class.
    """

    def __init__(self, unknown: str = "unknown_message", /, **types: type[Struct]) -> None:
        self.types = types
        self._unknown = unknown
        self._names = {kind: name for name, kind in types.items()}
        self._decoders = {name: msgspec.json.Decoder(kind) for name, kind in types.items()}

    def encode(self, message: Struct, n: int, id: str | None = None, run: str | None = None) -> str:
        """Encode one message.

        Args:
            message: A value of one of this table's classes.
            n: Its number in this direction.
            id: The command's id, on a command or its answer.
            run: The run that it belongs to, where others share the connection.
        """
        outgoing = _Outgoing(
            run=UNSET if run is None else run,
            n=n,
            type=self._names[type(message)],
            id=UNSET if id is None else id,
            body=message,
        )
        return _encoder.encode(outgoing).decode()

    def extended(self, types: Mapping[str, type[Struct]]) -> MessageTable:
        """Copy the table and add further messages.

        Args:
            types: Each new name's message class.
        """
        return MessageTable(self._unknown, **self.types, **types)

    def decode(self, text: str | bytes) -> tuple[Envelope, Struct]:
        """Decode one message to its envelope and its typed body.

        Raises:
            ProtocolError: It isn't JSON, not of the envelope's form, of an unknown type, or a field is
                wrong. `decode_envelope_header` tells what the answer should name.
        """
        envelope = decode_envelope(text)
        return envelope, self.decode_body(envelope)

    def decode_body(self, envelope: Envelope) -> Struct:
        """Decode the body of a message whose envelope was read.

        Raises:
            ProtocolError: It is of an unknown type, or a field is wrong.
        """
        decoder = self._decoders.get(envelope.type)
        if decoder is None:
            known = sorted(self._decoders)
            more = len(known) - _MAX_LISTED_TYPES
            listed = ", ".join(known[:_MAX_LISTED_TYPES]) + (
                f" and {more} more" if more > 0 else ""
            )
            raise ProtocolError(
                self._unknown,
                f"“{envelope.type[:80]}” isn't a message type here. The types are: {listed}.",
            )
        try:
            return decoder.decode(envelope.body)
        except _UNREADABLE as error:
            raise ProtocolError("invalid_message", f"{envelope.type}: {error}.") from None


class EnvelopeHeader(Struct):
    """The number, id and run of a refused message, as far as they could be read."""

    n: int | None = None
    id: str | None = None
    run: str | None = None


class _Loose(Struct):
    n: Raw = Raw(b"null")
    id: Raw = Raw(b"null")
    run: Raw = Raw(b"null")


def decode_envelope_header(text: str | bytes) -> EnvelopeHeader:
    """The number, id and run of a message that failed to decode."""
    try:
        found = typed_json.decode(text, _Loose)
    except _UNREADABLE:
        return EnvelopeHeader()
    return EnvelopeHeader(
        n=_field(found.n, Count), id=_field(found.id, str), run=_field(found.run, str)
    )


def _field(raw: Raw, kind: Any) -> Any:
    try:
        return typed_json.decode(raw, kind)
    except _UNREADABLE:
        return None
