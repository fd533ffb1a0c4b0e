"""The store on disk: one file of SQLite's, one thread that writes it, and others that read beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import replace

from ...errors import StoreError
from ...protocol.pages import SearchHit
from ...protocol.records import (
    ImportedRunSaved,
    Record,
    RunHistory,
)
from ...protocol.values import Commit, Durability, Event, HaltPoint, RowNote, Run, StoreInfo
from ..base import CommitPage, Needs, RowPage, Take, do_nothing
from ..folder_lock import FolderLock, lock_folder
from ..search import SearchService
from .database import MARKS_FILE, STORE_FILE, open_writer
from .migrations import delete_migration_copies
from .reader import StoreReader, delete_run_file, find_unimported_files, read_restart_records
from .record_writer import TransactionChanges
from .transaction_marks import TransactionMarks, record_missing
from .writer import AppendRequest, Call, StoreWriter, WriterCallbacks

log = logging.getLogger(__name__)

#: The file of the search's index.
SEARCH_FILE: Final = "search.sqlite"

T = TypeVar("T")


def open_store(
    folder: Path,
    durability: Durability = Durability.DURABLE,
    what: str = "agentstepper",
    lock: FolderLock | None = None,
) -> SqliteStore:
    """Open the store of a folder, as its one owner.

    Args:
        folder: Made where it is missing.
        durability: When what is kept outlives what.
        what: What this process is, for whoever comes second: "agentstepper serve".
        lock: The folder's, where it is held already; the store lets it go.

    Raises:
        StoreTakenError: Another process has it.
        NewerStoreError: A newer program wrote it.
        StoreError: It can't be used.
    """
    lock = lock or lock_folder(folder, what)
    try:
        return SqliteStore(folder, durability, lock)
    except BaseException:
        lock.release()
        raise


class SqliteStore:
    """Keeps runs in `FOLDER/store.sqlite`. See `Store`, and docs/design/0008-store.md.

    Args:
        folder: The folder, of which this process is the one owner.
        durability: When what is kept outlives what.
        lock: The folder's, to be let go at the end.

    Raises:
        NewerStoreError: A newer program wrote it.
        StoreError: It can't be used.
    """

    def __init__(
        self,
        folder: Path,
        durability: Durability = Durability.DURABLE,
        lock: FolderLock | None = None,
    ) -> None:
        self.on_trouble: Callable[[StoreInfo], None] = lambda info: None
        self._folder = folder
        self._durability = durability
        self._lock = lock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._trouble: str | None = None
        self._closed = False
        path = folder / STORE_FILE
        with contextlib.ExitStack() as opened:
            connection = open_writer(path)
            opened.callback(connection.close)
            # Long reads have a connection and a thread of their own: a row is shown meanwhile.
            self._readers = [opened.enter_context(_Reading(path)) for _ in range(2)]
            self._row, self._whole = self._readers
            listed = self._row.reader.listed()
            if record_missing(connection, folder / MARKS_FILE, listed):
                listed = self._row.reader.listed()
            self._marks = TransactionMarks(folder / MARKS_FILE)
            opened.callback(self._marks.close)
            self._search = SearchService(folder / SEARCH_FILE)
            opened.callback(self._search.close)
            self._indexed = opened.enter_context(contextlib.closing(StoreReader(path)))
            ears = WriterCallbacks(
                self._tell, self._kept, self._marks.clear, self._hear, self._let_go
            )
            try:
                self._writer = StoreWriter(connection, path, durability, ears)
            except sqlite3.Error as error:
                raise StoreError(
                    f"Nothing can be kept in {folder}: {error}. Make room there, or choose another "
                    "folder."
                ) from error
            opened.pop_all()
        changes = {each.run.id: each.changes for each in listed if not each.damaged}
        self._search.mend(changes, self._indexed.history)

    # ---- a start ------------------------------------------------------------------------------------

    def load(self) -> Iterator[Record]:
        """What a Core that starts replays. A live run that is hurt is given as one that ended."""
        listed = self._row.reader.listed()
        yield from read_restart_records(self._row.reader, listed)
        yield from self._import_files({each.run.id for each in listed})

    def _import_files(self, runs: set[str]) -> Iterator[Record]:
        """Take in what a Core of version 1 kept here."""
        for name, history in find_unimported_files(self._folder, self._row.reader.files(), runs):
            record = ImportedRunSaved(history=history)
            self._writer.put(AppendRequest([record], file=(name, history.run.id)))
            yield record

    # ---- keeping ------------------------------------------------------------------------------------

    def append(
        self,
        records: Sequence[Record],
        done: Callable[[], None] = do_nothing,
        *,
        durable: bool = False,
        synced: Callable[[], None] | None = None,
    ) -> None:
        """Keep records, all of them or none. See `Store.append`."""
        self._loop = asyncio.get_running_loop()
        if self._closed:
            log.warning("%d records came after the end of the store", len(records))
            return
        if self._durability is Durability.RELAXED:
            self._writer.put(AppendRequest(tuple(records), synced=synced))
            done()
            return
        call = None if done is do_nothing else done
        self._writer.put(AppendRequest(tuple(records), call, durable=durable, synced=synced))

    def settled(self, done: Callable[[], None]) -> None:
        """Call back after what was appended before. See `Store.settled`."""
        self._loop = asyncio.get_running_loop()
        if self._durability is Durability.RELAXED:
            done()
        else:
            self._writer.put(AppendRequest(done=done, reading=True))

    @property
    def is_stuck(self) -> bool:
        """Whether nothing can be written for the moment."""
        return self._writer.is_stuck

    def close(self) -> None:
        """Write and sync what is still to be written and let go. Blocks; idempotent."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._marks.close()
        if self._lock is not None:
            self._lock.release()

    # ---- reading ------------------------------------------------------------------------------------

    async def history(self, run: str) -> RunHistory:
        """One run, whole. Raises `DamagedRunError`, or `KeyError` where there is none."""
        return await self._read(self._whole, lambda reader: reader.history(run))

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point or debug message. Errors as `history`."""
        return await self._read(self._row, lambda reader: reader.message(run, message))

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""
        return await self._read(self._row, lambda reader: reader.commit(run, commit))

    async def page(self, run: str, first: int, last: int) -> RowPage:
        """The rows with these numbers. See `Store.page`."""
        return await self._read(self._row, lambda reader: reader.page(run, first, last))

    async def look(
        self, run: str, first: int, last: int, take: Take, needs: Needs
    ) -> tuple[Commit, ...]:
        """Show the rows with these numbers one by one. See `Store.look`."""
        return await self._read(
            self._row, lambda reader: reader.look(run, first, last, take, needs)
        )

    async def seq_of(self, run: str, message: str) -> int | None:
        """The number of a row. Errors as `history`."""
        return await self._read(self._row, lambda reader: reader.seq_of(run, message))

    async def commits(self, run: str, before: int | None = None, limit: int = 200) -> CommitPage:
        """The last commits, or those before one of them. See `Store.commits`."""
        return await self._read(self._row, lambda reader: reader.commits(run, before, limit))

    async def notes(self, run: str) -> tuple[RowNote, ...]:
        """What is written beside a run's rows. Errors as `history`."""
        return await self._read(self._row, lambda reader: reader.notes(run))

    async def sentence(self, key: str) -> str | None:
        """What a model once made of the same."""
        return await self._read(self._row, lambda reader: reader.sentence(key))

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Where words stand, newest first. See `Store.search`."""
        await self._committed()
        return await self._search.search(query, run, limit)

    async def info(self) -> StoreInfo:
        """How and where it keeps runs, with its size."""
        size = await asyncio.to_thread(_size, self._folder)
        return replace(self._info(), size=size)

    async def expired(self, before: float | None, size: int | None) -> list[str]:
        """The runs that are to go: of those that ended and have no tag, the oldest.

        Args:
            before: POSIX seconds: those that ended earlier go. None: age is no reason.
            size: Bytes: as many go as is needed for the folder to get below. None: size is none.
        """
        headers = await self._read(self._whole, StoreReader.headers)
        shares, over = {}, 0.0
        if size is not None:
            shares = await self._shares()
            over = sum(shares.values()) - size
        gone = []
        for run in sorted(headers, key=_age):
            old = before is not None and _age(run) < before
            if run.live or run.tags or not (old or over > 0):
                continue
            gone.append(run.id)
            over -= shares.get(run.id, 0.0)
        return gone

    async def _shares(self) -> dict[str, float]:
        """What each run takes of the folder, its part of the indexes and of the search included."""
        sizes = await self._read(self._whole, StoreReader.sizes)
        total = await asyncio.to_thread(_size, self._folder)
        each = total / max(1, sum(sizes.values()))
        return {run: size * each for run, size in sizes.items()}

    async def _read(self, reading: _Reading, read: Callable[[StoreReader], T]) -> T:
        await self._committed()
        return await asyncio.get_running_loop().run_in_executor(
            reading.thread, read, reading.reader
        )

    async def _committed(self) -> None:
        """Wait until all that was appended is recorded, where that can be."""
        self._loop = asyncio.get_running_loop()
        done = asyncio.Event()
        self._writer.put(AppendRequest(done=done.set, reading=True))
        await done.wait()

    # ---- on the writer's thread ---------------------------------------------------------------------

    def _tell(self, calls: list[Call]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_call, self._loop, calls)

    def _kept(self, records: list[Record], touched: TransactionChanges) -> None:
        for run, changes in touched.changes.items():
            self._marks.set(run, changes)
        for run in touched.deleted:
            self._marks.deleted(run)
        for name in touched.files:
            delete_run_file(self._folder, name)
        if touched.deleted:
            delete_migration_copies(self._folder / STORE_FILE)
        self._search.keep(records, touched.changes)

    def _hear(self, trouble: str | None) -> None:
        if trouble == self._trouble:  # each try tells the same
            return
        self._trouble = trouble
        self._tell([lambda: self.on_trouble(self._info())])

    def _let_go(self) -> None:
        self._search.close()
        self._indexed.close()
        for reading in self._readers:
            reading.close()

    def _info(self) -> StoreInfo:
        return StoreInfo(
            kind="sqlite",
            durability=self._durability,
            folder=str(self._folder),
            trouble=self._trouble,
        )


class _Reading:
    """A reader and the thread it reads on."""

    def __init__(self, path: Path) -> None:
        self.reader = StoreReader(path)
        self.thread = ThreadPoolExecutor(1, "agentstepper-reader")

    def __enter__(self) -> _Reading:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.thread.shutdown(wait=True)
        self.reader.close()


def _call(loop: asyncio.AbstractEventLoop, calls: Iterable[Call]) -> None:
    for call in calls:
        try:
            call()
        except Exception as error:  # as the loop does: the others are called nevertheless
            loop.call_exception_handler({"message": "A callback of the store", "exception": error})


def _age(run: Run) -> float:
    return run.started_at if run.ended_at is None else run.ended_at


def _size(folder: Path) -> int:
    """The bytes of the store's files; not of other stores below its folder."""
    total = 0
    for path in folder.iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total
