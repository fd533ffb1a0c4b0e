"""Two Cores on one database: what one writes, the other tells its watchers and its workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager

import pytest

from agentstepper_nb.protocol.runtime_requests import SubscribeWakes, TopicEvent
from agentstepper_nb.protocol.runtime_store_messages import ChangedRows
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from tests.helpers.postgres_server import PostgresServer
from tests.hub.runtime.harness import RuntimeHarness

SOON_S = 60.0


class Core(RuntimeHarness):
    """A Core that hears what others write."""

    def __init__(self, store: PostgresRuntimeStore, name: str) -> None:
        super().__init__(store, name)
        self.connected = asyncio.Event()
        self.heard: list[ChangedRows] = []
        self.arrived = asyncio.Event()
        store.follow(self._publish)

    def _publish(self, changed: ChangedRows | None) -> None:
        self.runtime.publish_changes_elsewhere(changed)
        if changed is None:
            self.connected.set()
        else:
            self.heard.append(changed)
            self.arrived.set()


@asynccontextmanager
async def two_cores(server: PostgresServer) -> AsyncGenerator[tuple[Core, Core]]:
    location = server.create_database()
    cores = [Core(PostgresRuntimeStore(location), name) for name in ("one", "two")]
    try:
        async with asyncio.timeout(SOON_S):
            for core in cores:
                await core.connected.wait()
                while core.runtime._tasks:  # it looks whether there is work
                    await asyncio.wait(set(core.runtime._tasks))
        yield cores[0], cores[1]
    finally:
        for core in cores:
            await core.runtime.close()


async def until(
    notices: AsyncGenerator[TopicEvent, None], is_it: Callable[[TopicEvent], object]
) -> list[TopicEvent]:
    """All that is told until something is."""
    seen: list[TopicEvent] = []
    async with asyncio.timeout(SOON_S):
        async for notice in notices:
            seen.append(notice)
            if is_it(notice):
                return seen
    raise AssertionError(f"the topic ended after {seen}")


@pytest.mark.slow
async def test_a_session_of_one_core_is_watched_on_the_other(
    postgres_server: PostgresServer,
) -> None:
    async with two_cores(postgres_server) as (one, two):
        async with aclosing(two.watch("sessions")) as sessions:
            assert (await anext(sessions)).states == ()
            await one.create("s")
            created = (await until(sessions, lambda told: told.event == "state"))[-1]
            assert [each.session_id for each in created.states] == ["s"]
        async with aclosing(two.watch("session:s")) as notices:
            assert (await anext(notices)).states == (await one.state("s"),)
            await one.begin("s")
            await one.step("s", "tea")
            state = await one.state("s")
            seen = await until(notices, lambda told: told.states == (state,))
            assert [step.text for notice in seen for step in notice.steps] == ["tea"]
            queued = (await one.enqueue("agent_pause", "s")).action
            await until(notices, lambda told: told.actions == (queued,))


@pytest.mark.slow
async def test_a_conversation_of_one_core_is_watched_on_the_other(
    postgres_server: PostgresServer,
) -> None:
    async with two_cores(postgres_server) as (one, two):
        async with aclosing(two.watch("conversations")) as conversations:
            await anext(conversations)
            await one.conversation()
            told = (await until(conversations, lambda told: told.event == "conversation"))[-1]
            assert [each.conversation_id for each in told.conversations] == ["c"]
        async with aclosing(two.watch("conversation:c")) as notices:
            await anext(notices)
            joined = await one.join_user("ada")
            await until(notices, lambda told: told.participants == (joined,))
            posted = await one.post_message("tea")
            await until(notices, lambda told: told.messages == (posted,))


@pytest.mark.slow
async def test_each_core_tells_its_own_changes_once(postgres_server: PostgresServer) -> None:
    async with two_cores(postgres_server) as (one, two):
        await one.create("s")
        async with aclosing(one.watch("session:s")) as notices:
            await anext(notices)
            await one.begin("s")
            await one.step("s", "tea")
            # It is heard after all that was committed before, one's own too.
            other = (await two.enqueue("agent_pause", "s")).action
            seen = await until(notices, lambda told: told.actions == (other,))
        assert [step.text for notice in seen for step in notice.steps] == ["tea"]
        assert all(changed.states == changed.steps == () for changed in one.heard)


async def test_what_one_core_enqueues_wakes_the_dispatchers_of_the_other(
    postgres_server: PostgresServer,
) -> None:
    async with two_cores(postgres_server) as (one, two):
        async with aclosing(two.runtime.wakes(SubscribeWakes(owner="w"))) as wakes:
            assert (await anext(wakes)).n == 1
            await one.create("s")
            async with asyncio.timeout(SOON_S):
                assert (await anext(wakes)).n == 2
            action = await two.claim("w")
            assert action is not None and action.session_id == "s"
            assert await one.claim("v") is None


async def test_a_core_without_dispatchers_asks_for_a_worker(
    postgres_server: PostgresServer,
) -> None:
    async with two_cores(postgres_server) as (one, two):
        await one.create("s")
        async with asyncio.timeout(SOON_S):
            await two.arrived.wait()
        assert two.worker_requests == 1


@pytest.mark.parametrize("many", [30])
async def test_watchers_begin_anew_after_the_connection_was_lost(
    postgres_server: PostgresServer, many: int
) -> None:
    async with two_cores(postgres_server) as (one, two):
        async with aclosing(two.watch("sessions")) as sessions:
            await anext(sessions)
            two.connected.clear()
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
            )
            for number in range(many):
                await one.create(f"s{number}")
            async with asyncio.timeout(SOON_S):
                await two.connected.wait()
                found: set[str] = set()
                while len(found) < many:
                    found |= {each.session_id for each in (await anext(sessions)).states}
