"""Keeps changes, one after the other: in the journal first, in the tables soon after.

A change is planned, written to the journal as one line, and only then to be seen. Its rows wait in
memory until somebody reads their table, many have come together, or a second is over: then they go into
it by one merge, since each merge is a version of the table and each version costs. When the journal has
grown, the tables are compacted and synced, and it begins anew.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from ...errors import AgentStepperError, StoreError, StoreLockedError
from ...protocol.runtime import LIVE_STATUSES
from .. import folder_lock
from .index import ClaimIndex
from .journal import Journal, JournalHeader
from .sql import any_of
from .table_specs import ACTIONS, ALL_TABLES, KEY, STATES, Changes, Row, TableSpec
from .tables import Tables, roll_back
from .transaction import RowPredicate, Transaction

#: Changes, bytes of the journal, and merges into tables, at which the journal begins anew.
_MAX_JOURNAL_ENTRIES: Final = 2000
_MAX_JOURNAL_BYTES: Final = 16 * 1024 * 1024
_MAX_MERGES: Final = 50
#: Merges at which closing compacts as well.
_MAX_MERGES_AT_CLOSE: Final = 20
#: Rows of a table that wait in memory at most, and for how many seconds.
_MAX_PENDING_ROWS: Final = 1000
_MERGE_DELAY_S: Final = 1.0
#: Seconds between two looks at a folder that another process has.
_LOCK_RETRY_S: Final = 0.1

T = TypeVar("T")
log = logging.getLogger(__name__)


class RowStore:
    """The rows of a folder. Made by `open`.

    Attributes:
        folder: The folder.
        tables: What LanceDB has: `read` says how far it has followed.
        index: What claims go by.
    """

    def __init__(
        self, folder: Path, lock: folder_lock.FolderLock, journal: Journal, tables: Tables
    ) -> None:
        self.folder = folder
        self.tables = tables
        self.index = ClaimIndex()
        self._folder_lock = lock
        self._journal = journal
        self._n = 0
        self._pending = Changes()
        self._merges = 0  # since the tables were compacted
        self._safe: dict[str, int] = {}  # the head's versions
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    @classmethod
    async def open(cls, folder: Path, program: str, timeout_s: float) -> RowStore:
        """Take a folder, and put right what a kill or a power cut left there.

        Args:
            folder: Made where it is missing.
            program: What this process is, for whoever comes second.
            timeout_s: Seconds to wait for whoever has it.

        Raises:
            StoreLockedError: Another process has it.
            StoreError: It can't be used, or is damaged.
        """
        async with AsyncExitStack() as undo:
            lock = await _lock_folder(folder, program, timeout_s)
            undo.callback(lock.release)
            journal, header, changes = await asyncio.to_thread(Journal.open, folder)
            undo.callback(journal.close)
            if header is None and not await asyncio.to_thread(_has_tables, folder):
                # So that what a power cut leaves of making them is known to be nothing.
                header = JournalHeader()
                await asyncio.to_thread(journal.restart, header)
            if header is not None and not header.closed:
                await asyncio.to_thread(roll_back, folder, header.versions)
            tables = await Tables.open(folder)
            undo.callback(tables.close)
            store = cls(folder, lock, journal, tables)
            await store._recover(header, changes)
            undo.pop_all()
        return store

    async def close(self) -> None:
        """Finish what was begun, and let the folder go. Idempotent."""
        async with self._lock:
            if self._closed:
                return
            self._closed = True
            self._stop_timer()
            try:
                await self._merge_each()
                if self._merges > _MAX_MERGES_AT_CLOSE:
                    await self._restart_journal()
                await self._checkpoint(closed=True)
            finally:
                self.tables.close()
                self._journal.close()
                self._folder_lock.release()

    # ---- asking -------------------------------------------------------------------------------------

    async def run_transaction(self, change: Callable[[Transaction], Awaitable[T]]) -> T:
        """Run a transaction: all that it changes is stored, or nothing, before its result is returned.

        One is carried out at a time. Who stops waiting stops nothing.

        Args:
            change: Looks up what it needs, and drafts. Refuses by raising.

        Raises:
            StoreError: It can't be kept.
        """
        return await self._run_shielded(self._run_transaction(change))

    async def read(self, query: Callable[[Tables], Awaitable[T]], *specs: TableSpec) -> T:
        """Ask tables, once they have followed.

        Args:
            query: Asks them.
            specs: Which.
        """
        return await self._run_shielded(self._run_query(query, specs))

    async def peek(self, query: Callable[[Transaction], Awaitable[T]]) -> T:
        """Look rows up, those that wait among them. Nothing that is drafted is kept."""
        async with self._lock:
            self._check_open()
            with _convert_value_errors():
                return await query(Transaction(self))

    # ---- for drafts ---------------------------------------------------------------------------------

    async def find(self, spec: TableSpec, keys: Iterable[str]) -> dict[str, Row]:
        """Rows by their keys: those that wait, those in memory, then those in the table."""
        waiting = self._pending.rows[spec.name]
        memory = self.index.rows_of(spec)
        found: dict[str, Row] = {}
        missing: list[str] = []
        for key in keys:
            row = waiting.get(key) or memory.get(key)
            if row is None:
                missing.append(key)
            else:
                found[key] = row
        if missing:
            rows = await self.tables.select(spec, any_of(KEY, missing))
            found.update((spec.key_of(row.value), row) for row in rows)
        return found

    async def find_where(
        self, spec: TableSpec, sql: str | None, predicate: RowPredicate
    ) -> dict[str, Row]:
        """Rows that meet a condition, by their keys; those that wait in the place of the table's.

        Args:
            spec: Their table.
            sql: The condition.
            predicate: The same, for what waits.
        """
        waiting = self._pending.rows[spec.name]
        stored_rows = ((spec.key_of(row.value), row) for row in await self.tables.select(spec, sql))
        found = {key: row for key, row in stored_rows if key not in waiting}
        found.update((key, row) for key, row in waiting.items() if predicate(row.value))
        return found

    def next_row_number(self) -> int:
        """The number of a row that is new."""
        self._n += 1
        return self._n

    # ---- one at a time ------------------------------------------------------------------------------

    async def _run_shielded(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in a task of its own, so that who stops waiting doesn't leave it half-done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)
        return await asyncio.shield(task)

    def _on_task_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who asked has heard of it, or wants no more

    async def _run_transaction(self, change: Callable[[Transaction], Awaitable[T]]) -> T:
        async with self._lock:
            self._check_open()
            transaction = Transaction(self)
            with _convert_value_errors():
                answer = await change(transaction)
                if transaction.changes:
                    await asyncio.to_thread(self._journal.append, transaction.changes)
            if transaction.changes:
                self._publish(transaction.changes)
                await self._maintain()
        return answer

    async def _run_query(
        self, query: Callable[[Tables], Awaitable[T]], specs: tuple[TableSpec, ...]
    ) -> T:
        async with self._lock:
            self._check_open()
            for spec in specs:
                await self._merge(spec)
            with _convert_value_errors():
                return await query(self.tables)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store in {self.folder} is closed.")

    def _publish(self, changes: Changes) -> None:
        """From now on they are to be seen."""
        self.index.apply(changes)
        for spec in ALL_TABLES:
            for row in changes.rows_of(spec):
                self._pending.put(spec, row)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_MERGE_DELAY_S, self._on_timer)

    # ---- the tables follow --------------------------------------------------------------------------

    async def _merge(self, spec: TableSpec) -> None:
        rows = list(self._pending.rows_of(spec))
        if rows:
            await self.tables.merge(spec, rows)
            self._pending.rows[spec.name].clear()
            self._merges += 1

    async def _merge_each(self) -> None:
        for spec in ALL_TABLES:
            await self._merge(spec)

    async def _maintain(self) -> None:
        """Do what has become necessary. No change depends on it: what fails is tried again."""
        journal = self._journal
        try:
            if (
                journal.entries > _MAX_JOURNAL_ENTRIES
                or journal.size > _MAX_JOURNAL_BYTES
                or self._merges > _MAX_MERGES
            ):
                await self._restart_journal()
            for spec in ALL_TABLES:
                if len(self._pending.rows[spec.name]) > _MAX_PENDING_ROWS:
                    await self._merge(spec)
        except OSError as error:
            log.error("%s", error)

    async def _restart_journal(self) -> None:
        """Make the tables safe with all they are to have, and begin the journal anew."""
        await self._merge_each()
        versions = await self.tables.versions()
        changed = [spec for spec in ALL_TABLES if versions[spec.name] != self._safe.get(spec.name)]
        for spec in changed:
            await self.tables.compact(spec)
        await self._checkpoint()
        for spec in changed:
            await self.tables.prune(spec)
        self._merges = 0
        if await self.tables.versions() != self._safe:  # there was something to compact yet
            await self._checkpoint()

    async def _checkpoint(self, *, closed: bool = False) -> None:
        versions = await self.tables.versions()
        header = JournalHeader(
            last_number=self._n, versions=versions, merges=self._merges, closed=closed
        )
        await asyncio.to_thread(self.tables.sync)
        await asyncio.to_thread(self._journal.restart, header)
        self._safe = versions

    def _on_timer(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._merge_all())
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    async def _merge_all(self) -> None:
        async with self._lock:
            if self._closed:
                return
            try:
                await self._merge_each()
            except OSError as error:  # who reads next hears of it as well
                log.error("%s", error)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- opening ------------------------------------------------------------------------------------

    async def _recover(self, header: JournalHeader | None, changes: list[Changes]) -> None:
        """Bring the tables up to the journal, and make the index of them."""
        if header is None:
            self._n = max([await self.tables.last_row_number(spec) for spec in ALL_TABLES])
        else:
            self._n, self._merges = header.last_number, header.merges
        for each in changes:
            for spec in ALL_TABLES:
                for row in each.rows_of(spec):
                    self._pending.put(spec, row)
                    self._n = max(self._n, row.number)
        await (self._restart_journal() if changes else self._checkpoint())
        found = Changes()
        for spec, where in (
            (ACTIONS, OPEN_ACTIONS),
            (STATES, any_of("status", sorted(LIVE_STATUSES))),
        ):
            for row in await self.tables.select(spec, where):
                found.put(spec, row)
        self.index.apply(found)


async def _lock_folder(folder: Path, program: str, timeout_s: float) -> folder_lock.FolderLock:
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout_s
    while True:
        try:
            return await asyncio.to_thread(folder_lock.lock_folder, folder, program)
        except StoreLockedError:
            if loop.time() >= until:
                raise
        await asyncio.sleep(_LOCK_RETRY_S)


def _has_tables(folder: Path) -> bool:
    return any(folder.glob("*.lance"))


@contextmanager
def _convert_value_errors() -> Iterator[None]:
    """Say what was wrong where somebody's value can't be kept, or looked for."""
    try:
        yield
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, AgentStepperError):
            raise
        raise StoreError(
            f"The value can't be stored: {error}. Send a value that JSON can carry."
        ) from error


#: Which actions somebody has to do yet.
OPEN_ACTIONS: Final = any_of("status", ("claimed", "queued"))
