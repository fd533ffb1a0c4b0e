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

#: The most events, and the most bytes of events, stored for new, returning or slow readers.
MAX_EVENTS: Final = 10_000
MAX_BYTES: Final = 16 * 1024 * 1024

#: `CodingTrace.kind`s that tell a reader about its stream.
EVENTS_LOST_KIND: Final = "events_lost"
STREAM_TAKEN_OVER_KIND: Final = "taken_over"


class SessionEventFeed:
    """A bounded buffer of a session's events. Adding an event never waits for a reader.

    Args:
        max_events: The most stored events.
        max_bytes: The most bytes of stored events, as JSON. The newest event is stored in any case.
    """

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self.stream_id = secrets.token_hex(4)
        self._events: deque[tuple[ServerEvent, int]] = deque()
        self._bytes = 0
        self._last = 0  # the number of the newest event
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._changed = asyncio.Event()
        self._reader: object | None = None
        self._is_closed = False

    def add(self, event: ServerEvent) -> None:
        """Number an event, and forget the oldest ones that there is no room for."""
        size = len(msgspec.json.encode(event))
        self._events.append((event, size))
        self._bytes += size
        self._last += 1
        while len(self._events) > 1 and self._is_full:
            self._bytes -= self._events.popleft()[1]
        self._notify_reader()

    @property
    def _is_full(self) -> bool:
        return len(self._events) > self._max_events or self._bytes > self._max_bytes

    def close(self) -> None:
        """No more events come: the reader is given what there is, and no more."""
        self._is_closed = True
        self._notify_reader()

    async def read(self, last_event_id: str | None) -> AsyncGenerator[NumberedCodingEvent, None]:
        """Yield the stored events from one on, and then each new event.

        The first item has no event, only the reader's position.

        Args:
            last_event_id: The id of the last event that the reader has; an id of this execution takes
                the place of an older reader. None, or an id of another execution, begins with the
                oldest event that is stored.

        Raises:
            CommandError: `stream_taken`.
        """
        at = self._parse_event_id(last_event_id)
        if self._reader is not None and at is None:
            raise CommandError(
                "stream_taken",
                "Another request already reads this session's events: send that session's "
                "Last-Event-ID to take over.",
            )
        reader = self._reader = object()
        self._notify_reader()  # an older one ends
        try:
            async for item in self._read_from(0 if at is None else at, last_event_id, reader):
                yield item
        finally:
            if self._reader is reader:
                self._reader = None

    async def _read_from(
        self, at: int, last_event_id: str | None, reader: object
    ) -> AsyncGenerator[NumberedCodingEvent, None]:
        yield NumberedCodingEvent(stream_id=self.stream_id, n=at)
        if last_event_id is not None and self._parse_event_id(last_event_id) is None:
            message = "The session was opened again: its events begin anew."
            yield NumberedCodingEvent(
                stream_id=self.stream_id,
                n=at,
                event=CodingTrace(kind=EVENTS_LOST_KIND, data=message),
            )
        while self._reader is reader:
            if at < self._oldest - 1:
                message = f"{self._oldest - 1 - at} older events are no longer stored."
                at = self._oldest - 1
                yield NumberedCodingEvent(
                    stream_id=self.stream_id,
                    n=at,
                    event=CodingTrace(kind=EVENTS_LOST_KIND, data=message),
                )
            elif at < self._last:
                at += 1
                event, _ = self._events[at - self._oldest]
                yield NumberedCodingEvent(stream_id=self.stream_id, n=at, event=event)
            elif self._is_closed:
                return
            else:
                self._changed.clear()
                await self._changed.wait()
        message = "Another request has taken over this session's events."
        yield NumberedCodingEvent(
            stream_id=self.stream_id,
            n=at,
            event=CodingTrace(kind=STREAM_TAKEN_OVER_KIND, data=message),
        )

    @property
    def _oldest(self) -> int:
        """The number of the oldest event that is kept."""
        return self._last - len(self._events) + 1

    def _parse_event_id(self, last_event_id: str | None) -> int | None:
        """The number in an id of this execution; None of all others."""
        stream_id, _, number = (last_event_id or "").partition("-")
        if stream_id != self.stream_id or not number.isascii() or not number.isdecimal():
            return None
        return min(int(number[:20]), self._last)

    def _notify_reader(self) -> None:
        self._changed.set()
