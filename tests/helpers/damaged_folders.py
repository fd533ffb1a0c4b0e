"""A store of several runs, and what may happen to its files."""

from __future__ import annotations

import asyncio
import contextlib
import random
import shutil
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from agentstepper_nb.core import Debugger
from agentstepper_nb.errors import DamagedRunError, StoreError
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, Price, Touched
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventSide,
    FileBody,
    FileChange,
    Run,
)
from agentstepper_nb.protocol.records import Record, RunHistory
from agentstepper_nb.store.checkup import FolderReport, examine_folder, repair_folder
from agentstepper_nb.store.sqlite import migrations
from agentstepper_nb.store.sqlite.database import COUNTERS_FILE, STORE_FILE, open_writer
from agentstepper_nb.store.sqlite.reader import StoreReader
from agentstepper_nb.store.sqlite.record_writer import RecordWriter
from agentstepper_nb.store.sqlite.store import SqliteStore, open_store
from agentstepper_nb.store.sqlite.transaction_counters import TransactionCounters
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import rows_of

#: Runs of `build`, by what they show.
ENDED = ("0196f5c4-0000-7000-8000-00000000000a", "0196f5c4-0000-7000-8000-00000000000b", "third")
LIVE = ("0196f5c4-0000-7000-8000-00000000000d", "live")
RUNS = (*ENDED, *LIVE)


@dataclass
class CoreFolderFiles:
    """A folder's files as they were, and the truth about its runs."""

    folder: Path
    files: dict[str, bytes]
    histories: dict[str, RunHistory]
    rules: tuple[Record, ...]  # that lead to its stops and prices

    def write_to(self, folder: Path) -> Path:
        """Put the files into a folder that has nothing else."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
        for name, data in self.files.items():
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)
        return folder


#: What else lies in a folder: the search's file, a lock whose holder was killed, the tokens.
OTHERS = ("search.sqlite", "lock", "agent-token", "control-token")


def with_other_files(built: CoreFolderFiles, folder: Path) -> CoreFolderFiles:
    """The same store with other files beside it."""
    built.write_to(folder)
    asyncio.run(index(folder))
    holder = b'{"pid": 7, "host": "box", "what": "agentstepper serve", "since": 1000.0}\n'
    others = {
        "search.sqlite": (folder / "search.sqlite").read_bytes(),
        "lock": holder,
        "agent-token": b"x" * 43 + b"\n",
        "control-token": b"y" * 43 + b"\n",
    }
    return CoreFolderFiles(folder, {**built.files, **others}, built.histories, built.rules)


async def index(folder: Path) -> None:
    """Make the search's file, with the words of all runs."""
    store = open_store(folder)
    try:
        assert await store.search("word")
    finally:
        store.close()


def add_run(harness: DebuggerHarness, run: str) -> None:
    """A run with prompts that grow, edits, a debug message, a tool call and commits with files."""
    harness.start(run)
    prompt: list[str] = []
    for turn in range(6):
        prompt.append(f'{{"role": "user", "content": "{run} turn {turn} {"word " * 60}"}}')
        event = harness.begin(run=run)
        asked = harness.reach(event, data=f"[{', '.join(prompt)}]", run=run)
        harness.step(asked, 1, f'"edited in turn {turn}"' if turn % 3 == 0 else None, run)
        harness.reach(event, EventSide.END, data=f'"answer {turn} of {run}"', run=run)
        harness.step(run=run)
    said = harness.post_debug_message('"look"', run)
    harness.note(said, f"a note on {run}", run)
    harness.begin_tool_call('{"Tool": "ls", "Argument": null}', run)
    harness.step(run=run)
    harness.perform(harness.debugger.add_commit(commit(run)))
    harness.tag("kept", run=run)
    harness.acknowledge(40, run)


def commit(run: str) -> Commit:
    body = FileBody(diff=f"+ line of {run}\n" * 40, content=f"line of {run}\n" * 100)
    changes = (
        FileChange(path="a.py", kind=ChangeKind.CHANGED, added=40, body=body),
        FileChange(path="b.bin", kind=ChangeKind.ADDED, binary=True, size=7),
    )
    return Commit(id=f"commit-{run}", run=run, at=1000.0, title=f"Of {run}", changes=changes)


def records() -> list[list[Record]]:
    """What a Core would keep: transactions, some of them of several runs."""
    harness = DebuggerHarness()
    for run in RUNS:
        add_run(harness, run)
        if run in ENDED:
            harness.finish(run)
    for run in LIVE:
        harness.begin_query(run)  # is halted there
    for id in ("first", "second", "third"):
        harness.set_breakpoint(
            BreakpointRule(id=id, condition="tokens > 2000", watch=Touched(path="src/*"))
        )
    harness.set_prices(Price(model="*", input=1.0, output=2.0))
    sizes = random.Random(1)
    found, at = [], 0
    while at < len(harness.records):
        size = sizes.randrange(1, 4)
        found.append(harness.records[at : at + size])
        at += size
    return found


def build(folder: Path, *, emptied: bool) -> CoreFolderFiles:
    """Make a store.

    Args:
        folder: Where.
        emptied: Whether all is in its file; else most of it is in the journal only.
    """
    kept = records()
    connection = open_writer(folder / STORE_FILE)
    marks = TransactionCounters(folder / COUNTERS_FILE)
    tables = RecordWriter(connection)
    try:
        for at, transaction in enumerate(kept):
            with migrations.transaction(connection):
                for record in transaction:
                    tables.write_record(record)
                touched = tables.finish()
            for run, changes in touched.changes.items():
                marks.set(run, changes)
            if emptied or at == len(kept) // 3:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                marks.clear()
        truth, kept_rules = histories(folder), read_config(folder)
        files = {
            each.name: each.read_bytes() for each in folder.iterdir() if "-shm" not in each.name
        }
    finally:
        marks.close()
        connection.close()
    return CoreFolderFiles(folder, files, truth, kept_rules)


# ---- damage -------------------------------------------------------------------------------------


class DamageKind(Enum):
    """What may happen to a file."""

    FLIP = "flip"  # a byte is another
    CUT = "cut"  # it ends early


def damage_bytes(data: bytes, harm: DamageKind, chance: random.Random) -> bytes:
    """A file's bytes after it."""
    at = chance.randrange(len(data))
    if harm is DamageKind.CUT:
        return data[:at]
    return data[:at] + bytes([data[at] ^ chance.randrange(1, 256)]) + data[at + 1 :]


def read_runs_or_damage(folder: Path) -> dict[str, RunHistory | None]:
    """The runs that a Core which opens a folder lists; None for what it says is damaged.

    Raises:
        StoreError: It refuses the folder.
    """

    async def see() -> dict[str, RunHistory | None]:
        store = open_store(folder)
        try:
            runs = run_ids(replay_records(store))
            found = {run: await read_history_or_damage(store.history, run) for run in runs}
            for run, history in found.items():
                await check_pages(store, run, history)
            return found
        finally:
            store.close()

    return asyncio.run(see())


async def check_pages(store: SqliteStore, run: str, history: RunHistory | None) -> None:
    """See that a page of a run is right, or said to be damaged."""
    with contextlib.suppress(DamagedRunError):
        rows = (await store.page(run, 1, 10_000)).rows
        if history is not None:
            assert list(rows) == rows_of(history)


def replay_records(store: SqliteStore) -> list[Record]:
    """What a Core that starts replays, which it can."""
    records = list(store.load())
    Debugger().restore(records)
    return records


def run_ids(records: object) -> list[str]:
    heads = [record.run for record in records if hasattr(record, "run")]  # type: ignore[attr-defined]
    return [run.id for run in heads if isinstance(run, Run)]


async def read_history_or_damage(history: object, run: str) -> RunHistory | None:
    try:
        return await history(run)  # type: ignore[operator, no-any-return]
    except DamagedRunError:
        return None


def list_named_runs(about: FolderReport) -> set[str]:
    """The runs that the doctor names."""
    stores = [
        *about.set_aside_stores,
        *([about.unopenable_store] if about.unopenable_store else []),
    ]
    hurt = [
        *about.damaged,
        *about.missing,
        *about.past_losses,
        *(run for store in stores for run in store.damaged),
    ]
    return {run.id for run in hurt} | {id for store in stores for id in store.lost_run_ids}


def read_config(folder: Path) -> tuple[Record, ...]:
    """What leads to the stops and prices of a folder's store."""
    with contextlib.closing(StoreReader(folder / STORE_FILE)) as reader:
        return reader.read_config_rows().records


def check_damage_is_reported(
    built: CoreFolderFiles, folder: Path, damaged_file: str, data: bytes
) -> FolderReport:
    """Harm a file, and show that nothing is silently wrong, before and after a repair.

    Args:
        built: The store.
        folder: Where it is laid out.
        harmed_file: The file's name.
        data: What the file holds now.

    Returns:
        What the doctor found.
    """
    (built.write_to(folder) / damaged_file).write_bytes(data)
    about = examine_folder(folder)
    known = list_named_runs(about)
    # Its list of runs as well, perhaps: the doctor says so.
    gone = about.unopenable_store is not None
    core = folder.with_name("core")
    shutil.rmtree(core, ignore_errors=True)
    shutil.copytree(folder, core)
    try:
        shown = read_runs_or_damage(core)
    except StoreError as error:
        assert "agentstepper doctor" in str(error)
        assert gone or about.structure_problems or about.damaged, error
    else:
        if read_config(core) != built.rules and "-wal" not in damaged_file:  # no mark counts stops
            assert gone or about.structure_problems or about.damaged_config_rows, about
        put_aside = examine_folder(core).set_aside_stores
        for run, truth in built.histories.items():
            if shown.get(run) != truth:
                assert run in known or (gone and put_aside), (run, about)
    check_repaired(built, folder, known, gone)
    return about


def check_repaired(built: CoreFolderFiles, folder: Path, known: set[str], gone: bool) -> None:
    """Repair a folder, and see that each run is whole or was said to be hurt."""
    repair_folder(folder)
    again = examine_folder(folder)
    assert not again.damaged_store and not again.missing and not again.damaged_counters, again
    back = histories(folder)
    if (folder / STORE_FILE).exists():
        assert set(read_config(folder)) <= set(built.rules)
    assert not back or read_runs_or_damage(folder) == back  # a Core goes on with it
    for run, truth in built.histories.items():
        found = back.get(run)
        if found is None:
            assert run in known or gone, (run, known)
        elif found != truth:
            assert run in known, (run, known)
            assert "damaged" in found.run.tags


def histories(folder: Path) -> dict[str, RunHistory]:
    """Every run of a store, whole."""
    if not (folder / STORE_FILE).exists():
        return {}
    with contextlib.closing(StoreReader(folder / STORE_FILE)) as reader:
        return {run.id: reader.history(run.id) for run in reader.list_headers()}
