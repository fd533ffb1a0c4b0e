"""The guide's tables in LanceDB, written one way from a store's numbered changes.

A batch of changes is merged into the tables by their keys, then the number of its last change is noted
in the table `projection`. A process that is killed in between merges the same batch again, which
changes nothing. LanceDB never syncs on a local disk. So the disk is synced before a number is noted:
after a power cut the rows up to it are there, or a table can't be opened and is built again.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import starmap
from pathlib import Path
from typing import Any, Final, Self

from ...errors import StoreError
from ...protocol.runtime_requests import AgentSearch, AgentSearchHit, AgentSearchResult
from ...protocol.runtime_store_messages import ChangedRows
from ..atomic_files import sync_file_system
from ..runtime.sqlite.queries import CHANGED_TABLES
from ..runtime.sqlite.row_codec import MESSAGES, STEPS, RowTable
from .columns import KEY_COLUMNS, decode_columns, encode_columns, import_lancedb, make_schema

#: The table with the position up to which the others follow the store.
_POSITION: Final = "projection"
#: The tables whose `text` is searched, by the kind of hit.
_SEARCHED: Final[dict[str, RowTable[Any]]] = {"step": STEPS, "message": MESSAGES}
#: Batches between two times that small files are put together and new rows are indexed.
_BATCHES_TO_COMPACT: Final = 50
#: The time for which a table's earlier versions are kept, for programs that read them.
_KEEP_VERSIONS: Final = timedelta(minutes=10)

#: The source location in LanceDB's error messages.
_IN_SOURCE: Final = re.compile(r", \S+\.rs:\d+:\d+")

#: A function that returns a vector for each text, all of the same length.
Embed = Callable[[list[str]], Sequence[Sequence[float]]]


class Projection:
    """The tables at one place. Made by `open`.

    Attributes:
        last: The number of the last change that is in the tables.
    """

    def __init__(self, uri: str, place: str, embed: Embed | None, connection: Any) -> None:
        self.last = 0
        self._uri = uri
        self._place = place
        self._embed = embed
        self._connection = connection
        self._tables: dict[str, Any] = {}
        self._schemas: dict[str, Any] = {}
        self._indexed: set[str] = set()
        self._batches = 0

    @classmethod
    async def open(
        cls, uri: str, place: str, embed: Embed | None = None, *, rebuild: bool = False
    ) -> Self:
        """Open the tables, or create those of a new projection.

        Args:
            uri: A folder, or an object store's URL as in LanceDB: `s3://bucket/agents`.
            place: The location of the source store, as its `info` reports it.
            embed: Makes the vectors of texts; called on a thread. None: no vectors.
            rebuild: Whether to drop the tables of an existing projection first.

        Raises:
            StoreError: The tables can't be used, are another store's, or have other columns; or LanceDB
                isn't installed.
        """
        lancedb = await asyncio.to_thread(import_lancedb)
        dimensions = None if embed is None else len((await _run(embed, ["text"]))[0])
        with _convert_lance_errors(uri):
            projection = cls(uri, place, embed, await lancedb.connect_async(uri))
            names = set((await projection._connection.list_tables(limit=1000)).tables)
            if _POSITION not in names and names & KEY_COLUMNS.keys():
                raise StoreError(
                    f"{uri} has tables of other programs: project to another place. If an earlier "
                    "version kept background agents there, run `agentstepper import-lance` first."
                )
            if rebuild:
                await projection._drop(names)
            await projection._open_position(names)
            for table in CHANGED_TABLES.values():
                await projection._open_table(table, dimensions, names)
        return projection

    def close(self) -> None:
        """Close the tables."""
        for table in self._tables.values():
            table.close()
        self._connection.close()

    async def write(self, changed: ChangedRows) -> None:
        """Write a batch of changes to the tables.

        Raises:
            StoreError: The tables can't be written; the same batch may be written again.
        """
        with _convert_lance_errors(self._uri):
            for name, table in CHANGED_TABLES.items():
                rows = encode_columns(table, getattr(changed, name))
                if "vector" in self._schemas[table.name].names:
                    await self._add_vectors(table.name, rows)
                await self._merge(table.name, rows)
            if "://" not in self._uri:  # an object store keeps what it has answered
                await asyncio.to_thread(sync_file_system, Path(self._uri))
            await self._merge(_POSITION, self._position(changed.last))
        self.last = changed.last
        self._batches += 1
        if self._batches % _BATCHES_TO_COMPACT == 0:
            await self.compact()

    async def compact(self) -> None:
        """Put small files together, and new rows into the indexes.

        Raises:
            StoreError: A table can't be read or written.
        """
        with _convert_lance_errors(self._uri):
            for name, table in self._tables.items():
                await self._ensure_indexed(name)
                await table.optimize(cleanup_older_than=_KEEP_VERSIONS)

    async def search(self, request: AgentSearch) -> AgentSearchResult:
        """Find steps and messages by their texts, the best first.

        By words alone, or where texts have vectors by words and vectors.

        Raises:
            StoreError: The tables can't be read.
        """
        vector = None if self._embed is None else (await _run(self._embed, [request.text]))[0]
        hits: list[AgentSearchHit] = []
        with _convert_lance_errors(self._uri):
            for name, table in _SEARCHED.items():
                for row in await self._find(table, request, vector):
                    score = row["_score" if vector is None else "_relevance_score"]
                    hits.append(AgentSearchHit(score=score, **{name: decode_columns(table, row)}))
        hits.sort(key=lambda hit: -hit.score)
        return AgentSearchResult(hits=tuple(hits[: request.limit]))

    # ---- opening ------------------------------------------------------------------------------------

    async def _drop(self, names: set[str]) -> None:
        """Drop all tables; the one that identifies a projection is dropped last."""
        for name in [*KEY_COLUMNS, _POSITION]:
            if name in names:
                await self._connection.drop_table(name)
        names.clear()

    async def _open_position(self, names: set[str]) -> None:
        import pyarrow as pa

        self._schemas[_POSITION] = pa.schema(
            [("id", pa.utf8()), ("last", pa.int64()), ("place", pa.utf8())]
        )
        if _POSITION not in names:
            self._tables[_POSITION] = await self._connection.create_table(
                _POSITION, self._position(0), self._schemas[_POSITION], mode="create"
            )
            return
        table = self._tables[_POSITION] = await self._connection.open_table(_POSITION)
        for row in (await table.query().to_arrow()).to_pylist():
            if row["place"] != self._place:
                raise StoreError(
                    f"{self._uri} has the background agents of {row['place']}, not those of "
                    f"{self._place}: project to another place, or build it again with --rebuild."
                )
            self.last = row["last"]

    async def _open_table(
        self, table: RowTable[Any], dimensions: int | None, names: set[str]
    ) -> None:
        schema = make_schema(table, dimensions if table in _SEARCHED.values() else None)
        self._schemas[table.name] = schema
        if table.name not in names and not self.last:  # a kill may have left some of them
            await self._create(table.name)
            return
        opened = self._tables[table.name] = await self._connection.open_table(table.name)
        found = await opened.schema()
        if [(each.name, each.type) for each in found] != [
            (each.name, each.type) for each in schema
        ]:
            raise StoreError(
                f"The table {table.name} in {self._uri} has other columns: another version wrote it, or "
                "with another --embed. Build the projection again with --rebuild."
            )

    async def _create(self, name: str) -> None:
        self._tables[name] = await self._connection.create_table(
            name, schema=self._schemas[name], mode="create"
        )

    def _position(self, last: int) -> list[dict[str, Any]]:
        return [{"id": _POSITION, "last": last, "place": self._place}]

    # ---- rows ---------------------------------------------------------------------------------------

    async def _merge(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Put rows in the place of those of their keys, or add them."""
        import pyarrow as pa

        if rows:
            merging = self._tables[name].merge_insert(KEY_COLUMNS.get(name, "id"))
            await (
                merging.when_matched_update_all()
                .when_not_matched_insert_all()
                .execute(
                    pa.Table.from_pylist(rows, schema=self._schemas[name]),
                    on_bad_vectors="null",  # for what it takes a text without a vector
                )
            )

    async def _add_vectors(self, name: str, rows: list[dict[str, Any]]) -> None:
        """Add a vector to each row with a text."""
        dimensions = self._schemas[name].field("vector").type.list_size
        assert self._embed is not None
        with_text = [row for row in rows if row["text"]]
        if with_text:
            vectors = await _run(self._embed, [row["text"] for row in with_text], dimensions)
            for row, vector in zip(with_text, vectors, strict=True):
                row["vector"] = vector

    async def _find(
        self, table: RowTable[Any], request: AgentSearch, vector: Sequence[float] | None
    ) -> list[dict[str, Any]]:
        wanted = {
            name: value
            for name in ("session_id", "agent_id", "conversation_id")
            if (value := getattr(request, name)) is not None
        }
        if wanted.keys() - set(table.columns) or not await self._ensure_indexed(table.name):
            return []
        query = self._tables[table.name].query().nearest_to_text(request.text, columns=["text"])
        if vector is not None:
            query = query.nearest_to(vector).rerank()
        if wanted:
            query = query.where(" AND ".join(starmap(_equals, wanted.items())))
        found: list[dict[str, Any]] = await query.limit(request.limit).to_list()
        return found

    async def _ensure_indexed(self, name: str) -> bool:
        """Make the indexes of a table that has rows; whether it has any."""
        from lancedb.index import FTS, BTree

        if name in self._indexed:
            return True
        table = self._tables[name]
        if not await table.count_rows():
            return False
        there = {column for index in await table.list_indices() for column in index.columns}
        wanted: dict[str, Any] = {KEY_COLUMNS.get(name, "id"): BTree()}
        if name in {each.name for each in _SEARCHED.values()}:
            wanted["text"] = FTS(remove_stop_words=False)  # else nothing is found by "how now"
        for column in wanted.keys() - there:
            await table.create_index(column, config=wanted[column])
        self._indexed.add(name)
        return True


async def _run(embed: Embed, texts: list[str], dimensions: int | None = None) -> list[list[float]]:
    """Compute the vectors of texts, and check their length if it is given.

    Raises:
        StoreError: The function failed.
    """
    try:
        made = await asyncio.to_thread(embed, texts)
        vectors = [[float(number) for number in vector] for vector in made]
        length = dimensions or len(vectors[0])
        if [len(each) for each in vectors] != [length] * len(texts):
            raise ValueError(f"it gave no {len(texts)} vectors of {length} numbers each")
    except Exception as error:  # whatever a person's code does
        raise StoreError(
            f"The embedding function failed: {error!r}. It gets a list of texts, and gives a list of "
            "numbers for each, all of one length."
        ) from error
    return vectors


def _equals(column: str, value: str) -> str:
    quoted = value.replace("'", "''")
    return f"{column} = '{quoted}'"


@contextmanager
def _convert_lance_errors(uri: str) -> Iterator[None]:
    """Convert LanceDB's errors to `StoreError`s that name a remedy."""
    try:
        yield
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, StoreError):
            raise
        why = _IN_SOURCE.sub("", str(error).split("\n", 1)[0])[:300]
        raise StoreError(
            f"The projection in {uri} can't be used: {why}. If the place can be read and written, "
            "build the projection again with --rebuild."
        ) from error
