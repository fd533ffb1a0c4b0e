"""Reads runs from the tables, checks each row's checksum, and loads a starting Core's records."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...errors import DamagedRunError, ProtocolError, StoreError
from ...protocol.data_model import Commit, Event, Failure, HaltPoint, RowNote, Run, RunState
from ...protocol.records import AgentCredentials, EndedRunLoaded, Record, RunHeaderSaved, RunHistory
from ...protocol.text_escaping import escape_to_one_line
from ...protocol.v1 import runfile
from ..archive import read_run_file
from ..base import CommitPage, ContentPredicate, RowConsumer, RowPage
from .database import open_reader
from .error_codes import is_no_damage
from .row_codec import (
    RUN,
    RunRow,
    StoredConfigRows,
    decode_text,
    is_intact,
    make_select,
    read_config_rows,
)
from .run_rows import RunPageReader, RunRowReader

_RUNS: Final = make_select("runs", "1 ORDER BY n")
_SENTENCE: Final = make_select("sentences", "key = ?")
_ID_OF: Final = "SELECT id FROM runs WHERE n = ?"


class RunListing(NamedTuple):
    """A row of the table of runs."""

    run: Run
    change_count: int = 0  # how many transactions touched it
    active: int | None = None  # grows with each start and halt of any run; None: it has ended
    damaged: bool = False


class StoreReader:
    """Reads a store, while a Core writes it or not. Thread-safe: one read at a time.

    Args:
        path: `DIR/store.sqlite`.

    Raises:
        NewerStoreError: A newer program wrote the store.
        StoreError: The store can't be opened; from all methods: the store can't be read, now or ever.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)
        self._connection.text_factory = decode_text
        self._lock = threading.Lock()

    def list_runs(self) -> list[RunListing]:
        """List all runs, oldest first. A run with a damaged row is listed as ended with that failure."""
        with self._read_transaction():
            return [_decode_listing(row) for row in self._connection.execute(_RUNS)]

    def list_headers(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return [each.run for each in self.list_runs()]

    def history(self, run: str) -> RunHistory:
        """Read a whole run.

        Raises:
            DamagedRunError: A part of the run is damaged.
            KeyError: There is no such run.
        """
        with self._read_transaction(run):
            return RunRowReader(self._connection, run, is_preloaded=True).history()

    def agent_credentials(self, run: str) -> AgentCredentials | None:
        """Read the credentials of a run's agent; None for imported and version 1 runs.

        Errors as `history`.
        """
        with self._read_transaction(run):
            return RunRowReader(self._connection, run).agent_credentials

    def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point, or the event with this id. Errors as `history`."""
        with self._read_transaction(run):
            whole = RunRowReader(self._connection, run)
            return whole.halt_point(message) or whole.event(message)

    def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""
        with self._read_transaction(run):
            return RunRowReader(self._connection, run).commit(commit)

    def page(self, run: str, first: int, last: int) -> RowPage:
        """Read rows of a run, and their commits: see `Store.page`. Errors as `history`."""
        with self._read_transaction(run):
            return RunPageReader(self._connection, run).page(first, last)

    def visit_rows(
        self, run: str, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """Show rows of a run one by one: see `Store.visit_rows`. Errors as `history`."""
        with self._read_transaction(run):
            return RunPageReader(self._connection, run).visit_rows(
                first, last, on_row, needs_content
            )

    def commits(self, run: str, before: int | None, limit: int) -> CommitPage:
        """Commits of a run, without contents: see `Store.commits`. Errors as `history`."""
        with self._read_transaction(run):
            return RunPageReader(self._connection, run).commits(before, limit)

    def find_seq(self, run: str, message: str) -> int | None:
        """The number of a row. Errors as `history`."""
        with self._read_transaction(run):
            return RunPageReader(self._connection, run).find_seq(message)

    def notes(self, run: str) -> tuple[RowNote, ...]:
        """Read the notes beside a run's rows. Errors as `history`."""
        with self._read_transaction(run):
            return RunRowReader(self._connection, run).notes()

    def live_records(self, run: str) -> list[Record]:
        """Read the records that bring a debugger to a live run's state: see `Store.load`.

        Contents that a debugger doesn't need any more are left out. Errors as `history`.
        """
        with self._read_transaction(run):
            return RunRowReader(self._connection, run).records()

    def find_model_summary(self, key: str) -> str | None:
        """Find a summary that a model has made for the same key. A damaged one counts as missing."""
        with self._read_transaction():
            for row in self._connection.execute(_SENTENCE, (key,)).fetchall():
                owner = self._connection.execute(_ID_OF, (row[1],)).fetchone()
                if owner and is_intact("sentences", owner[0], row):
                    return str(row[3])
            return None

    def read_config_rows(self) -> StoredConfigRows:
        """Read the breakpoints, edit rules and prices, without damaged rows."""
        with self._read_transaction():
            return read_config_rows(self._connection)

    def list_imported_files(self) -> set[str]:
        """List the names of the imported files of version 1."""
        with self._read_transaction():
            return {name for (name,) in self._connection.execute("SELECT name FROM files")}

    def sizes(self) -> dict[str, int]:
        """Estimate the bytes of each run's rows: less than its size on disk."""
        with self._read_transaction():
            return dict(self._connection.execute(_SIZES))

    def close(self) -> None:
        """Close the connection. Idempotent."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _read_transaction(self, run: str | None = None) -> Iterator[None]:
        """A transaction: one state of the store for all reads inside, of one run or of all."""
        with self._lock:
            try:
                self._connection.execute("BEGIN")
                yield
            except sqlite3.DatabaseError as error:
                raise self._make_error(error, run) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def _make_error(self, error: sqlite3.DatabaseError, run: str | None) -> StoreError:
        if is_no_damage(error):
            return StoreError(
                f"{self._path} can't be read now: {error}. Try again; if it stays so, check the disk "
                "and the rights of the folder."
            )
        if run is not None:
            return DamagedRunError(run, str(error))
        return StoreError(
            f"The list of runs in {self._path} can't be read: {error}. "
            f"`agentstepper doctor --data {self._path.parent} --repair` restores what is readable."
        )


#: The bytes of each run's blobs and rows: SQLite knows lengths without reading long values.
_SIZES: Final = """
    SELECT runs.id, sum(size) FROM runs JOIN (
        SELECT n AS run, length(header) + 256 AS size FROM runs
        UNION ALL SELECT run, length(bytes) + 64 FROM blobs
        UNION ALL SELECT run, 64 FROM nodes
        UNION ALL SELECT run, length(body) + ifnull(length(data), 0) + 128 FROM events
        UNION ALL SELECT run, length(body) + length(data) + 128 FROM breakpoints
        UNION ALL SELECT run, length(body) + 128 FROM commits
        UNION ALL SELECT run, length(body) + 128 FROM changes
    ) ON run = runs.n GROUP BY runs.n
"""


def _decode_listing(row: Sequence[Any]) -> RunListing:
    n, id = row[:2]
    try:
        if is_intact("runs", id, row):
            known = RunRow.from_columns(row)
            return RunListing(known.run, known.changes, known.active)
    except (msgspec.DecodeError, TypeError):
        pass
    return RunListing(_make_damaged_header(n, id, row[2]), damaged=True)


def _make_damaged_header(n: int, id: Any, header: Any) -> Run:
    """Make a header in place of a damaged one, with the values that can still be read."""
    id = id if isinstance(id, str) and id else f"damaged-{n}"
    failure = Failure(
        type="DamagedRunError", message=str(DamagedRunError(id, "its header is damaged"))
    )
    try:
        found = RUN.decode(header, id=id)
        name, program, began = found.name, found.program, found.started_at
    except (msgspec.DecodeError, TypeError):
        name, program, began = f"Damaged run {n}", "", 0.0
    return Run(
        id=id, name=name, program=program, started_at=began, state=RunState.IDLE, failure=failure
    )


# ---- at a Core's start ----------------------------------------------------------------------------


log = logging.getLogger(__name__)

#: The subfolder of `.run` files, which Cores wrote before there was a store.
RUN_FILES_FOLDER: Final = "logs"


def read_restart_records(reader: StoreReader, listed: Sequence[RunListing]) -> Iterator[Record]:
    """Read the records of `Store.load`. A damaged live run is loaded as an ended one.

    Args:
        reader: The store's reader.
        listed: The store's runs, oldest first.

    Raises:
        StoreError: The store can't be read now.
    """
    config_rows = reader.read_config_rows()
    if config_rows.damaged:
        log.error("%d of the breakpoints and prices are damaged and left out", config_rows.damaged)
    yield from config_rows.records
    rest: dict[str, list[Record]] = {}  # of those that live
    for each in listed:
        first, *others = _read_run_records(reader, each)
        if others:
            rest[each.run.id] = others
        yield first
    yield from _order_by_activity([each for each in listed if each.run.id in rest])
    for others in rest.values():
        yield from others


def _read_run_records(reader: StoreReader, listed: RunListing) -> list[Record]:
    if listed.active is None:
        return [EndedRunLoaded(run=listed.run)]
    try:
        return reader.live_records(listed.run.id)
    except DamagedRunError as error:
        log.error("%s was running, and is given up: %s", escape_to_one_line(listed.run.name), error)
        failure = Failure(type=type(error).__name__, message=str(error))
        return [EndedRunLoaded(run=_end_run(listed.run, failure))]


def _end_run(run: Run, failure: Failure) -> Run:
    return replace(run, state=RunState.IDLE, pending=(), failure=failure, stopping=False)


def _order_by_activity(live: list[RunListing]) -> Iterator[Record]:
    """Make the records that restore the order of live runs by their last halt or start, if needed."""
    order = sorted(live, key=lambda each: each.active or 0)
    if order == live:
        return
    for each in order:
        # Without what is counted by the records that follow.
        usage = None if each.run.samples is UNSET else each.run.samples.usage
        header = replace(each.run, rows=0, commits=0, usage=usage, hits=(), effects=UNSET)
        yield RunHeaderSaved(run=replace(header, state=RunState.HALTED))
        yield RunHeaderSaved(run=header)


# ---- files of version 1: each is taken in once ----------------------------------------------------


def find_unimported_files(
    folder: Path, imported: Container[str], runs: Container[str]
) -> Iterator[tuple[str, RunHistory]]:
    """Read the runs of `.run` files that aren't imported yet, oldest first, each with its file's name.

    Files that can't be read are logged and left unchanged; they are tried again at the next start.

    Args:
        folder: The store's folder.
        imported: The names of imported files (the table `files`).
        runs: The ids of the store's runs: a copy of a file is imported as a new run.
    """
    found: list[tuple[str, RunHistory]] = []
    ids: set[str] = set()
    for path in sorted((folder / RUN_FILES_FOLDER).glob("*.run")):
        if path.name in imported:
            continue
        try:
            data = read_run_file(path)
            history = runfile.load_run(data)
            if history.run.id in runs or history.run.id in ids:
                history = runfile.load_run(data, path.stem)
        except (ProtocolError, OSError) as error:
            log.warning("%s is not listed: %s", path, error)
            continue
        ids.add(history.run.id)
        found.append((path.name, history))
    yield from sorted(found, key=lambda each: each[1].run.started_at)


def delete_run_file(folder: Path, name: str) -> None:
    """Delete the file of a deleted run, and the text file beside it, so that nothing of the run is left.

    Args:
        folder: The store's folder.
        name: The file's name, from `find_unimported_files`.
    """
    path = folder / RUN_FILES_FOLDER / name
    for each in (path, path.with_suffix(".log")):
        with contextlib.suppress(OSError):
            each.unlink(missing_ok=True)
