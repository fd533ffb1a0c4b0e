"""What a UI is told of the runs that it has open: at once, and no faster than a person reads.

Of what comes faster, the last page of new rows is told at the end of a span; the others are there to be
asked for, which a run's header tells by its number of rows. Never left out are commits, notes, what is
pending, and what becomes of a row that was told. A run's header comes after the rows that it is about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from ..protocol import ui as v2
from ..protocol.values import Run
from .pagination import PAGE

#: Seconds between two tellings of what came together, and messages that meanwhile go at once.
SPAN: Final = 0.05
AT_ONCE: Final = 16
#: Bytes that wait for a UI that is behind: it is told the rest once it has caught up.
BEHIND: Final = 1 << 20

MakeMessage = Callable[[], v2.CoreToUi]


class TimerHandle(Protocol):
    """What calls back later."""

    def cancel(self) -> None:
        """Don't call."""


class LoopClock(Protocol):
    """An event loop's time."""

    def time(self) -> float:
        """Seconds, from any start."""

    def call_later(self, delay: float, callback: Callable[[], object], /) -> TimerHandle:
        """Call after so many seconds."""


@dataclass
class _Opened:
    """A run that a UI has open."""

    seen: int  # the number of the last row that it was told, or could have been
    waiting: dict[object, MakeMessage] = field(default_factory=dict)  # in their order; rows by id
    fresh: deque[str] = field(default_factory=deque)  # new rows that may be left out
    header: Run | None = None


class ViewUpdates:
    """One UI's.

    Args:
        send: Sends a message.
        clock: The loop's time.
        waiting: How many bytes wait for the UI.
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
        self._runs: dict[str, _Opened] = {}
        self._timer: TimerHandle | None = None
        self._began = float("-inf")  # the span
        self._left = 0  # messages that go at once within it

    def __contains__(self, run: str) -> bool:
        return run in self._runs

    def open(self, run: str, seen: int) -> None:
        """A run is opened.

        Args:
            run: Its id.
            seen: The number of the last row that its UI has.
        """
        self.flush()  # it may have been open before
        self._runs[run] = _Opened(seen)

    def close(self, run: str) -> None:
        """A run is closed, or gone."""
        self._runs.pop(run, None)

    def row(self, run: str, id: str, seq: int, make: MakeMessage, *, pending: bool) -> None:
        """A row is new or changed.

        Args:
            run: An open run.
            id: The row's.
            seq: Its number.
            make: Makes the message; called only where it is sent.
            pending: Whether it waits for a person.
        """
        opened = self._runs[run]
        new, opened.seen = seq > opened.seen, max(seq, opened.seen)
        if self._goes_at_once():
            self._send(make())
            return
        opened.waiting[id] = make
        if new and not pending:
            opened.fresh.append(id)
            if len(opened.fresh) > PAGE:
                opened.waiting.pop(opened.fresh.popleft(), None)

    def put(self, run: str, make: MakeMessage) -> None:
        """Something else of an open run is to be told, in its order."""
        if self._goes_at_once():
            self._send(make())
        else:
            self._runs[run].waiting[object()] = make

    def header(self, run: Run) -> None:
        """An open run's header is to be told, after all that it is about."""
        if self._goes_at_once():
            self._send(v2.RunChanged(run=run))
        else:
            self._runs[run.id].header = run

    def flush(self) -> None:
        """Tell all that waits."""
        if self._timer is None:
            return
        self._timer.cancel()
        self._timer = None
        self._began, self._left = self._clock().time(), 0
        for opened in list(self._runs.values()):
            waiting, opened.waiting = opened.waiting, {}
            header, opened.header = opened.header, None
            opened.fresh.clear()
            for make in waiting.values():
                self._send(make())
            if header is not None:
                self._send(v2.RunChanged(run=header))

    def end(self) -> None:
        """Tell nothing any more."""
        self._runs.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _goes_at_once(self) -> bool:
        """Whether a message goes now, and not at the end of the span."""
        if self._timer is not None:
            return False
        clock = self._clock()
        now = clock.time()
        if now - self._began >= SPAN:
            self._began, self._left = now, AT_ONCE
        if self._left:
            self._left -= 1
            return True
        self._timer = clock.call_later(self._began + SPAN - now, self._end_span)
        return False

    def _end_span(self) -> None:
        if self._waiting() > BEHIND:
            self._timer = self._clock().call_later(SPAN, self._end_span)
        else:
            self.flush()
