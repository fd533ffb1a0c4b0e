"""Halt points whose contents are sent in pieces (docs/design/0012-pieces.md), as they are stored.

Contents are cut once, when they are stored, since many stored contents share most of their pieces.
The form on the wire is chosen at the time of writing, by the pieces that the other end has.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ..protocol.agent import HaltPointReached, from_agent
from ..protocol.delta_encoding import REFERENCE_BYTES, DeltaEncoder
from ..protocol.segments import split_content

#: Approximate bytes of a message besides its contents.
FRAME_BYTES: Final = 512


class DeltaMessage(NamedTuple):
    """A halt point that is stored in pieces."""

    message: HaltPointReached  # without its contents
    parts: tuple[bytes, ...]  # the pieces of its contents
    size: int  # the bytes of the joined contents

    def encode(self, number: int, encoder: DeltaEncoder) -> bytes:
        """Encode the message as text.

        Args:
            number: The message's number in the run.
            encoder: The encoder of the connection that the message is written on next.
        """
        message = replace(self.message, pieces=encoder.encode_parts(self.parts))
        return from_agent.encode(message, number).encode()


def split_message(message: HaltPointReached, data: Raw) -> DeltaMessage:
    """Cut a halt point's contents into pieces.

    Args:
        message: The halt point.
        data: The contents, whose size is one of `DELTA_SIZES`.
    """
    parts = tuple(split_content(bytes(data)))
    return DeltaMessage(replace(message, data=UNSET), parts, len(data))


class DeltaPartPool:
    """Pieces that messages share: each is held once, for as long as a message has it."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, tuple[bytes, int]] = {}  # each, and how many messages have it
        self.size = 0  # bytes, of all that is held

    def share(self, delta: DeltaMessage) -> DeltaMessage:
        """Hold a message's pieces; the message with those that are held already."""
        parts = tuple(map(self._store_part, delta.parts))
        self.size += _count_overhead_bytes(delta)
        return delta._replace(parts=parts)

    def release(self, delta: DeltaMessage) -> None:
        """Let go of what only this message had."""
        self.size -= _count_overhead_bytes(delta)
        for piece in delta.parts:
            stored, users = self._pieces[piece]
            if users > 1:
                self._pieces[piece] = stored, users - 1
            else:
                del self._pieces[piece]
                self.size -= len(piece)

    def clear(self) -> None:
        """Let go of all."""
        self._pieces.clear()
        self.size = 0

    def _store_part(self, piece: bytes) -> bytes:
        stored, users = self._pieces.get(piece, (piece, 0))
        if not users:
            self.size += len(piece)
        self._pieces[stored] = stored, users + 1
        return stored


def _count_overhead_bytes(delta: DeltaMessage) -> int:
    return FRAME_BYTES + REFERENCE_BYTES * len(delta.parts)
