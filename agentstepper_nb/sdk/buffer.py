"""Messages that were sent and may have to be sent again."""

from __future__ import annotations

from collections import deque
from typing import Final

from .parted import Parted, Pool

#: Bytes that keeping a message takes, beside its text.
_EACH: Final = 64


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
