"""Work that a thread or task does while it waits at a halt point: the agent's own clients live there."""

from __future__ import annotations

import asyncio
import inspect
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from ..own_queries import mark_own_query
from .scopes import suspend_numbering

T = TypeVar("T")

_POLL_S: Final = 1.0  # seconds after which the main thread looks for an interrupt


class JobResult(NamedTuple):
    """The value or the error of a job."""

    value: Any = None
    error: Exception | None = None


class HaltJob(NamedTuple):
    """A call that isn't the agent's own."""

    call: Callable[[], Any]  # may give an awaitable
    finish: Callable[[JobResult | None], None]  # with what it came to; None: it wasn't made


class HaltJobs:
    """The jobs of one halt point, done in order. Nothing of a job is an event, and none halts."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[HaltJob | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._wake: Callable[[], object] = _do_nothing

    def submit(self, job: HaltJob) -> None:
        """Give a job to the thread or task at the halt point. Called on any thread; never waits."""
        with self._lock:
            if not self._is_closed:
                self._queue.put(job)
                self._wake()
                return
        job.finish(None)

    def close(self) -> None:
        """Close the queue after the halt point's wait; jobs that are left never run."""
        with self._lock:
            self._is_closed = True
        while not self._queue.empty():
            job = self._pop()
            if job is not None:
                job.finish(None)

    def wait(self, answered: Future[T]) -> T:
        """Do jobs on this thread until the halt point is answered; the answer."""
        answered.add_done_callback(lambda _: self._queue.put(None))
        # See `drivers.wait_result`: the main thread alone hears signals.
        is_main = threading.current_thread() is threading.main_thread()
        while not answered.done():
            try:
                job = self._queue.get(timeout=_POLL_S if is_main else None)
            except queue.Empty:
                continue
            if job is not None:
                _do(job)
        return answered.result()

    async def wait_async(self, answered: Future[T]) -> T:
        """The asynchronous form of `wait`; the answer ends a job that isn't done yet."""
        loop = asyncio.get_running_loop()
        awaited = asyncio.wrap_future(answered)
        is_main = threading.current_thread() is threading.main_thread()
        timeout_s = _POLL_S if is_main else None
        try:
            while not answered.done():
                arrived = loop.create_future()  # no task: those of the agent have numbers
                with self._lock:
                    self._wake = partial(loop.call_soon_threadsafe, _complete, arrived)
                    job = self._pop()
                if job is not None:
                    await _do_async(job, awaited)
                else:
                    await asyncio.wait(
                        [awaited, arrived],
                        timeout=timeout_s,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
            return await awaited
        finally:
            with self._lock:
                self._wake = _do_nothing  # the loop may be closed before the halt point's end
            awaited.cancel()

    def _pop(self) -> HaltJob | None:
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            return None


def _do_nothing() -> None:
    """Nobody sleeps in an event loop."""


def _complete(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)


def _do(job: HaltJob) -> None:
    made: JobResult | None = None
    try:
        with mark_own_query(), suspend_numbering():
            made = JobResult(job.call())
    except Exception as error:
        made = JobResult(error=error)
    finally:
        job.finish(made)


async def _do_async(job: HaltJob, awaited: asyncio.Future[Any]) -> None:
    """Do a job in a task of its own, which the halt point's answer cancels."""
    made: JobResult | None = None
    with mark_own_query(), suspend_numbering():
        task = asyncio.ensure_future(_call(job))
    try:
        await asyncio.wait([task, awaited], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait([task])
        made = None if task.cancelled() else task.result()
    finally:
        task.cancel()
        job.finish(made)


async def _call(job: HaltJob) -> JobResult:
    try:
        value = job.call()
        return JobResult(await value if inspect.isawaitable(value) else value)
    except Exception as error:
        return JobResult(error=error)
