"""Halt points whose contents travel in pieces (docs/design/0012-pieces.md), as they are kept.

They are cut once, as they are kept, since many may be kept that have most in common. How they travel is
decided when they are written, by what the connection's other end knows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ..protocol.agent import HaltPointReached, from_agent
from ..protocol.delta_encoding import REFERENCE_BYTES, DeltaEncoder
from ..protocol.segments import split_content

#: What a message has beside its contents, about.
FRAME_BYTES: Final = 512


class DeltaMessage(NamedTuple):
    """A halt point that is kept in pieces."""

    message: HaltPointReached  # without its contents
    parts: tuple[bytes, ...]  # of these
    size: int  # of these, joined

    def encode(self, number: int, encoder: DeltaEncoder) -> bytes:
        """Give the message's text.

        Args:
            number: Its number in the run.
            encoder: Of the connection that it is written on next.
        """
        message = replace(self.message, pieces=encoder.encode_parts(self.parts))
        return from_agent.encode(message, number).encode()


def split_message(message: HaltPointReached, data: Raw) -> DeltaMessage:
    """A halt point in pieces.

    Args:
        message: The halt point.
        data: Its contents, of one of `DELTA_SIZES`.
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
