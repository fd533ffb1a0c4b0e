"""A thread with an event loop, for what has to be asked from where there is none, or a busy one."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_OVER: Final = "This connection is closed, or was left behind by a fork: connect again."


class LoopThread:
    """Runs coroutines on a thread of its own, until it is closed.

    Args:
        name: The thread's.
    """

    def __init__(self, name: str) -> None:
        self._pid = os.getpid()
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._thread.start()
        self._loop = self._started.result()

    @property
    def lives(self) -> bool:
        """Whether it runs, in this process."""
        return self._pid == os.getpid() and self._thread.is_alive()

    def run(self, begin: Callable[[], Awaitable[T]]) -> T:
        """Run something and wait for it. An interrupt here cancels it, and is raised once it is over.

        Args:
            begin: Begins it, on the thread.

        Raises:
            RuntimeError: The thread was closed, or belongs to the process that this one was forked from.
        """
        if not self.lives:
            raise RuntimeError(_OVER)
        running = _Running(self._loop, begin)
        try:
            running.start()
            return running.outcome.result()
        except BaseException:
            running.cancel()
            raise

    def close(self) -> None:
        """Cancel what runs, and join the thread. Idempotent; in a forked child it does nothing."""
        if not self.lives:
            return
        with suppress(RuntimeError):  # its loop is closed by now
            self._loop.call_soon_threadsafe(self._over.set)
        if threading.current_thread() is not self._thread:  # a garbage collection may be anywhere
            self._thread.join()

    def _live(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._started.set_result(asyncio.get_running_loop())
        await self._over.wait()


class _Running(Generic[T]):
    """What runs on a loop of another thread.

    Args:
        loop: The loop.
        begin: Begins it, there.

    Attributes:
        outcome: What it gives.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, begin: Callable[[], Awaitable[T]]) -> None:
        self.outcome: Future[T] = Future()
        self._loop = loop
        self._begin = begin
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        """Begin it."""
        self._loop.call_soon_threadsafe(self._start)

    def cancel(self) -> None:
        """Cancel it, unless it is over, and wait until it is."""
        if not self.outcome.done():
            self._loop.call_soon_threadsafe(self._cancel)
            wait((self.outcome,))

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._end)

    async def _run(self) -> T:
        return await self._begin()

    def _cancel(self) -> None:
        if self._task is None:  # an interrupt was faster
            self.outcome.set_exception(RuntimeError(_OVER))
        else:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(RuntimeError(_OVER))
            return
        error = task.exception()
        if error is None:
            self.outcome.set_result(task.result())
        else:
            self.outcome.set_exception(error)
