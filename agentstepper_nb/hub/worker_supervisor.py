"""Keeps a worker at work: where agents need one and nobody dispatches, it starts one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from ..errors import AgentStepperError
from .workers import WorkerStarter

#: Seconds to wait before a start that follows another one closely: at first, and at most.
_FIRST_WAIT: Final = 1.0
_LONGEST_WAIT: Final = 30.0
#: Seconds after a start from which on it is none that follows closely.
_STEADY: Final = 60.0
#: Seconds after which a worker that runs and doesn't dispatch is said to be slow.
_SLOW: Final = 60.0


class StartBackoff:
    """How long to wait before each start: doubled where they follow each other closely."""

    def __init__(self) -> None:
        self._wait = 0.0
        self._tried: float | None = None

    def tried(self, now: float) -> None:
        """One is started now.

        Args:
            now: The time of a clock that only goes forward.
        """
        if self._tried is None or now - self._tried >= _STEADY:
            self._wait = _FIRST_WAIT
        else:
            self._wait = min(2 * self._wait, _LONGEST_WAIT)
        self._tried = now

    def left(self, now: float) -> float:
        """Seconds until the next start; 0 where enough have passed since the last one."""
        return 0.0 if self._tried is None else max(0.0, self._tried + self._wait - now)


class WorkerSupervisor:
    """Starts workers where there is work for a dispatcher and there is none.

    Args:
        starter: Starts one.
        dispatching: Whether any worker dispatches now.
        work: Whether there is work for one.
        log: Gets a line where one doesn't come.
    """

    def __init__(
        self,
        starter: WorkerStarter,
        dispatching: Callable[[], bool],
        work: Callable[[], Awaitable[bool]],
        log: logging.Logger,
    ) -> None:
        self._starter = starter
        self._dispatching = dispatching
        self._work = work
        self._log = log
        self._waits = StartBackoff()
        self._asked = False
        self._changed = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._closed = False

    def need(self) -> None:
        """There may be work, and nobody who does it. On the event loop."""
        self._asked = True
        if not self._closed and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.get_running_loop().create_task(self._keep())

    def changed(self) -> None:
        """Somebody began to dispatch, or stopped."""
        self._changed.set()

    async def close(self) -> None:
        """Start none any more."""
        self._closed = True
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.wait((self._keeping,))

    async def _keep(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._asked and not self._dispatching():
            while (left := self._waits.left(clock())) and not self._dispatching():
                await self._until_changed(left)
            self._asked = False  # who asks from here on is looked after in another round
            try:
                if self._dispatching() or not await self._work():
                    continue
                self._asked = True
                self._waits.tried(clock())
                await self._bring_one()
            except (OSError, AgentStepperError) as error:
                if not self._asked:  # the store couldn't say
                    self._asked = True
                    self._waits.tried(clock())
                self._log.warning("no worker for the agents that run on their own: %s", error)

    async def _bring_one(self) -> None:
        """Start one, and wait until somebody dispatches, or it is gone."""
        ended = await self._starter.start()
        while not self._dispatching() and not ended.done():
            if not await self._until_changed(_SLOW, ended):
                self._log.warning("the worker runs, and doesn't dispatch: see what it said above")

    async def _until_changed(
        self, seconds: float, ended: asyncio.Future[str] | None = None
    ) -> bool:
        """Wait until somebody dispatches or stops, or until the worker has ended.

        Args:
            seconds: Until then.
            ended: Done when the worker ends.

        Returns:
            Whether anything happened in that time.
        """
        self._changed.clear()
        if self._dispatching():
            return True
        waiting = asyncio.ensure_future(self._changed.wait())
        try:
            each = (waiting,) if ended is None else (waiting, ended)
            done, _ = await asyncio.wait(each, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return bool(done)
        finally:
            waiting.cancel()
