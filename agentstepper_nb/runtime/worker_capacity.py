"""A worker's capacity: the sessions that the worker accepts, and how many, until it is drained."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from ..protocol.routes import WorkerOffer


class WorkerCapacity:
    """Computes the number of sessions that a worker may still accept.

    Args:
        offer: The worker's labels and monikers; None: all sessions fit.
        max_sessions: The most sessions of the worker; None: no limit.

    Attributes:
        is_draining: Whether the worker accepts no more sessions.
        count_sessions: Returns the worker's number of sessions, including those about to start.
    """

    def __init__(self, offer: WorkerOffer | None = None, max_sessions: int | None = None) -> None:
        self.offer = offer
        self.is_draining = False
        self.count_sessions: Callable[[], int] = lambda: 0
        self._max_sessions = max_sessions
        self._taking = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[float, None]:
        """Yield the number of acceptable sessions; one caller at a time if there is a limit."""
        if self._max_sessions is None:
            yield 0 if self.is_draining else math.inf
            return
        async with self._taking:
            room = self._max_sessions - self.count_sessions()
            yield 0 if self.is_draining else max(0, room)

    def choose_offer(self, room: float) -> WorkerOffer | None:
        """Return the offer of a claim; without room, an offer that gets only own sessions' actions.

        Args:
            room: The number of sessions that may be accepted.
        """
        return self.offer if room > 0 else WorkerOffer()
