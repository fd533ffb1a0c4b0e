"""Streams: any source, any reader."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb.chat.streams import StreamWrapper
from tests.chat.sources import (
    GIVEN,
    Source,
    WatchedAsyncIterator,
    WatchedIterator,
    aread,
    both_readers,
    both_sources,
    read,
)


@both_sources
@both_readers
def test_inv_stream_001_any_source_is_read_by_any_reader(
    source: Source, reader: Callable[[StreamWrapper[Any]], list[Any]]
) -> None:
    """Sync and async sources are read by sync and async readers alike, and closed once."""
    given = source(GIVEN)
    stream = StreamWrapper[Any](given)
    assert reader(stream) == GIVEN
    assert given.closed == 1
    stream.close()
    assert given.closed == 1


@both_sources
@both_readers
def test_inv_stream_001_what_was_given_is_put_together(
    source: Source, reader: Callable[[StreamWrapper[Any]], list[Any]]
) -> None:
    """The pieces of a message are one message at the end, however it was read."""
    stream = StreamWrapper[Any](source(GIVEN))
    reader(stream)
    (message,) = stream.collected_messages
    assert (message.content, message.final) == ("onetwothree", True)


@both_sources
@both_readers
def test_an_error_comes_after_what_was_given(
    source: Source, reader: Callable[[StreamWrapper[Any]], list[Any]]
) -> None:
    given = source(GIVEN, ValueError("broken"))
    stream = StreamWrapper[Any](given)
    with pytest.raises(ValueError, match="broken"):
        reader(stream)
    assert given.closed == 1
    assert stream.collected_messages[0].content == "onetwothree"


@both_sources
def test_nothing_is_pulled_that_nobody_reads(source: Source) -> None:
    given = source(GIVEN)
    with StreamWrapper[Any](given) as stream:
        items = iter(stream)
        assert next(items) == "one"
        assert given.pulled == 1
    assert given.closed == 1
    assert list(items) == []


@both_sources
def test_it_is_read_once(source: Source) -> None:
    stream = StreamWrapper[Any](source(GIVEN))
    read(stream)
    with pytest.raises(RuntimeError, match="can be read only once"):
        read(stream)


async def test_sync_reading_where_a_loop_runs_reads_an_async_source() -> None:
    async def channel() -> AsyncIterator[str]:
        for word in GIVEN:
            await asyncio.sleep(0)
            yield word

    assert read(StreamWrapper(channel())) == GIVEN


async def test_a_source_of_another_loop_is_read_from_a_thread() -> None:
    given: asyncio.Queue[str | None] = asyncio.Queue()

    async def channel() -> AsyncIterator[str]:
        while (word := await given.get()) is not None:
            yield word

    stream = StreamWrapper(channel(), loop=asyncio.get_running_loop())
    with pytest.raises(RuntimeError, match="read it with `async for`"):
        read(stream)
    reading = asyncio.create_task(asyncio.to_thread(read, stream))
    for word in (*GIVEN, None):
        given.put_nowait(word)
    assert await reading == GIVEN


def test_a_source_whose_loop_is_closed_ends() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    stream = StreamWrapper[Any](WatchedAsyncIterator(GIVEN), loop=loop)
    assert read(stream) == []


@both_readers
def test_a_source_has_one_context(reader: Callable[[StreamWrapper[Any]], list[Any]]) -> None:
    known = contextvars.ContextVar("known", default="")

    def sync_source() -> Iterator[str]:
        token = known.set("within")
        yield known.get()
        yield known.get()
        known.reset(token)

    async def async_source() -> AsyncIterator[str]:
        token = known.set("within")
        yield known.get()
        yield known.get()
        known.reset(token)

    assert reader(StreamWrapper(sync_source())) == ["within", "within"]
    assert reader(StreamWrapper(async_source())) == ["within", "within"]
    assert known.get() == ""


@pytest.mark.parametrize(
    ("source", "reader"),
    [(WatchedIterator, aread), (WatchedAsyncIterator, read), (WatchedAsyncIterator, aread)],
)
def test_a_source_that_ends_the_process_is_an_error(
    source: Source, reader: Callable[[StreamWrapper[Any]], list[Any]]
) -> None:
    with pytest.raises(RuntimeError, match=r"SystemExit\(3\)"):
        reader(StreamWrapper[Any](source([], SystemExit(3))))


@both_readers
@pytest.mark.parametrize("name", ["__iter__", "__aiter__"])
def test_a_source_that_can_not_begin(
    name: str, reader: Callable[[StreamWrapper[Any]], Any]
) -> None:
    def fails(self: object) -> Any:
        raise OSError("no source")

    source = type("Source", (), {name: fails})()
    with pytest.raises(OSError, match="no source"):
        reader(StreamWrapper[Any](source))


async def test_a_source_that_cancels_itself_is_an_error() -> None:
    async def cancelled() -> AsyncIterator[str]:
        yield "one"
        raise asyncio.CancelledError

    with pytest.raises(RuntimeError, match="was cancelled"):
        async for _ in StreamWrapper(cancelled()):
            pass
