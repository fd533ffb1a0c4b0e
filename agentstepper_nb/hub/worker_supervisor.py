"""Starts a worker whenever agents need one and no worker dispatches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from ..errors import AgentStepperError
from .workers import WorkerStarter

#: Seconds to wait before a start that follows another one closely: at first, and at most.
_FIRST_WAIT_S: Final = 1.0
_MAX_WAIT_S: Final = 30.0
#: Seconds after a start from which on it is none that follows closely.
_STEADY_AFTER_S: Final = 60.0
#: Seconds after which a worker that runs and doesn't dispatch is reported as slow.
_SLOW_START_S: Final = 60.0


class StartBackoff:
    """Computes the wait before each start: doubled while starts follow each other closely.

    Args:
        first_wait_s: Seconds before the first start that follows another one closely.
    """

    def __init__(self, first_wait_s: float = _FIRST_WAIT_S) -> None:
        self._first_wait_s = first_wait_s
        self._wait = 0.0
        self._started_at: float | None = None

    def record_start(self, now: float) -> None:
        """Record a start.

        Args:
            now: The time of a monotonic clock.
        """
        if self._started_at is None or now - self._started_at >= _STEADY_AFTER_S:
            self._wait = self._first_wait_s
        else:
            self._wait = min(2 * self._wait, _MAX_WAIT_S)
        self._started_at = now

    def delay_left(self, now: float) -> float:
        """Seconds until the next start; 0 where enough have passed since the last one."""
        return 0.0 if self._started_at is None else max(0.0, self._started_at + self._wait - now)


class WorkerSupervisor:
    """Starts workers when there is work and no dispatcher.

    Args:
        worker_starter: Starts a worker.
        is_dispatching: Whether any worker dispatches now.
        has_work: Whether there is work for a worker.
        log: Gets a line if a worker doesn't connect.
        first_wait_s: Seconds before the first start that follows another one closely.
        slow_start_s: Seconds after which a worker that runs and doesn't dispatch is reported as slow.
    """

    def __init__(
        self,
        worker_starter: WorkerStarter,
        is_dispatching: Callable[[], bool],
        has_work: Callable[[], Awaitable[bool]],
        log: logging.Logger,
        first_wait_s: float = _FIRST_WAIT_S,
        slow_start_s: float = _SLOW_START_S,
    ) -> None:
        self._slow_start_s = slow_start_s
        self._worker_starter = worker_starter
        self._is_dispatching = is_dispatching
        self._has_work = has_work
        self._log = log
        self._backoff = StartBackoff(first_wait_s)
        self._is_needed = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def request_worker(self) -> None:
        """Start a worker if there is work and no dispatcher. Call it on the event loop."""
        self._is_needed = True
        if not self._closed and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._supervise())

    def dispatchers_changed(self) -> None:
        """Handle a change of the dispatchers."""
        self._changed.set()

    async def close(self) -> None:
        """Start none any more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    async def _supervise(self) -> None:
        clock = asyncio.get_running_loop().time
        while self._is_needed and not self._is_dispatching():
            while (delay_left := self._backoff.delay_left(clock())) and not self._is_dispatching():
                await self._until_changed(delay_left)
            self._is_needed = False  # who asks from here on is looked after in another round
            try:
                if self._is_dispatching() or not await self._has_work():
                    continue
                self._is_needed = True
                self._backoff.record_start(clock())
                await self._start_worker()
            except (OSError, AgentStepperError) as error:
                if not self._is_needed:  # the store couldn't say
                    self._is_needed = True
                    self._backoff.record_start(clock())
                self._log.warning("no worker for background agents could be started: %s", error)

    async def _start_worker(self) -> None:
        """Start a worker, and wait until a worker dispatches, or the process has ended."""
        ended = await self._worker_starter.start()
        while not self._is_dispatching() and not ended.done():
            if not await self._until_changed(self._slow_start_s, ended):
                self._log.warning(
                    "the worker runs, but doesn't connect to dispatch actions: see its output above"
                )

    async def _until_changed(
        self, seconds: float, ended: asyncio.Future[str] | None = None
    ) -> bool:
        """Wait until a worker starts or stops dispatching, or until the started worker has ended.

        Args:
            seconds: The longest wait.
            ended: Done when the worker ends.

        Returns:
            Whether one of these happened in that time.
        """
        self._changed.clear()
        if self._is_dispatching():
            return True
        waiting = asyncio.ensure_future(self._changed.wait())
        try:
            each = (waiting,) if ended is None else (waiting, ended)
            done, _ = await asyncio.wait(each, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return bool(done)
        finally:
            waiting.cancel()
