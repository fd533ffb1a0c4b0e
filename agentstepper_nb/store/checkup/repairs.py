"""Putting a store's folder right, as far as that is possible; nothing is thrown away that holds runs."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ...errors import StoreError
from ...protocol.records import (
    AgentHeard,
    BreakpointSaved,
    CommitSaved,
    EventSaved,
    NoteSaved,
    PricesSet,
    Record,
    RunImported,
    RunStarted,
    RunTagged,
    StopSaved,
)
from ..lock import take
from ..sqlite import migrate
from ..sqlite.marks import forget
from ..sqlite.opening import DAMAGED, MARKS_FILE, STORE_FILE, open_writer, put_aside
from ..sqlite.rows import RunRow, intact, put, read_rules, sealed, select
from ..sqlite.store import SEARCH_FILE
from ..sqlite.tables import Tables
from . import examination
from .examination import Checkup
from .salvage import Salvage, Salvaged, listed, salvage, tagged

_WHO: Final = "agentstepper doctor --repair"


def repair(folder: Path) -> list[str]:
    """Repair what can be; what was damaged is kept under another name.

    Args:
        folder: A Core's data folder, which no Core may have open.

    Returns:
        What was done, a sentence each.

    Raises:
        StoreTakenError: A Core has it.
        NewerStoreError: A newer program wrote the store.
        StoreError: It can't be written.
    """
    if not folder.is_dir():
        raise StoreError(f"There is no folder {folder}: name the one that the runs are kept in.")
    if not examination.ours(folder):
        raise StoreError(
            f"No Core has kept anything in {folder}: name the folder that the runs are kept in."
        )
    with take(folder, _WHO):
        about = examination.examine(folder, own=True)
        return list(_repairs(folder, about))


def _repairs(folder: Path, about: Checkup) -> Iterator[str]:
    path = folder / STORE_FILE
    migrate.refuse_newer(about.version, path)
    yield from _close_to_others(folder, about)
    if about.hurt_store:
        name = put_aside(path)
        yield f"The damaged store is kept as {name}."
    for each in examination.put_aside(path):
        yield from _bring_back(path, each)
    yield from _marks(folder, about)
    if about.search or about.hurt_store or about.aside:
        for end in ("", "-wal", "-shm", "-journal"):
            (folder / f"{SEARCH_FILE}{end}").unlink(missing_ok=True)
    if about.search:
        yield "The search's file was damaged and is deleted: the next Core makes it anew."
    for each in examination.leftovers(folder, held=False):
        each.unlink(missing_ok=True)
        yield f"{each.name} is deleted: an interrupted write left it."
    for name, _ in about.tokens:
        (folder / name).unlink(missing_ok=True)
        yield f"The token in {name} was damaged and is deleted: the next Core makes another."


def _close_to_others(folder: Path, about: Checkup) -> Iterator[str]:
    for name in about.open_to_others:
        path = folder / name
        path.chmod(0o700 if path.is_dir() else 0o600)
        yield f"{path} is its owner's alone now."


def _marks(folder: Path, about: Checkup) -> Iterator[str]:
    """What the journal lost can't be brought back: its runs say so from now on."""
    lost = (*about.missing, *about.once)
    if lost:
        with contextlib.closing(open_writer(folder / STORE_FILE)) as connection:
            forget(connection)
            for each in lost:
                _tag(connection, each.id)
                yield f"It can't be brought back that {each.what}."
    if about.hurt_marks:
        yield "The damaged marks are deleted: the next Core begins new ones."
    if about.missing or about.hurt_marks:
        (folder / MARKS_FILE).unlink(missing_ok=True)


def _tag(connection: sqlite3.Connection, id: str) -> None:
    """Tag a run as damaged, where its header is there."""
    row = connection.execute(select("runs", "id = ?"), (id,)).fetchone()
    if row is None or not intact("runs", id, row):
        return
    run = RunRow.of(row).run
    tables = Tables(connection)
    with migrate.transaction(connection):
        tables.keep(RunTagged(run=replace(run, tags=tagged(run.tags))))
        tables.finish()


# ---- runs -------------------------------------------------------------------------------------------


def _bring_back(path: Path, damaged: Path) -> Iterator[str]:
    """Take the runs of a store that was put aside into the one that is there."""
    try:
        with salvage(damaged) as found, contextlib.closing(open_writer(path)) as connection:
            taking = _Taking(connection, found)
            yield from taking.all()
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except StoreError:
        raise
    except (sqlite3.Error, OSError) as error:
        yield f"Nothing could be read of {damaged.name}: {error}. It stays where it is."
        return
    if not taking.found:
        yield f"Nothing could be read of {damaged.name}: no run is in it. It stays where it is."
        return
    if taking.whole:
        yield f"{_runs_are(taking.whole)} back whole from {damaged.name}."
    if taking.known:
        yield f"{_runs_are(taking.known)} in {damaged.name} that had come back before."
    yield f"{damaged.name} is kept as {_rename(damaged)}: delete it when you miss nothing."


class _Taking:
    """Taking runs into a store, each in a transaction: who is interrupted goes on where it was."""

    def __init__(self, connection: sqlite3.Connection, damaged: Salvage) -> None:
        self._connection = connection
        self._damaged = damaged
        self._tables = Tables(connection)
        self.whole = 0  # how many came back as they were
        self.known = 0  # how many were there already
        self.found = 0

    def all(self) -> Iterator[str]:
        """Take all; a sentence for each that isn't whole."""
        there = {id for (id,) in self._connection.execute("SELECT id FROM runs")}
        taken = set()
        for each in self._damaged.runs():
            run = each.history.run
            self.found += 1
            if run.id in there:
                self.known += 1
                continue
            taken.add(run.id)
            self._take(each)
            if each.lost:
                yield f"Run {run.name!r} ({run.id}) is back, without {listed(each.lost)}."
            else:
                self.whole += 1
        with migrate.transaction(self._connection):
            for file, id in self._damaged.files():
                if id in taken:
                    self._tables.took(file, id)
        self._take_rules()

    def _take_rules(self) -> None:
        """Take stops and prices, beside what was set since."""
        since = read_rules(self._connection).records
        stops = {record.stop.id for record in since if isinstance(record, StopSaved)}
        priced = any(isinstance(record, PricesSet) for record in since)
        with migrate.transaction(self._connection):
            for record in self._damaged.rules():
                match record:
                    case StopSaved(stop=stop) if stop.id not in stops:
                        self._tables.keep(record)
                    case PricesSet() if not priced:
                        self._tables.keep(record)

    def _take(self, run: Salvaged) -> None:
        with migrate.transaction(self._connection):
            for record in _records(run):
                self._tables.keep(record)
            self._tables.finish()
            self._sentences(run.history.run.id, run.sentences)

    def _sentences(self, id: str, sentences: tuple[tuple[str, str], ...]) -> None:
        execute = self._connection.execute
        ((n,),) = execute("SELECT n FROM runs WHERE id = ?", (id,))
        ((last,),) = execute("SELECT coalesce(max(n), 0) FROM sentences")
        for at, (key, text) in enumerate(sentences, last + 1):
            execute(put("sentences"), sealed("sentences", id, at, n, key, text))


def _records(run: Salvaged) -> Iterator[Record]:
    """What leads a store to where the run stood."""
    history = run.history
    if not history.run.live:
        yield RunImported(history=history)
        return
    yield RunStarted(run=history.run, proof=run.proof)
    yield from (EventSaved(event=event) for event in history.events)
    yield from (BreakpointSaved(breakpoint=point) for point in history.breakpoints)
    yield from (CommitSaved(commit=commit) for commit in history.commits)
    yield from (NoteSaved(note=note) for note in history.notes)
    yield AgentHeard(run=history.run.id, n=run.heard)


def _rename(damaged: Path) -> str:
    """Give a store another name now that its runs are back, with all that belongs to it."""
    name = damaged.name.replace(DAMAGED, examination.SALVAGED)
    for each in sorted(damaged.parent.glob(f"{damaged.name}*")):
        each.rename(each.with_name(each.name.replace(damaged.name, name, 1)))
    return name


def _runs_are(number: int) -> str:
    return f"{number} run{' is' if number == 1 else 's are'}"
