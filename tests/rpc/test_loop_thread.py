"""The thread that waits for a client: interrupts, errors, and its end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from agentstepper_nb.rpc.loop_thread import LoopThread, SyncClient


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread("waits")
    yield thread
    thread.close()


def test_it_gives_what_a_coroutine_gives(thread: LoopThread) -> None:
    async def give(value: int) -> int:
        await asyncio.sleep(0)
        if value < 0:
            raise ZeroDivisionError("less")
        return value

    assert thread.run(lambda: give(3)) == 3
    with pytest.raises(ZeroDivisionError, match="less"):
        thread.run(lambda: give(-1))
    assert thread.run(lambda: give(4)) == 4


def test_an_interrupt_cancels_and_waits(thread: LoopThread) -> None:
    reached, over = threading.Event(), threading.Event()

    async def hang() -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            over.set()

    def interrupt() -> None:
        reached.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        thread.run(hang)
    assert over.is_set()
    interrupter.join()


def test_what_runs_ends_with_it(thread: LoopThread) -> None:
    reached = threading.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.Event().wait()

    failed: list[Exception] = []

    def run() -> None:
        try:
            thread.run(hang)
        except RuntimeError as error:
            failed.append(error)

    runner = threading.Thread(target=run)
    runner.start()
    reached.wait()
    thread.close()
    runner.join()
    assert "Connect again" in str(failed.pop())
    with pytest.raises(RuntimeError, match="Connect again"):
        thread.run(hang)
    thread.close()


def test_what_was_cancelled_before_may_close_what_it_has(thread: LoopThread) -> None:
    closing, closed = threading.Event(), threading.Event()

    async def connection() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closing.set()
            await asyncio.sleep(0.05)  # the closing handshake
            closed.set()

    async def begin() -> asyncio.Task[None]:
        task = asyncio.create_task(connection())
        await asyncio.sleep(0)
        return task

    async def cancel(task: asyncio.Task[None]) -> None:
        task.cancel()

    task = thread.run(begin)
    thread.run(lambda: cancel(task))
    closing.wait()
    thread.close()
    assert closed.is_set()


def test_a_stream_may_be_dropped_on_it(thread: LoopThread) -> None:
    """As a garbage collection there does, which must not wait for the thread that it is on."""
    closed = threading.Event()

    async def count() -> AsyncGenerator[int, None]:
        try:
            for number in range(3):
                yield number
        finally:
            closed.set()

    async def drop() -> None:
        held.clear()

    client = SyncClient(thread, None)
    held = [client._items(count())]
    assert next(held[0]) == 0
    thread.run(drop)
    closed.wait()
    assert thread.run(lambda: asyncio.sleep(0, "it goes on")) == "it goes on"


def test_it_may_be_closed_on_itself(thread: LoopThread) -> None:
    """As a garbage collection there does."""

    async def close() -> None:
        thread.close()

    thread.run(close)
    thread._thread.join()
    assert not thread.is_running
