"""Messages that were sent and may have to be sent again."""

from __future__ import annotations

from collections import deque
from typing import Final

#: What is kept at most, before the agent has to wait for the Core.
MOST_MESSAGES: Final = 10_000
MOST_BYTES: Final = 64 * 1024 * 1024


class Buffer:
    """One run's messages after its hello, numbered, until the Core says that it keeps them.

    Args:
        messages: How many make it full.
        size: How many bytes make it full.
    """

    def __init__(self, messages: int = MOST_MESSAGES, size: int = MOST_BYTES) -> None:
        self._most = (messages, size)
        self._kept: deque[bytes] = deque()
        self._size = 0
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
    def full(self) -> bool:
        """Whether no more should be added; the last one may have passed the limit of bytes."""
        messages, size = self._most
        return len(self._kept) >= messages or self._size >= size

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, data: bytes) -> None:
        """Keep the next message, whose number is `last + 1`."""
        self._kept.append(data)
        self._size += len(data)

    def acknowledge(self, number: int) -> None:
        """Forget all up to a number: the Core keeps them."""
        self._acknowledged = max(self._acknowledged, min(number, self.last))
        while self._forgotten < self._acknowledged:
            self._size -= len(self._kept.popleft())
            self._forgotten += 1

    def next_after(self, number: int) -> tuple[int, bytes] | None:
        """The first message after a number that is still kept, and its own number; None at the end."""
        first = max(number, self._forgotten)
        if first >= self.last:
            return None
        return first + 1, self._kept[first - self._forgotten]

    def clear(self) -> None:
        """Forget all: nobody will ever take them."""
        self._forgotten = self.last
        self._kept.clear()
        self._size = 0
