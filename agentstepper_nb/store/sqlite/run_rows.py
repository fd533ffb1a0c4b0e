"""Reads one run from the tables, and checks each row's checksum."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import Any, Final, TypeVar

import msgspec

from ...errors import DamagedRunError
from ...protocol.data_model import (
    Commit,
    Event,
    EventKind,
    FileBody,
    FileChange,
    HaltPoint,
    RowNote,
    Run,
)
from ...protocol.records import (
    AgentCredentials,
    CommitSaved,
    EventSaved,
    HaltPointSaved,
    MessagesReceived,
    Record,
    RunHistory,
    RunStarted,
)
from ..base import CommitPage, ContentPredicate, RowConsumer, RowPage
from .contents import ContentReader
from .row_codec import (
    CHANGE,
    COMMIT,
    COUNTED_TABLES,
    EVENT,
    HALT_POINT,
    NOTE,
    PROOF,
    RUN,
    RunRow,
    Value,
    is_intact,
    make_select,
)

T = TypeVar("T")

_RUN: Final = make_select("runs", "id = ?")
# Each is of a form for which SQLite takes the index on places, the partial ones among them.
_AT: Final = "run = ? AND seq BETWEEN ? AND ? ORDER BY seq"
_AT_ROWS: Final = "run = ? AND seq BETWEEN ? AND ?"
_OF_EVENTS: Final = "run = ? AND event IN (SELECT value FROM json_each(?))"
_BEFORE: Final = "run = ? AND n < ? ORDER BY n DESC LIMIT ?"
_LAST: Final = "SELECT max(seq) FROM {} WHERE run = ? AND seq > 0"
#: The names of tables' rows in messages for a person.
ROWS_OF: Final = {"breakpoints": "halt points"}
#: Above every number of a row.
_END: Final = 2**63 - 1


class RunRowReader:
    """One run's rows, inside one transaction. Every method may raise `DamagedRunError`.

    Args:
        connection: A connection inside a transaction.
        run: The run's id.
        is_preloaded: Whether all of the run's contents are needed.

    Raises:
        KeyError: There is no such run.
        DamagedRunError: The run's header is damaged.
    """

    def __init__(
        self, connection: sqlite3.Connection, run: str, *, is_preloaded: bool = False
    ) -> None:
        row = connection.execute(_RUN, (run,)).fetchone()
        if row is None:
            raise KeyError(run)
        if not is_intact("runs", run, row):
            raise DamagedRunError(run, "its header is damaged")
        self._read_from(
            connection,
            RunRow.from_columns(row),
            ContentReader(connection, row[0], run, is_preloaded=is_preloaded),
        )

    def _read_from(self, connection: sqlite3.Connection, row: RunRow, texts: ContentReader) -> None:
        self._execute = connection.execute
        self._row = row
        self._id = row.id
        self._texts = texts

    @property
    def row(self) -> RunRow:
        """The run's own row."""
        return self._row

    @property
    def agent_credentials(self) -> AgentCredentials | None:
        """The credentials by which the run's agent is recognized."""
        return None if self._row.proof is None else self._decoded(PROOF.decode, self._row.proof)

    def history(self) -> RunHistory:
        """All of it."""
        events = self._all("events", self._event)
        halt_points = self._all("breakpoints", self._halt_point)
        changes = self._changes()
        commits = self._all("commits", lambda row: self._commit(row, changes.get(row[0], ())))
        return RunHistory(
            run=self._header(),
            events=tuple(events),
            halt_points=tuple(halt_points),
            commits=tuple(commits),
            notes=self.notes(),
        )

    def notes(self) -> tuple[RowNote, ...]:
        """Read the notes beside the run's rows."""
        return tuple(self._all("notes", self._note))

    def records(self) -> list[Record]:
        """Read the records that bring a debugger to the run's state: see `StoreReader.live_records`."""
        events = [self._event(row, is_bare=True) for row in self._rows("events")]
        points = [self._halt_point(row, is_bare=True) for row in self._rows("breakpoints")]
        commits = list(self._bare_commits())
        debug_messages = [event for event in events if event.kind is EventKind.DEBUG_MESSAGE]
        others = [event for event in events if event.kind is not EventKind.DEBUG_MESSAGE]
        rows: list[Event | HaltPoint] = sorted([*debug_messages, *points], key=lambda row: row.seq)
        return [
            RunStarted(run=self._header(), agent_credentials=self.agent_credentials),
            *(EventSaved(event=event) for event in others),
            *(_saved(row) for row in rows),
            *(CommitSaved(commit=commit) for commit in commits),
            MessagesReceived(run=self._id, n=self._row.heard),
        ]

    def _bare_commits(self) -> Iterator[Commit]:
        """Read commits without files, except the first with files, from which commits are counted."""
        has_changed = False
        for row in self._rows("commits"):
            first = bool(row[4]) and not has_changed
            has_changed = has_changed or first
            yield self._commit(row, self._changes_of(row[0], is_bare=True) if first else None)

    def halt_point(self, id: str) -> HaltPoint | None:
        """Read one of the run's halt points."""
        row = self._find_row("breakpoints", id)
        return None if row is None else self._halt_point(row)

    def event(self, id: str) -> Event | None:
        """Read one of the run's events."""
        row = self._find_row("events", id)
        return None if row is None else self._event(row)

    def commit(self, id: str) -> Commit | None:
        """Read one of the run's commits, with contents."""
        row = self._find_row("commits", id)
        return None if row is None else self._commit(row, self._changes_of(row[0]))

    # ---- rows ---------------------------------------------------------------------------------------

    def _all(self, table: str, read: Callable[[Sequence[Any]], T]) -> list[T]:
        """The values of all of the run's rows in a table."""
        return [read(row) for row in self._rows(table)]

    def _find_rows(self, table: str, where: str, *values: Value) -> list[Sequence[Any]]:
        """Some rows of a table, each of them intact."""
        rows = self._execute(make_select(table, where), values).fetchall()
        for row in rows:
            self._check(table, row)
        return rows

    def _rows(self, table: str) -> list[Sequence[Any]]:
        """Read all rows of the run in a table, in order, and check their number."""
        rows = self._execute(make_select(table, "run = ?"), (self._row.n,)).fetchall()
        if table in COUNTED_TABLES and len(rows) != getattr(self._row, table):
            raise self._make_damage_error(
                f"{len(rows)} of {getattr(self._row, table)} {ROWS_OF.get(table, table)} are there"
            )
        for row in rows:
            self._check(table, row)
        return sorted(rows, key=lambda row: row[0])

    def _find_row(self, table: str, id: str) -> Sequence[Any] | None:
        found = self._execute(make_select(table, "run = ? AND id = ?"), (self._row.n, id))
        row: Sequence[Any] | None = found.fetchone()
        if row is not None:
            self._check(table, row)
        return row

    def _check(self, table: str, row: Sequence[Any]) -> None:
        if not is_intact(table, self._id, row):
            raise self._make_damage_error(
                f"row {row[0]} of its {ROWS_OF.get(table, table)} is damaged"
            )

    def _changes(self) -> dict[int, list[FileChange]]:
        """The files of all commits, by their commit's number."""
        found: dict[int, list[FileChange]] = {}
        for row in self._rows("changes"):
            found.setdefault(row[2], []).append(self._change(row))
        return found

    def _changes_of(self, commit: int, *, is_bare: bool = False) -> list[FileChange]:
        """The files of one commit, by its number; bare ones without contents."""
        where = "run = ? AND of = ? ORDER BY n"
        rows = self._find_rows("changes", where, self._row.n, commit)
        return [self._change(row, is_bare=is_bare) for row in rows]

    # ---- values -------------------------------------------------------------------------------------

    def _header(self) -> Run:
        return self._decoded(RUN.decode, self._row.header, id=self._id)

    def _event(self, row: Sequence[Any], *, is_bare: bool = False) -> Event:
        _, _, id, body, data, _ = row
        event = self._decoded(EVENT.decode, body, id=id, run=self._id)
        if is_bare and event.ended_at is not None:
            return event
        return msgspec.structs.replace(event, data=self._text(data))

    def _halt_point(self, row: Sequence[Any], *, is_bare: bool = False) -> HaltPoint:
        _, _, id, body, *_ = row
        point = self._decoded(HALT_POINT.decode, body, id=id, run=self._id, data="")
        if is_bare and point.answer is not None:
            return point
        return self._with_contents(row, point)

    def _with_contents(self, row: Sequence[Any], point: HaltPoint) -> HaltPoint:
        data, edit = map(self._text, row[4:6])
        return msgspec.structs.replace(point, data=data or "", edit=edit)

    def _commit(self, row: Sequence[Any], changes: Sequence[FileChange] | None) -> Commit:
        """Decode a commit; without its files if `changes` is None."""
        _, _, id, body, files, _ = row
        if changes is not None and len(changes) != files:
            raise self._make_damage_error(
                f"{len(changes)} of {files} files of commit {id} are there"
            )
        return self._decoded(COMMIT.decode, body, id=id, run=self._id, changes=tuple(changes or ()))

    def _change(self, row: Sequence[Any], *, is_bare: bool = False) -> FileChange:
        body = None
        if row[4] is not None and not is_bare:
            diff, content, previous = (self._text(each) or "" for each in row[4:7])
            body = FileBody(diff=diff, content=content, previous_content=previous)
        return self._decoded(CHANGE.decode, row[3], body=body)

    def _note(self, row: Sequence[Any]) -> RowNote:
        _, _, message, body, _ = row
        return self._decoded(NOTE.decode, body, message=message, run=self._id)

    def _text(self, content: Any) -> str | None:
        return self._texts.text(content)

    def _decoded(self, decode: Callable[..., T], body: Value, /, **apart: object) -> T:
        try:
            return decode(body, **apart)
        except (msgspec.DecodeError, TypeError) as error:
            raise self._make_damage_error(str(error)) from error

    def _make_damage_error(self, what: str) -> DamagedRunError:
        return DamagedRunError(self._id, what)


class RunPageReader(RunRowReader):
    """Reads some rows or commits of a run, found by their place, without the others.

    Used inside one transaction. Errors as `RunRowReader`.
    """

    def __init__(self, connection: sqlite3.Connection, run: str) -> None:
        super().__init__(connection, run)
        # Prompts of a page mostly begin alike: what they share is read once.
        self._texts = ContentReader(connection, self._row.n, run, has_step_cache=True)

    def page(self, first: int, last: int) -> RowPage:
        """As `Store.page`."""
        rows: list[HaltPoint | Event] = []
        commits = self.visit_rows(first, last, rows.append, lambda point: True)
        rows.sort(key=lambda row: row.seq)
        return RowPage(tuple(rows), commits)

    def visit_rows(
        self, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """As `Store.visit_rows`."""
        place = (self._row.n, first, last)
        found = self._find_rows("breakpoints", _AT, *place)
        points = [self._without_contents(row) for row in found]
        events = [self._event(row) for row in self._find_rows("events", _AT, *place)]
        rows: list[HaltPoint | Event] = sorted([*points, *events], key=lambda row: row.seq)
        self._check_whole(rows, first, last)
        are_needed = [needs_content(point) for point in points]
        # At one go: one by one, to look them up takes as long as to read them.
        self._texts.fetch(text for row in compress(found, are_needed) for text in row[4:6])
        for row, point, is_needed in zip(found, points, are_needed, strict=True):
            on_row(self._with_contents(row, point) if is_needed else point)
        for event in events:
            on_row(event)
        return self._commits_at(rows, first, last)

    def commits(self, before: int | None, limit: int) -> CommitPage:
        """As `Store.commits`."""
        end = _END if before is None else before
        rows = self._find_rows("commits", _BEFORE, self._row.n, end, limit + 1)
        shown = rows[:limit][::-1]
        more = shown[0][0] if len(rows) > limit else None
        return CommitPage(tuple(map(self._decode_bare_commit, shown)), more)

    def find_seq(self, message: str) -> int | None:
        """As `Store.find_seq`."""
        for table, kind in (("breakpoints", HaltPoint), ("events", Event)):
            row = self._find_row(table, message)
            if row is not None:
                read = self._halt_point if kind is HaltPoint else self._event
                return read(row, is_bare=True).seq or None
        return None

    def _without_contents(self, row: Sequence[Any]) -> HaltPoint:
        _, _, id, body, _, edit, _ = row
        edit = None if edit is None else ""
        return self._decoded(HALT_POINT.decode, body, id=id, run=self._id, data="", edit=edit)

    def _check_whole(self, rows: Sequence[HaltPoint | Event], first: int, last: int) -> None:
        """Check that no row is missing: they are numbered without gaps."""
        end = max(
            self._header().rows, self._find_last_seq("breakpoints"), self._find_last_seq("events")
        )
        expected = range(max(1, first), min(last, end) + 1)
        if [row.seq for row in rows] != list(expected):
            raise self._make_damage_error(
                f"{len(rows)} of its rows {first} to {min(last, end)} are there"
            )

    def _find_last_seq(self, table: str) -> int:
        return self._execute(_LAST.format(table), (self._row.n,)).fetchone()[0] or 0

    def _commits_at(
        self, rows: Iterable[HaltPoint | Event], first: int, last: int
    ) -> tuple[Commit, ...]:
        n = self._row.n
        events = {row.id if isinstance(row, Event) else row.event for row in rows}
        found: dict[int, Sequence[Any]] = {}
        names = msgspec.json.encode(sorted(events)).decode()
        for where, *values in ((_AT_ROWS, n, first, last), (_OF_EVENTS, n, names)):
            found |= {row[0]: row for row in self._find_rows("commits", where, *values)}
        return tuple(self._decode_bare_commit(found[number]) for number in sorted(found))

    def _decode_bare_commit(self, row: Sequence[Any]) -> Commit:
        return self._commit(row, self._changes_of(row[0], is_bare=True))


def _saved(row: Event | HaltPoint) -> Record:
    return EventSaved(event=row) if isinstance(row, Event) else HaltPointSaved(halt_point=row)
