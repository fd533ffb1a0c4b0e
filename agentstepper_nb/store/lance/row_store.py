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
from .draft import Draft, Test
from .index import Index
from .journal import Head, Journal
from .kinds import ACTIONS, KEY, KINDS, STATES, Changes, Kind, Row
from .sql import any_of
from .tables import Tables, roll_back

#: Changes, bytes of the journal, and merges into tables, at which the journal begins anew.
_ENTRIES: Final = 2000
_SIZE: Final = 16 * 1024 * 1024
_MERGES: Final = 50
#: Merges at which closing compacts as well.
_MERGES_AT_END: Final = 20
#: Rows of a table that wait in memory at most, and for how many seconds.
_WAITING: Final = 1000
_WAIT: Final = 1.0
#: Seconds between two looks at a folder that another process has.
_LOOK_AGAIN: Final = 0.1

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
        self, folder: Path, held: folder_lock.FolderLock, journal: Journal, tables: Tables
    ) -> None:
        self.folder = folder
        self.tables = tables
        self.index = Index()
        self._held = held
        self._journal = journal
        self._n = 0
        self._waiting = Changes()
        self._merges = 0  # since the tables were compacted
        self._safe: dict[str, int] = {}  # the head's versions
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    @classmethod
    async def open(cls, folder: Path, what: str, patience: float) -> RowStore:
        """Take a folder, and put right what a kill or a power cut left there.

        Args:
            folder: Made where it is missing.
            what: What this process is, for whoever comes second.
            patience: Seconds to wait for whoever has it.

        Raises:
            StoreLockedError: Another process has it.
            StoreError: It can't be used, or is damaged.
        """
        async with AsyncExitStack() as undo:
            held = await _taken(folder, what, patience)
            undo.callback(held.release)
            journal, head, changes = await asyncio.to_thread(Journal.open, folder)
            undo.callback(journal.close)
            if head is None and not await asyncio.to_thread(_has_tables, folder):
                # So that what a power cut leaves of making them is known to be nothing.
                head = Head()
                await asyncio.to_thread(journal.restart, head)
            if head is not None and not head.closed:
                await asyncio.to_thread(roll_back, folder, head.versions)
            tables = await Tables.open(folder)
            undo.callback(tables.close)
            store = cls(folder, held, journal, tables)
            await store._begin(head, changes)
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
                if self._merges > _MERGES_AT_END:
                    await self._begin_anew()
                await self._mark_safe(closed=True)
            finally:
                self.tables.close()
                self._journal.close()
                self._held.release()

    # ---- asking -------------------------------------------------------------------------------------

    async def change(self, plan: Callable[[Draft], Awaitable[T]]) -> T:
        """Carry a plan out: what it drafts is kept, all of it or nothing, before its answer is given.

        One is carried out at a time. Who stops waiting stops nothing.

        Args:
            plan: Looks up what it needs, and drafts. Refuses by raising.

        Raises:
            StoreError: It can't be kept.
        """
        return await self._apart(self._changed(plan))

    async def read(self, query: Callable[[Tables], Awaitable[T]], *kinds: Kind) -> T:
        """Ask tables, once they have followed.

        Args:
            query: Asks them.
            kinds: Which.
        """
        return await self._apart(self._asked(query, kinds))

    async def look(self, reading: Callable[[Draft], Awaitable[T]]) -> T:
        """Look rows up, those that wait among them. Nothing that is drafted is kept."""
        async with self._lock:
            self._see_open()
            with _fitting():
                return await reading(Draft(self))

    # ---- for drafts ---------------------------------------------------------------------------------

    async def find(self, kind: Kind, keys: Iterable[str]) -> dict[str, Row]:
        """Rows by their keys: those that wait, those in memory, then those in the table."""
        waiting = self._waiting.rows[kind.name]
        memory = self.index.rows_of(kind)
        found: dict[str, Row] = {}
        missing: list[str] = []
        for key in keys:
            row = waiting.get(key) or memory.get(key)
            if row is None:
                missing.append(key)
            else:
                found[key] = row
        if missing:
            rows = await self.tables.select(kind, any_of(KEY, missing))
            found.update((kind.key_of(row.value), row) for row in rows)
        return found

    async def where(self, kind: Kind, sql: str | None, test: Test) -> dict[str, Row]:
        """Rows that meet a condition, by their keys; those that wait in the place of the table's.

        Args:
            kind: Their table.
            sql: The condition.
            test: The same, for what waits.
        """
        waiting = self._waiting.rows[kind.name]
        kept = ((kind.key_of(row.value), row) for row in await self.tables.select(kind, sql))
        found = {key: row for key, row in kept if key not in waiting}
        found.update((key, row) for key, row in waiting.items() if test(row.value))
        return found

    def next_n(self) -> int:
        """The number of a row that is new."""
        self._n += 1
        return self._n

    # ---- one at a time ------------------------------------------------------------------------------

    async def _apart(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something in a task of its own, so that who stops waiting doesn't leave it half-done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who asked has heard of it, or wants no more

    async def _changed(self, plan: Callable[[Draft], Awaitable[T]]) -> T:
        async with self._lock:
            self._see_open()
            draft = Draft(self)
            with _fitting():
                answer = await plan(draft)
                if draft.changes:
                    await asyncio.to_thread(self._journal.append, draft.changes)
            if draft.changes:
                self._show(draft.changes)
                await self._tidy()
        return answer

    async def _asked(self, query: Callable[[Tables], Awaitable[T]], kinds: tuple[Kind, ...]) -> T:
        async with self._lock:
            self._see_open()
            for kind in kinds:
                await self._merge(kind)
            with _fitting():
                return await query(self.tables)

    def _see_open(self) -> None:
        if self._closed:
            raise StoreError(f"The store in {self.folder} is closed.")

    def _show(self, changes: Changes) -> None:
        """From now on they are to be seen."""
        self.index.apply(changes)
        for kind in KINDS:
            for row in changes.of(kind):
                self._waiting.put(kind, row)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(_WAIT, self._time_is_over)

    # ---- the tables follow --------------------------------------------------------------------------

    async def _merge(self, kind: Kind) -> None:
        rows = list(self._waiting.of(kind))
        if rows:
            await self.tables.merge(kind, rows)
            self._waiting.rows[kind.name].clear()
            self._merges += 1

    async def _merge_each(self) -> None:
        for kind in KINDS:
            await self._merge(kind)

    async def _tidy(self) -> None:
        """Do what has become necessary. No change depends on it: what fails is tried again."""
        journal = self._journal
        try:
            if journal.entries > _ENTRIES or journal.size > _SIZE or self._merges > _MERGES:
                await self._begin_anew()
            for kind in KINDS:
                if len(self._waiting.rows[kind.name]) > _WAITING:
                    await self._merge(kind)
        except OSError as error:
            log.error("%s", error)

    async def _begin_anew(self) -> None:
        """Make the tables safe with all they are to have, and begin the journal anew."""
        await self._merge_each()
        versions = await self.tables.versions()
        changed = [kind for kind in KINDS if versions[kind.name] != self._safe.get(kind.name)]
        for kind in changed:
            await self.tables.compact(kind)
        await self._mark_safe()
        for kind in changed:
            await self.tables.prune(kind)
        self._merges = 0
        if await self.tables.versions() != self._safe:  # there was something to compact yet
            await self._mark_safe()

    async def _mark_safe(self, *, closed: bool = False) -> None:
        versions = await self.tables.versions()
        head = Head(n=self._n, versions=versions, merges=self._merges, closed=closed)
        await asyncio.to_thread(self.tables.sync)
        await asyncio.to_thread(self._journal.restart, head)
        self._safe = versions

    def _time_is_over(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._merge_all())
        self._tasks.add(task)
        task.add_done_callback(self._over)

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

    async def _begin(self, head: Head | None, changes: list[Changes]) -> None:
        """Bring the tables up to the journal, and make the index of them."""
        if head is None:
            self._n = max([await self.tables.last_n(kind) for kind in KINDS])
        else:
            self._n, self._merges = head.n, head.merges
        for each in changes:
            for kind in KINDS:
                for row in each.of(kind):
                    self._waiting.put(kind, row)
                    self._n = max(self._n, row.n)
        await (self._begin_anew() if changes else self._mark_safe())
        found = Changes()
        for kind, where in ((ACTIONS, OPEN), (STATES, any_of("status", sorted(LIVE_STATUSES)))):
            for row in await self.tables.select(kind, where):
                found.put(kind, row)
        self.index.apply(found)


async def _taken(folder: Path, what: str, patience: float) -> folder_lock.FolderLock:
    loop = asyncio.get_running_loop()
    until = loop.time() + patience
    while True:
        try:
            return await asyncio.to_thread(folder_lock.lock_folder, folder, what)
        except StoreLockedError:
            if loop.time() >= until:
                raise
        await asyncio.sleep(_LOOK_AGAIN)


def _has_tables(folder: Path) -> bool:
    return any(folder.glob("*.lance"))


@contextmanager
def _fitting() -> Iterator[None]:
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
OPEN: Final = any_of("status", ("claimed", "queued"))
