"""A transaction: what a change looks up, and the rows that it changes, stored all or not at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

from msgspec import Struct

from .index import ClaimIndex
from .sql import all_of, equals
from .table_specs import Changes, Row, TableSpec

#: Whether a value meets a condition.
RowPredicate = Callable[[Any], bool]


class RowSource(Protocol):
    """What is kept, as a draft looks it up.

    Attributes:
        index: What claims go by.
    """

    index: ClaimIndex

    async def find(self, spec: TableSpec, keys: Iterable[str]) -> dict[str, Row]:
        """Rows by their keys."""

    async def find_where(
        self, spec: TableSpec, sql: str | None, predicate: RowPredicate
    ) -> dict[str, Row]:
        """Rows that meet a condition, by their keys.

        Args:
            spec: Their table.
            sql: The condition.
            predicate: The same, for rows that the table doesn't have yet.
        """

    def next_row_number(self) -> int:
        """The number of a row that is new."""


class Transaction:
    """What a change looks up, and the rows that it changes.

    Args:
        rows: What is kept.
    """

    def __init__(self, rows: RowSource) -> None:
        self.changes = Changes()
        self.index = rows.index
        self._rows = rows
        self._row_numbers: dict[tuple[str, str], int] = {}
        self._cache: dict[str, dict[str, Row | None]] = defaultdict(dict)

    async def find(self, spec: TableSpec, keys: Collection[str]) -> dict[str, Any]:
        """Values by their keys. What was asked for once is known, also that it isn't there."""
        changed, cached = self.changes.rows[spec.name], self._cache[spec.name]
        missing = [key for key in keys if key not in changed and key not in cached]
        if missing:
            found = await self._rows.find(spec, missing)
            cached.update((key, found.get(key)) for key in missing)
        rows = {key: changed.get(key) or cached.get(key) for key in keys}
        return {key: self._read_value(spec, row) for key, row in rows.items() if row is not None}

    async def get(self, spec: TableSpec, key: str) -> Any:
        """The value of a key, or None."""
        return (await self.find(spec, (key,))).get(key)

    async def find_where(
        self, spec: TableSpec, sql: str | None, predicate: RowPredicate
    ) -> list[Any]:
        """Values that meet a condition, in the order in which they came to be. See `RowSource.where`."""
        changed = self.changes.rows[spec.name]
        stored = await self._rows.find_where(spec, sql, predicate)
        found = [row for key, row in stored.items() if key not in changed]
        found += [row for row in changed.values() if predicate(row.value)]
        return [self._read_value(spec, row) for row in sorted(found, key=lambda row: row.number)]

    async def find_by_fields(self, spec: TableSpec, /, **fields: str) -> list[Any]:
        """Values whose fields are these, in the order in which they came to be."""
        return await self.find_where(
            spec,
            all_of(*(equals(name, value) for name, value in fields.items())),
            lambda value: all(getattr(value, name) == field for name, field in fields.items()),
        )

    def put(self, spec: TableSpec, value: Struct) -> None:
        """Keep a value. One that was looked up keeps its place in the order of rows."""
        key = (spec.name, spec.key_of(value))
        n = self._row_numbers.get(key)
        if n is None:
            n = self._row_numbers[key] = self._rows.next_row_number()
        self.changes.put(spec, Row(n, value))

    def replace(self, spec: TableSpec, row: Row, value: Struct) -> None:
        """Keep a value in the place of one from the index."""
        self.changes.put(spec, Row(row.number, value))

    def row_number(self, spec: TableSpec, value: Struct) -> int:
        """The place of a value that was looked up, in the order of rows."""
        return self._row_numbers[spec.name, spec.key_of(value)]

    def _read_value(self, spec: TableSpec, row: Row) -> Any:
        self._row_numbers[spec.name, spec.key_of(row.value)] = row.number
        return row.value
