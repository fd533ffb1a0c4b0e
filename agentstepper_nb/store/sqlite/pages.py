"""Pages of a run: some of its rows or commits, found by their place, without reading the others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any, Final

import msgspec

from ...protocol.values import Breakpoint, Commit, Event
from ..base import CommitPage, Needs, Page, Take
from .contents import Texts
from .rows import BREAKPOINT
from .run import StoredRun

# Each is of a form for which SQLite takes the index on places, the partial ones among them.
_AT: Final = "run = ? AND seq BETWEEN ? AND ? ORDER BY seq"
_AT_ROWS: Final = "run = ? AND seq BETWEEN ? AND ?"
_OF_EVENTS: Final = "run = ? AND event IN (SELECT value FROM json_each(?))"
_BEFORE: Final = "run = ? AND n < ? ORDER BY n DESC LIMIT ?"
_LAST: Final = "SELECT max(seq) FROM {} WHERE run = ? AND seq > 0"
#: Above every number of a row.
_END: Final = 2**63 - 1


class Pages(StoredRun):
    """A run that is read by pages, inside one transaction. Errors as `StoredRun`."""

    def __init__(self, connection: sqlite3.Connection, run: str) -> None:
        super().__init__(connection, run)
        # Prompts of a page mostly begin alike: what they share is read once.
        self._texts = Texts(connection, self._row.n, run, shared=True)

    def page(self, first: int, last: int) -> Page:
        """As `Store.page`."""
        rows: list[Breakpoint | Event] = []
        commits = self.look(first, last, rows.append, lambda point: True)
        rows.sort(key=lambda row: row.seq)
        return Page(tuple(rows), commits)

    def look(self, first: int, last: int, take: Take, needs: Needs) -> tuple[Commit, ...]:
        """As `Store.look`."""
        place = (self._row.n, first, last)
        found = self._found("breakpoints", _AT, *place)
        points = [self._without_contents(row) for row in found]
        events = [self._event(row) for row in self._found("events", _AT, *place)]
        rows: list[Breakpoint | Event] = sorted([*points, *events], key=lambda row: row.seq)
        self._check_whole(rows, first, last)
        needed = [needs(point) for point in points]
        # At one go: one by one, to look them up takes as long as to read them.
        self._texts.fetch(text for row in compress(found, needed) for text in row[4:6])
        for row, point, whole in zip(found, points, needed, strict=True):
            take(self._with_contents(row, point) if whole else point)
        for event in events:
            take(event)
        return self._commits_at(rows, first, last)

    def commits(self, before: int | None, limit: int) -> CommitPage:
        """As `Store.commits`."""
        end = _END if before is None else before
        rows = self._found("commits", _BEFORE, self._row.n, end, limit + 1)
        shown = rows[:limit][::-1]
        more = shown[0][0] if len(rows) > limit else None
        return CommitPage(tuple(map(self._bare, shown)), more)

    def seq_of(self, message: str) -> int | None:
        """As `Store.seq_of`."""
        for table, kind in (("breakpoints", Breakpoint), ("events", Event)):
            row = self._one(table, message)
            if row is not None:
                read = self._breakpoint if kind is Breakpoint else self._event
                return read(row, bare=True).seq or None
        return None

    def _without_contents(self, row: Sequence[Any]) -> Breakpoint:
        _, _, id, body, _, edit, _ = row
        edit = None if edit is None else ""
        return self._decoded(BREAKPOINT.decode, body, id=id, run=self._id, data="", edit=edit)

    def _check_whole(self, rows: Sequence[Breakpoint | Event], first: int, last: int) -> None:
        """See that no row is missing: they are numbered without gaps."""
        end = max(self._header().rows, self._last("breakpoints"), self._last("events"))
        expected = range(max(1, first), min(last, end) + 1)
        if [row.seq for row in rows] != list(expected):
            raise self._damaged(f"{len(rows)} of its rows {first} to {min(last, end)} are there")

    def _last(self, table: str) -> int:
        return self._execute(_LAST.format(table), (self._row.n,)).fetchone()[0] or 0

    def _commits_at(
        self, rows: Iterable[Breakpoint | Event], first: int, last: int
    ) -> tuple[Commit, ...]:
        n = self._row.n
        events = {row.id if isinstance(row, Event) else row.event for row in rows}
        found: dict[int, Sequence[Any]] = {}
        names = msgspec.json.encode(sorted(events)).decode()
        for where, *values in ((_AT_ROWS, n, first, last), (_OF_EVENTS, n, names)):
            found |= {row[0]: row for row in self._found("commits", where, *values)}
        return tuple(self._bare(found[number]) for number in sorted(found))

    def _bare(self, row: Sequence[Any]) -> Commit:
        return self._commit(row, self._changes_of(row[0], bare=True))
