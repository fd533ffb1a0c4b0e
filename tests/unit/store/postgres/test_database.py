"""The database: its tables, who makes them, what is refused, and the numbers of changes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import psycopg
import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import NewerStoreError, StoreError
from agentstepper_nb.protocol.runtime_store_messages import (
    ChangedRows,
    ChangeQuery,
    PostMessage,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store.runtime.conformance.base_suite import (
    begin_session,
    create_session,
    enqueue_actions,
    make_action,
    make_conversation,
    make_message,
    make_participant,
    make_step,
    read_snapshot,
    write_session,
)
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from agentstepper_nb.store.runtime.postgres.database import (
    _MIGRATION_LOCK,
    CHANGING_TABLES,
    VERSION,
)
from tests.helpers.postgres_server import PostgresServer

#: How far the numbers of changes are ahead where a database was restored.
AHEAD = 1_000_000 << 14


@asynccontextmanager
async def opened(location: str) -> AsyncIterator[PostgresRuntimeStore]:
    store = PostgresRuntimeStore(location)
    try:
        yield store
    finally:
        await store.close()


# ---- who makes the tables -----------------------------------------------------------------------------


@pytest.mark.slow
async def test_cores_that_start_at_once_make_the_tables_once(
    postgres_server: PostgresServer,
) -> None:
    location = postgres_server.create_database()
    stores = [PostgresRuntimeStore(location) for _ in range(6)]
    try:
        found = await asyncio.gather(*(store.info() for store in stores))
    finally:
        for store in stores:
            await store.close()
    assert {each.kind for each in found} == {"postgresql"}
    versions = postgres_server.execute("SELECT * FROM agentstepper.meta", location=location)
    assert versions == [("version", VERSION)]


async def test_what_a_newer_program_wrote_is_refused(postgres_server: PostgresServer) -> None:
    location = postgres_server.create_database()
    async with opened(location) as store:
        await create_session(store)
    newer = f"UPDATE agentstepper.meta SET value = {VERSION + 1}"
    postgres_server.execute(newer, location=location)
    async with opened(location) as store:
        with pytest.raises(NewerStoreError, match=r"is of version \d+, and this one reads"):
            await store.info()


async def test_tables_of_the_first_version_open(
    postgres_server: PostgresServer,
) -> None:
    location = postgres_server.create_database()
    async with opened(location) as store:
        await create_session(store)
    for statement in (
        "ALTER TABLE agentstepper.agent_state DROP COLUMN is_pausing",
        "DROP TABLE agentstepper.last_writes",
        "UPDATE agentstepper.meta SET value = 1",
    ):
        postgres_server.execute(statement, location=location)
    async with opened(location) as store:
        assert not (await read_snapshot(store)).is_pausing


async def test_other_tables_of_the_database_are_left_alone(
    postgres_server: PostgresServer,
) -> None:
    location = postgres_server.create_database()
    postgres_server.execute("CREATE TABLE actions (n int)", location=location)
    postgres_server.execute("INSERT INTO actions VALUES (1)", location=location)
    async with opened(location) as store:
        await create_session(store)
    assert postgres_server.execute("SELECT n FROM actions", location=location) == [(1,)]


# ---- what is refused ----------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_is_told_with_its_place() -> None:
    async with opened("postgresql://ada:secret@127.0.0.1:1/agents") as store:
        with pytest.raises(StoreError) as refused:
            await store.info()
    said = str(refused.value)
    assert said.startswith("Background agents can't be stored in postgresql://127.0.0.1:1/agents: ")
    assert "Check that PostgreSQL runs there" in said
    assert "secret" not in said


async def test_a_database_that_is_not_there(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.location("nowhere")) as store:
        with pytest.raises(StoreError, match='database "nowhere" does not exist'):
            await store.info()


def test_a_location_that_cannot_be_read() -> None:
    with pytest.raises(StoreError, match=r"Write it as postgresql://USER@HOST:PORT/DATABASE\."):
        PostgresRuntimeStore("postgresql://host:no-port/?nonsense=1")


async def test_a_database_that_cannot_hold_all_texts(postgres_server: PostgresServer) -> None:
    postgres_server.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    async with opened(postgres_server.location("latin")) as store:
        with pytest.raises(StoreError, match="stores texts as LATIN1"):
            await store.info()


async def test_a_user_who_may_not_write(postgres_server: PostgresServer) -> None:
    location = postgres_server.create_database()
    postgres_server.execute("CREATE ROLE stranger LOGIN")
    async with opened(location.replace("tests@", "stranger@")) as store:
        with pytest.raises(StoreError, match="permission denied for database"):
            await store.info()


async def test_what_is_closed_is_asked_nothing(postgres_server: PostgresServer) -> None:
    store = PostgresRuntimeStore(postgres_server.create_database())
    await create_session(store)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="is closed: open it again"):
        await store.info()
    threads = [thread.name for thread in threading.enumerate()]
    assert not [name for name in threads if name.startswith("agentstepper-postgres")]


async def test_relaxed_answers_before_the_sync(postgres_server: PostgresServer) -> None:
    location = postgres_server.create_database()
    for durability, setting in ((Durability.RELAXED, "off"), (Durability.DURABLE, "on")):
        store = PostgresRuntimeStore(location, durability)
        with closing(store._database.connect()) as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == (setting,)
        await store.close()


# ---- changes ------------------------------------------------------------------------------------------


async def read_changes(store: PostgresRuntimeStore, after: int, limit: int = 1000) -> ChangedRows:
    return await store.changes(ChangeQuery(after=after, limit=limit))


async def test_changes_are_rows_as_they_stand_now(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.create_database()) as store:
        conversation = await store.save_conversation(make_conversation())
        participant = await store.join(make_participant("p"))
        await begin_session(store)
        first = await read_changes(store, 0)
        state = replace(await read_snapshot(store), owner=None, lease_until=None)
        assert first.states == (state,)
        assert [action.status for action in first.actions] == ["done"]
        assert (first.conversations, first.participants) == ((conversation,), (participant,))
        assert await read_changes(store, first.last) == ChangedRows(last=first.last)
        await write_session(store, steps=(make_step(),), messages=(make_message("m"),))
        await enqueue_actions(store, make_action("a"))
        second = await read_changes(store, first.last)
        assert second.last > first.last
        assert (second.steps, second.messages) == ((make_step(),), (make_message("m"),))
        assert [action.id for action in second.actions] == ["a"]
        assert second.states == ()


async def test_changes_come_in_parts(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.create_database()) as store:
        await begin_session(store)
        for number in range(7):
            await write_session(store, steps=(make_step(iteration=number),))
        # Of one transaction.
        await enqueue_actions(store, *(make_action(f"{n}") for n in range(9)))
        last, sizes, ids = 0, [], set()
        while (found := await read_changes(store, last, limit=3)).last > last:
            rows = [*found.states, *found.steps, *found.actions]
            sizes.append(len(rows))
            ids |= {getattr(row, "id", "state") for row in rows}
            last = found.last
        assert sizes == [3, 3, 3, 3, 3, 3]
        assert ids == {"state", "create s", *(f"s/{n}" for n in range(7)), *map(str, range(9))}


async def test_a_change_that_is_committed_late_is_not_missed(
    postgres_server: PostgresServer,
) -> None:
    location = postgres_server.create_database()
    async with opened(location) as store:
        await begin_session(store)
        await create_session(store, "other")
        before = (await read_changes(store, 0)).last
        with psycopg.connect(location) as slow:
            slow.execute("UPDATE agentstepper.agent_state SET run_id = 'r' WHERE session_id = 's'")
            await write_early(store)
            while_open = await read_changes(store, before)
            assert while_open.actions == () and while_open.states == ()
            slow.commit()
        found = await read_changes(store, while_open.last)
        assert [action.id for action in found.actions] == ["a"]
        assert [state.run_id for state in found.states] == ["r"]


async def write_early(store: PostgresRuntimeStore) -> None:
    """Commit something of another session, with a greater number."""
    await enqueue_actions(store, make_action("a", "other"))


async def test_a_reader_beside_writers_misses_nothing(postgres_server: PostgresServer) -> None:
    async with opened(postgres_server.create_database()) as store:
        await store.save_conversation(make_conversation())
        writing = asyncio.gather(
            *(store.post(PostMessage(message=make_message(f"m{number}"))) for number in range(40)),
            *(create_session(store, f"s{number}") for number in range(20)),
        )
        seen: set[str] = set()
        last = 0
        while len(seen) < 60:
            found = await read_changes(store, last, limit=5)
            assert found.last >= last
            last = found.last
            seen |= {message.message_id for message in found.messages}
            seen |= {state.session_id for state in found.states}
        await writing
        assert len(seen) == 60


async def restore_database(postgres_server: PostgresServer) -> str:
    """A database with a session, as on a server that had counted further before the rows were dumped."""
    location = postgres_server.create_database()
    async with opened(location) as store:
        await begin_session(store)
    with psycopg.connect(location) as elsewhere:
        elsewhere.execute("SET session_replication_role TO replica")
        for table in CHANGING_TABLES:
            elsewhere.execute(
                f"UPDATE agentstepper.{table} SET changed = changed + {AHEAD}".encode()
            )
    return location


async def test_numbers_go_on_in_a_restored_database(postgres_server: PostgresServer) -> None:
    location = await restore_database(postgres_server)
    async with opened(location) as store:
        first = await read_changes(store, 0)
        assert [state.session_id for state in first.states] == ["s"]
        assert first.last > AHEAD
        await write_session(store, steps=(make_step(),))
        assert (await read_changes(store, first.last)).steps == (make_step(),)
    async with opened(location) as store:
        assert (await read_changes(store, first.last)).steps == (make_step(),)


async def test_a_restored_database_is_renumbered_though_the_first_try_failed(
    postgres_server: PostgresServer,
) -> None:
    location = await restore_database(postgres_server)
    rename = "ALTER FUNCTION agentstepper.{}() RENAME TO {}"
    postgres_server.execute(rename.format("change_number", "gone"), location=location)
    async with opened(location) as store:
        with pytest.raises(StoreError, match=r"change_number.* does not exist"):
            await store.info()
        postgres_server.execute(rename.format("gone", "change_number"), location=location)
        await write_session(store, steps=(make_step(),))
        assert (await read_changes(store, AHEAD)).steps == (make_step(),)


async def test_all_calls_wait_until_a_restored_database_is_renumbered(
    postgres_server: PostgresServer,
) -> None:
    location = await restore_database(postgres_server)
    async with opened(location) as store:
        with psycopg.connect(location, autocommit=True) as other:
            other.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
            first = asyncio.create_task(store.info())
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            while postgres_server.execute(waiting) == [(0,)]:
                await asyncio.sleep(0.01)
            write = asyncio.create_task(write_session(store, steps=(make_step(),)))
            await asyncio.wait({write}, timeout=0.2)
        await asyncio.gather(first, write)
        assert (await read_changes(store, AHEAD)).steps == (make_step(),)
