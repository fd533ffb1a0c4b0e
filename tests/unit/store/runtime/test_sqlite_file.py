"""The runtime's file: how it opens, what hurts it, and what a kill leaves."""

from __future__ import annotations

import asyncio
import logging
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import NewerStoreError, StoreError
from agentstepper_nb.protocol.runtime import ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    AdoptSessions,
    EnqueueActions,
    PruneRows,
    StateQuery,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store.runtime.conformance.base_suite import (
    LEASE_S,
    START_TIME,
    begin_session,
    claim_action_id,
    create_session,
    enqueue_actions,
    make_action,
    make_completion,
    make_step,
    read_action_ids,
    read_snapshot,
    write_session,
)
from agentstepper_nb.store.runtime.sqlite import (
    SqliteRuntimeStore,
    open_runtime_store,
    runtime_file,
)
from agentstepper_nb.store.sqlite import database, migrations

ROOT = Path(__file__).parents[4]
LOGGER = "agentstepper_nb.store.runtime"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / runtime_file.RUNTIME_FILE


async def fill(path: Path) -> None:
    """A session and some actions, in the file itself."""
    store = open_runtime_store(path.parent)
    await begin_session(store)
    await enqueue_actions(store, *(make_action(f"{n}", payload="x" * 500) for n in range(50)))
    await store.close()


def aside(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.glob("*.damaged-*"))


# ---- opening --------------------------------------------------------------------------------------


async def test_a_new_one_is_its_owner_s_alone_and_synced_whole(path: Path) -> None:
    await fill(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]  # its journal is emptied
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


async def test_it_opens_beside_the_runs(tmp_path: Path) -> None:
    from agentstepper_nb.store import open_store

    runs = open_store(tmp_path)
    agents = open_runtime_store(tmp_path)
    await create_session(agents)
    assert (await runs.info()).trouble is None
    await agents.close()
    runs.close()


async def test_others_rights_are_taken_away(path: Path) -> None:
    await fill(path)
    path.chmod(0o644)
    await open_runtime_store(path.parent).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_that_cannot_be_used(path: Path) -> None:
    path.parent.write_text("in the way")
    with pytest.raises(
        StoreError, match=r"can't be stored in .*runtime\.sqlite: .*Free disk space"
    ):
        open_runtime_store(path.parent)


@pytest.mark.parametrize("durability", Durability)
async def test_a_closed_one_says_so_and_has_all(path: Path, durability: Durability) -> None:
    store = open_runtime_store(path.parent, durability)
    asks = [asyncio.ensure_future(create_session(store, f"{n}")) for n in range(3)]
    await asyncio.gather(*asks)
    await store.close()
    await store.close()
    for call in (create_session(store, "late"), store.info()):
        with pytest.raises(StoreError, match="is closed: open it again"):
            await call
    again = open_runtime_store(path.parent)
    assert len(await read_action_ids(again)) == 3
    await again.close()


@pytest.mark.parametrize("durability", Durability)
async def test_all_is_synced_soon_whoever_goes_on_writing(
    path: Path, durability: Durability
) -> None:
    store = SqliteRuntimeStore(path, durability, idle_s=0.01)
    await begin_session(store)
    number = 0
    while number == 0 or not store._writer._journal.is_synced:
        await enqueue_actions(store, make_action(f"{number}"))
        number += 1
        await store.info()
    await store.close()


# ---- versions -------------------------------------------------------------------------------------


async def test_a_newer_one_is_refused_by_name(path: Path) -> None:
    await fill(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE later (x)")
        migrations.write_version(connection, runtime_file.VERSION + 1, runtime_file.APPLICATION_ID)
    before = path.read_bytes()
    with pytest.raises(NewerStoreError) as refused:
        open_runtime_store(path.parent)
    assert str(refused.value).startswith(f"{path} was written by a newer agentstepper_nb")
    assert f"reads versions up to {runtime_file.VERSION}." in str(refused.value)
    assert path.read_bytes() == before
    assert aside(path) == []


async def test_a_store_from_before_sessions_were_pausing_opens(path: Path) -> None:
    await fill(path)
    with closing(database.connect(path, "rw")) as connection:
        connection.execute("ALTER TABLE agent_state DROP COLUMN is_pausing")
        migrations.write_version(connection, 7, runtime_file.APPLICATION_ID)
    store = open_runtime_store(path.parent)
    state = await read_snapshot(store)
    assert (state.session_id, state.is_pausing) == ("s", False)
    await store.close()
    assert aside(path) == []


@pytest.fixture
def next_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make this program one version newer, by a migration."""

    def migrates(statement: str) -> None:
        folder = tmp_path / "migrations"
        shutil.copytree(runtime_file._FOLDER, folder)
        (folder / f"{runtime_file.VERSION + 1:04}.sql").write_text(statement)
        monkeypatch.setattr(runtime_file, "_FOLDER", folder)
        monkeypatch.setattr(runtime_file, "VERSION", runtime_file.VERSION + 1)

    return migrates


async def test_an_older_one_is_migrated_and_a_copy_is_left(
    path: Path, next_version: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    await fill(path)
    older = runtime_file.VERSION
    next_version("ALTER TABLE actions ADD COLUMN colour TEXT;\n")
    with caplog.at_level(logging.WARNING, LOGGER):
        store = open_runtime_store(path.parent)
    assert len(await read_action_ids(store)) == 51
    await store.close()
    (copy,) = migrations.list_migration_copies(path)
    assert copy.name == f"runtime.sqlite.before-{older + 1}"
    assert f"from version {older} to {older + 1}; a copy is {copy}" in caplog.text
    with closing(database.connect(copy, "ro")) as connection:
        assert migrations.read_version(connection, runtime_file.APPLICATION_ID) == older
        assert connection.execute("SELECT count(*) FROM actions").fetchone() == (51,)


async def test_a_migration_happens_whole_or_not_at_all(
    path: Path, next_version: Callable[[str], None]
) -> None:
    await fill(path)
    older = runtime_file.VERSION
    next_version("CREATE TABLE more (x);\nINSERT INTO nowhere VALUES (1);\n")
    with pytest.raises(StoreError, match="no such table: nowhere"):
        open_runtime_store(path.parent)
    with closing(database.connect(path, "ro")) as connection:
        assert migrations.read_version(connection, runtime_file.APPLICATION_ID) == older


# ---- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:50],
        lambda data: data[: len(data) // 2],
        lambda data: b"not a database at all" * 1000,
        lambda data: data.replace(b"payload TEXT", b"payloaf TEXT"),
    ],
    ids=["empty", "cut early", "cut", "other", "a column's name"],
)
async def test_what_cannot_be_read_is_put_aside_and_a_new_one_begins(
    path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    await fill(path)
    hurt = damage(path.read_bytes())
    path.write_bytes(hurt)
    path.with_name("marks").write_bytes(b"of the runs")
    with caplog.at_level(logging.ERROR, LOGGER):
        store = open_runtime_store(path.parent)
    assert await read_action_ids(store) == []
    await begin_session(store)
    await store.close()
    (name,) = aside(path)
    assert (path.parent / name).read_bytes() == hurt
    assert path.with_name("marks").read_bytes() == b"of the runs"
    assert f"It is saved as {name}, and a new file begins" in caplog.text


async def test_a_page_that_is_hurt_is_told_where_it_is_read(path: Path) -> None:
    await fill(path)
    data = path.read_bytes()
    with closing(sqlite3.connect(path)) as connection:
        ((page,),) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'agent_state'"
        )
        ((size,),) = connection.execute("PRAGMA page_size")
    at = (page - 1) * size
    path.write_bytes(data[:at] + b"\xff" * size + data[at + size :])
    store = open_runtime_store(path.parent)
    for call in (store.states(StateQuery()), create_session(store, "more")):
        with pytest.raises(
            StoreError, match=r"is damaged: .*move the file away, so that a new file begins"
        ):
            await call
    assert len(await read_action_ids(store)) == 51  # the rest is read
    await store.close()


async def test_a_row_that_is_hurt_is_named(path: Path) -> None:
    await fill(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE agent_state SET status = 'dancing'")
    store = open_runtime_store(path.parent)
    with pytest.raises(StoreError, match=r"A row of agent_state \(agent\) is damaged: .*dancing"):
        await read_snapshot(store)
    await store.close()


async def test_a_row_that_is_hurt_is_in_nobody_s_way(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_runtime_store(path.parent)
    for session in ("hurt", "whole"):
        await begin_session(store, session)
    for session in ("odd", "hurt", "whole"):
        if session == "odd":
            await create_session(store, session)
        await enqueue_actions(store, make_action(f"to {session}", session))
    await store.close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE actions SET kind = 'dance' WHERE id = 'create odd'")
        connection.execute("UPDATE agent_state SET limits = '7' WHERE session_id = 'hurt'")
    store = open_runtime_store(path.parent)
    assert await claim_action_id(store, "two", 2 * LEASE_S) == "to odd"
    assert (
        await claim_action_id(store, "two", 2 * LEASE_S, running_action_ids=("to odd",))
        == "to whole"
    )
    assert (
        await claim_action_id(store, "two", 2 * LEASE_S, running_action_ids=("to odd", "to whole"))
        is None
    )
    failed = await store.actions(ActionQuery(id="to hurt"))
    assert failed.actions[0].status is ActionStatus.FAILED
    assert "A row of agent_state (agent) is damaged" in (failed.actions[0].error or "")
    now = START_TIME + 9 * LEASE_S
    ask = AdoptSessions(owner="three", now=now, lease_until=now + LEASE_S)
    assert [each.session_id for each in (await store.adopt(ask)).states] == ["whole"]
    assert "create odd ends as well" in caplog.text
    assert "The session ends" in caplog.text
    await store.close()


# ---- a full disk ----------------------------------------------------------------------------------


async def limit(store: SqliteRuntimeStore, more: int) -> None:
    """Let the file have so many pages more."""

    def set_limit(connection: sqlite3.Connection) -> None:
        ((pages,),) = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {pages + more}").fetchall()

    await store._writer.call(set_limit)


async def test_a_full_disk_refuses_what_has_no_room_and_goes_on(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_runtime_store(path.parent)
    await begin_session(store)
    await limit(store, 3)
    large = EnqueueActions(actions=(make_action("large", payload="x" * 200_000),))
    small = [EnqueueActions(actions=(make_action(f"{n}"),)) for n in range(4)]
    asks = [*small[:2], large, *small[2:]]
    answers = await asyncio.gather(*map(store.enqueue, asks), return_exceptions=True)
    assert [isinstance(each, StoreError) for each in answers] == [False, False, True, False, False]
    assert "can't be stored in" in str(answers[2])
    assert "Free disk space" in str(answers[2])
    assert await read_action_ids(store) == ["create s", "0", "1", "2", "3"]
    await limit(store, 1000)
    await store.enqueue(large)
    assert await claim_action_id(store) == "0"
    await store.close()


# ---- kills ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_told(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_runtime_store", str(tmp_path), "3", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 10


# ---- retention -------------------------------------------------------------------------------------


async def test_no_byte_of_what_was_deleted_is_left(path: Path) -> None:
    secret = "the tea is poisoned "
    store = open_runtime_store(path.parent)
    for id in ("gone", "kept"):
        state = await begin_session(store, id, config={"topic": secret * 500 + id})
        await enqueue_actions(store, make_action(f"hear {id}", id, payload={"text": secret + id}))
        assert await claim_action_id(store) == f"hear {id}"
        # The snapshot is written over: what stood there before isn't left, either.
        for text in (secret * 3000, secret * 10, "short"):
            state = replace(state, state={"text": text + id})
            await write_session(store, id, state=state, steps=())
        if id == "gone":
            state = replace(state, status=SessionStatus.DONE, owner=None, lease_until=None)
        done = make_completion(f"hear {id}")
        steps = tuple(make_step(id, n, text=f"{secret}{id} {n}") for n in range(40))
        await write_session(store, id, state=state, steps=steps, finished=(done,))
    copy = path.with_name(f"{path.name}.before-9")
    copy.write_bytes(f"{secret}gone".encode())
    pruned = await store.prune(PruneRows(before=START_TIME + 1e6, limit=7))
    while pruned.has_more:
        pruned = await store.prune(PruneRows(before=START_TIME + 1e6, limit=7))
    await store.close()
    kept = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert f"{secret}kept".encode() in kept
    assert f"{secret}gone".encode() not in kept
    assert not copy.exists()
