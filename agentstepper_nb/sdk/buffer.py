"""Messages that were sent and may have to be sent again.

Contents that travel in pieces (docs/design/0012-pieces.md) are cut once, as they are kept, since many
may be kept that have most in common. How they travel is decided when they are written, by what the
connection's other end knows.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ..protocol.agent import AgentMessage, BreakpointReached, from_agent
from ..protocol.pieces import MENTION, Sender, travels_in_pieces
from ..protocol.segments import split

#: Bytes that keeping a message takes, beside its text.
_EACH: Final = 64
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


class Buffer:
    """One run's messages after its hello, numbered, until the Core says that it keeps them."""

    def __init__(self) -> None:
        self._kept: deque[bytes | Parted] = deque()
        self._through: deque[int] = deque()  # bytes of all messages up to each of these, joined
        self._through_forgotten = 0
        self._size = 0  # of the messages that aren't in pieces
        self._pool = Pool()
        self._forgotten = 1  # the last number that isn't kept here; hello itself is number 1
        self._acknowledged = 0

    @property
    def last(self) -> int:
        """The number of the newest message."""
        return self._forgotten + len(self._kept)

    @property
    def acknowledged(self) -> int:
        """The number up to which the Core said that it keeps them; 0 where it said nothing yet."""
        return self._acknowledged

    @property
    def size(self) -> int:
        """Bytes that are held. What several messages have in common counts once."""
        return self._size + self._pool.size + _EACH * len(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, message: bytes | Parted) -> None:
        """Keep the next message, whose number is `last + 1`."""
        if isinstance(message, Parted):
            size = message.size
            message = self._pool.share(message)
        else:
            size = len(message)
            self._size += size
        self._kept.append(message)
        self._through.append(
            size + (self._through[-1] if self._through else self._through_forgotten)
        )

    def acknowledge(self, number: int) -> None:
        """Forget all up to a number: the Core keeps them."""
        self._acknowledged = max(self._acknowledged, min(number, self.last))
        while self._forgotten < self._acknowledged:
            message = self._kept.popleft()
            if isinstance(message, Parted):
                self._pool.release(message)
            else:
                self._size -= len(message)
            self._through_forgotten = self._through.popleft()
            self._forgotten += 1

    def on_its_way(self, written: int) -> int:
        """Bytes of what was written and isn't acknowledged, joined: so much the Core has at hand.

        Args:
            written: The number of the last message that was written.
        """
        if written <= self._forgotten:
            return 0
        return self._through[written - self._forgotten - 1] - self._through_forgotten

    def next_after(self, number: int) -> tuple[int, bytes | Parted] | None:
        """The first message after a number that is still kept, and its own number; None at the end."""
        first = max(number, self._forgotten)
        if first >= self.last:
            return None
        return first + 1, self._kept[first - self._forgotten]

    def clear(self) -> None:
        """Forget all: nobody will ever take them."""
        self._forgotten = self.last
        self._kept.clear()
        self._through.clear()
        self._pool.clear()
        self._size = 0
