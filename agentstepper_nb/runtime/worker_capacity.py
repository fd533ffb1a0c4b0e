"""What a worker takes of the queue: what fits it, up to a number of sessions, until it is drained."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from ..protocol.routes import WorkerOffer


class WorkerCapacity:
    """Says how many sessions a worker may still take.

    Args:
        offer: What the worker has. None: everything.
        max_sessions: How many sessions it has at most. None: any number.

    Attributes:
        is_draining: Whether it takes no session any more.
        count_sessions: Gives how many it has, those included that it is about to have.
    """

    def __init__(self, offer: WorkerOffer | None = None, max_sessions: int | None = None) -> None:
        self.offer = offer
        self.is_draining = False
        self.count_sessions: Callable[[], int] = lambda: 0
        self._max_sessions = max_sessions
        self._taking = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncGenerator[float, None]:
        """Take sessions, one caller at a time where there is a limit: it gives how many may be taken."""
        if self._max_sessions is None:
            yield 0 if self.is_draining else math.inf
            return
        async with self._taking:
            room = self._max_sessions - self.count_sessions()
            yield 0 if self.is_draining else max(0, room)

    def choose_offer(self, room: float) -> WorkerOffer | None:
        """What a claim offers: nothing where there is no room, so that it gives own sessions' actions.

        Args:
            room: How many sessions may be taken.
        """
        return self.offer if room > 0 else WorkerOffer()
