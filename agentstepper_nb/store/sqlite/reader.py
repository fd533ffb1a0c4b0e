"""Runs out of the tables, each row compared with its checksum."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from ...errors import DamagedRunError, StoreError
from ...protocol.records import (
    AgentHeard,
    BreakpointSaved,
    CommitSaved,
    EventSaved,
    Record,
    RunHistory,
    RunStarted,
)
from ...protocol.values import (
    Breakpoint,
    Commit,
    Event,
    EventKind,
    Failure,
    FileBody,
    FileChange,
    Note,
    Run,
    RunState,
)
from .contents import Texts
from .opening import open_reader
from .rows import (
    BREAKPOINT,
    CHANGE,
    COMMIT,
    COUNTED,
    EVENT,
    NOTE,
    PROOF,
    RUN,
    RunRow,
    Value,
    intact,
    select,
    text,
)

T = TypeVar("T")

_RUNS: Final = select("runs", "1 ORDER BY n")
_RUN: Final = select("runs", "id = ?")
_SENTENCE: Final = select("sentences", "key = ?")
_ID_OF: Final = "SELECT id FROM runs WHERE n = ?"


class Listed(NamedTuple):
    """A run as the table of runs has it."""

    run: Run
    changes: int = 0  # how many transactions touched it
    active: int | None = None  # grows with each start and halt of any run; None: it has ended
    hurt: bool = False


class Reader:
    """Reads a store, beside its writer or without one. Thread-safe: one read at a time.

    Args:
        path: `DIR/store.sqlite`.

    Raises:
        NewerStoreError: A newer program wrote it.
        StoreError: It can't be opened; of all methods: it can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)
        self._connection.text_factory = text
        self._lock = threading.Lock()

    def listed(self) -> list[Listed]:
        """All runs, oldest first. One whose row is hurt has ended, and its failure says so."""
        with self._reading():
            return [_listed(row) for row in self._connection.execute(_RUNS)]

    def headers(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return [each.run for each in self.listed()]

    def history(self, run: str) -> RunHistory:
        """One run, whole.

        Raises:
            DamagedRunError: Some of it is hurt.
            KeyError: There is no such run.
        """
        with self._reading(run):
            return _Run(self._connection, run, every=True).history()

    def message(self, run: str, message: str) -> Breakpoint | Event | None:
        """A row's breakpoint, or the event with this id. Errors as `history`."""
        with self._reading(run):
            whole = _Run(self._connection, run)
            return whole.breakpoint(message) or whole.event(message)

    def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""
        with self._reading(run):
            return _Run(self._connection, run).commit(commit)

    def live_records(self, run: str) -> list[Record]:
        """Records that lead a debugger to where a live run stands: see `Store.load`.

        What is no longer of any use to a debugger comes without contents. Errors as `history`.
        """
        with self._reading(run):
            return _Run(self._connection, run).records()

    def sentence(self, key: str) -> str | None:
        """What a model once made of the same. One that is hurt is asked for again."""
        with self._reading():
            for row in self._connection.execute(_SENTENCE, (key,)).fetchall():
                owner = self._connection.execute(_ID_OF, (row[1],)).fetchone()
                if owner and intact("sentences", owner[0], row):
                    return str(row[3])
            return None

    def files(self) -> set[str]:
        """The names of the files of version 1 that were taken in."""
        with self._reading():
            return {name for (name,) in self._connection.execute("SELECT name FROM files")}

    def sizes(self) -> dict[str, int]:
        """About how many bytes each run has in its rows: less than it takes on disk."""
        with self._reading():
            return dict(self._connection.execute(_SIZES))

    def close(self) -> None:
        """Let go. Idempotent."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _reading(self, run: str | None = None) -> Iterator[None]:
        """One state of the store for all that is read inside, of one run or of all."""
        with self._lock:
            try:
                self._connection.execute("BEGIN")
                yield
            except sqlite3.DatabaseError as error:
                if run is None:
                    raise StoreError(
                        f"The list of runs in {self._path} can't be read: {error}. `agentstepper "
                        f"doctor --data {self._path.parent} --repair` brings back what can be."
                    ) from error
                raise DamagedRunError(run, str(error)) from error
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")


#: Of each run what its blobs and rows hold: SQLite knows lengths without reading what is long.
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


class _Run:
    """One run's rows, inside one transaction."""

    def __init__(self, connection: sqlite3.Connection, run: str, *, every: bool = False) -> None:
        self._execute = connection.execute
        row = self._execute(_RUN, (run,)).fetchone()
        if row is None:
            raise KeyError(run)
        if not intact("runs", run, row):
            raise DamagedRunError(run, "its header is hurt")
        self._row = RunRow.of(row)
        self._id = run
        self._texts = Texts(connection, self._row.n, run, every=every)

    def history(self) -> RunHistory:
        events = [self._event(row) for row in self._rows("events")]
        breakpoints = [self._breakpoint(row) for row in self._rows("breakpoints")]
        changes = self._changes()
        commits = [self._commit(row, changes.get(row[0], ())) for row in self._rows("commits")]
        return RunHistory(
            run=self._header(),
            events=tuple(events),
            breakpoints=tuple(breakpoints),
            commits=tuple(commits),
            notes=tuple(self._note(row) for row in self._rows("notes")),
        )

    def records(self) -> list[Record]:
        proof = None if self._row.proof is None else self._decoded(PROOF.decode, self._row.proof)
        events = [self._event(row, bare=True) for row in self._rows("events")]
        points = [self._breakpoint(row, bare=True) for row in self._rows("breakpoints")]
        commits = [self._commit(row, None) for row in self._rows("commits")]
        spoken = [event for event in events if event.kind is EventKind.DEBUG_MESSAGE]
        others = [event for event in events if event.kind is not EventKind.DEBUG_MESSAGE]
        rows: list[Event | Breakpoint] = sorted([*spoken, *points], key=lambda row: row.seq)
        return [
            RunStarted(run=self._header(), proof=proof),
            *(EventSaved(event=event) for event in others),
            *(_saved(row) for row in rows),
            *(CommitSaved(commit=commit) for commit in commits),
            AgentHeard(run=self._id, n=self._row.heard),
        ]

    def breakpoint(self, id: str) -> Breakpoint | None:
        row = self._one("breakpoints", id)
        return None if row is None else self._breakpoint(row)

    def event(self, id: str) -> Event | None:
        row = self._one("events", id)
        return None if row is None else self._event(row)

    def commit(self, id: str) -> Commit | None:
        row = self._one("commits", id)
        return None if row is None else self._commit(row, self._changes(row[0]).get(row[0], ()))

    # ---- rows ---------------------------------------------------------------------------------------

    def _rows(self, table: str) -> list[Sequence[Any]]:
        """All of the run's rows in a table, as many as were counted, in their order."""
        rows = self._execute(select(table, "run = ?"), (self._row.n,)).fetchall()
        if table in COUNTED and len(rows) != getattr(self._row, table):
            raise self._damaged(f"{len(rows)} of {getattr(self._row, table)} {table} are there")
        for row in rows:
            self._check(table, row)
        return sorted(rows, key=lambda row: row[0])

    def _one(self, table: str, id: str) -> Sequence[Any] | None:
        found = self._execute(select(table, "run = ? AND id = ?"), (self._row.n, id))
        row: Sequence[Any] | None = found.fetchone()
        if row is not None:
            self._check(table, row)
        return row

    def _check(self, table: str, row: Sequence[Any]) -> None:
        if not intact(table, self._id, row):
            raise self._damaged(f"row {row[0]} of its {table} is hurt")

    def _changes(self, commit: int | None = None) -> dict[int, list[FileChange]]:
        """The files of a commit, or of all of them, by their commit's number."""
        rows = self._rows("changes")
        found: dict[int, list[FileChange]] = {}
        for row in rows:
            if commit in (None, row[2]):
                found.setdefault(row[2], []).append(self._change(row))
        return found

    # ---- values -------------------------------------------------------------------------------------

    def _header(self) -> Run:
        return self._decoded(RUN.decode, self._row.header, id=self._id)

    def _event(self, row: Sequence[Any], *, bare: bool = False) -> Event:
        _, _, id, body, data, _ = row
        event = self._decoded(EVENT.decode, body, id=id, run=self._id)
        if bare and event.ended_at is not None:
            return event
        return msgspec.structs.replace(event, data=self._texts.text(data))

    def _breakpoint(self, row: Sequence[Any], *, bare: bool = False) -> Breakpoint:
        _, _, id, body, data, edit, _ = row
        point = self._decoded(BREAKPOINT.decode, body, id=id, run=self._id, data="")
        if bare and point.answer is not None:
            return point
        return msgspec.structs.replace(
            point, data=self._texts.text(data) or "", edit=self._texts.text(edit)
        )

    def _commit(self, row: Sequence[Any], changes: Sequence[FileChange] | None) -> Commit:
        """A commit; without its files where `changes` is None."""
        _, _, id, body, files, _ = row
        if changes is not None and len(changes) != files:
            raise self._damaged(f"{len(changes)} of {files} files of commit {id} are there")
        return self._decoded(COMMIT.decode, body, id=id, run=self._id, changes=tuple(changes or ()))

    def _change(self, row: Sequence[Any]) -> FileChange:
        body = None
        if row[4] is not None:
            diff, content, previous = (self._texts.text(each) or "" for each in row[4:7])
            body = FileBody(diff=diff, content=content, previous_content=previous)
        return self._decoded(CHANGE.decode, row[3], body=body)

    def _note(self, row: Sequence[Any]) -> Note:
        _, _, message, body, _ = row
        return self._decoded(NOTE.decode, body, message=message, run=self._id)

    def _decoded(self, decode: Callable[..., T], body: Value, /, **apart: object) -> T:
        try:
            return decode(body, **apart)
        except (msgspec.DecodeError, TypeError) as error:
            raise self._damaged(str(error)) from error

    def _damaged(self, what: str) -> DamagedRunError:
        return DamagedRunError(self._id, what)


def _listed(row: Sequence[Any]) -> Listed:
    n, id = row[:2]
    try:
        if intact("runs", id, row):
            known = RunRow.of(row)
            return Listed(known.run, known.changes, known.active)
    except (msgspec.DecodeError, TypeError):
        pass
    return Listed(_hurt(n, id, row[2]), hurt=True)


def _hurt(n: int, id: Any, header: Any) -> Run:
    """A header in place of one that is hurt, with as much of it as can still be read."""
    id = id if isinstance(id, str) and id else f"damaged-{n}"
    failure = Failure(
        type="DamagedRunError", message=str(DamagedRunError(id, "its header is hurt"))
    )
    try:
        found = RUN.decode(header, id=id)
        name, program, began = found.name, found.program, found.started_at
    except (msgspec.DecodeError, TypeError):
        name, program, began = f"Damaged run {n}", "", 0.0
    return Run(
        id=id, name=name, program=program, started_at=began, state=RunState.IDLE, failure=failure
    )


def _saved(row: Event | Breakpoint) -> Record:
    return EventSaved(event=row) if isinstance(row, Event) else BreakpointSaved(breakpoint=row)
