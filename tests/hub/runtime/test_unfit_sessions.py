"""Sessions that no worker fits: they wait, the Core says for what, and a person can end them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agentstepper_nb.protocol.routes import OfferedMoniker, SessionRoute, WorkerOffer
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_requests import SubscribeWakes, WaitingSessions
from agentstepper_nb.protocol.runtime_store_messages import AdoptSessions, ReleaseLeases
from tests.helpers.loops import settle
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, run

JOKE = WorkerOffer(monikers=(OfferedMoniker(name="joke"),))


@asynccontextmanager
async def present(
    harness: RuntimeHarness, owner: str = "w", offer: WorkerOffer | None = JOKE
) -> AsyncGenerator[None, None]:
    """A worker that is connected."""
    wakes = harness.runtime.wakes(SubscribeWakes(owner=owner, offer=offer))
    await anext(wakes)
    try:
        yield
    finally:
        await wakes.aclose()


async def poll(harness: RuntimeHarness, owner: str = "w") -> list[str]:
    """Let a worker look for sessions."""
    now = harness.clock()
    request = AdoptSessions(owner=owner, now=now, lease_until=now + 10, offer=JOKE)
    return [state.session_id for state in (await harness.runtime.adopt(request)).states]


async def waiting(harness: RuntimeHarness) -> list[tuple[str, int, str]]:
    return [
        (each.route.moniker, each.sessions, each.reason)
        for each in (await harness.runtime.status()).waiting
    ]


async def status(harness: RuntimeHarness, session: str = "s") -> SessionStatus:
    return (await harness.state(session)).status


def test_what_waits_is_said_with_what_is_missing() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("a")
        for session in "bc":
            await harness.create(session, moniker="review", requires=["gpu"])
        none = "no worker is connected"
        assert await waiting(harness) == [("joke", 1, none), ("review", 2, none)]
        async with present(harness):
            reason = "the moniker 'review' isn't installed in the worker"
            needs = SessionRoute(moniker="review", requires=("gpu",))
            assert (await harness.runtime.status()).waiting == (
                WaitingSessions(route=needs, sessions=2, reason=reason),
            )
            async with present(harness, "old", None):
                assert await waiting(harness) == []
            await harness.begin("a")
            assert await waiting(harness) == [("review", 2, reason)]

    run(test)


def test_what_a_session_needs_is_stored_with_it() -> None:
    async def test(harness: RuntimeHarness) -> None:
        made = await harness.create("s", moniker_version="2", requires=["gpu", "region=eu"])
        state = await harness.state("s")
        assert (state.moniker_version, state.requires) == ("2", ("gpu", "region=eu"))
        assert made.action.payload["requires"] == ["gpu", "region=eu"]
        for wrong in ({"requires": [""]}, {"requires": "gpu"}, {"moniker_version": ""}):
            with expect_refusal("invalid_message"):
                await harness.create("other", **wrong)

    run(test)


def test_a_session_that_no_worker_fits_ends_when_it_is_destroyed() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s", moniker="review")
        async with present(harness):
            # Its creation was under way in a worker that is lost.
            assert await harness.claim("lost") is not None
            await harness.runtime.release(ReleaseLeases(owner="lost", until=harness.clock()))
            await harness.enqueue("agent_destroy", "s")
            assert await status(harness) is SessionStatus.STOPPED
            assert await waiting(harness) == []

    run(test)


def test_a_session_that_no_worker_fits_lives_until_the_time_of_its_end() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s", moniker="review")
        at = harness.clock.now + 60
        async with present(harness):
            await harness.enqueue("agent_destroy", "s", not_before=at)
            assert await status(harness) is SessionStatus.CREATED
        async with present(harness):
            await settle_tasks(harness)
            assert await status(harness) is SessionStatus.CREATED
            harness.clock.now = at
            harness.runtime._due_timer._check()
            await settle_until_stopped(harness)

    run(test)


def test_a_session_that_a_worker_fits_is_left_to_the_worker() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        async with present(harness):
            await harness.enqueue("agent_destroy", "s")
            assert await status(harness) is SessionStatus.CREATED

    run(test)


def test_without_a_worker_it_waits_for_the_one_that_the_core_starts() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s", moniker="review")
        await harness.enqueue("agent_destroy", "s")
        assert await status(harness) is SessionStatus.CREATED
        async with present(harness):  # which hasn't what it needs
            await settle_until_stopped(harness)

    run(test)


def test_a_destroyed_session_ends_when_the_last_worker_that_fits_is_lost() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s", moniker="review")
        review = WorkerOffer(monikers=(OfferedMoniker(name="review"),))
        async with present(harness, "other"):
            async with present(harness, "w", review):
                await harness.begin("s")
                await harness.enqueue("agent_destroy", "s")
                assert await status(harness) is SessionStatus.RUNNING
            await settle()
            assert await status(harness) is SessionStatus.RUNNING  # its lease lasts
            assert await poll(harness, "other") == []
            assert await status(harness) is SessionStatus.RUNNING
            harness.clock.now += 11
            assert await poll(harness, "other") == []
            assert await status(harness) is SessionStatus.STOPPED

    run(test)


async def settle_tasks(harness: RuntimeHarness) -> None:
    """Let the Core end what it began when a worker connected."""
    while harness.runtime._tasks:
        await asyncio.wait(set(harness.runtime._tasks))


async def settle_until_stopped(harness: RuntimeHarness) -> None:
    """Let the Core end the session: it reads and writes on a thread."""
    while await status(harness) is not SessionStatus.STOPPED:
        await settle()
