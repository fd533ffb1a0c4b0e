"""Transactions on threads with a connection each; a lost connection's outcome is checked."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

import psycopg
from psycopg import errors

from ....errors import AgentStepperError, CommandError, StoreError
from .database import Database, renumber_changes
from .statements import Statements

T = TypeVar("T")
#: Does something in a transaction; where it raises, nothing of it stays.
Work = Callable[[Statements], T]
log = logging.getLogger(__name__)

#: The channel that announces commits, as "CORE NUMBER".
CHANNEL: Final = "agentstepper"
#: Seconds between two attempts to reach a lost server.
_PAUSE_S: Final = 0.1
#: Times that a transaction is begun which meets others, or loses its connection.
_MAX_TRIES: Final = 10
#: Begins a write, and notes the write's number. PostgreSQL's own number (xid) isn't enough: after a
#: crash the number of a transaction of which nothing reached the disk goes to another one.
_BEGIN: Final = (
    "BEGIN; INSERT INTO last_writes (writer, number) VALUES ('{writer}', {number})"
    " ON CONFLICT (writer) DO UPDATE SET number = EXCLUDED.number, noted_at = EXCLUDED.noted_at;"
    " SELECT change_number()"
)
#: Reads the number of a writer's last committed write. As an update, it waits for a write in progress.
_READ_LAST: Final = (
    "INSERT INTO last_writes (writer, number) VALUES (%s, 0)"
    " ON CONFLICT (writer) DO UPDATE SET number = last_writes.number RETURNING number"
)
#: Deletes the numbers of writers that are gone.
_DELETE_OLD: Final = b"DELETE FROM last_writes WHERE noted_at < now() - interval '1 day'"
#: Errors of conflicts with another transaction. Of two that add one key, the second is repeated, and
#: then finds the first one's row.
_CONFLICTS: Final = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
)
#: Errors of a server that stops, starts, or has become read-only.
_GONE: Final = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.ReadOnlySqlTransaction,
    errors.IdleInTransactionSessionTimeout,
)
#: Errors of values that JSON or PostgreSQL can't encode.
_VALUE_ERRORS: Final = (
    *(ValueError, TypeError, OverflowError, RecursionError),
    *(psycopg.DataError, psycopg.IntegrityError),
)


class _LostError(Exception):
    """The connection is lost, and the transaction changed nothing."""


class Transactions:
    """Executes transactions, each on the connection of the calling thread.

    Args:
        database: The database.
        core: The id of this Core in announcements of commits.
        retry_s: Seconds to wait for a lost server before calls fail.
    """

    def __init__(self, database: Database, core: str, retry_s: float) -> None:
        self._database = database
        self._core = core
        self._retry_s = retry_s
        self._own = threading.local()
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._connections: set[psycopg.Connection] = set()
        self._lost_at: float | None = None
        self._was_open = False
        self._preparing = threading.Lock()
        self._is_prepared = False
        self._closing = threading.Event()
        self._is_closed = False

    def write(self, work: Work[T]) -> T:
        """Execute a write, and announce its commit to the other Cores.

        Raises:
            CommandError: As the work does; `invalid_message`: JSON or PostgreSQL can't encode a value.
            StoreError: The data can't be written or read.
        """
        return self._repeat(lambda: self._write_once(work))

    def read(self, work: Work[T]) -> T:
        """Read something: all statements see the same. Errors as `write`."""
        return self._repeat(
            lambda: self._read_once(work, b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        )

    def peek(self, work: Work[T]) -> T:
        """Read, where each statement sees the data committed by then. Errors as `write`."""
        return self._repeat(lambda: self._read_once(work, None))

    def stop_waiting(self) -> None:
        """Fail calls that wait for a lost server, now and from now on. Others are finished."""
        self._closing.set()

    def close(self) -> None:
        """Close all connections, once no transaction is in progress. Idempotent."""
        self.stop_waiting()
        self._is_closed = True
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    # ---- one try ------------------------------------------------------------------------------------

    def _write_once(self, work: Work[T]) -> T:
        connection = self._connect()
        number = next(self._numbers)
        try:
            begun = connection.execute(_BEGIN.format(writer=self._writer, number=number).encode())
            while begun.nextset():
                pass
            ((change_number,),) = begun
            answer = work(Statements(connection))
        except BaseException:
            self._roll_back(connection)
            raise
        notify = f"NOTIFY {CHANNEL}, '{self._core} {change_number}'"
        try:
            connection.execute(f"COMMIT; {notify}".encode())
        except psycopg.Error as error:
            self._drop(connection)
            if not self._is_committed(number):
                raise _LostError(str(error)) from error
            self._announce_again(notify)
        return answer

    def _announce_again(self, notify: str) -> None:
        """Announce a commit whose notice may be lost with its connection."""
        try:
            self._connect().execute(notify.encode())
        except (psycopg.Error, StoreError) as error:
            place, reason = self._database.place, _format_reason(error)
            log.warning("other Cores may not hear of a write in %s: %s", place, reason)

    def _read_once(self, work: Work[T], begin: bytes | None) -> T:
        connection = self._connect()
        if begin is None:
            return work(Statements(connection))
        try:
            connection.execute(begin)
            return work(Statements(connection))
        finally:
            self._roll_back(connection)

    def _roll_back(self, connection: psycopg.Connection) -> None:
        if connection.closed:
            return
        try:
            connection.execute(b"ROLLBACK")
        except psycopg.Error:
            connection.close()

    def _is_committed(self, number: int) -> bool:
        """Whether a write of this thread was committed whose answer was lost with its connection."""
        last: int | None = None
        while last is None:
            last = self._repeat(self._read_last_number)
        return last == number

    def _read_last_number(self) -> int | None:
        """Read the number of this thread's last committed write; None if that took too long."""
        try:
            ((number,),) = self._connect().execute(_READ_LAST, (self._writer,))
        except errors.QueryCanceled:
            return None
        return int(number)

    @property
    def _writer(self) -> str:
        """The calling thread in `last_writes`."""
        return f"{self._core}-{threading.get_ident()}"

    # ---- again --------------------------------------------------------------------------------------

    def _repeat(self, attempt: Callable[[], T]) -> T:
        """Try until it is done, refused, or hopeless."""
        tries = 0
        while True:
            try:
                answer = attempt()
            except AgentStepperError:
                raise
            except Exception as error:
                tries += not self._is_waiting(error)
                if tries >= _MAX_TRIES:
                    raise self._make_error(error) from error
            else:
                self._lost_at = None
                return answer

    def _is_waiting(self, error: Exception) -> bool:
        """Whether the server is unavailable: then wait for it, up to the limit. False for a lost
        connection or a conflict, after which a new attempt may succeed.

        Raises:
            CommandError, StoreError: A new attempt can't succeed.
        """
        connection: psycopg.Connection | None = getattr(self._own, "connection", None)
        if isinstance(error, _CONFLICTS):
            return False
        if isinstance(error, psycopg.Error) and connection is None:
            self._wait_for_server(error)
            return True
        if isinstance(error, _LostError):
            return False
        if connection is not None and (connection.closed or isinstance(error, _GONE)):
            self._drop(connection)
            return False
        if _is_about_value(error):
            raise CommandError("invalid_message", f"The value can't be stored: {error}.") from error
        if isinstance(error, psycopg.Error):
            raise self._make_error(error) from error
        raise error

    def _wait_for_server(self, error: Exception) -> None:
        now = time.monotonic()
        self._lost_at = self._lost_at or now
        is_hopeless = not self._was_open or now - self._lost_at > self._retry_s
        if is_hopeless or self._closing.wait(_PAUSE_S):
            raise self._make_error(error) from error

    def _make_error(self, error: Exception) -> StoreError:
        return StoreError(
            f"Background agents can't be stored in {self._database.place}: {_format_reason(error)}. "
            "Check that PostgreSQL runs there and that its user may write."
        )

    # ---- connections --------------------------------------------------------------------------------

    def _connect(self) -> psycopg.Connection:
        """The thread's connection, to a database that is prepared."""
        connection: psycopg.Connection | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._open()
        if not self._is_prepared:
            self._prepare(connection)
        return connection

    def _open(self) -> psycopg.Connection:
        if self._is_closed:
            raise StoreError(f"{self._database.place} is closed: open it again.")
        connection = self._database.connect()
        with self._lock:
            self._connections.add(connection)
            self._was_open = True
        self._own.connection = connection
        return connection

    def _prepare(self, connection: psycopg.Connection) -> None:
        """Prepare the database once. Other threads wait; after an error, the next call tries again."""
        with self._preparing:
            if self._is_prepared:
                return
            renumber_changes(connection)
            self._is_prepared = True
        try:
            connection.execute(_DELETE_OLD)
        except psycopg.Error as error:
            place, reason = self._database.place, _format_reason(error)
            log.warning("numbers of old writers can't be deleted from %s: %s", place, reason)

    def _drop(self, connection: psycopg.Connection) -> None:
        connection.close()
        self._own.connection = None
        with self._lock:
            self._connections.discard(connection)


def _format_reason(error: Exception) -> str:
    return " ".join(str(error).split())


def _is_about_value(error: Exception) -> bool:
    """Whether a value can't be encoded; psycopg itself raises an error for unknown classes."""
    is_unknown_class = isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None
    return is_unknown_class or isinstance(error, _VALUE_ERRORS)
