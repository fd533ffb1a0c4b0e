"""Waking dispatchers: whoever reads this is one."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable

from ...protocol.runtime_wire import DispatcherWake


class DispatcherWakes:
    """The dispatchers that are there now, each with whether it is to look.

    Args:
        nobody: Called where the last of them has left.
    """

    def __init__(self, nobody: Callable[[], None]) -> None:
        self._nobody = nobody
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
        told = 0
        due = asyncio.Event()
        self._readers.add(due)
        self._owners[owner] += 1
        try:
            while not self._closed:
                due.clear()
                told += 1
                yield DispatcherWake(n=told)
                await due.wait()
        finally:
            self._readers.remove(due)
            self._leave(owner)

    def wake(self) -> None:
        """Something may be ready."""
        for due in self._readers:
            due.set()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        self.wake()

    def _leave(self, owner: str) -> None:
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner]
        if not self._owners and not self._closed:
            self._nobody()
