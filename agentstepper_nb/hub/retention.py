"""Deletes runs and background agents that are too old or take too much space."""

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
    """The limits of the age and the size of stored runs and background agents.

    Runs with a tag and live runs are never deleted.

    Args:
        days: Days to store a run or a background agent's session after its end, and a conversation
            after its last message. None: forever.
        gib: The most GiB of all runs together. None: no limit.
        sessions: The number of ended sessions of background agents, and conversations without a
            session, to store: the newest ones. None: no limit.
    """

    days: float | None = None
    gib: float | None = None
    sessions: int | None = None

    def find_cutoff(self, now: float) -> float | None:
        """Compute the time, in POSIX seconds, before which ended runs expire; None: no run expires."""
        return None if self.days is None else now - self.days * _DAY_S


#: Nothing is deleted by itself.
UNLIMITED: Final = RetentionLimits()


@runtime_checkable
class ExpiringStore(Protocol):
    """A store that outlives its runs."""

    async def find_expired(self, before: float | None, max_bytes: int | None) -> list[str]:
        """Find the runs to delete: of the ended runs without a tag, the oldest.

        Args:
            before: POSIX seconds: runs that ended earlier are deleted.
            max_bytes: Bytes: runs are deleted until the others take less.
        """


class Retention:
    """Deletes expired runs at the start and then each hour.

    Args:
        hub: The service that holds the runs.
        limits: The limits.

    Attributes:
        prune_agents: Deletes the expired sessions and conversations of background agents.
    """

    def __init__(self, hub: RunService, limits: RetentionLimits) -> None:
        self._hub = hub
        self._limits = limits
        self.prune_agents: Callable[[RetentionLimits], Awaitable[None]] = _keep_all
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start, if there is any limit."""
        if self._limits != UNLIMITED:
            self._task = asyncio.ensure_future(self._sweep_forever())

    def close(self) -> None:
        """Delete no more."""
        if self._task is not None:
            self._task.cancel()

    async def sweep(self) -> None:
        """Delete the expired runs and background agents now."""
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
    """Delete nothing: this Core has no background agents."""
