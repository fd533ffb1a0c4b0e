"""The tables in LanceDB: made where they are missing, merged into, looked up, compacted.

Nothing here overwrites. Tables are made in no mode but `create`, which refuses what is there; what two
make at the same time it can't tell apart, which is the folder's lock to prevent. Rows go in by merging
on their key. The key is declared to LanceDB as well: without that, two merges of a new key at the same
time both add it, as an update followed by an append does.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...errors import StoreError
from ..atomic_files import sync_folder
from .table_specs import ALL_TABLES, KEY, ORDER, Row, TableSpec

if TYPE_CHECKING:
    from lancedb.db import AsyncConnection
    from lancedb.table import AsyncTable

#: Rows that one merge takes.
_BATCH: Final = 5000
#: Rows from which on a table has indexes.
_TO_INDEX: Final = 1000
#: Times that a table is compacted until nothing is left to do.
_ROUNDS: Final = 5
#: Every version but the last goes: nobody else has the folder. (Of 0 the library warns.)
_AT_ONCE: Final = timedelta(milliseconds=1)
_PRIMARY: Final = {b"lance-schema:unenforced-primary-key:position": b"1"}
#: Where in LanceDB's source an error was made.
_IN_SOURCE: Final = re.compile(r", \S+\.rs:\d+:\d+")
#: Versions are named so that the last one's file comes first.
_LAST_VERSION: Final = 2**64 - 1


class Tables:
    """All tables of a folder.

    Args:
        folder: The folder.
        connection: LanceDB's.
        tables: Each table by its name.
    """

    def __init__(
        self, folder: Path, connection: AsyncConnection, tables: dict[str, AsyncTable]
    ) -> None:
        self._folder = folder
        self._connection = connection
        self._tables = tables
        self._safe: set[str] = set()  # files that are synced: none is ever changed
        self._indexed: set[str] = set()

    @classmethod
    async def open(cls, folder: Path) -> Tables:
        """Open the tables, and make those that are missing. Whoever calls has the folder's lock.

        Raises:
            StoreError: One is damaged.
        """
        import lancedb

        connection = await lancedb.connect_async(folder)
        there = frozenset((await connection.list_tables(limit=1000)).tables)
        tables = {}
        for spec in ALL_TABLES:
            with _convert_lance_errors(spec.name, folder):
                if spec.name in there:
                    tables[spec.name] = await connection.open_table(spec.name)
                else:
                    tables[spec.name] = await connection.create_table(
                        spec.name, schema=_schema(spec), mode="create"
                    )
        return cls(folder, connection, tables)

    def close(self) -> None:
        """Let them go."""
        for table in self._tables.values():
            table.close()  # type: ignore[no-untyped-call]
        self._connection.close()  # type: ignore[no-untyped-call]

    # ---- rows ---------------------------------------------------------------------------------------

    async def merge(self, spec: TableSpec, rows: Sequence[Row]) -> None:
        """Put rows in the place of those of their keys, or add them.

        Raises:
            StoreError: The table can't be written.
        """
        import pyarrow as pa

        table = self._tables[spec.name]
        schema = _schema(spec)
        for at in range(0, len(rows), _BATCH):
            columns = [spec.to_columns(row) for row in rows[at : at + _BATCH]]
            with _convert_lance_errors(spec.name, self._folder):
                merging = table.merge_insert(KEY).when_matched_update_all()
                await merging.when_not_matched_insert_all().execute(
                    pa.Table.from_pylist(columns, schema=schema)
                )

    async def select(
        self,
        spec: TableSpec,
        where: str | None = None,
        order: Sequence[tuple[str, bool]] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Row]:
        """Look rows up.

        Args:
            spec: The table.
            where: A condition, in SQL.
            order: Columns to sort by, each with whether it goes upwards.
            limit: Rows at most.
            offset: Rows to pass over.

        Raises:
            StoreError: The table can't be read.
        """
        found = await self._query(spec, None, where, order, limit, offset)
        return [spec.from_columns(each) for each in found.to_pylist()]

    async def distinct(self, spec: TableSpec, column: str, where: str | None) -> list[str]:
        """The values of a column, each once."""
        found = await self._query(spec, [column], where)
        values: list[str] = found[column].unique().to_pylist()
        return values

    async def first_of_each(
        self, spec: TableSpec, column: str, where: str | None, order: Sequence[tuple[str, bool]]
    ) -> list[str]:
        """The keys of the rows that come first of those that share a column's value.

        Args:
            spec: The table.
            column: The column.
            where: A condition.
            order: As for `select`; the column comes first in it.
        """
        found = await self._query(spec, [KEY, *(name for name, _ in order)], where)
        by = [(name, "ascending" if up else "descending") for name, up in order]
        groups = found.sort_by(by).group_by(column, use_threads=False)
        keys: list[str] = groups.aggregate([(KEY, "first")])[f"{KEY}_first"].to_pylist()
        return keys

    async def last_row_number(self, spec: TableSpec) -> int:
        """The greatest number that a row has; 0 where there is none."""
        found = await self._query(spec, [ORDER], None, ((ORDER, False),), 1)
        numbers: list[int] = found[ORDER].to_pylist()
        return numbers[0] if numbers else 0

    async def _query(
        self,
        spec: TableSpec,
        columns: Sequence[str] | None,
        where: str | None = None,
        order: Sequence[tuple[str, bool]] = (),
        limit: int | None = None,
        offset: int = 0,
    ) -> Any:
        """Some columns (None: all) of rows, as an Arrow table."""
        from lancedb.query import ColumnOrdering

        query = self._tables[spec.name].query()
        if where is not None:
            query = query.where(where)
        if columns is not None:
            query = query.select(list(columns))
        if order:
            by = [ColumnOrdering(column_name=name, ascending=up) for name, up in order]
            query = query.order_by(by)
        if limit is not None:
            query = query.limit(limit)
        if offset:
            query = query.offset(offset)
        with _convert_lance_errors(spec.name, self._folder):
            return await query.to_arrow()

    # ---- keeping well -------------------------------------------------------------------------------

    async def compact(self, spec: TableSpec) -> None:
        """Put small files together, and new rows into the indexes, until nothing is left to do."""
        table = self._tables[spec.name]
        with _convert_lance_errors(spec.name, self._folder):
            await self._ensure_indexed(spec)
            for _ in range(_ROUNDS):
                before = await table.version()
                await table.optimize()
                if await table.version() == before:
                    return

    async def _ensure_indexed(self, spec: TableSpec) -> None:
        """Make the indexes once the table is large enough to need them."""
        from lancedb.index import BTree

        table = self._tables[spec.name]
        if spec.name in self._indexed or await table.count_rows() < _TO_INDEX:
            return
        there = {column for index in await table.list_indices() for column in index.columns}
        for column in (KEY, *spec.indexed_columns):
            if column not in there:
                await table.create_index(column, config=BTree())
        self._indexed.add(spec.name)

    async def prune(self, spec: TableSpec) -> None:
        """Remove all versions but the last, and what writers that were killed left behind."""
        with _convert_lance_errors(spec.name, self._folder):
            await self._tables[spec.name].optimize(
                cleanup_older_than=_AT_ONCE, delete_unverified=True
            )

    async def versions(self) -> dict[str, int]:
        """The version of each table."""
        return {name: await table.version() for name, table in self._tables.items()}

    def sync(self) -> None:
        """Make all of them safe: their files, and which there are. Called off the event loop."""
        there: set[str] = set()
        for name in self._tables:
            for folder, _, files in os.walk(self._folder / f"{name}.lance", topdown=False):
                there.update(_synced(Path(folder), files, self._safe))
        sync_folder(self._folder)
        self._safe = there


def _synced(folder: Path, files: Iterable[str], safe: AbstractSet[str]) -> Iterator[str]:
    """Sync what a folder has, and give the files that need it never again."""
    for name in files:
        path = str(folder / name)
        if path not in safe:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(file)
            finally:
                os.close(file)
        if not name.endswith(".json"):  # a hint that is written again and again
            yield path
    sync_folder(folder)


def roll_back(folder: Path, versions: Mapping[str, int]) -> None:
    """Forget all versions of tables that weren't safe yet: after a power cut, their files may be empty.

    What they had is in the journal. Where a table's safe version is gone, it is left as it is; one that
    never had a safe version never had a row.

    Args:
        folder: The tables'.
        versions: Each table's safe version.
    """
    for spec in ALL_TABLES:
        table = folder / f"{spec.name}.lance"
        safe = versions.get(spec.name)
        if safe is None:
            shutil.rmtree(table, ignore_errors=True)
            continue
        manifests = table / "_versions"
        paths = dict(_versions(manifests))
        if safe not in paths:
            continue
        newer = [path for version, path in paths.items() if version > safe]
        for path in [*newer, *manifests.glob("*.json")]:  # a hint to the last version
            path.unlink()
        if newer:
            sync_folder(manifests)


def _versions(manifests: Path) -> Iterator[tuple[int, Path]]:
    for path in manifests.glob("*.manifest"):
        if path.stem.isdecimal():
            yield _LAST_VERSION - int(path.stem), path


def _schema(spec: TableSpec) -> Any:
    import pyarrow as pa

    types = {
        "text": pa.utf8(),
        "json": pa.utf8(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
    }
    key = pa.field(KEY, pa.utf8(), nullable=False, metadata=_PRIMARY)
    order = pa.field(ORDER, pa.int64(), nullable=False)
    return pa.schema(
        [key, order, *(pa.field(name, types[type]) for name, type in spec.columns.items())]
    )


@contextmanager
def _convert_lance_errors(name: str, folder: Path) -> Iterator[None]:
    """Say what can be done about what LanceDB says."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, StoreError):
            raise
        why = _IN_SOURCE.sub("", str(error).split("\n", 1)[0])[:300]
        raise StoreError(
            f"The table {name} in {folder} can't be used: {why}. If the disk works, the "
            "table is damaged: restore a copy of the folder, or choose another folder."
        ) from error
