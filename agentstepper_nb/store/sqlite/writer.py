"""The writing thread: all waiting records are written in one transaction.

Callbacks are called only after their records are written. Records that can't be written, because the
disk is full or fails, are tried again each second; until then they wait in order, with all later ones.
"""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ...protocol.records import EventSaved, MessagesReceived, Record
from ...protocol.store_info import Durability
from ..base import MAX_SYNC_DELAY_S
from .database import LARGE_JOURNAL_BYTES, TransactionJournal
from .error_codes import advise_on_failed_write, is_transient
from .record_writer import RecordWriter, TransactionChanges

log = logging.getLogger(__name__)

#: Records that another record usually follows at once.
_FOLLOWED_RECORDS: Final = (EventSaved, MessagesReceived)

Callback = Callable[[], None]


@dataclass(frozen=True)
class WriterLimits:
    """The delays of a writer's background work.

    Args:
        batch_window_s: Seconds that an event waits for its halt point, which usually follows at once:
            then both share a transaction, and the agent waits for one instead of two.
        sync_delay_s: The most seconds until recorded data is durable.
        idle_s: Seconds after the last transaction, or after a run was deleted, until the journal is
            emptied.
        large_journal_bytes: Bytes of the journal from which it is emptied without waiting for that.
        retry_s: Seconds until a failed write is tried again.
    """

    batch_window_s: float = 0.002
    sync_delay_s: float = MAX_SYNC_DELAY_S
    idle_s: float = 0.5
    large_journal_bytes: int = LARGE_JOURNAL_BYTES
    retry_s: float = 1.0


DEFAULT_WRITER_LIMITS: Final = WriterLimits()


@dataclass(frozen=True, slots=True, eq=False)
class AppendRequest:
    """Records to write, all of them or none.

    Args:
        records: The records; none if the caller only waits for earlier records.
        on_recorded: Called once the records are recorded.
        durable: Whether `on_recorded` is called only when they are durable.
        on_synced: Called once they are durable.
        has_waiting_reader: Whether a reader waits: then `on_recorded` is called even if nothing can
            be written now.
        imported_file: The name of the file of version 1 that they come from, and its run's id.
    """

    records: Sequence[Record] = ()
    on_recorded: Callback | None = None
    durable: bool = False
    on_synced: Callback | None = None
    has_waiting_reader: bool = False
    imported_file: tuple[str, str] | None = None

    @property
    def is_awaited(self) -> bool:
        """Whether any caller waits for the recording."""
        return self.on_recorded is not None or self.durable or not self.records

    @property
    def is_urgent(self) -> bool:
        """Whether an agent, a person or a reader may be blocked until the recording."""
        followed = self.records and all(
            isinstance(each, _FOLLOWED_RECORDS) for each in self.records
        )
        return self.durable or (self.is_awaited and not followed)


@dataclass(frozen=True)
class WriterCallbacks:
    """The callbacks of a writer. All are called on its thread.

    Args:
        run_callbacks: Called with the callbacks to call, in order.
        on_transaction: Called with the records of a transaction, and its changes.
        on_checkpoint: Called when all data is in the store's file and synced, and the journal is empty.
        on_write_trouble: Called with the reason why records can't be written; with None when they can.
        on_close: Called when all is written and nothing follows: readers must close the store.
    """

    run_callbacks: Callable[[list[Callback]], None]
    on_transaction: Callable[[list[Record], TransactionChanges], None]
    on_checkpoint: Callback
    on_write_trouble: Callable[[str | None], None]
    on_close: Callback


class StoreWriter:
    """The only writer of a store.

    Args:
        connection: The connection of `database.open_writer`; the writer closes it.
        path: The store's file.
        durability: When callbacks are called.
        callbacks: The writer's callbacks.
        limits: The delays of background work.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        durability: Durability,
        callbacks: WriterCallbacks,
        limits: WriterLimits = DEFAULT_WRITER_LIMITS,
    ) -> None:
        self._limits = limits
        self._journal = TransactionJournal(connection, path, limits.large_journal_bytes)
        self._tables = RecordWriter(connection)
        self._path = path
        self._callbacks = callbacks
        self._is_always_synced = durability is Durability.SYNC
        self._queue: queue.SimpleQueue[AppendRequest | None] = queue.SimpleQueue()
        self._urgent = threading.Event()  # set after something was put that somebody waits for
        self._waiting: list[AppendRequest] = []
        self._unsynced_callbacks: list[Callback] = []
        self._retry_at: float | None = None  # something couldn't be written
        self._sync_at: float | None = None
        self._checkpoint_at: float | None = time.monotonic()  # what the last Core left there
        self._is_checkpoint_scheduled = False  # other transactions don't put it off
        self._is_checkpoint_failing = False  # the journal couldn't be emptied
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="agentstepper-store", daemon=True)
        self._thread.start()

    @property
    def is_write_blocked(self) -> bool:
        """Whether nothing can be written for the moment. For any thread."""
        return self._retry_at is not None

    def put(self, append: AppendRequest) -> None:
        """Queue records after all earlier ones. From any thread."""
        self._queue.put(append)
        if append.is_urgent:
            self._urgent.set()

    def close(self) -> None:
        """Write and sync all records, clean up, and close the file. Blocks; idempotent."""
        self._queue.put(None)
        self._urgent.set()
        self._thread.join()

    # ---- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._is_closing:
            self._collect()
            if self._waiting and (self._retry_at is None or _is_due(self._retry_at)):
                self._write()
            if _is_due(self._sync_at):
                self._sync()
            if _is_due(self._checkpoint_at):
                self._checkpoint()
        self._finish()

    def _collect(self) -> None:
        """Wait for work, and take all queued records."""
        try:
            self._add(self._queue.get(timeout=self._pause()))
            self._gather()
            while True:
                self._add(self._queue.get_nowait())
        except queue.Empty:
            pass

    def _gather(self) -> None:
        """Wait for more records while no caller waits: fewer transactions save the loop's time."""
        awaited = any(append.is_awaited for append in self._waiting)
        self._urgent.wait(self._limits.batch_window_s if awaited else self._limits.sync_delay_s)
        self._urgent.clear()  # what is put from now on is taken as well, or sets it again

    def _pause(self) -> float | None:
        """Seconds until something is due by itself."""
        due = [at for at in (self._retry_at, self._sync_at, self._checkpoint_at) if at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _add(self, append: AppendRequest | None) -> None:
        if append is None:
            self._is_closing = True
        elif append.has_waiting_reader and self._retry_at is not None:
            self._notify_recorded([append])
        else:
            self._waiting.append(append)

    def _finish(self) -> None:
        if self._waiting:
            self._write()
        if self._waiting:
            lost = sum(len(append.records) for append in self._waiting)
            log.error("%d records could not be written to %s", lost, self._path)
        self._sync()
        self._callbacks.on_close()
        self._checkpoint()
        self._journal.close()

    # ---- transactions -------------------------------------------------------------------------------

    def _write(self) -> None:
        """Write the waiting records. Those that can't be written now stay waiting."""
        waiting, self._waiting = self._waiting, []
        try:
            self._transact(waiting)
        except Exception as error:
            if is_transient(error):
                self._retry_later(waiting, error)
                return
            # One of them can't be kept, now or later: the others can, each by itself.
            self._write_each(waiting)

    def _write_each(self, waiting: list[AppendRequest]) -> None:
        for at, append in enumerate(waiting):
            try:
                self._transact([append])
            except Exception as error:
                if is_transient(error):
                    self._retry_later(waiting[at:], error)
                    return
                self._retry_at = None  # what could not be written is given up: nothing waits for it
                log.exception("Some of a run could not be written to %s", self._path)
                self._callbacks.on_write_trouble(
                    f"Some of a run could not be written to {self._path.parent}: see the "
                    "log for the reason. The other runs are stored."
                )
                self._notify_recorded(
                    [replace(append, on_synced=None)]
                )  # its agent isn't to hang for it

    def _transact(self, appends: list[AppendRequest]) -> None:
        """Write all in one transaction or, raising, nothing."""
        # What nobody waits for has been gathered for as long as syncing may take.
        full = (
            self._is_always_synced
            or _is_due(self._sync_at)
            or any(each.durable for each in appends)
            or not any(each.is_awaited for each in appends)
        )
        if any(append.records for append in appends):
            self._commit(appends, full)
        elif full:
            self._journal.sync()
        self._clear_trouble()
        if self._journal.is_synced:
            self._notify_synced()
        self._notify_recorded(appends)

    def _commit(self, appends: list[AppendRequest], full: bool) -> None:
        records: list[Record] = []
        try:
            with self._journal.transaction(full=full):
                for append in appends:
                    for record in append.records:
                        self._tables.write_record(record)
                    if append.imported_file is not None:
                        self._tables.note_imported_file(*append.imported_file)
                    records += append.records
                touched = self._tables.finish()
        except BaseException:
            self._tables.roll_back()
            raise
        now = time.monotonic()
        if not self._journal.is_synced and self._sync_at is None:
            self._sync_at = now + self._limits.sync_delay_s
        if self._checkpoint_at is None or not self._is_checkpoint_scheduled:
            self._is_checkpoint_scheduled = bool(touched.deleted) or self._journal.is_large
            self._checkpoint_at = now if self._journal.is_large else now + self._limits.idle_s
        try:
            self._callbacks.on_transaction(records, touched)
        except Exception:  # it is kept nevertheless
            log.exception("What follows the store in %s could not", self._path)

    def _sync(self) -> None:
        try:
            self._journal.sync()
        except sqlite3.Error as error:
            self._retry_later([], error)
        else:
            self._clear_trouble()
            self._notify_synced()
            if self._checkpoint_at is None:
                self._checkpoint_at = time.monotonic() + self._limits.idle_s

    def _checkpoint(self) -> None:
        """Empty the journal; if a reader blocks that, try again a little later."""
        self._checkpoint_at = None
        try:
            if not self._journal.checkpoint():
                self._checkpoint_at = time.monotonic() + self._limits.idle_s
        except sqlite3.Error as error:
            if not self._is_checkpoint_failing:
                log.warning("The journal of %s could not be emptied: %s", self._path, error)
            self._is_checkpoint_failing = True
            self._checkpoint_at = time.monotonic() + self._limits.retry_s
        else:
            self._is_checkpoint_failing = False
            if self._checkpoint_at is None:
                self._is_checkpoint_scheduled = False
                self._callbacks.on_checkpoint()

    # ---- telling ------------------------------------------------------------------------------------

    def _notify_recorded(self, appends: list[AppendRequest]) -> None:
        """Call back that these records are recorded and, if so, durable."""
        now = [append.on_recorded for append in appends if append.on_recorded is not None]
        on_sync_callbacks = [append.on_synced for append in appends if append.on_synced is not None]
        if self._journal.is_synced:
            now += on_sync_callbacks
        else:
            self._unsynced_callbacks += on_sync_callbacks
        if now:
            self._callbacks.run_callbacks(now)

    def _notify_synced(self) -> None:
        self._sync_at = None
        if self._unsynced_callbacks:
            calls, self._unsynced_callbacks = self._unsynced_callbacks, []
            self._callbacks.run_callbacks(calls)

    def _clear_trouble(self) -> None:
        if self._retry_at is not None:
            log.warning("%s is writable again", self._path)
            self._retry_at = None
            self._callbacks.on_write_trouble(None)

    def _retry_later(self, appends: list[AppendRequest], error: Exception) -> None:
        """Schedule another attempt after a failed write, and call back waiting readers."""
        if self._retry_at is None:
            log.error("Nothing can be written to %s: %s", self._path, error)
        folder = self._path.parent
        self._callbacks.on_write_trouble(
            f"The store can't write to {folder} right now: {error}. "
            f"{advise_on_failed_write(error, folder)}; agents wait meanwhile, and the store "
            "tries again each second."
        )
        self._retry_at = time.monotonic() + self._limits.retry_s
        if self._sync_at is not None:
            self._sync_at = self._retry_at
        self._notify_recorded([append for append in appends if append.has_waiting_reader])
        self._waiting = [
            append for append in appends if not append.has_waiting_reader
        ] + self._waiting


def _is_due(at: float | None) -> bool:
    return at is not None and time.monotonic() >= at
