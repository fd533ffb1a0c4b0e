"""The events of a session: none lost that is kept, and whoever comes back goes on where it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.coding.event_feed import (
    EVENTS_LOST_KIND,
    STREAM_TAKEN_OVER_KIND,
    SessionEventFeed,
)
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.coding_api import CodingTextDelta, CodingTrace, NumberedCodingEvent


def run(test: Any) -> None:
    asyncio.run(test)


def filled(feed: SessionEventFeed, count: int) -> SessionEventFeed:
    for number in range(1, count + 1):
        feed.add(CodingTextDelta(text=str(number)))
    return feed


async def rest(feed: SessionEventFeed, last: str | None = None) -> list[NumberedCodingEvent]:
    """All that a reader is given of a feed that is closed."""
    return [item async for item in feed.read(last)]


def texts(items: list[NumberedCodingEvent]) -> list[str]:
    return [item.event.text for item in items if isinstance(item.event, CodingTextDelta)]


async def test_a_reader_gets_what_was_and_what_comes() -> None:
    feed = filled(SessionEventFeed(), 2)
    async with aclosing(feed.read(None)) as reader:
        first = await anext(reader)
        assert (first.n, first.event, first.id) == (0, None, f"{feed.stream_id}-0")
        assert [(await anext(reader)).n for _ in range(2)] == [1, 2]
        coming = asyncio.ensure_future(anext(reader))
        await asyncio.sleep(0)
        feed.add(CodingTextDelta(text="3"))
        assert texts([await coming]) == ["3"]
        feed.close()
        with pytest.raises(StopAsyncIteration):
            await anext(reader)


async def test_the_second_reader_is_refused_and_who_was_cut_off_takes_over() -> None:
    feed = filled(SessionEventFeed(), 3)
    old = feed.read(None)
    items = [await anext(old) for _ in range(3)]
    for stranger in (
        None,
        "",
        "other-1",
        feed.stream_id,
        f"{feed.stream_id}-",
        f"{feed.stream_id}-x",
    ):
        with pytest.raises(CommandError) as caught:
            await anext(feed.read(stranger))
        assert caught.value.code == "stream_taken"
    waiting = asyncio.ensure_future(anext(old))
    assert texts([await waiting]) == ["3"]
    waiting = asyncio.ensure_future(anext(old))
    new = feed.read(items[-1].id)
    assert (await anext(new)).n == 2
    told = await waiting
    assert isinstance(told.event, CodingTrace)
    assert told.event.kind == STREAM_TAKEN_OVER_KIND
    with pytest.raises(StopAsyncIteration):
        await anext(old)
    assert texts([await anext(new)]) == ["3"]
    await new.aclose()
    feed.close()
    assert texts(await rest(feed)) == ["1", "2", "3"]


async def test_what_is_kept_is_bounded_and_what_is_lost_is_said() -> None:
    feed = filled(SessionEventFeed(max_events=4), 10)
    feed.close()
    items = await rest(feed, f"{feed.stream_id}-3")
    assert isinstance(items[1].event, CodingTrace)
    assert (items[1].event.kind, items[1].n) == (EVENTS_LOST_KIND, 6)
    assert "3 older events" in items[1].event.data
    assert texts(items) == ["7", "8", "9", "10"]
    # Who comes back with the id of that goes on behind it.
    assert texts(await rest(feed, items[1].id)) == ["7", "8", "9", "10"]
    large = SessionEventFeed(max_bytes=1000)
    for _ in range(5):
        large.add(CodingTextDelta(text="x" * 600))
    large.close()
    assert len(texts(await rest(large))) == 1


async def test_an_id_of_another_life_begins_anew_and_is_told_so() -> None:
    feed = filled(SessionEventFeed(), 2)
    feed.close()
    items = await rest(feed, "older-77")
    assert isinstance(items[1].event, CodingTrace)
    assert items[1].event.kind == EVENTS_LOST_KIND
    assert texts(items) == ["1", "2"]
    assert texts(await rest(feed, f"{feed.stream_id}-999999999999999999999999")) == []


class ReconnectingReader:
    """Reads a feed, and notes the numbers it saw or was told to be lost."""

    def __init__(self, feed: SessionEventFeed) -> None:
        self.feed = feed
        self.last: str | None = None
        self.seen: list[int] = []
        self.items: AsyncIterator[NumberedCodingEvent] | None = None

    def take(self, item: NumberedCodingEvent) -> None:
        self.last = item.id
        if isinstance(item.event, CodingTrace):
            self.seen.extend(range(len(self.seen) + 1, item.n + 1))
        elif isinstance(item.event, CodingTextDelta):
            assert item.event.text == str(item.n)
            self.seen.append(item.n)

    async def read(self, added: int) -> None:
        """Read one item, where one is there."""
        self.items = self.items or self.feed.read(self.last)
        if self.last is None or len(self.seen) < added:
            self.take(await anext(self.items))

    async def read_rest(self) -> None:
        for item in await rest(self.feed, self.last):
            self.take(item)


@given(
    steps=st.lists(st.one_of(st.integers(1, 6), st.just("read"), st.just("cut")), max_size=40),
    most=st.integers(1, 8),
)
async def test_a_reader_that_is_cut_off_misses_nothing_unsaid(steps: list[Any], most: int) -> None:
    """Events are numbered without a gap, save for those that were said to be lost."""
    feed, added = SessionEventFeed(max_events=most), 0
    reader = ReconnectingReader(feed)
    for step in steps:
        if isinstance(step, int):
            for number in range(added + 1, added + step + 1):
                feed.add(CodingTextDelta(text=str(number)))
            added += step
        elif step == "cut":
            reader.items = None  # without a word: its place is taken over
        else:
            await reader.read(added)
    feed.close()
    await reader.read_rest()
    assert reader.seen == list(range(1, added + 1))
