"""What a Core hears of the others' commits, whatever is announced, and whoever fails at it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from agentstepper_nb.protocol.runtime_store_messages import ChangedRows
from agentstepper_nb.store.runtime.conformance.base_suite import create_session
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from tests.helpers.postgres_server import PostgresServer


@asynccontextmanager
async def two_stores(
    server: PostgresServer,
) -> AsyncIterator[tuple[PostgresRuntimeStore, PostgresRuntimeStore]]:
    """Stores on a new database, each with connections of its own."""
    location = server.create_database()
    opened = PostgresRuntimeStore(location), PostgresRuntimeStore(location)
    try:
        yield opened
    finally:
        for store in opened:
            await store.close()


class Listener:
    """Follows a store, and fails when it is told to.

    Args:
        store: The store.
    """

    def __init__(self, store: PostgresRuntimeStore) -> None:
        self.fails = 0
        self._store = store
        self._heard: asyncio.Queue[ChangedRows | None] = asyncio.Queue()

    async def begin(self) -> None:
        self._store.follow(self._on_change)
        assert await self._next() == "missed"

    async def until(self, session: str) -> list[str]:
        """What it hears, up to a session."""
        heard: list[str] = []
        while session not in heard:
            heard.append(await self._next())
        return heard

    def _on_change(self, changed: ChangedRows | None) -> None:
        if self.fails:
            self.fails -= 1
            raise ValueError("wrong")
        self._heard.put_nowait(changed)

    async def _next(self) -> str:
        async with asyncio.timeout(60):
            changed = await self._heard.get()
        return "missed" if changed is None else changed.states[0].session_id


async def test_notices_that_cannot_be_read_are_skipped(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Anybody with the database can send them, and so may a later version."""
    async with two_stores(postgres_server) as (one, two):
        listener = Listener(one)
        await listener.begin()
        notices = ["hello", "", "core number", "core 1 more"]
        with psycopg.connect(one._database.conninfo, autocommit=True) as stranger:
            for notice in notices:
                stranger.execute("SELECT pg_notify('agentstepper', %s)", (notice,))
        await create_session(two)
        assert await listener.until("s") == ["s"]
    assert caplog.text.count("can't be read, and is skipped") == len(notices)


@pytest.mark.parametrize("fails", [1, 2])
async def test_who_fails_at_changes_has_missed_them_and_hears_the_next(
    postgres_server: PostgresServer, caplog: pytest.LogCaptureFixture, fails: int
) -> None:
    async with two_stores(postgres_server) as (one, two):
        listener = Listener(one)
        await listener.begin()
        listener.fails = fails
        await create_session(two, "lost")
        while listener.fails:
            await asyncio.sleep(0.01)
        await create_session(two)
        assert await listener.until("s") == ["missed", "s"][fails - 1 :]
    assert caplog.text.count("what other Cores wrote can't be processed") == fails


async def test_a_listener_that_has_failed_does_not_keep_its_store_open(
    postgres_server: PostgresServer,
) -> None:
    store = PostgresRuntimeStore(postgres_server.create_database())
    await create_session(store)

    async def fail() -> None:
        raise ValueError("wrong")

    store._listening = asyncio.create_task(fail())
    await asyncio.wait({store._listening})
    with pytest.raises(ValueError, match="wrong"):
        await store.close()
    assert not store._transactions._connections
