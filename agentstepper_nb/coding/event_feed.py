"""The events of one session over HTTP: numbered, the newest kept, read by one reader at a time."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from typing import Final

import msgspec

from ..errors import CommandError
from ..protocol.coding_api import CodingTrace, NumberedCodingEvent, ServerEvent

#: What is kept for a reader that comes, comes back or is slow: so many events, and bytes of them.
MOST_EVENTS: Final = 10_000
MOST_BYTES: Final = 16 * 1024 * 1024

#: `CodingTrace.kind`s that tell a reader about its stream.
LOST: Final = "events_lost"
TAKEN_OVER: Final = "taken_over"


class SessionEventFeed:
    """Takes events without waiting for who reads them.

    Args:
        most_events: How many are kept.
        most_bytes: How many bytes of them, as JSON; the newest is kept however large.
    """

    def __init__(self, most_events: int = MOST_EVENTS, most_bytes: int = MOST_BYTES) -> None:
        self.life = secrets.token_hex(4)
        self._kept: deque[tuple[ServerEvent, int]] = deque()
        self._bytes = 0
        self._last = 0  # the number of the newest event
        self._most_events = most_events
        self._most_bytes = most_bytes
        self._news = asyncio.Event()
        self._reader: object | None = None
        self._closed = False

    def add(self, event: ServerEvent) -> None:
        """Number an event, and forget the oldest ones that there is no room for."""
        size = len(msgspec.json.encode(event))
        self._kept.append((event, size))
        self._bytes += size
        self._last += 1
        while len(self._kept) > 1 and self._too_much:
            self._bytes -= self._kept.popleft()[1]
        self._wake()

    @property
    def _too_much(self) -> bool:
        return len(self._kept) > self._most_events or self._bytes > self._most_bytes

    def close(self) -> None:
        """No more events come: the reader is given what there is, and no more."""
        self._closed = True
        self._wake()

    async def read(self, last: str | None) -> AsyncGenerator[NumberedCodingEvent, None]:
        """Give the events from one on, and then each as it happens.

        The first item has no event: it says where the reader stands.

        Args:
            last: The id of the last event that the reader has; it takes an older reader's place where
                that is of this life. None, or one of another life, begins with the oldest one kept.

        Raises:
            CommandError: `stream_taken`.
        """
        at = self._number_of(last)
        if self._reader is not None and at is None:
            raise CommandError(
                "stream_taken",
                "Somebody reads this session's events. A request with the Last-Event-ID that this "
                "session gave takes over.",
            )
        reader = self._reader = object()
        self._wake()  # an older one ends
        try:
            async for item in self._read_from(0 if at is None else at, last, reader):
                yield item
        finally:
            if self._reader is reader:
                self._reader = None

    async def _read_from(
        self, at: int, last: str | None, reader: object
    ) -> AsyncGenerator[NumberedCodingEvent, None]:
        yield NumberedCodingEvent(life=self.life, n=at)
        if last is not None and self._number_of(last) is None:
            told = "The session was opened again meanwhile: its events begin anew."
            yield NumberedCodingEvent(life=self.life, n=at, event=CodingTrace(kind=LOST, data=told))
        while self._reader is reader:
            if at < self._oldest - 1:
                told = f"{self._oldest - 1 - at} events are not kept any more."
                at = self._oldest - 1
                yield NumberedCodingEvent(
                    life=self.life, n=at, event=CodingTrace(kind=LOST, data=told)
                )
            elif at < self._last:
                at += 1
                event, _ = self._kept[at - self._oldest]
                yield NumberedCodingEvent(life=self.life, n=at, event=event)
            elif self._closed:
                return
            else:
                self._news.clear()
                await self._news.wait()
        told = "Another request reads this session's events now."
        yield NumberedCodingEvent(
            life=self.life, n=at, event=CodingTrace(kind=TAKEN_OVER, data=told)
        )

    @property
    def _oldest(self) -> int:
        """The number of the oldest event that is kept."""
        return self._last - len(self._kept) + 1

    def _number_of(self, last: str | None) -> int | None:
        """The number in an id of this life; None of all else."""
        life, _, number = (last or "").partition("-")
        if life != self.life or not number.isascii() or not number.isdecimal():
            return None
        return min(int(number[:20]), self._last)

    def _wake(self) -> None:
        self._news.set()
