"""Runs that are kept long enough, or for which there is no room any more, are deleted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from ..core.summaries import extract_first_line
from .run_service import RunService

#: Seconds between two looks.
SWEEP_INTERVAL_S: Final = 3600.0
_DAY_S: Final = 24 * 3600
_GIB_BYTES: Final = 1024**3


@dataclass(frozen=True)
class RetentionLimits:
    """How long runs are kept, and in how much room; those with a tag, and live ones, always are.

    Args:
        days: Days after their ends. None: for ever.
        gib: GiB that all may take together. None: without a limit.
    """

    days: float | None = None
    gib: float | None = None


#: Nothing is deleted by itself.
UNLIMITED: Final = RetentionLimits()


@runtime_checkable
class ExpiringStore(Protocol):
    """A store that outlives its runs."""

    async def find_expired(self, before: float | None, max_bytes: int | None) -> list[str]:
        """The runs that are to go: of those that ended and have no tag, the oldest.

        Args:
            before: POSIX seconds: those that ended earlier go.
            max_bytes: Bytes: as many go as is needed for all to take less.
        """


class Retention:
    """Deletes what is to go, at the start and then each hour.

    Args:
        hub: Whose runs they are.
        limits: What stays.
    """

    def __init__(self, hub: RunService, limits: RetentionLimits) -> None:
        self._hub = hub
        self._limits = limits
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, where anything is ever to go."""
        if self._limits != UNLIMITED and isinstance(self._hub.store, ExpiringStore):
            self._task = asyncio.ensure_future(self._sweep_forever(self._hub.store))

    def close(self) -> None:
        """Delete no more."""
        if self._task is not None:
            self._task.cancel()

    async def sweep(self, store: ExpiringStore) -> None:
        """Delete what is to go now."""
        days, gib = self._limits.days, self._limits.gib
        before = None if days is None else self._hub.clock() - days * _DAY_S
        size = None if gib is None else int(gib * _GIB_BYTES)
        for id in await store.find_expired(before, size):
            run = self._hub.find(id)
            if run is None or run.live or run.tags:
                continue  # things have changed meanwhile
            self._hub.delete(id)
            self._hub.log.info(
                "%s was deleted, since it exceeded the limits of retention",
                extract_first_line(run.name),
            )

    async def _sweep_forever(self, store: ExpiringStore) -> None:
        while True:
            try:
                await self.sweep(store)
            except Exception:
                self._hub.log.exception("Deleting old runs failed.")
            await asyncio.sleep(SWEEP_INTERVAL_S)
