"""What a change looks up, and what it is to be: kept by whoever carries it out, or not at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

from msgspec import Struct

from .index import Index
from .kinds import Changes, Kind, Row
from .sql import both, equal

#: Whether a value meets a condition.
Test = Callable[[Any], bool]


class Rows(Protocol):
    """What is kept, as a draft looks it up.

    Attributes:
        index: What claims go by.
    """

    index: Index

    async def find(self, kind: Kind, keys: Iterable[str]) -> dict[str, Row]:
        """Rows by their keys."""

    async def where(self, kind: Kind, sql: str | None, test: Test) -> dict[str, Row]:
        """Rows that meet a condition, by their keys.

        Args:
            kind: Their table.
            sql: The condition.
            test: The same, for rows that the table doesn't have yet.
        """

    def next_n(self) -> int:
        """The number of a row that is new."""


class Draft:
    """What a plan looks up, and what it is to change.

    Args:
        rows: What is kept.
    """

    def __init__(self, rows: Rows) -> None:
        self.changes = Changes()
        self.index = rows.index
        self._rows = rows
        self._seen: dict[tuple[str, str], int] = {}
        self._known: dict[str, dict[str, Row | None]] = defaultdict(dict)

    async def find(self, kind: Kind, keys: Collection[str]) -> dict[str, Any]:
        """Values by their keys. What was asked for once is known, also that it isn't there."""
        drafted, known = self.changes.rows[kind.name], self._known[kind.name]
        missing = [key for key in keys if key not in drafted and key not in known]
        if missing:
            found = await self._rows.find(kind, missing)
            known.update((key, found.get(key)) for key in missing)
        rows = {key: drafted.get(key) or known.get(key) for key in keys}
        return {key: self._see(kind, row) for key, row in rows.items() if row is not None}

    async def get(self, kind: Kind, key: str) -> Any:
        """The value of a key, or None."""
        return (await self.find(kind, (key,))).get(key)

    async def where(self, kind: Kind, sql: str | None, test: Test) -> list[Any]:
        """Values that meet a condition, in the order in which they came to be. See `Rows.where`."""
        drafted = self.changes.rows[kind.name]
        kept = await self._rows.where(kind, sql, test)
        found = [row for key, row in kept.items() if key not in drafted]
        found += [row for row in drafted.values() if test(row.value)]
        return [self._see(kind, row) for row in sorted(found, key=lambda row: row.n)]

    async def matching(self, kind: Kind, /, **fields: str) -> list[Any]:
        """Values whose fields are these, in the order in which they came to be."""
        return await self.where(
            kind,
            both(*(equal(name, value) for name, value in fields.items())),
            lambda value: all(getattr(value, name) == field for name, field in fields.items()),
        )

    def put(self, kind: Kind, value: Struct) -> None:
        """Keep a value. One that was looked up keeps its place in the order of rows."""
        key = (kind.name, kind.key_of(value))
        n = self._seen.get(key)
        if n is None:
            n = self._seen[key] = self._rows.next_n()
        self.changes.put(kind, Row(n, value))

    def change(self, kind: Kind, row: Row, value: Struct) -> None:
        """Keep a value in the place of one from the index."""
        self.changes.put(kind, Row(row.n, value))

    def n_of(self, kind: Kind, value: Struct) -> int:
        """The place of a value that was looked up, in the order of rows."""
        return self._seen[kind.name, kind.key_of(value)]

    def _see(self, kind: Kind, row: Row) -> Any:
        self._seen[kind.name, kind.key_of(row.value)] = row.n
        return row.value
