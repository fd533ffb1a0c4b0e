"""Messages whose contents travel in pieces: docs/design/0012-pieces.md.

They are cut once, as they are kept, since many may be kept that have most in common. How they travel is
decided when they are written, by what the connection's other end knows.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol.agent import AgentMessage, BreakpointReached, from_agent
from ..protocol.pieces import MENTION, Sender, travels_in_pieces
from ..protocol.segments import split

#: What a message has beside its contents, about.
_FRAME: Final = 512


class Parted(NamedTuple):
    """A breakpoint that is kept in pieces."""

    message: BreakpointReached  # without its contents
    parts: tuple[bytes, ...]  # of these
    size: int  # of these, joined

    def encode(self, number: int, sender: Sender) -> bytes:
        """Give the message's text.

        Args:
            number: Its number in the run.
            sender: Of the connection that it is written on next.
        """
        message = replace(self.message, pieces=sender.tell(self.parts))
        return from_agent.encode(message, number).encode()


def part(message: AgentMessage) -> Parted | None:
    """A message in pieces; None where it is one that travels as it is."""
    if not isinstance(message, BreakpointReached) or message.data is UNSET:
        return None
    data = bytes(message.data)
    if not travels_in_pieces(len(data)):
        return None
    return Parted(replace(message, data=UNSET), tuple(split(data)), len(data))


class Pool:
    """Pieces that messages share: each is held once, for as long as a message has it."""

    def __init__(self) -> None:
        self._held: dict[bytes, tuple[bytes, int]] = {}  # each, and how many messages have it
        self.size = 0  # bytes, of all that is held

    def share(self, parted: Parted) -> Parted:
        """Hold a message's pieces; the message with those that are held already."""
        parts = tuple(map(self._hold, parted.parts))
        self.size += _own(parted)
        return parted._replace(parts=parts)

    def release(self, parted: Parted) -> None:
        """Let go of what only this message had."""
        self.size -= _own(parted)
        for piece in parted.parts:
            held, users = self._held[piece]
            if users > 1:
                self._held[piece] = held, users - 1
            else:
                del self._held[piece]
                self.size -= len(piece)

    def clear(self) -> None:
        """Let go of all."""
        self._held.clear()
        self.size = 0

    def _hold(self, piece: bytes) -> bytes:
        held, users = self._held.get(piece, (piece, 0))
        if not users:
            self.size += len(piece)
        self._held[held] = held, users + 1
        return held


def _own(parted: Parted) -> int:
    return _FRAME + MENTION * len(parted.parts)
