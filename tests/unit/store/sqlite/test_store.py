"""The store on disk, beyond what every store promises (tests/unit/store/test_conformance.py)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.core import Debugger
from agentstepper_nb.errors import DamagedRunError, StoreError, StoreTakenError
from agentstepper_nb.protocol.records import (
    CommitSaved,
    EventSaved,
    Record,
    RunHistory,
    RunImported,
    RunStarted,
)
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.protocol.values import (
    ChangeKind,
    Commit,
    Durability,
    Event,
    EventKind,
    FileBody,
    FileChange,
    Run,
    RunState,
    StoreInfo,
)
from agentstepper_nb.store import SqliteStore, open_store
from agentstepper_nb.store.sqlite import losses, writer
from agentstepper_nb.store.sqlite.marks import Marks
from agentstepper_nb.store.sqlite.opening import STORE_FILE
from agentstepper_nb.store.sqlite.reader import Reader
from tests.helpers.growth import grow, size
from tests.helpers.loops import on_loop
from tests.helpers.stage import Stage
from tests.helpers.tables import Tabled, tabled

ROOT = Path(__file__).parents[4]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_store(tmp_path)
    yield store
    store.close()


async def keep(store: SqliteStore, records: list[Record]) -> None:
    done = asyncio.Event()
    store.append(records, synced=done.set)
    await done.wait()


def told(run: str = "run", text: str = "hello") -> Stage:
    """A run with all that a run may have, in which a text stands everywhere."""
    stage = Stage()
    stage.start(run, workspace=text)
    event, asked = stage.query(run)
    long = f'"{text} ' + "and so on " * 80 + '"'
    stage.edit(asked, long, run=run)
    stage.step(run=run)
    stage.reach(event, data=long.upper(), run=run, side=stage.debugger.next_side(run, event))
    stage.step(run=run)
    said = stage.say(f'"{text}"', run)
    body = FileBody(diff=f"+{text}", content=text * 200, previous_content="")
    change = FileChange(path=f"{text}.py", kind=ChangeKind.ADDED, added=1, body=body)
    binary = FileChange(path="x.png", kind=ChangeKind.CHANGED, binary=True, size=7, digest="d")
    commit = Commit(id="c", run=run, at=1, title=text, changes=(change, binary))
    stage.records.append(CommitSaved(commit=commit))
    stage.debugger.replay(stage.records[-1:])
    stage.note(said, text, run)
    stage.sentence(stage.point(asked), f"A sentence: {text}.")
    stage.tag(text, run=run)
    return stage


# ---- starting ---------------------------------------------------------------------------------------


def test_a_folder_has_one_owner(tmp_path: Path, store: SqliteStore) -> None:
    with pytest.raises(StoreTakenError, match="agentstepper"):
        open_store(tmp_path)
    store.close()
    open_store(tmp_path).close()


@on_loop
async def test_files_of_version_1_are_taken_in_once_and_go_with_their_run(tmp_path: Path) -> None:
    recorded = ROOT / "tests" / "wire" / "recorded.run"
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "old.run").write_bytes(recorded.read_bytes())
    history = runfile.load(recorded.read_bytes())
    store = open_store(tmp_path)
    assert list(store.load()) == [RunImported(history=history)]
    assert await store.history(history.run.id) == history
    store.close()

    store = open_store(tmp_path)
    debugger = Debugger()
    debugger.replay(store.load())
    assert debugger.runs == [history.run]
    stage = Stage()
    stage.debugger = debugger
    stage.delete(history.run.id)
    await keep(store, stage.records)
    store.close()
    assert list(logs.iterdir()) == []


@pytest.mark.parametrize("ended", [True, False])
def test_what_the_journal_lost_is_told_and_stays_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ended: bool
) -> None:
    stage = told()
    if ended:
        stage.finish()
    with tabled(tmp_path) as kept:
        kept.keep(stage.records)
        kept.keep(told("other").records)
    marks = Marks(tmp_path / "marks")
    marks.set("run", 3)
    marks.set("other", 1)
    marks.close()
    open_store(tmp_path).close()
    assert "2 changes" in caplog.text
    store = open_store(tmp_path)
    debugger = Debugger()
    debugger.replay(store.load())
    assert ("2 changes" in str(debugger.run("run").failure)) is not ended
    assert list(losses.remembered(store._indexed._connection)) == ["run"]
    assert debugger.run("other").failure is None
    store.close()


def test_a_list_of_runs_that_cannot_be_read_is_refused_in_words(tmp_path: Path) -> None:
    with tabled(tmp_path) as kept:
        kept.keep(told().records)
        ((root,),) = kept.connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'runs'"
        )
        kept.journal.empty()
    path = tmp_path / STORE_FILE
    data = bytearray(path.read_bytes())
    data[(root - 1) * 4096] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(StoreError, match="--repair"):
        open_store(tmp_path)


# ---- keeping ----------------------------------------------------------------------------------------


@on_loop
async def test_an_append_is_kept_whole_or_not_at_all(store: SqliteStore) -> None:
    stage = told()
    await keep(store, stage.records)
    before = await store.history("run")
    edit = next(record for record in stage.records if "Edited" in type(record).__name__)
    answered = asyncio.Event()
    store.append([edit, *stage.records[:1]], answered.set)  # a run that is there already
    await answered.wait()
    assert await store.history("run") == before
    assert "could not be kept" in ((await store.info()).trouble or "")


@on_loop
async def test_a_released_breakpoint_waits_for_nobody_where_that_is_chosen(tmp_path: Path) -> None:
    store = open_store(tmp_path, Durability.RELAXED)
    done: list[str] = []
    store.append(told().records, lambda: done.append("one"), durable=True)
    assert done == ["one"]
    assert (await store.history("run")).run.id == "run"  # which reads what was appended before
    store.close()


@on_loop
async def test_trouble_is_told_on_the_loop(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY", 0.001)
    await keep(store, told().records)
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

    store.on_trouble = trouble
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


@on_loop
async def test_what_comes_after_the_end_is_not_lost_in_silence(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    store.close()
    store.append(told().records)
    assert "came after the end of the store" in caplog.text


@on_loop
async def test_a_callback_that_fails_does_not_stop_the_others(store: SqliteStore) -> None:
    failed: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: failed.append(context))
    done = asyncio.Event()

    def fail() -> None:
        raise ValueError("wrong")

    store.append(told().records, fail)
    store.append([], done.set)
    await done.wait()
    assert [type(context["exception"]) for context in failed] == [ValueError]


def test_a_kill_loses_nothing_that_was_told(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed", str(tmp_path), "10", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) > 10


@on_loop
async def test_reading_goes_on_while_it_is_written(store: SqliteStore) -> None:
    stage = told()
    await keep(store, stage.records)
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


# ---- deleting ---------------------------------------------------------------------------------------


@on_loop
async def test_of_a_deleted_run_no_byte_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied = threading.Event()
    monkeypatch.setattr(writer, "IDLE", 0.05)
    monkeypatch.setattr(Marks, "clear", _then(Marks.clear, emptied.set))
    store = open_store(tmp_path)
    stage = told(text="Xyzzyverysecret")
    stage.finish()
    other = told("other", "plain")
    await keep(store, [*stage.records, *other.records])
    # What is compressed would be left without its words being found.
    packed = [row[0] for row in store._indexed._connection.execute("SELECT bytes FROM blobs")]
    secret = [data for data in packed if b"secret" in zlib.decompress(data).lower()]
    assert len(secret) == 3
    await journal_emptied(tmp_path, emptied)
    assert "store.sqlite" in files_with(tmp_path, secret[0])
    assert "store.sqlite" in files_with(tmp_path, b"Xyzzy")
    size = (tmp_path / STORE_FILE).stat().st_size

    before = len(stage.records)
    stage.delete()
    await keep(store, stage.records[before:])
    await journal_emptied(tmp_path, emptied)
    left = {name for data in [*secret, b"Xyzzy"] for name in files_with(tmp_path, data)}
    assert {name for name in left if name.startswith("store")} == set()
    assert (tmp_path / STORE_FILE).stat().st_size <= size
    assert await store.search("Xyzzyverysecret") == []
    store.close()
    assert [files_with(tmp_path, data) for data in [*secret, b"Xyzzy", b"xyzzy"]] == [[]] * 5
    with tabled(tmp_path) as kept:
        assert kept.reader.history("other").notes[0].text == "plain"
        assert list(kept.connection.execute("SELECT run FROM blobs WHERE run = 1")) == []


async def journal_emptied(folder: Path, emptied: threading.Event) -> None:
    emptied.clear()
    if (folder / f"{STORE_FILE}-wal").stat().st_size:
        assert await asyncio.to_thread(emptied.wait, 20)


def test_deleting_gives_room_back(tmp_path: Path) -> None:
    with tabled(tmp_path) as kept:
        kept.journal.empty()
        empty = kept.path.stat().st_size
        stage = told()
        for number in range(30):
            stage.say(f'"{number} {os.urandom(20_000).hex()}"')
        stage.finish()
        kept.keep(stage.records)
        assert kept.journal.empty()
        assert kept.path.stat().st_size > empty + 600_000
        stage.delete()
        kept.keep(stage.records[-1:])
        assert kept.journal.empty()
        assert kept.path.stat().st_size == empty


def test_what_is_asked_again_and_again_is_kept_once(tmp_path: Path) -> None:
    store = open_store(tmp_path, Durability.RELAXED)
    new = asyncio.run(grow(store, 60))
    store.close()
    # Search has a file of its own. What is in every store counts as well: some 100 KB.
    assert size(tmp_path, "store.sqlite*") < 2 * new


def files_with(folder: Path, data: bytes) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if data in path.read_bytes())


@on_loop
async def test_what_is_to_go(store: SqliteStore) -> None:
    def ended(name: str, at: float, **fields: object) -> Record:
        run = Run(id=name, name=name, program="P", started_at=at, state=RunState.IDLE)
        event = Event(
            id="e", run=name, kind=EventKind.DEBUG_MESSAGE, at=0, ended_at=0, data="x" * 99
        )
        header = replace(run, ended_at=at, **fields)
        return RunImported(history=RunHistory(run=header, events=(event,)))

    live = RunStarted(run=Run(id="live", name="live", program="P", started_at=1))
    runs = [ended("c", 30), ended("a", 10), ended("kept", 5, tags=("keep",)), ended("b", 20), live]
    await keep(store, runs)
    assert await store.expired(None, None) == []
    assert await store.expired(25, None) == ["a", "b"]
    assert await store.expired(None, 0) == ["a", "b", "c"]
    size = (await store.info()).size
    assert size is not None
    assert await store.expired(None, size + 1_000_000) == []
    assert await store.expired(None, size - 50) == ["a"]


@on_loop
async def test_no_more_goes_than_there_is_too_much_of(store: SqliteStore) -> None:
    runs = [Run(id=f"{at:03}", name="N", program="P", started_at=at) for at in range(300)]
    ended = [replace(run, state=RunState.IDLE, ended_at=run.started_at + 1) for run in runs]
    await keep(store, [RunImported(history=RunHistory(run=run)) for run in ended])
    size = (await store.info()).size
    assert size is not None
    gone = await store.expired(None, size * 2 // 3)
    assert gone == [run.id for run in runs[: len(gone)]]
    assert 90 <= len(gone) <= 110  # a third of them, though most of it is in indexes and page ends


# ---- damage -----------------------------------------------------------------------------------------


DAMAGE = {
    **{
        f"a hurt row of {table}": f"UPDATE {table} SET body = CAST(replace(body, 'a', 'b') AS BLOB)"
        " WHERE run = 1"
        for table in ("events", "breakpoints", "commits", "changes", "notes")
    },
    **{
        f"a missing row of {table}": f"DELETE FROM {table} WHERE run = 1"
        for table in ("events", "breakpoints", "commits", "changes", "notes", "nodes", "blobs")
    },
    "a row of another run": "UPDATE events SET run = 2, id = 'x' || id WHERE n = 1",
    "a content of another row": "UPDATE breakpoints SET data = 1 WHERE run = 1",
    "a hurt header": "UPDATE runs SET header = CAST(replace(header, 'P', 'Q') AS BLOB) WHERE n = 1",
    "a hurt count": "UPDATE runs SET changes = changes + 1 WHERE n = 1",
    "a text that is none": "UPDATE events SET id = CAST(x'ff00' AS TEXT) WHERE n = 1",
    "an edit that is gone": "UPDATE breakpoints SET edit = NULL WHERE run = 1",
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    with tabled(folder) as kept:
        kept.keep(told("one").records)
        kept.keep(told("two").records)
        kept.journal.empty()
    return folder / STORE_FILE


@pytest.fixture
def damaged(two_runs: Path, tmp_path: Path) -> Iterator[Tabled]:
    (tmp_path / STORE_FILE).write_bytes(two_runs.read_bytes())
    with tabled(tmp_path) as kept:
        yield kept


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_and_hurts_one_run(damaged: Tabled, damage: str) -> None:
    assert damaged.reader.history("one").run.id == "one"
    damaged.connection.execute(damage)
    with pytest.raises(DamagedRunError) as error:
        damaged.reader.history("one")
    assert error.value.run == "one"
    if "run = 2" not in damage:
        assert damaged.reader.history("two").run.id == "two"


def test_a_hurt_header_is_listed_with_what_can_be_read(damaged: Tabled) -> None:
    damaged.connection.execute(DAMAGE["a hurt header"])
    listed = damaged.reader.listed()
    assert [(each.run.id, each.hurt, each.run.state) for each in listed] == [
        ("one", True, RunState.IDLE),
        ("two", False, RunState.STEP),
    ]
    damaged.connection.execute("UPDATE runs SET header = 'x', id = x'00' WHERE n = 1")
    assert damaged.reader.headers()[0].name == "Damaged run 1"


def test_a_hurt_row_is_not_made_right_by_writing_it_again(damaged: Tabled) -> None:
    damaged.connection.execute(DAMAGE["a hurt count"])
    stage = told("one")
    before = len(stage.records)
    stage.rename("another", "one")
    with pytest.raises(LookupError, match="hurt"):
        damaged.keep(stage.records[before:])
    stage.finish("one")
    stage.delete("one")
    damaged.keep(stage.records[-1:])
    assert [run.id for run in damaged.reader.headers()] == ["two"]


def test_a_hurt_sentence_is_asked_for_again(damaged: Tabled) -> None:
    key = "key of A sentence: hello."
    assert damaged.reader.sentence(key) == "A sentence: hello."
    damaged.connection.execute("UPDATE sentences SET text = 'other' WHERE run = 1")
    assert damaged.reader.sentence(key) == "A sentence: hello."  # the other run's
    damaged.connection.execute("UPDATE sentences SET text = 'other'")
    assert damaged.reader.sentence(key) is None


def test_reading_needs_no_owner_and_no_journal(two_runs: Path, store: SqliteStore) -> None:
    for path in (two_runs, store._folder / STORE_FILE):
        reader = Reader(path)
        reader.headers()
        reader.close()
        reader.close()


def _then(method: Callable[[Marks], None], call: Callable[[], None]) -> Callable[[Marks], None]:
    def both(self: Marks) -> None:
        method(self)
        call()

    return both
