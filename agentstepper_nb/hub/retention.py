"""Deletes runs and background agents that are too old or take too much room."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
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
    """How long runs and background agents are kept, and how much room they may take.

    Runs with a tag and live runs are never deleted.

    Args:
        days: Days to keep a run or a background agent's session after its end, and a conversation
            after its last message. None: forever.
        gib: GiB that all runs may take together. None: no limit.
        sessions: How many ended sessions of background agents, and conversations without a session,
            are kept: the newest ones. None: no limit.
    """

    days: float | None = None
    gib: float | None = None
    sessions: int | None = None

    def find_cutoff(self, now: float) -> float | None:
        """What ended before this isn't kept, in POSIX seconds; None: all is."""
        return None if self.days is None else now - self.days * _DAY_S


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

    Attributes:
        prune_agents: Deletes what of background agents isn't to stay.
    """

    def __init__(self, hub: RunService, limits: RetentionLimits) -> None:
        self._hub = hub
        self._limits = limits
        self.prune_agents: Callable[[RetentionLimits], Awaitable[None]] = _keep_all
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, where anything is ever to go."""
        if self._limits != UNLIMITED:
            self._task = asyncio.ensure_future(self._sweep_forever())

    def close(self) -> None:
        """Delete no more."""
        if self._task is not None:
            self._task.cancel()

    async def sweep(self) -> None:
        """Delete what is to go now."""
        if isinstance(self._hub.store, ExpiringStore):
            await self._sweep_runs(self._hub.store)
        await self.prune_agents(self._limits)

    async def _sweep_runs(self, store: ExpiringStore) -> None:
        gib = self._limits.gib
        before = self._limits.find_cutoff(self._hub.clock())
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

    async def _sweep_forever(self) -> None:
        while True:
            try:
                await self.sweep()
            except Exception:
                self._hub.log.exception("Deleting old runs and background agents failed.")
            await asyncio.sleep(SWEEP_INTERVAL_S)


async def _keep_all(limits: RetentionLimits) -> None:
    """No background agents are kept here."""
