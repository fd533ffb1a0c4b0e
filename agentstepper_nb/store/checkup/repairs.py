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
    BreakpointSaved,
    CommitSaved,
    EditRuleSaved,
    EventSaved,
    HaltPointSaved,
    ImportedRunSaved,
    MessagesReceived,
    NoteSaved,
    PricesSet,
    Record,
    RunStarted,
    RunTagged,
)
from ..folder_lock import lock_folder
from ..sqlite import migrations
from ..sqlite.database import (
    COUNTERS_FILE,
    DAMAGED_SUFFIX,
    STORE_FILE,
    open_writer,
    set_aside_database,
)
from ..sqlite.error_codes import is_transient, make_write_error
from ..sqlite.record_writer import RecordWriter
from ..sqlite.row_codec import (
    RunRow,
    add_checksum,
    is_intact,
    make_replace,
    make_select,
    read_config_rows,
)
from ..sqlite.store import SEARCH_FILE
from ..sqlite.transaction_counters import delete_losses
from .core_files import (
    PART_SUFFIX,
    SALVAGED_SUFFIX,
    list_core_files,
    list_leftover_files,
    list_set_aside_stores,
)
from .folder_report import FolderReport, examine_folder
from .salvage import SalvagedRun, SalvageReader, add_damaged_tag, join_losses, open_damaged_store

_LOCK_OWNER: Final = "agentstepper doctor --repair"


def repair_folder(folder: Path) -> list[str]:
    """Repair a folder as far as possible; damaged files are kept under another name.

    Args:
        folder: A Core's data folder, which no Core may have open.

    Returns:
        The repairs, one sentence each.

    Raises:
        StoreLockedError: A Core holds the folder's lock.
        NewerStoreError: A newer program wrote the store.
        StoreError: The store can't be written.
    """
    if not folder.is_dir():
        raise StoreError(f"There is no folder {folder}: name the folder of the runs.")
    if not list_core_files(folder):
        raise StoreError(f"No Core has stored anything in {folder}: name the folder of the runs.")
    with lock_folder(folder, _LOCK_OWNER):
        report = examine_folder(folder, is_locked_here=True)
        return list(_repair_all(folder, report))


def _repair_all(folder: Path, report: FolderReport) -> Iterator[str]:
    path = folder / STORE_FILE
    migrations.refuse_newer_version(report.version, path)
    yield from _close_to_others(folder, report)
    if report.damaged_store:
        name = set_aside_database(path)
        yield f"The damaged store is saved as {name}."
    for each in list_set_aside_stores(path):
        yield from _restore_runs(path, each)
    yield from _repair_counters(folder, report)
    if report.search_problem or report.damaged_store or report.set_aside_stores:
        for end in ("", "-wal", "-shm", "-journal"):
            (folder / f"{SEARCH_FILE}{end}").unlink(missing_ok=True)
    if report.search_problem:
        yield "The search index was damaged and is deleted: the next Core rebuilds it."
    for each in list_leftover_files(folder, is_locked=False):
        each.unlink(missing_ok=True)
        yield f"{each.name} is deleted: an interrupted write left it."
    for name, _ in report.tokens:
        (folder / name).unlink(missing_ok=True)
        yield f"The token in {name} was damaged and is deleted: the next Core creates another."


def _close_to_others(folder: Path, report: FolderReport) -> Iterator[str]:
    for name in report.open_to_others:
        path = folder / name
        path.chmod(0o700 if path.is_dir() else 0o600)
        yield f"Only the owner can read {path} now."


def _repair_counters(folder: Path, report: FolderReport) -> Iterator[str]:
    """Mark the runs whose last transactions the journal lost: these can't be restored."""
    lost = (*report.missing, *report.past_losses)
    if lost:
        path = folder / STORE_FILE
        with _explain_write_errors(path), contextlib.closing(open_writer(path)) as connection:
            delete_losses(connection)
            for each in lost:
                _tag_damaged_run(connection, each.id)
                yield f"Repair can't undo that {each.damage}."
    if report.damaged_counters:
        yield "The damaged marks are deleted: the next Core starts new marks."
    if report.missing or report.damaged_counters:
        (folder / COUNTERS_FILE).unlink(missing_ok=True)


def _tag_damaged_run(connection: sqlite3.Connection, id: str) -> None:
    """Tag a run as damaged, where its header is there."""
    row = connection.execute(make_select("runs", "id = ?"), (id,)).fetchone()
    if row is None or not is_intact("runs", id, row):
        return
    run = RunRow.from_columns(row).run
    tables = RecordWriter(connection)
    with migrations.transaction(connection):
        tables.write_record(RunTagged(run=replace(run, tags=add_damaged_tag(run.tags))))
        tables.finish()


@contextlib.contextmanager
def _explain_write_errors(path: Path) -> Iterator[None]:
    """Raise an error of the connection that writes a store as a `StoreError`, if it may pass."""
    try:
        yield
    except sqlite3.Error as error:
        if not is_transient(error):
            raise
        raise make_write_error(error, path.parent, "and run the repair again") from error


# ---- runs -------------------------------------------------------------------------------------------


def _restore_runs(path: Path, damaged: Path) -> Iterator[str]:
    """Restore the runs of a store that was set aside to the folder's present store."""
    try:
        with (
            open_damaged_store(damaged) as found,
            contextlib.closing(open_writer(path)) as connection,
        ):
            restorer = _RunRestorer(path, connection, found)
            yield from restorer.all()
            with _explain_write_errors(path):
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except StoreError:
        raise
    except (sqlite3.Error, OSError) as error:
        yield f"Nothing could be read of {damaged.name}: {error}. The file stays where it is."
        return
    if not restorer.found:
        yield f"{damaged.name} contains no readable run. The file stays where it is."
        return
    if restorer.intact_runs:
        yield f"{_format_runs(restorer.intact_runs)} restored whole from {damaged.name}."
    if restorer.known:
        yield f"{_format_runs(restorer.known)} in {damaged.name} that an earlier repair restored."
    yield f"{damaged.name} is kept as {_rename(damaged)}: delete it when you miss nothing."


class _RunRestorer:
    """Restores runs to a store, one transaction each: after an interruption, it can be run again."""

    def __init__(self, path: Path, connection: sqlite3.Connection, damaged: SalvageReader) -> None:
        self._path = path
        self._connection = connection
        self._damaged = damaged
        self._tables = RecordWriter(connection)
        self.intact_runs = 0  # how many came back as they were
        self.known = 0  # how many were there already
        self.found = 0

    def all(self) -> Iterator[str]:
        """Restore all runs; yields a sentence for each run that isn't complete."""
        known_ids = {id for (id,) in self._connection.execute("SELECT id FROM runs")}
        restored_ids = set()
        for each in self._damaged.runs():
            run = each.history.run
            self.found += 1
            if run.id in known_ids:
                self.known += 1
                continue
            restored_ids.add(run.id)
            self._restore_run(each)
            if each.losses:
                yield (
                    f"Run {run.name!r} ({run.id}) is restored, without {join_losses(each.losses)}."
                )
            else:
                self.intact_runs += 1
        with self._transaction():
            for file, id in self._damaged.files():
                if id in restored_ids:
                    self._tables.note_imported_file(file, id)
        self._restore_rules()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with _explain_write_errors(self._path), migrations.transaction(self._connection):
            yield

    def _restore_rules(self) -> None:
        """Restore breakpoints, edit rules and prices, unless they were set again since."""
        since = read_config_rows(self._connection).records
        breakpoints = {
            record.breakpoint.id for record in since if isinstance(record, BreakpointSaved)
        }
        edit_rules = {record.rule.id for record in since if isinstance(record, EditRuleSaved)}
        priced = any(isinstance(record, PricesSet) for record in since)
        with self._transaction():
            for record in self._damaged.rules():
                match record:
                    case BreakpointSaved(breakpoint=breakpoint) if breakpoint.id not in breakpoints:
                        self._tables.write_record(record)
                    case EditRuleSaved(rule=rule) if rule.id not in edit_rules:
                        self._tables.write_record(record)
                    case PricesSet() if not priced:
                        self._tables.write_record(record)

    def _restore_run(self, run: SalvagedRun) -> None:
        with self._transaction():
            for record in _records(run):
                self._tables.write_record(record)
            self._tables.finish()
            self._restore_model_summaries(run.history.run.id, run.model_summaries)

    def _restore_model_summaries(
        self, id: str, model_summaries: tuple[tuple[str, str], ...]
    ) -> None:
        execute = self._connection.execute
        ((n,),) = execute("SELECT n FROM runs WHERE id = ?", (id,))
        ((last,),) = execute("SELECT coalesce(max(n), 0) FROM sentences")
        for at, (key, text) in enumerate(model_summaries, last + 1):
            execute(make_replace("sentences"), add_checksum("sentences", id, at, n, key, text))


def _records(run: SalvagedRun) -> Iterator[Record]:
    """Make the records that bring a store to the run's state."""
    history = run.history
    if not history.run.live:
        yield ImportedRunSaved(history=history)
        return
    yield RunStarted(run=history.run, agent_credentials=run.agent_credentials)
    yield from (EventSaved(event=event) for event in history.events)
    yield from (HaltPointSaved(halt_point=point) for point in history.halt_points)
    yield from (CommitSaved(commit=commit) for commit in history.commits)
    yield from (NoteSaved(note=note) for note in history.notes)
    yield MessagesReceived(run=history.run.id, n=run.received_count)


def _rename(damaged: Path) -> str:
    """Rename a damaged store, with its other files, after its runs are restored."""
    name = damaged.name.replace(DAMAGED_SUFFIX, SALVAGED_SUFFIX)
    for each in sorted(damaged.parent.glob(f"{damaged.name}*")):
        if PART_SUFFIX not in each.name:  # the working copy of a doctor
            each.rename(each.with_name(each.name.replace(damaged.name, name, 1)))
    return name


def _format_runs(number: int) -> str:
    return f"{number} run{' is' if number == 1 else 's are'}"
