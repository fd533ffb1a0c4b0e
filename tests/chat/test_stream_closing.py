"""Streams are closed once, whoever closes them and whenever."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb.chat.streams import StreamWrapper
from tests.chat.sources import (
    GIVEN,
    Source,
    WatchedAsyncIterator,
    WatchedIterator,
    both_readers,
    both_sources,
    read,
)

TIMEOUT_S = 30


@both_sources
def test_who_reads_a_part_closes_it(source: Source) -> None:
    given = source(GIVEN)
    for item in StreamWrapper[Any](given):
        assert item == "one"
        break
    assert (given.closed, given.pulled) == (1, 1)


@both_sources
async def test_who_awaits_a_part_closes_it(source: Source) -> None:
    given = source(GIVEN)
    async with StreamWrapper[Any](given) as stream:
        async for item in stream:
            assert item == "one"
            break
    assert (given.closed, given.pulled) == (1, 1)


@both_sources
def test_an_unread_one_is_closed_once(source: Source) -> None:
    given = source(GIVEN)
    stream = StreamWrapper[Any](given)
    stream.close()
    asyncio.run(stream.aclose())
    assert (given.closed, given.pulled) == (1, 0)
    assert read(stream) == []


async def test_cancelling_closes_an_async_source_once() -> None:
    given = WatchedAsyncIterator(GIVEN, waits=True)
    stream = StreamWrapper[Any](given)
    got: list[Any] = []

    async def reading() -> None:
        async for item in stream:
            got.append(item)

    task = asyncio.create_task(reading())
    await asyncio.to_thread(given.waiting.wait, TIMEOUT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (got, given.closed) == (GIVEN, 1)
    await stream.aclose()
    assert given.closed == 1


async def test_cancelling_does_not_wait_for_a_thread_that_blocks() -> None:
    within, leave, closed = threading.Event(), threading.Event(), threading.Event()

    def blocking() -> Iterator[str]:
        try:
            yield "one"
            within.set()
            leave.wait(TIMEOUT_S)
            yield "two"
        finally:
            closed.set()

    stream = StreamWrapper[str](blocking())
    got: list[str] = []

    async def reading() -> None:
        async for item in stream:
            got.append(item)

    task = asyncio.create_task(reading())
    await asyncio.to_thread(within.wait, TIMEOUT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (got, closed.is_set()) == (["one"], False)
    closing = asyncio.create_task(stream.aclose())
    await asyncio.sleep(0)
    assert not closing.done()
    leave.set()
    await closing
    assert closed.is_set()


def test_closing_waits_for_a_thread_that_reads() -> None:
    within, leave = threading.Event(), threading.Event()
    closed: list[bool] = []

    def blocking() -> Iterator[str]:
        try:
            within.set()
            leave.wait(TIMEOUT_S)
            yield "one"
        finally:
            closed.append(leave.is_set())

    stream = StreamWrapper[str](blocking())
    reader = threading.Thread(target=read, args=(stream,))
    reader.start()
    within.wait(TIMEOUT_S)
    closer = threading.Thread(target=stream.close)
    closer.start()
    leave.set()
    closer.join(TIMEOUT_S)
    reader.join(TIMEOUT_S)
    assert closed == [True]


@both_readers
def test_a_source_that_closes_its_own_stream(reader: Callable[[StreamWrapper[Any]], Any]) -> None:
    closed: list[bool] = []

    def closing() -> Iterator[str]:
        try:
            stream.close()
            yield "last"
            yield "never"
        finally:
            closed.append(True)

    stream = StreamWrapper[str](closing())
    assert reader(stream) == ["last"]
    assert closed == [True]


async def test_closing_on_the_sources_own_loop_does_not_wait() -> None:
    given = WatchedAsyncIterator(GIVEN)
    stream = StreamWrapper[Any](given, loop=asyncio.get_running_loop())
    stream.close()
    assert given.closed == 0
    await stream.aclose()
    assert given.closed == 1


def test_an_interrupt_is_the_readers_and_closes_it() -> None:
    given = WatchedIterator(["one"], KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        read(StreamWrapper[Any](given))
    assert given.closed == 1


@both_readers
def test_a_source_that_takes_its_time_to_close(reader: Callable[[StreamWrapper[Any]], Any]) -> None:
    ended: list[str] = []

    async def slow() -> AsyncIterator[str]:
        try:
            yield "one"
        finally:
            for _ in range(20):
                await asyncio.sleep(0)
            ended.append("whole")

    class Slow(WatchedAsyncIterator):
        async def aclose(self) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            await super().aclose()

    assert reader(StreamWrapper(slow())) == ["one"]
    assert ended == ["whole"]
    given = Slow(GIVEN)
    assert reader(StreamWrapper[Any](given)) == GIVEN
    assert given.closed == 1


def test_what_closing_raises_is_raised() -> None:
    def bad() -> Iterator[str]:
        try:
            yield "one"
        finally:
            raise OSError("can't be closed")

    stream = StreamWrapper(bad())
    items = iter(stream)
    assert next(items) == "one"
    with pytest.raises(OSError, match="can't be closed"):
        stream.close()
    with pytest.raises(OSError, match="can't be closed"):
        next(items)


def test_a_response_is_closed_beside_its_iterator() -> None:
    class Response:
        closed = 0

        def __iter__(self) -> Iterator[str]:
            return iter(GIVEN)

        def close(self) -> None:
            self.closed += 1

    response = Response()
    assert read(StreamWrapper(response)) == GIVEN
    assert response.closed == 1
