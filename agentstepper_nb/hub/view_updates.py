"""Sends a UI the changes of its opened runs: at once, but no faster than a person reads.

Of faster changes, only the last page of new rows is sent, at the end of an interval; the UI can request
the other rows, whose number the run's header has. Always sent are commits, notes, pending halt points,
and changes of rows that were sent. A run's header follows the rows that it counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..protocol import ui as v2
from ..protocol.data_model import Run
from .pagination import PAGE_ROWS

#: Seconds between two batches, and messages that are sent at once in between.
BATCH_INTERVAL_S: Final = 0.05
MAX_IMMEDIATE_PER_INTERVAL: Final = 16
#: Bytes that wait for a slow UI: further changes are sent once the UI has caught up.
MAX_WAITING_BYTES: Final = 1 << 20

MakeMessage = Callable[[], v2.CoreToUi]


class TimerHandle(Protocol):
    """The handle of a scheduled call."""

    def cancel(self) -> None:
        """Cancel the call."""


class LoopClock(Protocol):
    """An event loop's time."""

    def time(self) -> float:
        """Seconds, from any start."""

    def call_later(self, delay: float, callback: Callable[[], object], /) -> TimerHandle:
        """Call after so many seconds."""


@dataclass
class OpenedRun:
    """The updates of one run that a UI has open."""

    last_seq: int  # the number of the last row that it was told, or could have been
    waiting: dict[object, MakeMessage] = field(default_factory=dict)  # in their order; rows by id
    new_row_ids: deque[str] = field(default_factory=deque)  # new rows that may be left out
    header: Run | None = None


class ViewUpdates:
    """The pending updates of one UI.

    Args:
        send: Sends a message.
        clock: Returns the event loop.
        waiting: Returns the bytes that wait for the UI.
    """

    def __init__(
        self,
        send: Callable[[v2.CoreToUi], None],
        clock: Callable[[], LoopClock],
        waiting: Callable[[], int] = lambda: 0,
    ) -> None:
        self._send = send
        self._clock = clock
        self._waiting = waiting
        self.opened: dict[str, OpenedRun] = {}  # by id
        self._timer: TimerHandle | None = None
        self._span_began = float("-inf")  # the span
        self._remaining = 0  # messages that go at once within it

    def open(self, run: str, last_seq: int) -> None:
        """Start sending a run's changes.

        Args:
            run: The run's id.
            last_seq: The number of the last row that the UI has.
        """
        self.flush()  # it may have been open before
        self.opened[run] = OpenedRun(last_seq)

    def close(self, run: str) -> None:
        """Stop sending the changes of a run that was closed or deleted."""
        self.opened.pop(run, None)

    def add_row(self, run: str, id: str, seq: int, make: MakeMessage, *, pending: bool) -> None:
        """Add a new or changed row.

        Args:
            run: The id of an open run.
            id: The row's id.
            seq: The row's number.
            make: Makes the message; called only if it is sent.
            pending: Whether the row waits for a person.
        """
        opened = self.opened[run]
        new, opened.last_seq = seq > opened.last_seq, max(seq, opened.last_seq)
        if self._can_send_now():
            self._send(make())
            return
        opened.waiting[id] = make
        if new and not pending:
            opened.new_row_ids.append(id)
            if len(opened.new_row_ids) > PAGE_ROWS:
                opened.waiting.pop(opened.new_row_ids.popleft(), None)

    def add_message(self, run: str, make: MakeMessage) -> None:
        """Add another message about an open run, in its order."""
        if self._can_send_now():
            self._send(make())
        else:
            self.opened[run].waiting[object()] = make

    def set_header(self, run: Run) -> None:
        """Add an open run's header, after all rows and messages that it covers."""
        if self._can_send_now():
            self._send(v2.RunChanged(run=run))
        else:
            self.opened[run.id].header = run

    def flush(self) -> None:
        """Send all pending updates."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._span_began, self._remaining = self._clock().time(), 0
        for opened in list(self.opened.values()):
            waiting, opened.waiting = opened.waiting, {}
            header, opened.header = opened.header, None
            opened.new_row_ids.clear()
            for make in waiting.values():
                self._send(make())
            if header is not None:
                self._send(v2.RunChanged(run=header))

    def end(self) -> None:
        """Stop sending."""
        self.opened.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _can_send_now(self) -> bool:
        """Whether a message is sent now, and not at the end of the interval."""
        if self._timer is not None:
            return False
        clock = self._clock()
        now = clock.time()
        if now - self._span_began >= BATCH_INTERVAL_S:
            self._span_began, self._remaining = now, MAX_IMMEDIATE_PER_INTERVAL
        if self._remaining:
            self._remaining -= 1
            return True
        self._timer = clock.call_later(self._span_began + BATCH_INTERVAL_S - now, self._end_span)
        return False

    def _end_span(self) -> None:
        if self._waiting() > MAX_WAITING_BYTES:
            self._timer = self._clock().call_later(BATCH_INTERVAL_S, self._end_span)
        else:
            self.flush()
