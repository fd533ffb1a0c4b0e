"""Reads items from sync and async sources one by one, on request, from any thread or task.

A source runs in one place from beginning to end: a sync source on one thread and in one context, an
async source in one task. State across the source's yields (time-outs, open events of the debugger,
connections that belong to a thread) therefore stays valid for any reader.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from enum import Enum
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol


class EndOfItems(Enum):
    """The marker after the last item."""

    OVER = "over"


END_OF_ITEMS: Final = EndOfItems.OVER

_CANCELLED: Final = "The source of the answer was cancelled, but not by its reader."
#: Said of code that would end this process.
PROCESS_EXIT_MESSAGE: Final = "The source of the answer tried to end the process: {error!r}."


def wrap_exit_error(error: BaseException) -> BaseException:
    """An error as it is given on: what would end the process or a loop is one like others."""
    if isinstance(error, SystemExit | KeyboardInterrupt | GeneratorExit):
        return RuntimeError(PROCESS_EXIT_MESSAGE.format(error=error))
    return error


class SyncSource:
    """A reader of a sync iterable. Closing it closes the iterable and its iterator, often one object."""

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = source
        self._iterator: Iterator[Any] | None = None

    def next(self, sent: object) -> Any:
        """The next item; a generator is sent something for it, unless that is None."""
        if self._iterator is None:
            self._iterator = iter(self._source)
        send = getattr(self._iterator, "send", None)
        return next(self._iterator) if sent is None or send is None else send(sent)

    def close(self, closed_future: Future[None]) -> None:
        """Close it, and settle the future, with the error that closing raises."""
        try:
            for each in _separate_iterator(self._iterator, self._source):
                ending = getattr(each, "close", None)
                if callable(ending):
                    ending()
        except BaseException as error:
            closed_future.set_exception(wrap_exit_error(error))
        else:
            closed_future.set_result(None)


class AsyncSource:
    """As `SyncSource`, of an async one, in the task that uses it."""

    def __init__(self, source: AsyncIterable[Any]) -> None:
        self._source = source
        self._iterator: AsyncIterator[Any] | None = None

    async def next(self, sent: object) -> Any:
        """The next item; a generator is sent something for it, unless that is None."""
        if self._iterator is None:
            self._iterator = aiter(self._source)
        send = getattr(self._iterator, "asend", None)
        return await (anext(self._iterator) if sent is None or send is None else send(sent))

    async def close(self) -> None:
        """Close it, by what it has for that."""
        for each in _separate_iterator(self._iterator, self._source):
            ending = getattr(each, "aclose", None) or getattr(each, "close", None)
            if callable(ending):
                closing = ending()
                if inspect.isawaitable(closing):
                    await closing


def _separate_iterator(iterator: object, source: object) -> list[object]:
    """An iterator and its source, where they are there and are two."""
    return [source] if iterator is None or iterator is source else [iterator, source]


#: A request: the future of the item, and the value to send to a generator.
_Request = tuple["Future[Any]", object]


class Puller(Protocol):
    """Pulls from one source. Any thread may call it."""

    def pull(self, sent: object = None) -> Future[Any]:
        """Request the next item; one request at a time.

        Args:
            sent: The value to send to a generator, at its current `yield`.

        Returns:
            A future of the item, of the source's error, or, after the end, of `END_OF_ITEMS`.
        """

    def stop(self) -> Future[None]:
        """Close the source, once, as soon as it lets itself be closed; a future for when that is done.

        The future has the error that closing raised, where it did.
        """

    def is_called_from_source(self) -> bool:
        """Whether the caller runs in the source, where waiting for the source would deadlock."""


class InlinePuller(Puller):
    """Pulls from a sync source on the thread that asks. Who stops it waits where another is within.

    Args:
        source: The source.
    """

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = SyncSource(source)
        self._turn = threading.RLock()  # held while the source runs
        self._runs_on: int | None = None  # the thread, while it does
        self._stopping = False
        self._closed_future: Future[None] = _make_shielded_future()

    def pull(self, sent: object = None) -> Future[Any]:
        """See `Puller`."""
        future: Future[Any] = Future()
        with self._turn:
            try:
                future.set_result(END_OF_ITEMS if self._stopping else self._step(sent))
            except StopIteration:
                future.set_result(END_OF_ITEMS)
        return future

    def _step(self, sent: object) -> Any:
        self._runs_on = threading.get_ident()
        try:
            return self._source.next(sent)
        finally:
            self._runs_on = None
            if self._stopping:
                self._close()

    def stop(self) -> Future[None]:
        """See `Puller`."""
        with self._turn:
            self._stopping = True
            if not self.is_called_from_source():  # else it is closed once it has given
                self._close()
        return self._closed_future

    def is_called_from_source(self) -> bool:
        """See `Puller`."""
        return self._runs_on == threading.get_ident()

    def _close(self) -> None:
        if not self._closed_future.done():
            self._source.close(self._closed_future)


class ThreadPuller(Puller):
    """Pulls from a sync source on a thread of its own, in a copy of the context of the first pull.

    Nothing ends a thread that blocks: the source is closed when it gives its next item, or ends.

    Args:
        source: The source.
    """

    def __init__(self, source: Iterable[Any]) -> None:
        self._source = SyncSource(source)
        self._wanted: SimpleQueue[_Request | None] = SimpleQueue()
        self._closed_future: Future[None] = _make_shielded_future()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def pull(self, sent: object = None) -> Future[Any]:
        """See `Puller`."""
        future: Future[Any] = _make_shielded_future()
        self._send_request((future, sent))
        return future

    def stop(self) -> Future[None]:
        """See `Puller`."""
        self._send_request(None)
        return self._closed_future

    def is_called_from_source(self) -> bool:
        """See `Puller`."""
        return threading.current_thread() is self._thread

    def _send_request(self, request: _Request | None) -> None:
        self._wanted.put(request)
        with self._starting:
            if self._thread is None:
                work = partial(contextvars.copy_context().run, self._work)
                self._thread = threading.Thread(
                    target=work, name="agentstepper-answer", daemon=True
                )
                self._thread.start()
        if self._closed_future.done():
            self._refuse()

    def _work(self) -> None:
        while (request := self._wanted.get()) is not None:
            future, sent = request
            try:
                future.set_result(self._source.next(sent))
            except StopIteration:
                future.set_result(END_OF_ITEMS)
                break
            except BaseException as error:
                future.set_exception(wrap_exit_error(error))
                break
        self._source.close(self._closed_future)
        self._refuse()

    def _refuse(self) -> None:
        """Answer the requests that came too late."""
        with suppress(Empty):
            while True:
                request = self._wanted.get_nowait()
                if request is not None:
                    request[0].set_result(END_OF_ITEMS)


class LoopPuller(Puller):
    """Pulls from an async source, in one task of one loop.

    Args:
        source: The source.
        loop: Where it runs.
    """

    def __init__(self, source: AsyncIterable[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._source = AsyncSource(source)
        self._requests: asyncio.Queue[_Request] = asyncio.Queue()
        self._closed_future: Future[None] = _make_shielded_future()
        self._task: asyncio.Task[None] | None = None
        self._running = False  # from the task's first step until the source is to be closed
        self._stopping = False

    def pull(self, sent: object = None) -> Future[Any]:
        """See `Puller`."""
        future: Future[Any] = _make_shielded_future()
        if not self._call(self._want, (future, sent)):
            future.set_result(END_OF_ITEMS)
        return future

    def stop(self) -> Future[None]:
        """See `Puller`."""
        if not self._call(self._stop) and not self._closed_future.done():
            self._closed_future.set_result(None)  # its loop is closed, and ended all that ran there
        return self._closed_future

    def is_called_from_source(self) -> bool:
        """See `Puller`."""
        try:
            return self._loop is asyncio.get_running_loop()
        except RuntimeError:
            return False

    def _call(self, function: Any, *args: Any) -> bool:
        try:
            self._loop.call_soon_threadsafe(function, *args)
        except RuntimeError:
            return False
        return True

    def _want(self, request: _Request) -> None:
        if self._closed_future.done():
            request[0].set_result(END_OF_ITEMS)
            return
        self._requests.put_nowait(request)
        self._start()

    def _stop(self) -> None:
        first, self._stopping = not self._stopping, True
        self._start()
        if first and self._running and self._task is not None:
            self._task.cancel()  # once: what the source does at its end isn't disturbed

    def _start(self) -> None:
        if self._task is None:
            self._task = self._loop.create_task(self._work())

    async def _work(self) -> None:
        self._running = True
        try:
            while not self._stopping and await self._answer(*await self._requests.get()):
                pass
        except asyncio.CancelledError:
            if not self._stopping:
                raise  # the loop ends
        finally:
            self._running = False
            await self._close()
            while not self._requests.empty():
                self._requests.get_nowait()[0].set_result(END_OF_ITEMS)

    async def _answer(self, future: Future[Any], sent: object) -> bool:
        """Answer a request; whether there may be more."""
        try:
            future.set_result(await self._source.next(sent))
        except StopAsyncIteration:
            future.set_result(END_OF_ITEMS)
        except asyncio.CancelledError:
            if self._stopping:
                future.set_result(END_OF_ITEMS)
                raise
            future.set_exception(RuntimeError(_CANCELLED))
            if is_task_cancelled():
                raise
        except BaseException as error:
            future.set_exception(wrap_exit_error(error))
        else:
            return True
        return False

    async def _close(self) -> None:
        try:
            await self._source.close()
        except BaseException as error:
            self._closed_future.set_exception(wrap_exit_error(error))
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            self._closed_future.set_result(None)


def is_task_cancelled() -> bool:
    """Whether this task was cancelled, and not something that an agent waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _make_shielded_future() -> Future[Any]:
    """A future that its reader can't cancel: what it is for happens all the same."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future
