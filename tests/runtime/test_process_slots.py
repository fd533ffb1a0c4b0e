"""Who has a process where there are fewer than sessions, by a clock that a test sets."""

from __future__ import annotations

import asyncio

import pytest

from agentstepper_nb.runtime.process_slots import ProcessSlots
from tests.helpers.loops import settle
from tests.runtime.harness import SettableClock


class Holder:
    """A session that says when it gave up its process."""

    def __init__(self, name: str, given_up: list[str]) -> None:
        self.name = name
        self._given_up = given_up

    async def give_up_process(self) -> None:
        await asyncio.sleep(0)
        self._given_up.append(self.name)


class Place:
    """Slots, and sessions a, b, c, … that want one."""

    def __init__(self, limit: int, turn_s: float = 10.0) -> None:
        self.clock = SettableClock()
        self.slots = ProcessSlots(limit, self.clock, turn_s)
        self.given_up: list[str] = []
        self.a, self.b, self.c, self.d = (Holder(name, self.given_up) for name in "abcd")

    async def give_all(self, *holders: Holder) -> None:
        for holder in holders:
            await self.slots.acquire(holder)

    async def ask(self, holder: Holder) -> asyncio.Task[None]:
        task = asyncio.create_task(self.slots.acquire(holder))
        await settle()
        return task


async def test_sessions_wait_in_their_order() -> None:
    place = Place(1)
    await place.give_all(place.a)
    second, third = await place.ask(place.b), await place.ask(place.c)
    assert not place.slots.has_room(place.d)
    place.slots.release(place.a)
    await second
    assert not third.done()
    place.slots.release(place.b)
    await third
    assert place.given_up == []


async def test_the_longest_idle_gives_way_and_only_as_many_as_wait() -> None:
    place = Place(3)
    await place.give_all(place.a, place.b, place.c)
    place.slots.set_idle(place.b, 60)
    place.clock.now += 1
    place.slots.set_idle(place.a, 60)
    await (await place.ask(place.d))
    assert place.given_up == ["b"]
    await place.slots.acquire(place.a)  # it goes on, and has what it had
    assert place.given_up == ["b"]


async def test_a_session_that_becomes_idle_gives_way_to_one_that_waits() -> None:
    place = Place(1)
    await place.give_all(place.a)
    waiting = await place.ask(place.b)
    place.slots.set_idle(place.a, 60)
    await waiting
    assert place.given_up == ["a"]


async def test_a_short_wait_costs_a_process_only_after_a_moment() -> None:
    place = Place(1)
    await place.give_all(place.a)
    waiting = await place.ask(place.b)
    place.slots.set_idle(place.a, 0.1)
    await settle()
    assert place.slots.has_room(place.a)
    await place.slots.acquire(place.a)
    place.clock.now += 5
    place.slots.set_idle(place.a, 0.1)
    await waiting
    assert place.given_up == ["a"]


async def test_who_never_waits_gives_way_after_its_turn() -> None:
    place = Place(1, turn_s=10)
    await place.give_all(place.a)
    waiting = await place.ask(place.b)
    place.clock.now += 9
    await place.slots.acquire(place.a)
    assert not waiting.done()
    place.clock.now += 1
    assert not place.slots.has_room(place.a)
    again = await place.ask(place.a)
    await waiting
    assert (place.given_up, again.done()) == (["a"], False)
    place.slots.release(place.b)
    await again


async def test_a_turn_does_not_end_where_nobody_waits() -> None:
    place = Place(1, turn_s=10)
    await place.give_all(place.a)
    place.clock.now += 1000
    await place.slots.acquire(place.a)
    assert place.given_up == []


@pytest.mark.parametrize("was_given", [True, False])
async def test_who_waits_no_longer_leaves_no_hole(was_given: bool) -> None:
    place = Place(1)
    await place.give_all(place.a)
    second, third = await place.ask(place.b), await place.ask(place.c)
    if was_given:
        place.slots.release(place.a)  # second has it, and doesn't know
    second.cancel()
    await settle()
    if not was_given:
        place.slots.release(place.a)
    await third
    assert place.slots.has_room(place.c)


async def test_a_session_that_wakes_while_it_gives_way_waits_again() -> None:
    place = Place(1)
    await place.give_all(place.a)
    place.slots.set_idle(place.a, 60)
    second = asyncio.create_task(place.slots.acquire(place.b))
    first = asyncio.create_task(place.slots.acquire(place.a))
    await second
    assert not first.done()
    place.slots.release(place.b)
    await first
    assert place.given_up == ["a"]
