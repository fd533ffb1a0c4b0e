"""The runtime's file: opens and migrates it, and writes to it on a thread."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from ....errors import AgentStepperError, CommandError, StoreError
from ....protocol.store_info import Durability
from ...atomic_files import sync_folder
from ...base import MAX_SYNC_DELAY_S
from ...sqlite import database, migrations
from ...sqlite.database import TransactionJournal

log = logging.getLogger(__name__)

#: The file, in the folder of the runs.
RUNTIME_FILE: Final = "runtime.sqlite"
#: The application id in the file's header: "AR" and the version.
APPLICATION_ID: Final = 0x41520000

_FOLDER: Final = Path(__file__).parent / "migrations"
#: The last version, which this program reads and writes: the number of its migrations.
VERSION: Final = len(sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql")))

_MARKS_FILE: Final = "runtime.marks"  # it has none
_CACHE_KIB: Final = 16 * 1024  # KiB


def open_writer(path: Path | None) -> sqlite3.Connection:
    """Open the file for its only writer. The caller must hold the folder's lock.

    A file that isn't a database, or whose schema is damaged, is set aside, and a new file is created.

    Args:
        path: The file; None: in memory.

    Returns:
        A connection without implicit transactions, for one thread at a time.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: The file can't be opened: no permission, no space, a failing disk.
    """
    if path is None:
        return _in_memory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return _open(path)
        except sqlite3.DatabaseError as error:
            if not database.is_damage(error):
                raise
            log.error(
                "%s can't be read (%s). It is saved as %s, and a new file begins without "
                "the earlier background agents. `sqlite3 FILE .recover` restores what is "
                "readable.",
                path,
                error,
                database.set_aside_database(path, _MARKS_FILE),
            )
        return _open(path)
    except StoreError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise make_store_error(path, error) from error


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file for reading, beside its writer.

    Raises:
        StoreError: The file can't be opened.
    """
    try:
        return database.connect(path, "ro")
    except sqlite3.Error as error:
        raise make_store_error(path, error) from error


def make_store_error(path: Path, error: Exception) -> StoreError:
    """Make the error of a file that can't be read or written."""
    if isinstance(error, sqlite3.Error) and database.is_damage(error):
        return StoreError(
            f"{path} is damaged: {error}. Stop the Core and move the file away, so that a "
            "new file begins; `sqlite3 FILE .recover` restores what is readable of the "
            "old one."
        )
    return StoreError(
        f"Background agents can't be stored in {path}: {error}. Free disk space, and check "
        "that the folder is writable."
    )


def _in_memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    _migrate(connection, None)
    return connection


def _open(path: Path) -> sqlite3.Connection:
    if not path.exists():
        _create(path)
    elif path.stat().st_size == 0:  # it never is: it gets its name when it has its tables
        raise sqlite3.DatabaseError("the file is empty")
    path.chmod(0o600)
    connection = database.connect(path, "rw")
    try:
        found = migrations.read_version(connection, APPLICATION_ID)
        migrations.refuse_newer_version(found, path, VERSION)
        if migrations.read_schema(connection) != migrations.compute_schema(found, _FOLDER):
            raise sqlite3.DatabaseError("its schema is damaged")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        # What is deleted is zeroed where its page is written anyway; free pages leave the file.
        connection.execute("PRAGMA secure_delete = FAST")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the writer does it when it is idle
        database.set_journal_mode(connection, path)
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Make the file whole: one that is there has its tables."""
    for stale in path.parent.glob(f"{path.name}-*"):
        stale.unlink()  # the journal of a file that is gone
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(database.connect(part, "rw")) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before there is any table
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection, None)
    part.replace(path)
    sync_folder(path.parent)


def _migrate(connection: sqlite3.Connection, path: Path | None) -> None:
    """Migrate the tables to the last version; if the file has data, a copy is made beside it first."""
    found = migrations.read_version(connection, APPLICATION_ID)
    if found == VERSION:
        return
    if found and path is not None:
        copy = migrations.copy_before_migration(connection, path, found)
        log.warning(
            "%s is upgraded from version %d to %d; a copy is %s", path, found, VERSION, copy
        )
    with migrations.transaction(connection):
        for number in range(found + 1, VERSION + 1):
            for statement in migrations.read_statements(number, _FOLDER):
                connection.execute(statement)
        migrations.write_version(connection, VERSION, APPLICATION_ID)


# ---- the thread that writes: all calls that wait go into one transaction, each whole or not at all


#: Seconds after the last transaction until the journal is emptied.
IDLE_S: Final = 0.5
#: Seconds before a failed sync is tried again.
RETRY_S: Final = 1.0
#: Seconds in which a continuing failure isn't logged again.
_LOG_INTERVAL_S: Final = 60.0
#: Errors of values that JSON or SQLite can't encode: they concern neither the file nor other calls.
_VALUE_ERRORS: Final = (
    *(ValueError, TypeError, OverflowError, RecursionError),
    *(sqlite3.ProgrammingError, sqlite3.IntegrityError, sqlite3.DataError),
)

T = TypeVar("T")

#: Does something on the connection.
Work = Callable[[sqlite3.Connection], T]


@dataclass(eq=False)
class _Call:
    """A call whose caller waits for the result."""

    work: Work[Any]
    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    is_write: bool
    answer: Any = None
    error: BaseException | None = None


class RuntimeStoreWriter:
    """The only writer of the file.

    Args:
        connection: The connection of `runtime_file.open_writer`; the writer closes it.
        path: The file, for people; None: in memory.
        durability: `SYNC` answers once a call is synced; `DURABLE` once it is committed, and syncs at
            most 10 ms later; `RELAXED` likewise, and syncs at most half a second later.
        idle_s: Seconds after the last transaction until the journal is emptied, and with `RELAXED`
            until it is synced.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path | None,
        durability: Durability,
        idle_s: float = IDLE_S,
    ) -> None:
        self._idle_s = idle_s
        self._connection = connection
        self._path = path or Path(":memory:")
        self._journal = TransactionJournal(connection, self._path)
        self._durability = durability
        self._queue: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._sync_at: float | None = None
        self._checkpoint_at: float | None = None
        self._logged_at: float | None = None
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="agentstepper-runtime", daemon=True)
        self._thread.start()

    async def call(self, work: Work[T], *, is_write: bool = True) -> T:
        """Execute a call in a transaction, alone or with others, and return its result.

        Args:
            work: The call. If it raises an exception, its changes are rolled back.
            is_write: Whether it changes anything.

        Raises:
            CommandError: As the work does; `invalid_message`: JSON or SQLite can't encode a value.
            StoreError: The data can't be written or read.
        """
        if self._is_closed:
            raise StoreError(f"{self._path} is closed: open it again.")
        loop = asyncio.get_running_loop()
        call = _Call(work, loop.create_future(), loop, is_write)
        self._queue.put(call)
        return await call.future  # type: ignore[no-any-return]

    async def close(self) -> None:
        """Execute the earlier calls, sync, and close the file. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    # ---- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        is_running = True
        while is_running:
            calls, is_running = self._wait_for_calls()
            if calls:
                self._execute(calls)
                _send_results(calls)
            if _is_due(self._sync_at):
                self._try_maintenance(self._journal.sync)
                self._sync_at = None if self._journal.is_synced else time.monotonic() + RETRY_S
            if _is_due(self._checkpoint_at) or (is_running and self._journal.is_large):
                self._checkpoint_at = None
                self._try_maintenance(self._checkpoint)
        self._try_maintenance(self._journal.sync)
        self._try_maintenance(self._checkpoint)
        self._journal.close()

    def _wait_for_calls(self) -> tuple[list[_Call], bool]:
        """Wait for calls, and take all that are queued; False at the end."""
        calls: list[_Call] = []
        with contextlib.suppress(queue.Empty):
            call = self._queue.get(timeout=self._pause())
            while call is not None:
                calls.append(call)
                call = self._queue.get_nowait()
            return calls, False
        return calls, True

    def _pause(self) -> float | None:
        due = [at for at in (self._sync_at, self._checkpoint_at) if at is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _execute(self, calls: Sequence[_Call]) -> None:
        """Do all in one transaction; where the file itself fails, each in one of its own."""
        try:
            self._transact(calls)
        except sqlite3.Error as error:
            if len(calls) == 1:
                calls[0].error = make_store_error(self._path, error)
                self._log_failure(error)
                return
            for call in calls:
                self._execute([call])

    def _log_failure(self, error: sqlite3.Error) -> None:
        """Log a failure, and a continuing one once a minute."""
        now = time.monotonic()
        if self._logged_at is None or now - self._logged_at > _LOG_INTERVAL_S:
            log.error("A value can't be written to %s: %s", self._path, error)
            self._logged_at = now

    def _transact(self, calls: Sequence[_Call]) -> None:
        if not any(call.is_write for call in calls):  # only of a store in memory
            for call in calls:
                self._execute_call(call)
            return
        full = self._durability is Durability.SYNC
        with self._journal.transaction(full=full):
            for call in calls:
                self._execute_atomically(call)
        now = time.monotonic()
        self._checkpoint_at = now + self._idle_s
        if not self._journal.is_synced and self._sync_at is None:
            relaxed = self._durability is Durability.RELAXED
            self._sync_at = now + (self._idle_s if relaxed else MAX_SYNC_DELAY_S)

    def _execute_atomically(self, call: _Call) -> None:
        """Do one call, or nothing of it."""
        self._connection.execute("SAVEPOINT call")
        self._execute_call(call)
        if call.error is not None:
            self._connection.execute("ROLLBACK TO call")
        self._connection.execute("RELEASE call")

    def _execute_call(self, call: _Call) -> None:
        call.answer = call.error = None
        try:
            call.answer = call.work(self._connection)
        except AgentStepperError as error:
            call.error = error
        except _VALUE_ERRORS as error:
            call.error = CommandError("invalid_message", f"The value can't be stored: {error}.")
            call.error.__cause__ = error
        except sqlite3.Error:
            raise
        except Exception as error:  # a fault of ours is who asks's to hear: the thread goes on
            call.error = error

    def _checkpoint(self) -> None:
        if not self._journal.checkpoint():  # somebody reads
            self._checkpoint_at = time.monotonic() + self._idle_s

    def _try_maintenance(self, work: Callable[[], object]) -> None:
        """Try maintenance; if it fails now, it is tried later."""
        try:
            work()
        except sqlite3.Error as error:
            self._log_failure(error)


def _send_results(calls: Sequence[_Call]) -> None:
    """Send results on the event loops of the callers; those of one loop together."""
    for loop in {call.loop for call in calls}:
        own = [call for call in calls if call.loop is loop]
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_set_results, own)


def _set_results(calls: Sequence[_Call]) -> None:
    for call in calls:
        if call.future.done():  # who asked doesn't wait any more
            continue
        if call.error is not None:
            call.future.set_exception(call.error)
        else:
            call.future.set_result(call.answer)


def _is_due(at: float | None) -> bool:
    return at is not None and time.monotonic() >= at
