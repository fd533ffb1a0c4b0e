"""Streams of a session's events, which a slow reader can't swell."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.chat.feed import Feed
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.chat import (
    Begin,
    ChatEvent,
    Delta,
    Said,
    SessionChanged,
    SessionInfo,
    SessionRemoved,
    State,
)
from tests.chat.making import message
from tests.helpers.loops import on_loop


class Source:
    """Tells a feed what a test says."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.begun = 0
        self.gone = False

    def attach(self, listener: Any) -> Any:
        if self.gone:
            raise CommandError("unknown_session", "It is gone.")
        self.begun += 1
        self.listeners.append(listener)
        listener(self.begin())
        return lambda: self.listeners.remove(listener)

    def begin(self) -> Begin:
        info = SessionInfo(
            id="s", title=str(self.begun), state=State.STATE_INIT, created_at=0, updated_at=0
        )
        return Begin(session=info, messages=())

    def tell(self, *events: ChatEvent) -> None:
        for event in events:
            for listener in list(self.listeners):
                listener(event)


def delta(id: str, text: str) -> Delta:
    return Delta(session_id="s", message_id=id, text=text)


@on_loop
async def test_pieces_of_a_message_that_wait_are_one() -> None:
    source = Source()
    events = Feed("s", source.attach).read()
    await anext(events)
    source.tell(delta("a", "x"), delta("a", "y"), delta("b", "z"), delta("a", "!"))
    got = [await anext(events) for _ in range(3)]
    assert got == [delta("a", "xy"), delta("b", "z"), delta("a", "!")]
    await events.aclose()
    assert source.listeners == []


@on_loop
async def test_a_whole_message_stands_for_its_pieces_that_wait() -> None:
    source = Source()
    events = Feed("s", source.attach).read()
    begin = await anext(events)
    assert isinstance(begin, Begin)
    whole = Said(message=message("xyz", id="a"))
    half = Said(message=message("x", id="a", final=False))
    source.tell(delta("b", "1"), half, delta("a", "y"), whole)
    source.tell(*[SessionChanged(session=begin.session)] * 3)
    assert [await anext(events) for _ in range(3)] == [
        delta("b", "1"),
        whole,
        SessionChanged(session=begin.session),
    ]
    await events.aclose()


@pytest.mark.parametrize(
    "bounds", [{"most": 10}, {"most_weight": 2000}], ids=["events", "their weight"]
)
@on_loop
async def test_a_slow_reader_gets_a_new_begin_in_place_of_what_it_missed(
    bounds: dict[str, int],
) -> None:
    source = Source()
    events = Feed("s", source.attach, **bounds).read()
    await anext(events)
    for number in range(1000):
        source.tell(delta(str(number), "some text"))
    assert source.listeners == []  # nothing is held for it any more
    again = await anext(events)
    assert isinstance(again, Begin) and again.session.title == "2"
    source.tell(delta("last", "!"))
    assert await anext(events) == delta("last", "!")
    await events.aclose()


@on_loop
async def test_one_event_may_be_of_any_size() -> None:
    source = Source()
    events = Feed("s", source.attach, most_weight=100).read()
    await anext(events)
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    large = Said(message=message("x" * 10_000, id="a"))
    source.tell(large)
    assert await waiting == large
    assert source.begun == 1
    await events.aclose()


@on_loop
async def test_a_session_that_was_removed_ends_the_stream_also_for_who_missed_that() -> None:
    source = Source()
    fast, slow = Feed("s", source.attach).read(), Feed("s", source.attach, most=3).read()
    await anext(fast)
    await anext(slow)
    source.tell(*(delta(str(number), "x") for number in range(5)))
    source.gone = True
    source.tell(SessionRemoved(session_id="s"))
    assert [event async for event in fast][-1] == SessionRemoved(session_id="s")
    assert [event async for event in slow] == [SessionRemoved(session_id="s")]
