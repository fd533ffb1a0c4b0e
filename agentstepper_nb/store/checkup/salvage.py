"""Reads the runs of a damaged store; placeholder texts replace the lost parts.

SQLite reads row by row what it can; unreadable rows are lost, and are reported.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec.structs import replace

from ...errors import DamagedRunError
from ...protocol.data_model import (
    AgentActivity,
    Commit,
    Event,
    EventKind,
    FileChange,
    HaltPoint,
    Run,
    RunEnding,
    RunState,
)
from ...protocol.records import AgentCredentials, Record, RunHistory
from ..run_validation import MAX_TAGS
from ..sqlite import migrations
from ..sqlite.contents import ContentReader
from ..sqlite.database import connect
from ..sqlite.row_codec import (
    COUNTED_TABLES,
    RUN,
    RUN_TABLES,
    RunRow,
    decode_config_rows,
    is_intact,
    make_select,
)
from ..sqlite.run_rows import ROWS_OF, RunRowReader
from .core_files import PART_SUFFIX

T = TypeVar("T")
Row = Sequence[Any]

#: The tag of a run that was put together again.
DAMAGED_TAG: Final = "damaged"
#: The placeholder of a lost content.
LOST_CONTENT: Final = '"(This content was damaged and could not be read.)"'
#: The placeholder of a lost row.
LOST_ROW: Final = '"(This row was damaged and could not be read.)"'

#: Tables whose rows are read one by one.
_TABLES: Final = (*COUNTED_TABLES, "changes", "sentences", "rules")
#: Row numbers to try after an unreadable row: up to the next readable row or, if there is none, beyond
#: the last.
_MAX_GAP_ROWS: Final = 1_000_000
_PROBED_ROWS: Final = 1_000
#: The most rows that get words in their place at a run's end.
_MAX_FILLER_ROWS: Final = 100_000


@dataclass(frozen=True)
class SalvagedRun:
    """One run of a damaged store.

    Args:
        history: The readable parts of the run, with placeholders for the others.
        agent_credentials: The credentials by which the run's agent is recognized.
        received_count: The number of the agent's last received message.
        model_summaries: The summaries that a model made, by their keys.
        losses: The parts that couldn't be read, in words; empty if the run is complete.
    """

    history: RunHistory
    agent_credentials: AgentCredentials | None = None
    received_count: int = 0
    model_summaries: tuple[tuple[str, str], ...] = ()
    losses: tuple[str, ...] = ()


@contextlib.contextmanager
def open_damaged_store(path: Path) -> Iterator[SalvageReader]:
    """Read a damaged store, which isn't changed.

    Args:
        path: The store's file; a journal may be beside it.

    Raises:
        OSError: There is no space for a copy.
        sqlite3.DatabaseError: Nothing of the file can be read.
    """
    with _copy_with_journals(path) as copy, contextlib.closing(connect(copy, "rw")) as connection:
        connection.execute("PRAGMA writable_schema = ON")  # opens a file that was cut, too
        connection.execute("PRAGMA query_only = ON")
        migrations.read_schema(connection)
        yield SalvageReader(connection)


@contextlib.contextmanager
def _copy_with_journals(path: Path) -> Iterator[Path]:
    """Copy the file and its journals beside it, for SQLite to apply the journals; deleted afterwards."""
    handle, name = tempfile.mkstemp(
        prefix=f"{path.name}.", suffix=f".salvage{PART_SUFFIX}", dir=path.parent
    )
    os.close(handle)
    copy = Path(name)
    try:
        shutil.copyfile(path, copy)
        for end in ("-wal", "-journal"):
            source, target = (each.with_name(each.name + end) for each in (path, copy))
            if source.exists():
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                shutil.copyfile(source, target)
        yield copy
    finally:
        for end in ("", "-wal", "-journal", "-shm"):
            copy.with_name(copy.name + end).unlink(missing_ok=True)


class SalvageReader:
    """Reads the remains of a damaged store.

    Args:
        connection: A connection to a copy.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._row_numbers = {table: self._read_row_numbers(table) for table in _TABLES}
        ids = self._ids()
        rows = {run for table in RUN_TABLES for run in self._row_numbers.get(table, ()) if run > 0}
        self._runs = {n: self._id(n, ids.get(n, [])) for n in sorted({*ids, *rows})}

    def runs(self) -> Iterator[SalvagedRun]:
        """Yield the store's runs, oldest first, except those of which nothing is left."""
        for n, id in self._runs.items():
            sentences = self.intact_rows("sentences", n, id)
            model_summaries = tuple((str(row[2]), str(row[3])) for row in sentences)
            try:
                run = RunRowReader(self.connection, id, is_preloaded=True)
                history, received_count = run.history(), run.row.heard
            except (DamagedRunError, KeyError, sqlite3.DatabaseError):
                damaged_run = _DamagedRunReader(self, n, id)
                if damaged_run.has_rows:
                    yield damaged_run.salvaged(model_summaries)
            else:
                yield SalvagedRun(history, run.agent_credentials, received_count, model_summaries)

    def files(self) -> list[tuple[str, str]]:
        """List the imported files of version 1, with the ids of their runs."""
        found: dict[Any, Any] = {}
        self._read("SELECT name, run FROM files", found)
        return [(name, self._runs[n]) for name, n in found.items() if n in self._runs]

    def rules(self) -> tuple[Record, ...]:
        """Make the records of the breakpoints and prices."""
        found = (self.row("rules", n) for n in self.row_numbers("rules", 0))
        return decode_config_rows([row for row in found if row is not None]).records

    # ---- rows ---------------------------------------------------------------------------------------

    def row(self, table: str, n: int) -> Row | None:
        """Read a row by its number; None if it doesn't exist or can't be read."""
        try:
            found = self.connection.execute(make_select(table, "n = ?"), (n,)).fetchone()
        except sqlite3.DatabaseError:
            return None
        return found if found is not None and found[0] == n else None

    def intact_rows(self, table: str, run: int, id: str) -> Iterator[Row]:
        """Read the intact rows of a run."""
        rows = (self.row(table, n) for n in self.row_numbers(table, run))
        return (row for row in rows if row is not None and is_intact(table, id, row))

    def has_intact_rows(self, run: int, id: str) -> bool:
        """Whether any row of a run is as it was."""
        return any(any(self.intact_rows(table, run, id)) for table in COUNTED_TABLES)

    def row_numbers(self, table: str, run: int) -> Sequence[int]:
        """The numbers of a run's rows; of those that belong to no run under 0."""
        return self._row_numbers[table].get(run, ())

    def _read_row_numbers(self, table: str) -> dict[int, list[int]]:
        """The numbers of a table's rows, by their run's."""
        query = f"SELECT n, {'run' if table in RUN_TABLES else '0'} FROM {table} NOT INDEXED"
        found: dict[Any, Any] = {}
        if not self._read(f"{query} ORDER BY n", found):
            low = max(found, default=0)
            self._read(f"{query} ORDER BY n DESC", found)
            high = min((n for n in found if n > low), default=low + _PROBED_ROWS)
            for n in range(low + 1, min(high, low + _MAX_GAP_ROWS)):
                self._read(f"{query} WHERE n = ?", found, n)
        by_run: dict[int, list[int]] = {}
        for n in sorted(found):
            if isinstance(found[n], int):
                by_run.setdefault(found[n], []).append(n)
        return by_run

    def _ids(self) -> dict[int, list[str]]:
        """Find the possible ids of runs, by number: the table and its index both store the ids."""
        ids: dict[int, list[str]] = {}
        for order in ("NOT INDEXED ORDER BY n", "ORDER BY id"):
            found: dict[Any, Any] = {}
            self._read(f"SELECT n, id FROM runs {order}", found)
            for n, id in found.items():
                if isinstance(id, str) and id and id not in ids.setdefault(n, []):
                    ids[n].append(id)
        return ids

    def _id(self, n: int, candidates: list[str]) -> str:
        """Find a run's id: the one that its rows' checksums confirm, since a copy may be damaged."""
        own = self.row("runs", n)
        for id in candidates:
            if (own is not None and is_intact("runs", id, own)) or self.has_intact_rows(n, id):
                return id
        return candidates[0] if candidates else f"damaged-{n}"

    def _read(self, query: str, into: dict[Any, Any], *bound: int) -> bool:
        """Read pairs from a query until it fails. Returns whether it succeeded."""
        try:
            for key, value in self.connection.execute(query, bound):
                if isinstance(key, int | str):
                    into.setdefault(key, value)
        except sqlite3.DatabaseError:
            return False
        return True


class _DamagedRunReader(RunRowReader):
    """Reads one run that is partly lost.

    Args:
        rows: The store.
        n: The run's number.
        id: The run's id.
    """

    def __init__(self, rows: SalvageReader, n: int, id: str) -> None:
        self._salvage = rows
        self._own_row = own = rows.row("runs", n)
        self._is_known = own is not None and is_intact("runs", id, own)
        known = own if own is not None and self._is_known else (n, id, b"", None, None)
        contents = ContentReader(rows.connection, n, id, has_step_cache=True)
        self._read_from(rows.connection, RunRow.from_columns(known), contents)
        self._losses = [] if self._is_known else ["its header"]
        self._missing_contents = 0  # how many

    @property
    def has_rows(self) -> bool:
        """Whether anything of it is left."""
        return self._own_row is not None or self._salvage.has_intact_rows(self._row.n, self._id)

    def salvaged(self, model_summaries: tuple[tuple[str, str], ...]) -> SalvagedRun:
        """Read the remains of the run."""
        history = _repair_history(self.history(), ended=not self._is_known)
        if self._missing_contents:
            self._losses.append(_format_count(self._missing_contents, "content"))
        credentials = self.agent_credentials if history.run.live else None
        lost = tuple(self._losses) or ("what ties it together",)
        return SalvagedRun(history, credentials, self._row.heard, model_summaries, lost)

    def _rows(self, table: str) -> list[Row]:
        intact = list(self._salvage.intact_rows(table, self._row.n, self._id))
        if table in COUNTED_TABLES:
            present = len(self._salvage.row_numbers(table, self._row.n))
            lost = max(present, getattr(self._row, table)) - len(intact)
            if lost:
                self._losses.append(_format_count(lost, ROWS_OF.get(table, table)[:-1]))
        return intact

    def _all(self, table: str, read: Callable[[Row], T]) -> list[T]:
        found = []
        for row in self._rows(table):
            with contextlib.suppress(DamagedRunError):  # its checksum agrees: a bug
                found.append(read(row))
        return found

    def _commit(self, row: Row, changes: Sequence[FileChange] | None) -> Commit:
        present = len(changes or ())
        if present < row[4]:
            self._losses.append(
                f"{_format_count(row[4] - present, 'file')} of commit {row[2][:12]}"
            )
        return super()._commit((*row[:4], present, row[5]), changes or ())

    def _text(self, content: Any) -> str | None:
        try:
            return super()._text(content)
        except (DamagedRunError, sqlite3.DatabaseError):
            self._missing_contents += 1
            return LOST_CONTENT

    def _header(self) -> Run:
        if self._is_known:
            return super()._header()
        if self._own_row is not None:
            with contextlib.suppress(msgspec.DecodeError, TypeError):
                return RUN.decode(self._own_row[2], id=self._id)
        return Run(id=self._id, name="Damaged run", program="", started_at=0)


# ---- what is put in place of what is lost -----------------------------------------------------------


def _repair_history(history: RunHistory, *, ended: bool) -> RunHistory:
    """Repair a run so that all its references are valid.

    Args:
        history: The readable parts.
        ended: Whether the run's header is lost: then the run counts as ended.
    """
    points = history.halt_points
    events = [*history.events, *_restore_lost_events(history)]
    items: list[Event | HaltPoint] = [*events, *points]
    header = _end_run(history.run, items) if ended else history.run
    fillers = _make_filler_rows(header, items)
    present = {point.id for point in points}
    run = replace(
        header,
        rows=max((each.seq for each in (*items, *fillers)), default=0),
        pending=tuple(id for id in header.pending if id in present),
        tags=add_damaged_tag(header.tags),
    )
    return replace(history, run=run, events=(*events, *fillers))


def _restore_lost_events(history: RunHistory) -> Iterator[Event]:
    """Events that are lost, made again from their halt points."""
    known = {event.id for event in history.events}
    for point in history.halt_points:
        if point.event not in known:
            known.add(point.event)
            yield Event(
                id=point.event,
                run=point.run,
                kind=point.kind,
                at=point.at,
                depth=point.depth,
                name=point.name,
                scope=point.scope,
                label=point.label,
                outcome=point.outcome,
            )


def _end_run(header: Run, items: Sequence[Event | HaltPoint]) -> Run:
    times = [each.at for each in items]
    began = header.started_at or min(times, default=0.0)
    ended = max(times, default=began) if header.ended_at is None else header.ended_at
    return replace(
        header,
        started_at=began,
        state=RunState.IDLE,
        agent_state=AgentActivity.FINISHED,
        pending=(),
        ending=header.ending or RunEnding.LOST,
        ended_at=ended,
        detached_at=None,
        stopping=False,
    )


def _make_filler_rows(header: Run, items: Sequence[Event | HaltPoint]) -> list[Event]:
    """Make a placeholder row for each lost row."""
    times = {each.seq: each.at for each in items if each.seq}
    last = max(times, default=0)
    known = {each.id for each in items}
    fillers, at = [], header.started_at
    for seq in range(1, max(last, min(header.rows, last + _MAX_FILLER_ROWS)) + 1):
        at = times.get(seq, at)
        id = f"damaged-{seq}"
        if seq not in times and id not in known:
            kind = EventKind.DEBUG_MESSAGE
            fillers.append(Event(id=id, run=header.id, kind=kind, at=at, seq=seq, data=LOST_ROW))
    return fillers


def add_damaged_tag(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Add the tag of damaged runs to a run's tags; it takes the place of the last of too many."""
    return tags if DAMAGED_TAG in tags else (*tags[: MAX_TAGS - 1], DAMAGED_TAG)


def join_losses(losses: tuple[str, ...]) -> str:
    """Join the lost parts to one text."""
    *others, last = losses
    return f"{', '.join(others)} and {last}" if others else last


def _format_count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
