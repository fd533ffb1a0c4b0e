"""Waking dispatchers: whoever reads this is one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping
from types import MappingProxyType
from typing import Final

from ...protocol.routes import WorkerOffer
from ...protocol.runtime_requests import DispatcherWake, SubscribeWakes


class DispatcherWakeups:
    """The connected dispatchers, their offers, and whether each must look for work.

    Args:
        on_changed: Called when a dispatcher connects or disconnects.
        on_last_left: Called when the last dispatcher has disconnected.
    """

    def __init__(self, on_changed: Callable[[], None], on_last_left: Callable[[], None]) -> None:
        self._on_changed = on_changed
        self._on_last_left = on_last_left
        self._owners: Counter[str] = Counter()
        self._offers: dict[str, WorkerOffer | None] = {}
        self._readers: set[asyncio.Event] = set()
        self._closed = False

    @property
    def owners(self) -> frozenset[str]:
        """The workers that read wakes now."""
        return frozenset(self._owners)

    @property
    def offers(self) -> Mapping[str, WorkerOffer | None]:
        """The offer of each worker; None: the worker accepts every session."""
        return MappingProxyType(self._offers)

    async def read(self, request: SubscribeWakes) -> AsyncGenerator[DispatcherWake, None]:
        """Yield a wake at once, and then whenever work may be ready; unread wakes are merged.

        Args:
            request: The worker, and its offer.
        """
        count = 0
        wake_event = asyncio.Event()
        self._readers.add(wake_event)
        self._owners[request.owner] += 1
        self._offers[request.owner] = request.offer
        self._on_changed()
        try:
            while not self._closed:
                wake_event.clear()
                count += 1
                yield DispatcherWake(n=count)
                await wake_event.wait()
        finally:
            self._readers.remove(wake_event)
            self._leave(request.owner)

    def wake(self) -> None:
        """Wake all dispatchers: an action may be ready."""
        for wake_event in self._readers:
            wake_event.set()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self.wake()

    def _leave(self, owner: str) -> None:
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner], self._offers[owner]
        if self._closed:
            return
        self._on_changed()
        if not self._owners:
            self._on_last_left()


#: Seconds after which the clock is read again: it may have been set.
_MAX_WAIT_S: Final = 60.0


class DueTimer:
    """Calls back when the next delayed action is due.

    Args:
        clock: Returns POSIX seconds.
        on_due: Called at that time. It calls `set` with the next due time.
    """

    def __init__(self, clock: Callable[[], float], on_due: Callable[[], None]) -> None:
        self._clock = clock
        self._on_due = on_due
        self._due: float | None = None
        self._handle: asyncio.TimerHandle | None = None
        self._closed = False

    def set(self, due: float | None) -> None:
        """Set when the next action is due, in POSIX seconds; None: unknown. The earliest time counts."""
        if due is not None and not self._closed and (self._due is None or due < self._due):
            self._due = due
            self._arm()

    def close(self) -> None:
        """Call back no more."""
        self._closed = True
        self._cancel()

    def _cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _arm(self) -> None:
        self._cancel()
        assert self._due is not None
        wait_s = min(max(0.0, self._due - self._clock()), _MAX_WAIT_S)
        self._handle = asyncio.get_running_loop().call_later(wait_s, self._check)

    def _check(self) -> None:
        if self._due is not None and self._due > self._clock():
            self._arm()
            return
        self._due = None
        self._on_due()
