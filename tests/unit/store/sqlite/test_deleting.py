"""What is deleted leaves nothing, and what is to go is chosen."""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.data_model import Event, EventKind, Run, RunState
from agentstepper_nb.protocol.records import (
    ImportedRunSaved,
    Record,
    RunHistory,
    RunStarted,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import SqliteStore, open_store
from agentstepper_nb.store.sqlite.database import STORE_FILE
from agentstepper_nb.store.sqlite.transaction_counters import TransactionCounters
from agentstepper_nb.store.sqlite.writer import WriterLimits
from tests.helpers.growing_agent import append_growing_run, folder_size_bytes
from tests.helpers.store_tables import open_store_tables
from tests.unit.store.sqlite.run_records import append_records, make_full_run


async def test_of_a_deleted_run_no_byte_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied = threading.Event()
    monkeypatch.setattr(TransactionCounters, "clear", _then(TransactionCounters.clear, emptied.set))
    store = SqliteStore(tmp_path, limits=WriterLimits(idle_s=0.05))
    stage = make_full_run(text="Xyzzyverysecret")
    stage.finish()
    other = make_full_run("other", "plain")
    await append_records(store, [*stage.records, *other.records])
    # What is compressed would be left without its words being found.
    packed = [row[0] for row in store._index_reader._connection.execute("SELECT bytes FROM blobs")]
    secret = [data for data in packed if b"secret" in zlib.decompress(data).lower()]
    assert len(secret) == 3
    await journal_emptied(tmp_path, emptied)
    assert "store.sqlite" in files_with(tmp_path, secret[0])
    assert "store.sqlite" in files_with(tmp_path, b"Xyzzy")
    size = (tmp_path / STORE_FILE).stat().st_size

    before = len(stage.records)
    stage.delete()
    await append_records(store, stage.records[before:])
    await journal_emptied(tmp_path, emptied)
    left = {name for data in [*secret, b"Xyzzy"] for name in files_with(tmp_path, data)}
    assert {name for name in left if name.startswith("store")} == set()
    assert (tmp_path / STORE_FILE).stat().st_size <= size
    assert await store.search("Xyzzyverysecret") == []
    store.close()
    assert [files_with(tmp_path, data) for data in [*secret, b"Xyzzy", b"xyzzy"]] == [[]] * 5
    with open_store_tables(tmp_path) as kept:
        assert kept.reader.history("other").notes[0].text == "plain"
        assert list(kept.connection.execute("SELECT run FROM blobs WHERE run = 1")) == []


async def journal_emptied(folder: Path, emptied: threading.Event) -> None:
    emptied.clear()
    if (folder / f"{STORE_FILE}-wal").stat().st_size:
        assert await asyncio.to_thread(emptied.wait, 60)


def test_deleting_gives_room_back(tmp_path: Path) -> None:
    with open_store_tables(tmp_path) as kept:
        kept.journal.checkpoint()
        empty = kept.path.stat().st_size
        stage = make_full_run()
        for number in range(30):
            stage.post_debug_message(f'"{number} {os.urandom(20_000).hex()}"')
        stage.finish()
        kept.write(stage.records)
        assert kept.journal.checkpoint()
        assert kept.path.stat().st_size > empty + 600_000
        stage.delete()
        kept.write(stage.records[-1:])
        assert kept.journal.checkpoint()
        assert kept.path.stat().st_size == empty


@pytest.mark.slow
def test_what_is_asked_again_and_again_is_kept_once(tmp_path: Path) -> None:
    store = open_store(tmp_path, Durability.RELAXED)
    new = asyncio.run(append_growing_run(store, 60))
    store.close()
    # Search has a file of its own. What is in every store counts as well: some 100 KB.
    assert folder_size_bytes(tmp_path, "store.sqlite*") < 2 * new


def files_with(folder: Path, data: bytes) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if data in _bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a journal, which the search index has just deleted
        return b""


def size_of_runs_bytes(folder: Path) -> int:
    files = (folder / f"{name}.sqlite{end}" for name in ("store", "search") for end in ("", "-wal"))
    return sum(len(_bytes(path)) for path in files)


async def test_what_is_to_go(tmp_path: Path, store: SqliteStore) -> None:
    def ended(name: str, at: float, **fields: object) -> Record:
        run = Run(id=name, name=name, program="P", started_at=at, state=RunState.IDLE)
        event = Event(
            id="e", run=name, kind=EventKind.DEBUG_MESSAGE, at=0, ended_at=0, data="x" * 99
        )
        header = replace(run, ended_at=at, **fields)
        return ImportedRunSaved(history=RunHistory(run=header, events=(event,)))

    live = RunStarted(run=Run(id="live", name="live", program="P", started_at=1))
    runs = [ended("c", 30), ended("a", 10), ended("kept", 5, tags=("keep",)), ended("b", 20), live]
    await append_records(store, runs)
    assert await store.find_expired(None, None) == []
    assert await store.find_expired(25, None) == ["a", "b"]
    assert await store.find_expired(None, 0) == ["a", "b", "c"]
    size = size_of_runs_bytes(tmp_path)
    assert await store.find_expired(None, size + 1_000_000) == []
    assert await store.find_expired(None, size - 50) == ["a"]
    for name in ("store.sqlite.salvaged-1", "store.sqlite.before-2", "runtime.sqlite", "film.mp4"):
        (tmp_path / name).write_bytes(bytes(2_000_000))
    assert await store.find_expired(None, size + 1_000_000) == []  # none of these is a run's
    assert ((await store.info()).size or 0) > 8_000_000


async def test_no_more_goes_than_there_is_too_much_of(tmp_path: Path, store: SqliteStore) -> None:
    runs = [Run(id=f"{at:03}", name="N", program="P", started_at=at) for at in range(300)]
    ended = [replace(run, state=RunState.IDLE, ended_at=run.started_at + 1) for run in runs]
    await append_records(store, [ImportedRunSaved(history=RunHistory(run=run)) for run in ended])
    size = size_of_runs_bytes(tmp_path)
    gone = await store.find_expired(None, size * 2 // 3)
    assert gone == [run.id for run in runs[: len(gone)]]
    assert 90 <= len(gone) <= 110  # a third of them, though most of it is in indexes and page ends


def _then(
    method: Callable[[TransactionCounters], None], call: Callable[[], None]
) -> Callable[[TransactionCounters], None]:
    def both(self: TransactionCounters) -> None:
        method(self)
        call()

    return both
