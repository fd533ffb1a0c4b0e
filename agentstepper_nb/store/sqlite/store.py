"""The store on disk: one file of SQLite's, one thread that writes it, and others that read beside it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from msgspec.structs import replace

from ...errors import StoreError
from ...protocol.data_model import Commit, Event, HaltPoint, RowNote, Run
from ...protocol.records import (
    AgentCredentials,
    ImportedRunSaved,
    Record,
    RunHistory,
)
from ...protocol.run_queries import SearchHit
from ...protocol.store_info import Durability, StoreInfo
from ..base import CommitPage, ContentPredicate, RowConsumer, RowPage, do_nothing
from ..folder_lock import FolderLock, lock_folder
from ..search import SearchService
from .database import COUNTERS_FILE, STORE_FILE, open_writer
from .error_codes import make_write_error
from .migrations import delete_migration_copies
from .reader import StoreReader, delete_run_file, find_unimported_files, read_restart_records
from .record_writer import TransactionChanges
from .transaction_counters import TransactionCounters, record_missing
from .writer import (
    DEFAULT_WRITER_LIMITS,
    AppendRequest,
    Callback,
    StoreWriter,
    WriterCallbacks,
    WriterLimits,
)

log = logging.getLogger(__name__)

#: The file of the search's index.
SEARCH_FILE: Final = "search.sqlite"
#: The files that grow with the runs; copies of earlier states aren't among them.
_RUN_FILES: Final = tuple(
    name + end for name in (STORE_FILE, SEARCH_FILE) for end in ("", "-wal", "-journal")
)

T = TypeVar("T")


def open_store(
    folder: Path,
    durability: Durability = Durability.DURABLE,
    program: str = "agentstepper",
    lock: FolderLock | None = None,
) -> SqliteStore:
    """Open the store of a folder, as its only owner.

    Args:
        folder: The folder; created if it doesn't exist.
        durability: When recorded data is safe on disk.
        program: This program's name, for other processes: "agentstepper serve".
        lock: The folder's lock, if the caller holds it already; the store releases it.

    Raises:
        StoreLockedError: Another process holds the lock.
        NewerStoreError: A newer program wrote the store.
        StoreError: The store can't be used.
    """
    lock = lock or lock_folder(folder, program)
    try:
        return SqliteStore(folder, durability, lock)
    except BaseException:
        lock.release()
        raise


class SqliteStore:
    """Stores runs in `FOLDER/store.sqlite`. See `Store`, and docs/design/0008-store.md.

    Args:
        folder: The folder, whose only owner is this process.
        durability: When recorded data is safe on disk.
        lock: The folder's lock, released at the end.
        limits: When the writer does background work.

    Raises:
        NewerStoreError: A newer program wrote the store.
        StoreError: The store can't be used.
    """

    def __init__(
        self,
        folder: Path,
        durability: Durability = Durability.DURABLE,
        lock: FolderLock | None = None,
        limits: WriterLimits = DEFAULT_WRITER_LIMITS,
    ) -> None:
        self.on_write_trouble: Callable[[StoreInfo], None] = lambda info: None
        self._folder = folder
        self._durability = durability
        self._lock = lock
        self._loop: asyncio.AbstractEventLoop | None = None
        self._trouble: str | None = None
        self._closing_lock = threading.Lock()
        self._is_closed = False
        path = folder / STORE_FILE
        with contextlib.ExitStack() as stack:
            connection = open_writer(path)
            stack.callback(connection.close)
            # Long reads have a connection and a thread of their own: a row is shown meanwhile.
            self._readers = [stack.enter_context(_ReaderThread(path)) for _ in range(2)]
            self._row_reader, self._history_reader = self._readers
            listed = self._row_reader.reader.list_runs()
            try:
                if record_missing(connection, folder / COUNTERS_FILE, listed):
                    listed = self._row_reader.reader.list_runs()
                self._counters = TransactionCounters(folder / COUNTERS_FILE)
                stack.callback(self._counters.close)
                self._search = SearchService(folder / SEARCH_FILE)
                stack.callback(self._search.close)
                self._index_reader = stack.enter_context(contextlib.closing(StoreReader(path)))
                callbacks = WriterCallbacks(
                    self._run_callbacks,
                    self._on_transaction,
                    self._counters.clear,
                    self._on_trouble,
                    self._close_readers,
                )
                self._writer = StoreWriter(connection, path, durability, callbacks, limits)
            except sqlite3.Error as error:
                raise make_write_error(error, folder, "or choose another folder") from error
            stack.pop_all()
        changes = {each.run.id: each.change_count for each in listed if not each.damaged}
        self._search.catch_up(changes, self._index_reader.history)

    # ---- a start ------------------------------------------------------------------------------------

    def load(self) -> Iterator[Record]:
        """The records that a starting Core replays. A damaged live run is loaded as an ended one."""
        listed = self._row_reader.reader.list_runs()
        yield from read_restart_records(self._row_reader.reader, listed)
        yield from self._import_files({each.run.id for each in listed})

    def _import_files(self, runs: set[str]) -> Iterator[Record]:
        """Import the files of a version 1 Core in this folder."""
        for name, history in find_unimported_files(
            self._folder, self._row_reader.reader.list_imported_files(), runs
        ):
            record = ImportedRunSaved(history=history)
            self._writer.put(AppendRequest([record], imported_file=(name, history.run.id)))
            yield record

    # ---- keeping ------------------------------------------------------------------------------------

    def append(
        self,
        records: Sequence[Record],
        on_recorded: Callable[[], None] = do_nothing,
        *,
        durable: bool = False,
        on_synced: Callable[[], None] | None = None,
    ) -> None:
        """Store records, all of them or none. See `Store.append`."""
        self._loop = asyncio.get_running_loop()
        is_relaxed = self._durability is Durability.RELAXED
        call = None if is_relaxed or on_recorded is do_nothing else on_recorded
        is_durable = durable and not is_relaxed
        request = AppendRequest(tuple(records), call, durable=is_durable, on_synced=on_synced)
        if not self._put(request):
            log.warning("%d records came after the end of the store", len(records))
        elif is_relaxed:
            on_recorded()

    def call_when_recorded(self, on_recorded: Callable[[], None]) -> None:
        """Call back after all earlier `append` calls; at once if the store is closed. See
        `Store.call_when_recorded`.
        """
        self._loop = asyncio.get_running_loop()
        request = AppendRequest(on_recorded=on_recorded, has_waiting_reader=True)
        if self._durability is Durability.RELAXED or not self._put(request):
            on_recorded()

    @property
    def is_write_blocked(self) -> bool:
        """Whether nothing can be written for the moment."""
        return self._writer.is_write_blocked

    def close(self) -> None:
        """Write and sync the waiting records, and close the store. Blocks; idempotent."""
        with self._closing_lock:
            if self._is_closed:
                return
            self._is_closed = True
        self._writer.close()
        self._counters.close()
        if self._lock is not None:
            self._lock.release()

    def _put(self, request: AppendRequest) -> bool:
        """Queue a request for the writer, unless the store is closed. Returns whether it was queued:
        then it comes before the writer's end, and is answered.
        """
        with self._closing_lock:
            if not self._is_closed:
                self._writer.put(request)
            return not self._is_closed

    # ---- reading ------------------------------------------------------------------------------------

    async def history(self, run: str) -> RunHistory:
        """Read a whole run. Raises `DamagedRunError`, or `KeyError` if there is no such run."""
        return await self._read(self._history_reader, lambda reader: reader.history(run))

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point or debug message. Errors as `history`."""
        return await self._read(self._row_reader, lambda reader: reader.message(run, message))

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files. Errors as `history`."""
        return await self._read(self._row_reader, lambda reader: reader.commit(run, commit))

    async def page(self, run: str, first: int, last: int) -> RowPage:
        """The rows with these numbers. See `Store.page`."""
        return await self._read(self._row_reader, lambda reader: reader.page(run, first, last))

    async def visit_rows(
        self, run: str, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """Show the rows with these numbers one by one. See `Store.visit_rows`."""
        return await self._read(
            self._row_reader,
            lambda reader: reader.visit_rows(run, first, last, on_row, needs_content),
        )

    async def find_seq(self, run: str, message: str) -> int | None:
        """The number of a row. Errors as `history`."""
        return await self._read(self._row_reader, lambda reader: reader.find_seq(run, message))

    async def commits(self, run: str, before: int | None = None, limit: int = 200) -> CommitPage:
        """The last commits, or those before one of them. See `Store.commits`."""
        return await self._read(self._row_reader, lambda reader: reader.commits(run, before, limit))

    async def notes(self, run: str) -> tuple[RowNote, ...]:
        """Read the notes beside a run's rows. Errors as `history`."""
        return await self._read(self._row_reader, lambda reader: reader.notes(run))

    async def agent_credentials(self, run: str) -> AgentCredentials | None:
        """Read the credentials of a run's agent. See `Store.agent_credentials`."""
        return await self._read(self._row_reader, lambda reader: reader.agent_credentials(run))

    async def find_model_summary(self, key: str) -> str | None:
        """Find a summary that a model has made for the same key."""
        return await self._read(self._row_reader, lambda reader: reader.find_model_summary(key))

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Find text, newest first. See `Store.search`."""
        await self._wait_for_commit()
        return await self._search.search(query, run, limit)

    async def info(self) -> StoreInfo:
        """Report the store's kind, location and size."""
        size = await asyncio.to_thread(lambda: _size(self._folder.iterdir()))
        return replace(self._info(), size=size)

    async def find_expired(self, before: float | None, max_bytes: int | None) -> list[str]:
        """Find the runs to delete: of the ended runs without a tag, the oldest.

        Args:
            before: POSIX seconds: runs that ended earlier are deleted. None: no limit of age.
            max_bytes: Bytes: runs are deleted until all runs take less. None: no limit of size.
        """
        headers = await self._read(self._history_reader, StoreReader.list_headers)
        shares_bytes, excess_bytes = {}, 0.0
        if max_bytes is not None:
            shares_bytes = await self._compute_shares_bytes()
            excess_bytes = sum(shares_bytes.values()) - max_bytes
        expired_ids = []
        for run in sorted(headers, key=_age):
            old = before is not None and _age(run) < before
            if run.live or run.tags or not (old or excess_bytes > 0):
                continue
            expired_ids.append(run.id)
            excess_bytes -= shares_bytes.get(run.id, 0.0)
        return expired_ids

    async def _compute_shares_bytes(self) -> dict[str, float]:
        """Estimate each run's bytes in the store, with its share of all indexes."""
        sizes = await self._read(self._history_reader, StoreReader.sizes)
        total = await asyncio.to_thread(_size, [self._folder / name for name in _RUN_FILES])
        each = total / max(1, sum(sizes.values()))
        return {run: size * each for run, size in sizes.items()}

    async def _read(self, reader_thread: _ReaderThread, read: Callable[[StoreReader], T]) -> T:
        await self._wait_for_commit()
        loop = asyncio.get_running_loop()
        try:
            reading = loop.run_in_executor(reader_thread.thread, read, reader_thread.reader)
        except RuntimeError as error:  # the store was closed meanwhile
            raise self._make_closed_error() from error
        return await reading

    async def _wait_for_commit(self) -> None:
        """Wait until all that was appended is recorded, where that can be."""
        self._loop = asyncio.get_running_loop()
        on_recorded = asyncio.Event()
        if not self._put(AppendRequest(on_recorded=on_recorded.set, has_waiting_reader=True)):
            raise self._make_closed_error()
        await on_recorded.wait()

    def _make_closed_error(self) -> StoreError:
        return StoreError(f"{self._folder / STORE_FILE} is closed: open it again.")

    # ---- on the writer's thread ---------------------------------------------------------------------

    def _run_callbacks(self, calls: list[Callback]) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(_call, self._loop, calls)

    def _on_transaction(self, records: list[Record], touched: TransactionChanges) -> None:
        for run, changes in touched.changes.items():
            self._counters.set(run, changes)
        for run in touched.deleted:
            self._counters.record_deletion(run)
        for name in touched.files:
            delete_run_file(self._folder, name)
        if touched.deleted:
            delete_migration_copies(self._folder / STORE_FILE)
        self._search.apply(records, touched.changes)

    def _on_trouble(self, trouble: str | None) -> None:
        if trouble == self._trouble:  # each try tells the same
            return
        self._trouble = trouble
        self._run_callbacks([lambda: self.on_write_trouble(self._info())])

    def _close_readers(self) -> None:
        self._search.close()
        self._index_reader.close()
        for reader_thread in self._readers:
            reader_thread.close()

    def _info(self) -> StoreInfo:
        return StoreInfo(
            kind="sqlite",
            durability=self._durability,
            folder=str(self._folder),
            trouble=self._trouble,
        )


class _ReaderThread:
    """A reader and the thread it reads on."""

    def __init__(self, path: Path) -> None:
        self.reader = StoreReader(path)
        self.thread = ThreadPoolExecutor(1, "agentstepper-reader")

    def __enter__(self) -> _ReaderThread:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self.thread.shutdown(wait=True)
        self.reader.close()


def _call(loop: asyncio.AbstractEventLoop, calls: Iterable[Callback]) -> None:
    for call in calls:
        try:
            call()
        except Exception as error:  # as the loop does: the others are called nevertheless
            loop.call_exception_handler({"message": "A callback of the store", "exception": error})


def _age(run: Run) -> float:
    return run.started_at if run.ended_at is None else run.ended_at


def _size(paths: Iterable[Path]) -> int:
    """The bytes of files; folders, such as other stores below a store's, don't count."""
    total = 0
    for path in paths:
        with contextlib.suppress(OSError):  # gone meanwhile
            total += path.stat().st_size if path.is_file() else 0
    return total
