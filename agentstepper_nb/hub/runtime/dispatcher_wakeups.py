"""Waking dispatchers: whoever reads this is one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable

from ...protocol.runtime_requests import DispatcherWake


class DispatcherWakeups:
    """The dispatchers that are there now, each with whether it is to look.

    Args:
        on_last_left: Called where the last of them has left.
    """

    def __init__(self, on_last_left: Callable[[], None]) -> None:
        self._on_last_left = on_last_left
        self._owners: Counter[str] = Counter()
        self._readers: set[asyncio.Event] = set()
        self._closed = False

    @property
    def owners(self) -> frozenset[str]:
        """Who reads now."""
        return frozenset(self._owners)

    async def read(self, owner: str) -> AsyncGenerator[DispatcherWake, None]:
        """Wakes: one at once, then one where there was at least one since.

        Args:
            owner: Who reads.
        """
        count = 0
        wake_event = asyncio.Event()
        self._readers.add(wake_event)
        self._owners[owner] += 1
        try:
            while not self._closed:
                wake_event.clear()
                count += 1
                yield DispatcherWake(n=count)
                await wake_event.wait()
        finally:
            self._readers.remove(wake_event)
            self._leave(owner)

    def wake(self) -> None:
        """Something may be ready."""
        for wake_event in self._readers:
            wake_event.set()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self.wake()

    def _leave(self, owner: str) -> None:
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner]
        if not self._owners and not self._closed:
            self._on_last_left()
