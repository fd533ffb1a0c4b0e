"""Dispatchers: when they are woken, when one is asked for, and what becomes of what they leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec
import pytest

from agentstepper_nb.protocol.runtime import LIVE_STATUSES, Action, SessionStatus
from agentstepper_nb.protocol.runtime_requests import DispatcherWake, SubscribeWakes
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    ClaimAction,
    ReleaseLeases,
    RenewLeases,
    StateQuery,
)
from tests.helpers.loops import settle
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, open_harness, run


def wakes(harness: RuntimeHarness, owner: str = "w") -> AsyncGenerator[DispatcherWake, None]:
    return harness.runtime.wakes(SubscribeWakes(owner=owner))


async def is_quiet(reading: AsyncGenerator[DispatcherWake, None]) -> asyncio.Task[DispatcherWake]:
    """The next wake, which isn't there yet."""
    coming = asyncio.ensure_future(anext(reading))
    await settle()
    assert not coming.done()
    return coming


# ---- waking ----------------------------------------------------------------------------------------


def test_a_dispatcher_is_woken_at_once_and_where_something_may_be_ready() -> None:
    async def test(harness: RuntimeHarness) -> None:
        async with aclosing(wakes(harness)) as reading:
            assert await anext(reading) == DispatcherWake(n=1)
            coming = await is_quiet(reading)
            await harness.create("s")
            assert (await coming).n == 2
            coming = await is_quiet(reading)
            first = await harness.claim()
            assert first is not None
            assert not coming.done()  # what it took is nobody's
            await harness.finish(first, SessionStatus.RUNNING)
            assert (await coming).n == 3
            coming = await is_quiet(reading)
            await harness.step("s")
            assert not coming.done()
            await harness.enqueue("agent_pause", "s")
            assert (await coming).n == 4

    run(test)


def test_who_is_behind_is_woken_once() -> None:
    async def test(harness: RuntimeHarness) -> None:
        async with aclosing(wakes(harness)) as reading:
            await anext(reading)
            for name in "abc":
                await harness.create(name)
            assert (await anext(reading)).n == 2
            coming = await is_quiet(reading)
            await harness.create("d")
            assert (await coming).n == 3

    run(test)


def test_what_lets_go_of_a_session_wakes() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        await harness.begin("s")
        async with aclosing(wakes(harness, "other")) as reading:
            await anext(reading)
            await harness.post_message("tea")
            assert await anext(reading)
            await harness.runtime.release(ReleaseLeases(owner="w", until=harness.clock()))
            assert await anext(reading)
            await harness.runtime.worker_disconnected("w", ending="was killed")
            assert await anext(reading)
            assert await adopt(harness, "w") == ["s"]
            assert await anext(reading)
            before = await harness.state("s")
            await harness.write(before, msgspec.structs.replace(before, status=SessionStatus.DONE))
            assert await anext(reading)

    run(test)


def test_streams_end_with_the_runtime() -> None:
    async def test(harness: RuntimeHarness) -> None:
        async with aclosing(wakes(harness)) as reading:
            await anext(reading)
            coming = await is_quiet(reading)
            await harness.runtime.close()
            with pytest.raises(StopAsyncIteration):
                await coming
        assert [wake async for wake in wakes(harness)] == []
        assert harness.worker_requests == 0

    run(test)


# ---- asking for one --------------------------------------------------------------------------------


def test_a_worker_is_asked_for_where_there_is_work_and_nobody_does_it() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.runtime.start()
        assert harness.worker_requests == 0
        await harness.create("s")
        assert harness.worker_requests == 1
        await harness.runtime.start()
        assert harness.worker_requests == 2
        async with aclosing(wakes(harness)) as reading:
            await anext(reading)
            assert harness.runtime.dispatchers == {"w"}
            await harness.enqueue("agent_pause", "s")
            await harness.runtime.start()
            assert harness.worker_requests == 2

    run(test)


def test_a_worker_is_asked_for_where_the_last_one_left_its_work() -> None:
    async def test(harness: RuntimeHarness) -> None:
        asked = asyncio.Event()
        await harness.create("s")
        first, second = wakes(harness), wakes(harness, "other")
        await anext(first)
        await anext(second)
        harness.runtime.on_worker_needed = asked.set
        await first.aclose()
        assert harness.runtime.dispatchers == {"other"}
        await second.aclose()
        await asked.wait()
        assert not harness.runtime.dispatchers

    run(test)


async def test_nobody_is_asked_for_where_there_is_no_work() -> None:
    async with open_harness() as harness:
        await harness.create("s")
        await harness.begin("s", SessionStatus.DONE)
        before = harness.worker_requests
        await harness.runtime.start()
        reading = wakes(harness)
        await anext(reading)
        await reading.aclose()
    assert harness.worker_requests == before


def test_a_worker_on_two_connections_is_there_until_both_are_gone() -> None:
    async def test(harness: RuntimeHarness) -> None:
        old, new = wakes(harness), wakes(harness)
        await anext(old)
        await anext(new)
        await old.aclose()
        assert harness.runtime.dispatchers == {"w"}
        await new.aclose()
        assert not harness.runtime.dispatchers

    run(test)


# ---- leases ----------------------------------------------------------------------------------------


async def begin_session(harness: RuntimeHarness) -> None:
    """The session `s` is `w`'s, for ten seconds."""
    await harness.create("s")
    await harness.begin("s")


async def adopt(harness: RuntimeHarness, owner: str = "other") -> list[str]:
    now = harness.clock()
    ask = AdoptSessions(owner=owner, now=now, lease_until=now + 10)
    return [state.session_id for state in (await harness.runtime.adopt(ask)).states]


def test_a_worker_that_is_dead_has_nothing() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await begin_session(harness)
        assert await adopt(harness) == []
        await harness.runtime.worker_disconnected("w", ending="was killed")
        assert await adopt(harness) == ["s"]
        with expect_refusal("stale_epoch"):
            state = await harness.state("s")
            await harness.write(msgspec.structs.replace(state, epoch=state.epoch - 1), state)

    run(test)


def test_a_worker_whose_connection_broke_has_what_it_has_for_two_seconds() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await begin_session(harness)
        await harness.runtime.worker_disconnected("w")
        harness.clock.now += 1.5
        assert await adopt(harness) == []
        harness.clock.now += 1
        assert await adopt(harness) == ["s"]

    run(test)


def test_a_worker_that_is_back_keeps_what_it_has() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await begin_session(harness)
        async with aclosing(wakes(harness)) as reading:
            await anext(reading)
            await harness.runtime.worker_disconnected("w")
        harness.clock.now += 5
        assert await adopt(harness) == []

    run(test)


@pytest.mark.parametrize("off", [-3600.0, 3600.0])
def test_leases_are_measured_by_the_cores_clock(off: float) -> None:
    async def test(harness: RuntimeHarness) -> None:
        def theirs() -> float:
            return harness.clock() + off

        await harness.create("s")
        now = theirs()
        claimed = await harness.runtime.claim(ClaimAction(owner="w", now=now, lease_until=now + 10))
        assert claimed.state is not None
        assert await adopt(harness) == []
        await harness.finish(one(claimed.action), SessionStatus.RUNNING)
        harness.clock.now += 6
        now = theirs()
        await harness.runtime.renew(RenewLeases(owner="w", now=now, lease_until=now + 10))
        harness.clock.now += 6
        assert await adopt(harness) == []
        now = theirs()
        await harness.runtime.release(ReleaseLeases(owner="w", until=now))
        assert await adopt(harness) == ["s"]

    run(test)


def one(action: Action | None) -> Action:
    assert action is not None
    return action


def test_who_adopts_is_seen() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await begin_session(harness)
        await harness.runtime.worker_disconnected("w", ending="was killed")
        async with aclosing(harness.watch("session:s")) as notices:
            await anext(notices)
            await adopt(harness)
            (state,) = (await anext(notices)).states
        assert (state.owner, state.epoch) == ("other", 2)
        live = await harness.runtime.states(StateQuery(status=tuple(LIVE_STATUSES)))
        assert live.states == (state,)

    run(test)
