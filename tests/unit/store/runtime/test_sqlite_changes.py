"""The table of changes: as long as the tables whose rows it numbers, and no longer."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentstepper_nb.protocol.runtime_store_messages import ChangedRows, ChangeQuery
from agentstepper_nb.store.runtime.conformance.base_suite import (
    begin_session,
    create_session,
    make_step,
    write_session,
)
from agentstepper_nb.store.runtime.conformance.change_suite import list_keys, write_all_kinds
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore, open_runtime_store
from agentstepper_nb.store.runtime.sqlite.queries import CHANGED_TABLES
from tests.goldens.test_store import GOLDENS


async def execute(store: SqliteRuntimeStore, sql: str, *values: Any) -> list[Any]:
    def work(connection: sqlite3.Connection) -> list[Any]:
        return connection.execute(sql, values).fetchall()

    return await store._writer.call(work)


async def count_rows(store: SqliteRuntimeStore) -> tuple[int, int]:
    """How many changes there are, and how many rows."""
    ((changes,),) = await execute(store, "SELECT count(*) FROM changes")
    rows = 0
    for table in CHANGED_TABLES.values():
        ((found,),) = await execute(store, f"SELECT count(*) FROM {table.name}")
        rows += found
    return changes, rows


async def test_a_row_has_one_change_however_often_it_changed() -> None:
    store = SqliteRuntimeStore(None)
    await write_all_kinds(store)
    state = await begin_session(store, "again")
    for iteration in range(20):
        await write_session(store, "again", state=replace(state, iteration=iteration))
    changes, rows = await count_rows(store)
    assert changes == rows > 7
    await store.close()


async def test_a_row_that_is_deleted_has_none_and_its_number_is_not_given_again() -> None:
    store = SqliteRuntimeStore(None)
    await write_all_kinds(store)
    await write_session(store, steps=(make_step(iteration=1),))
    last = (await store.changes(ChangeQuery())).last
    for table in CHANGED_TABLES.values():
        await execute(store, f"DELETE FROM {table.name}")
    assert await count_rows(store) == (0, 0)
    assert await store.changes(ChangeQuery()) == ChangedRows(last=last)
    await create_session(store, "next")
    assert list_keys(await store.changes(ChangeQuery(after=last))) == {
        "states": ["next"],
        "actions": ["create next"],
    }
    await store.close()


async def test_a_row_that_is_hurt_is_left_out() -> None:
    store = SqliteRuntimeStore(None)
    await create_session(store, "one")
    await create_session(store, "two")
    await execute(store, "UPDATE agent_state SET status = 'dancing' WHERE session_id = 'one'")
    assert list_keys(await store.changes(ChangeQuery()))["states"] == ["two"]
    await store.close()


async def test_rows_of_before_are_changes_as_well(tmp_path: Path) -> None:
    shutil.copytree(GOLDENS / "store", tmp_path / "data")
    store = open_runtime_store(tmp_path / "data")
    changes, rows = await count_rows(store)
    assert changes == rows > 5
    changed = await store.changes(ChangeQuery(limit=1000))
    assert list_keys(changed).keys() == CHANGED_TABLES.keys()
    await store.close()
