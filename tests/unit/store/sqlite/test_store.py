"""The store on disk, beyond what every store promises (tests/unit/store/test_conformance.py)."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from agentstepper_nb.core import Debugger
from agentstepper_nb.errors import StoreError, StoreLockedError
from agentstepper_nb.protocol.data_model import Event, EventKind
from agentstepper_nb.protocol.records import (
    EventSaved,
    ImportedRunSaved,
    RunHistory,
)
from agentstepper_nb.protocol.store_info import Durability, StoreInfo
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import SqliteStore, open_store
from agentstepper_nb.store.sqlite import store as sqlite_store
from agentstepper_nb.store.sqlite.database import STORE_FILE, open_writer
from agentstepper_nb.store.sqlite.transaction_counters import TransactionCounters, read_losses
from agentstepper_nb.store.sqlite.writer import AppendRequest, WriterLimits
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.store_tables import open_store_tables
from tests.unit.store.sqlite.run_records import append_records, make_full_run

ROOT = Path(__file__).parents[4]


# ---- starting ---------------------------------------------------------------------------------------


def test_a_folder_has_one_owner(tmp_path: Path, store: SqliteStore) -> None:
    with pytest.raises(StoreLockedError, match="agentstepper"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()


async def test_files_of_version_1_are_taken_in_once_and_go_with_their_run(tmp_path: Path) -> None:
    recorded = ROOT / "tests" / "wire" / "recorded.run"
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "old.run").write_bytes(recorded.read_bytes())
    history = runfile.load_run(recorded.read_bytes())
    store = open_store(tmp_path)
    assert list(store.load()) == [ImportedRunSaved(history=history)]
    assert await store.history(history.run.id) == history
    store.close()

    store = open_store(tmp_path)
    debugger = Debugger()
    debugger.restore(store.load())
    assert debugger.runs == [history.run]
    harness = DebuggerHarness()
    harness.debugger = debugger
    harness.delete(history.run.id)
    await append_records(store, harness.records)
    store.close()
    assert list(logs.iterdir()) == []


@pytest.mark.parametrize("ended", [True, False])
def test_what_the_journal_lost_is_told_and_stays_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ended: bool
) -> None:
    harness = make_full_run()
    if ended:
        harness.finish()
    with open_store_tables(tmp_path) as kept:
        kept.write(harness.records)
        kept.write(make_full_run("other").records)
    marks = TransactionCounters(tmp_path / "marks")
    marks.set("run", 3)
    marks.set("other", 1)
    marks.close()
    open_store(tmp_path).close()
    assert "2 changes" in caplog.text
    store = open_store(tmp_path)
    debugger = Debugger()
    debugger.restore(store.load())
    assert ("2 changes" in str(debugger.run("run").failure)) is not ended
    assert list(read_losses(store._index_reader._connection)) == ["run"]
    assert debugger.run("other").failure is None
    store.close()


def test_where_what_the_journal_lost_cannot_be_written_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store_tables(tmp_path) as kept:
        kept.write(make_full_run().records)
    with closing(TransactionCounters(tmp_path / "marks")) as marks:
        marks.set("run", 3)

    def open_protected(path: Path) -> sqlite3.Connection:
        connection = open_writer(path)
        connection.execute("PRAGMA query_only = ON")
        return connection

    monkeypatch.setattr(sqlite_store, "open_writer", open_protected)
    advice = (
        r"a readonly database\. Make the folder and its files writable, or choose another folder"
    )
    with pytest.raises(StoreError, match=advice):
        open_store(tmp_path)


def test_a_list_of_runs_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    with open_store_tables(tmp_path) as kept:
        kept.write(make_full_run().records)
        ((root,),) = kept.connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'runs'"
        )
        kept.journal.checkpoint()
    path = tmp_path / STORE_FILE
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(StoreError, match="--repair"):
        open_store(tmp_path)


# ---- keeping ----------------------------------------------------------------------------------------


async def test_an_append_is_kept_whole_or_not_at_all(store: SqliteStore) -> None:
    harness = make_full_run()
    await append_records(store, harness.records)
    before = await store.history("run")
    edit = next(record for record in harness.records if "Edited" in type(record).__name__)
    answered = asyncio.Event()
    store.append([edit, *harness.records[:1]], answered.set)  # a run that is there already
    await answered.wait()
    assert await store.history("run") == before
    assert "could not be written" in ((await store.info()).trouble or "")


async def test_a_released_breakpoint_waits_for_nobody_where_that_is_chosen(tmp_path: Path) -> None:
    store = open_store(tmp_path, Durability.RELAXED)
    done: list[str] = []
    store.append(make_full_run().records, lambda: done.append("one"), durable=True)
    assert done == ["one"]
    assert (await store.history("run")).run.id == "run"  # which reads what was appended before
    store.close()


async def test_trouble_is_told_on_the_loop(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, limits=WriterLimits(retry_s=0.001))
    await append_records(store, make_full_run().records)
    connection = store._writer._journal._connection
    ((pages,),) = connection.execute("PRAGMA page_count")
    connection.execute(f"PRAGMA max_page_count = {pages}")
    troubles: list[StoreInfo] = []
    over = asyncio.Event()

    def trouble(info: StoreInfo) -> None:
        assert asyncio.get_running_loop()
        troubles.append(info)
        if info.trouble is None:
            over.set()

    store.on_write_trouble = trouble
    done: list[str] = []
    text = os.urandom(50_000).hex()
    event = Event(id="e", run="run", kind=EventKind.DEBUG_MESSAGE, at=0, ended_at=0, data=text)
    store.append([EventSaved(event=event)], lambda: done.append("kept"))
    history = await store.history("run")  # who reads is let go on, and reads what is kept
    assert "e" not in [each.id for each in history.events]
    assert troubles[0].trouble is not None
    assert "full" in troubles[0].trouble
    assert done == []
    connection.execute("PRAGMA max_page_count = 1000000")
    await over.wait()
    assert [each.trouble is None for each in troubles] == [False, True]  # not with each try again
    assert (await store.history("run")).events[-1] == event
    assert done == ["kept"]
    store.close()


async def test_what_comes_after_the_end_is_not_lost_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    store.close()
    store.append(make_full_run().records)
    assert "came after the end of the store" in caplog.text


CLOSED = "is closed: open it again"


async def test_what_is_closed_is_asked_nothing(store: SqliteStore) -> None:
    await append_records(store, make_full_run().records)
    store.close()
    for read in (store.history("run"), store.search("hello"), store.find_expired(None, 0)):
        with pytest.raises(StoreError, match=CLOSED):
            await asyncio.wait_for(read, 30)
    called: list[str] = []
    store.call_when_recorded(lambda: called.append("back"))
    assert called == ["back"]


async def test_who_reads_while_it_is_closed_is_refused(store: SqliteStore) -> None:
    await append_records(store, make_full_run().records)
    reading = asyncio.create_task(store.history("run"))
    await asyncio.sleep(0)  # now its request is queued
    store.close()
    with pytest.raises(StoreError, match=CLOSED):
        await reading


async def test_a_request_comes_before_the_end_or_is_refused(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = threading.Thread(target=store.close)
    put = store._writer.put

    def put_while_closing(request: AppendRequest) -> None:
        closing.start()
        closing.join(0.1)
        put(request)

    monkeypatch.setattr(store._writer, "put", put_while_closing)
    called = asyncio.Event()
    store.call_when_recorded(called.set)
    await asyncio.wait_for(called.wait(), 30)
    closing.join()


async def test_a_callback_that_fails_does_not_stop_the_others(store: SqliteStore) -> None:
    failed: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
    done = asyncio.Event()

    def fail() -> None:
        raise ValueError("wrong")

    store.append(make_full_run().records, fail)
    store.append([], done.set)
    await done.wait()
    assert [type(context["exception"]) for context in failed] == [ValueError]


@pytest.mark.slow
def test_a_kill_loses_nothing_that_was_told(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_store", str(tmp_path), "10", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 10


async def test_reading_goes_on_while_it_is_written(store: SqliteStore) -> None:
    harness = make_full_run()
    await append_records(store, harness.records)
    seen = []
    for number in range(30):
        event = Event(id=f"n{number}", run="run", kind=EventKind.DEBUG_MESSAGE, at=0, ended_at=0)
        store.append([EventSaved(event=event)])
        reads = [store.history("run"), store.message("run", f"n{number}"), store.commit("run", "c")]
        history, message, commit = await asyncio.gather(*reads)
        assert isinstance(history, RunHistory)
        assert message == event
        assert commit == history.commits[0]
        seen.append(len(history.events))
    assert seen == list(range(seen[0], seen[0] + 30))
