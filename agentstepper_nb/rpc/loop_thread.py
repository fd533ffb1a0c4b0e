"""A thread with an event loop, and async clients for programs without one: their callers wait."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial, wraps
from typing import Any, Concatenate, Final, Generic, ParamSpec, Self, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Client = TypeVar("Client")
Client_co = TypeVar("Client_co", covariant=True)

#: Seconds between a waiting caller's checks whether the thread has ended.
POLL_INTERVAL_S: Final = 1.0
_CLOSED_MESSAGE: Final = (
    "This connection is closed, or belongs to the process before a fork. Connect again."
)


class LoopThread:
    """Runs coroutines on a thread of its own, until it is closed.

    Args:
        name: The thread's name.
        poll_interval_s: Seconds between a waiting caller's checks whether the thread has ended.
    """

    def __init__(self, name: str, poll_interval_s: float = POLL_INTERVAL_S) -> None:
        self._poll_interval_s = poll_interval_s
        self._pid = os.getpid()
        self._is_abandoned = False
        self._started: Future[asyncio.AbstractEventLoop] = Future()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
        self._thread.start()
        self._loop = self._started.result()

    @property
    def is_running(self) -> bool:
        """Whether the thread runs, belongs to this process, and isn't abandoned."""
        return self._pid == os.getpid() and self._thread.is_alive() and not self._is_abandoned

    @property
    def can_wait(self) -> bool:
        """Whether a caller may wait for the thread: it runs, and the caller isn't on it."""
        return self.is_running and threading.current_thread() is not self._thread

    def run(self, start: Callable[[], Awaitable[T]]) -> T:
        """Run something and wait for it. An interrupt here cancels it, and is raised once it is over.

        Args:
            start: Begins it, on the thread.

        Raises:
            RuntimeError: The thread was closed, or belongs to the process that this one was forked from.
        """
        if not self.is_running:
            raise RuntimeError(_CLOSED_MESSAGE)
        running = _Running(self._loop, start)
        try:
            running.start()
            return self.wait_result(running.outcome)
        except BaseException:
            with suppress(RuntimeError):  # the thread has ended, and all that ran there
                running.cancel()
                self._wait_until_done(running.outcome)
            raise

    def wait_result(self, future: Future[T]) -> T:
        """Wait for a future that this thread sets. Signals interrupt the wait.

        Args:
            future: The future.

        Raises:
            RuntimeError: The thread ended before the result.
        """
        self._wait_until_done(future)
        return future.result()

    def _wait_until_done(self, outcome: Future[T]) -> None:
        """Wait with a timeout, and check again: a signal just before this thread sleeps doesn't wake it,
        and the loop's end may leave the future unset.
        """
        while not outcome.done():
            wait((outcome,), self._poll_interval_s)
            if not self.is_running and not outcome.done():
                raise RuntimeError(_CLOSED_MESSAGE)

    def close(self, timeout_s: float | None = None) -> None:
        """Cancel all tasks, and join the thread. Idempotent; in a forked child it does nothing.

        Args:
            timeout_s: Seconds to wait for tasks that don't end; then the thread is abandoned. None: wait
                without a limit.
        """
        if not self.is_running:
            return
        with suppress(RuntimeError):  # its loop is closed by now
            self._loop.call_soon_threadsafe(self._closing.set)
        if threading.current_thread() is not self._thread:  # a garbage collection may be anywhere
            self._thread.join(timeout_s)
            self._is_abandoned = self._thread.is_alive()  # who waits for it waits no longer

    def _run_loop(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._wait())

    async def _wait(self) -> None:
        self._started.set_result(asyncio.get_running_loop())
        await self._closing.wait()
        await _cancel_all()


async def _cancel_all() -> None:
    """Cancel the other tasks, once: a second cancellation would leave a connection half closed."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        if not task.cancelling():
            task.cancel()
    if tasks:
        await asyncio.wait(tasks)


class _Running(Generic[T]):
    """A coroutine on the event loop of another thread.

    Args:
        loop: The event loop.
        begin: Makes the awaitable, on that loop.

    Attributes:
        outcome: The future of its result.
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
        """Cancel it, unless it is over."""
        if not self.outcome.done():
            self._loop.call_soon_threadsafe(self._cancel)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._run())
        self._task.add_done_callback(self._end)

    async def _run(self) -> T:
        return await self._begin()

    def _cancel(self) -> None:
        if self._task is None:  # an interrupt was faster
            self.outcome.set_exception(RuntimeError(_CLOSED_MESSAGE))
        else:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.outcome.set_exception(RuntimeError(_CLOSED_MESSAGE))
            return
        error = task.exception()
        if error is None:
            self.outcome.set_result(task.result())
        else:
            self.outcome.set_exception(error)


class SyncClient(Generic[Client_co]):
    """Waits for an async client's methods. The base of clients whose methods are made by `blocking`.

    Args:
        thread: The client's thread: it ends with `close`, with the last reference to this object, or
            with the process.
        client: The client.
    """

    def __init__(self, thread: LoopThread, client: Client_co) -> None:
        self._thread = thread
        self._client = client
        self._end = weakref.finalize(self, thread.close)

    @classmethod
    def _connected(cls, thread: str, connect: Callable[[], Awaitable[Client_co]]) -> Self:
        """Connect a client, on a thread of this name; errors as it has them."""
        own = LoopThread(thread)
        try:
            return cls(own, own.run(connect))
        except BaseException:
            own.close()
            raise

    def _items(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """Iterate over a stream. Closing the iterator ends the stream."""
        try:
            while (item := self._thread.run(partial(_next, items))) is not None:
                yield item
        finally:
            if self._thread.can_wait:  # else a garbage collection there: its loop closes the stream
                self._thread.run(items.aclose)

    def close(self) -> None:
        """Close the connection, and end the thread. Idempotent."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_blocking(
    method: Callable[Concatenate[Client, P], Awaitable[T]],
) -> Callable[Concatenate[SyncClient[Client], P], T]:
    """The same method, which waits."""

    @wraps(method)
    def wait(self: SyncClient[Client], /, *args: P.args, **named: P.kwargs) -> T:
        return self._thread.run(partial(method, self._client, *args, **named))

    return wait


async def _next(items: AsyncGenerator[Any, None]) -> Any:
    return await anext(items, None)
