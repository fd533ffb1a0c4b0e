"""Dispatchers: when they are woken, when one is asked for, and what becomes of what they leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
import pytest

from agentstepper_nb.protocol.runtime import LIVE, Action, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    ClaimAction,
    ReleaseLeases,
    RenewLeases,
    StateQuery,
)
from agentstepper_nb.protocol.runtime_wire import DispatcherWake, SubscribeWakes
from tests.helpers.loops import settle
from tests.hub.runtime.desk import Desk, opened, refused, run


def wakes(desk: Desk, owner: str = "w") -> AsyncGenerator[DispatcherWake, None]:
    return desk.runtime.wakes(SubscribeWakes(owner=owner))


async def quiet(reading: AsyncGenerator[DispatcherWake, None]) -> asyncio.Task[DispatcherWake]:
    """The next wake, which isn't there yet."""
    coming = asyncio.ensure_future(anext(reading))
    await settle()
    assert not coming.done()
    return coming


# ---- waking ----------------------------------------------------------------------------------------


def test_a_dispatcher_is_woken_at_once_and_where_something_may_be_ready() -> None:
    async def test(desk: Desk) -> None:
        async with aclosing(wakes(desk)) as reading:
            assert await anext(reading) == DispatcherWake(n=1)
            coming = await quiet(reading)
            await desk.create("s")
            assert (await coming).n == 2
            coming = await quiet(reading)
            first = await desk.claim()
            assert first is not None
            assert not coming.done()  # what it took is nobody's
            await desk.finish(first, SessionStatus.RUNNING)
            assert (await coming).n == 3
            coming = await quiet(reading)
            await desk.step("s")
            assert not coming.done()
            await desk.act("agent_pause", "s")
            assert (await coming).n == 4

    run(test)


def test_who_is_behind_is_woken_once() -> None:
    async def test(desk: Desk) -> None:
        async with aclosing(wakes(desk)) as reading:
            await anext(reading)
            for name in "abc":
                await desk.create(name)
            assert (await anext(reading)).n == 2
            coming = await quiet(reading)
            await desk.create("d")
            assert (await coming).n == 3

    run(test)


def test_what_lets_go_of_a_session_wakes() -> None:
    async def test(desk: Desk) -> None:
        await desk.conversation()
        await desk.create("s", conversation_id="c")
        await desk.begin("s")
        async with aclosing(wakes(desk, "other")) as reading:
            await anext(reading)
            await desk.say("tea")
            assert await anext(reading)
            await desk.runtime.release(ReleaseLeases(owner="w", until=desk.clock()))
            assert await anext(reading)
            await desk.runtime.left("w", dead=True)
            assert await anext(reading)
            assert await adopt(desk, "w") == ["s"]
            assert await anext(reading)
            before = await desk.state("s")
            await desk.write(before, msgspec.structs.replace(before, status=SessionStatus.DONE))
            assert await anext(reading)

    run(test)


def test_streams_end_with_the_runtime() -> None:
    async def test(desk: Desk) -> None:
        async with aclosing(wakes(desk)) as reading:
            await anext(reading)
            coming = await quiet(reading)
            await desk.runtime.close()
            with pytest.raises(StopAsyncIteration):
                await coming
        assert [wake async for wake in wakes(desk)] == []
        assert desk.needs == 0

    run(test)


# ---- asking for one --------------------------------------------------------------------------------


def test_a_worker_is_asked_for_where_there_is_work_and_nobody_does_it() -> None:
    async def test(desk: Desk) -> None:
        await desk.runtime.start()
        assert desk.needs == 0
        await desk.create("s")
        assert desk.needs == 1
        await desk.runtime.start()
        assert desk.needs == 2
        async with aclosing(wakes(desk)) as reading:
            await anext(reading)
            assert desk.runtime.dispatchers == {"w"}
            await desk.act("agent_pause", "s")
            await desk.runtime.start()
            assert desk.needs == 2

    run(test)


def test_a_worker_is_asked_for_where_the_last_one_left_its_work() -> None:
    async def test(desk: Desk) -> None:
        asked = asyncio.Event()
        await desk.create("s")
        first, second = wakes(desk), wakes(desk, "other")
        await anext(first)
        await anext(second)
        desk.runtime.on_need = asked.set
        await first.aclose()
        assert desk.runtime.dispatchers == {"other"}
        await second.aclose()
        await asked.wait()
        assert not desk.runtime.dispatchers

    run(test)


async def test_nobody_is_asked_for_where_there_is_no_work() -> None:
    async with opened() as desk:
        await desk.create("s")
        await desk.begin("s", SessionStatus.DONE)
        before = desk.needs
        await desk.runtime.start()
        reading = wakes(desk)
        await anext(reading)
        await reading.aclose()
    assert desk.needs == before


def test_a_worker_on_two_connections_is_there_until_both_are_gone() -> None:
    async def test(desk: Desk) -> None:
        old, new = wakes(desk), wakes(desk)
        await anext(old)
        await anext(new)
        await old.aclose()
        assert desk.runtime.dispatchers == {"w"}
        await new.aclose()
        assert not desk.runtime.dispatchers

    run(test)


# ---- leases ----------------------------------------------------------------------------------------


async def taken(desk: Desk) -> None:
    """The session `s` is `w`'s, for ten seconds."""
    await desk.create("s")
    await desk.begin("s")


async def adopt(desk: Desk, owner: str = "other") -> list[str]:
    now = desk.clock()
    ask = AdoptSessions(owner=owner, now=now, lease_until=now + 10)
    return [state.session_id for state in (await desk.runtime.adopt(ask)).states]


def test_a_worker_that_is_dead_has_nothing() -> None:
    async def test(desk: Desk) -> None:
        await taken(desk)
        assert await adopt(desk) == []
        await desk.runtime.left("w", dead=True)
        assert await adopt(desk) == ["s"]
        with refused("stale_epoch"):
            state = await desk.state("s")
            await desk.write(msgspec.structs.replace(state, epoch=state.epoch - 1), state)

    run(test)


def test_a_worker_whose_connection_broke_has_what_it_has_for_two_seconds() -> None:
    async def test(desk: Desk) -> None:
        await taken(desk)
        await desk.runtime.left("w", dead=False)
        desk.clock.now += 1.5
        assert await adopt(desk) == []
        desk.clock.now += 1
        assert await adopt(desk) == ["s"]

    run(test)


def test_a_worker_that_is_back_keeps_what_it_has() -> None:
    async def test(desk: Desk) -> None:
        await taken(desk)
        async with aclosing(wakes(desk)) as reading:
            await anext(reading)
            await desk.runtime.left("w", dead=False)
        desk.clock.now += 5
        assert await adopt(desk) == []

    run(test)


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
def test_leases_are_measured_by_the_cores_clock(off: float) -> None:
    async def test(desk: Desk) -> None:
        def theirs() -> float:
            return desk.clock() + off

        await desk.create("s")
        now = theirs()
        claimed = await desk.runtime.claim(ClaimAction(owner="w", now=now, lease_until=now + 10))
        assert claimed.state is not None
        assert await adopt(desk) == []
        await desk.finish(one(claimed.action), SessionStatus.RUNNING)
        desk.clock.now += 6
        now = theirs()
        await desk.runtime.renew(RenewLeases(owner="w", now=now, lease_until=now + 10))
        desk.clock.now += 6
        assert await adopt(desk) == []
        now = theirs()
        await desk.runtime.release(ReleaseLeases(owner="w", until=now))
        assert await adopt(desk) == ["s"]

    run(test)


def one(action: Action | None) -> Action:
    assert action is not None
    return action


def test_who_adopts_is_seen() -> None:
    async def test(desk: Desk) -> None:
        await taken(desk)
        await desk.runtime.left("w", dead=True)
        async with aclosing(desk.watch("session:s")) as notices:
            await anext(notices)
            await adopt(desk)
            (state,) = (await anext(notices)).states
        assert (state.owner, state.epoch) == ("other", 2)
        live = await desk.runtime.states(StateQuery(status=tuple(LIVE)))
        assert live.states == (state,)

    run(test)
