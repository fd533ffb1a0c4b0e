"""The store's file: SQLite's settings, the handling of unreadable files, and the journal."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ...errors import StoreError
from ..atomic_files import find_network_file_system, sync_folder
from . import migrations

log = logging.getLogger(__name__)

#: The store's file in its folder; the names of SQLite's other files begin with it.
STORE_FILE: Final = "store.sqlite"
#: The file of `transaction_counters`.
COUNTERS_FILE: Final = "marks"
#: The suffix of a file that was set aside.
DAMAGED_SUFFIX: Final = ".damaged-"

#: Bytes of a page.
_PAGE_BYTES: Final = 4096
#: The valid headers from byte 16 on: pages without reserved bytes, and a journal (1) or a write-ahead
#: log (2). SQLite would believe other values, and would misread the file.
_FILE_HEADERS: Final = tuple(_PAGE_BYTES.to_bytes(2) + bytes((kind, kind, 0)) for kind in (1, 2))

#: KiB of pages in the writer's cache, which hold the indexes of a long run.
_CACHE_KIB: Final = 16 * 1024
_BUSY_TIMEOUT_S: Final = 5.0  # seconds that a writer waits for doctor's or a reader's moment
#: SQLite's primary codes for a file that isn't a database, or a damaged one.
_DAMAGE_CODES: Final = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))

_PRAGMAS: Final = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",  # damage is found before it is read as something else
    "PRAGMA mmap_size = 0",
    "PRAGMA temp_store = MEMORY",
)


def open_writer(path: Path) -> sqlite3.Connection:
    """Open a store of the last version for its only writer. The caller must hold the folder's lock.

    A file that isn't a database, or whose schema is damaged, is set aside, and a new file is created.

    Args:
        path: `DIR/store.sqlite`.

    Returns:
        A connection without implicit transactions, for one thread at a time. `PRAGMA journal_mode` is
        WAL, or TRUNCATE (always with `synchronous = FULL`) where WAL isn't safe.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: The file can't be opened: no permission, no space, a failing disk.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return _open(path)
    except StoreError:
        raise
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise _make_open_error(path, error) from error
        log.error(
            "%s can't be read (%s). It is saved as %s, and a new store begins. "
            "`agentstepper doctor --data %s --repair` restores what is readable of its "
            "runs.",
            path,
            error,
            set_aside_database(path),
            path.parent,
        )
    except OSError as error:
        raise _make_open_error(path, error) from error
    try:
        return _open(path)
    except sqlite3.Error as error:
        raise _make_open_error(path, error) from error


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a store for reading, beside its writer.

    Args:
        path: `DIR/store.sqlite`.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: The file doesn't exist, can't be read, or is of an older version.
    """
    try:
        connection = connect(path, "ro")
        try:
            migrations.refuse_older_version(_check(connection, path), path)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise _make_open_error(path, error) from error
    return connection


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect with the settings that all connections share.

    Args:
        path: The file.
        mode: "ro", "rw" or "rwc", as in SQLite's URIs.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode={mode}",
        uri=True,
        timeout=_BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    # A hurt text is to be found by its row's checksum, not to end the reading of all others.
    connection.text_factory = _decode_text
    for pragma in _PRAGMAS:
        connection.execute(pragma)
    return connection


def _decode_text(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error speaks of damage to a file, and not of rights, room or the disk."""
    code = getattr(error, "sqlite_errorcode", None)  # None: it is our own
    return code is None or code & 0xFF in _DAMAGE_CODES


def _make_open_error(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{path} can't be opened: {error}. `agentstepper doctor --data {path.parent}` says more."
    )


# ---- the writer's ------------------------------------------------------------------------------------


def _open(path: Path) -> sqlite3.Connection:
    if not path.exists():
        _create(path)
    elif path.stat().st_size == 0:  # it never is: it gets its name when it has its tables
        raise sqlite3.DatabaseError("the file is empty")
    path.chmod(0o600)
    connection = connect(path, "rw")
    try:
        _check(connection, path)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the writer does it when it is idle
        set_journal_mode(connection, path)
        migrations.migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _create(path: Path) -> None:
    """Make the file whole: a store that is there has its tables."""
    for stale in _companions(path):
        if stale.exists():  # the journal of a store that is gone
            raise sqlite3.DatabaseError("its journal exists without it")
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with contextlib.closing(connect(part, "rw")) as connection:
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before there is any table
        connection.execute("PRAGMA synchronous = FULL")
        migrations.migrate(connection, part)
    part.replace(path)
    sync_folder(path.parent)


def _check(connection: sqlite3.Connection, path: Path) -> int:
    """Check that the file is a store with the tables of its version. Returns the version."""
    found = migrations.read_version(connection)
    migrations.refuse_newer_version(found, path)
    if migrations.read_schema(connection) != migrations.compute_schema(found):
        raise sqlite3.DatabaseError("its schema is damaged")
    with path.open("rb") as file:
        layout = file.read(21)[16:]
    incremental = connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)  # another such byte
    if layout not in _FILE_HEADERS or not incremental:
        raise sqlite3.DatabaseError("its header is damaged")
    return found


def set_journal_mode(connection: sqlite3.Connection, path: Path) -> None:
    """Set WAL if that is safe, which leaves `synchronous` to the writer; else sync each change.

    Args:
        connection: The writer's connection.
        path: The store's file.
    """
    network = find_network_file_system(path)
    if not network:
        ((journal,),) = connection.execute("PRAGMA journal_mode = WAL")
        if journal == "wal":
            connection.execute("PRAGMA synchronous = NORMAL")
            return
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # to leave WAL without shared memory
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA locking_mode = NORMAL")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # gives the lock back
    connection.execute("PRAGMA synchronous = FULL")
    log.warning(
        "%s lies on a file system (%s) where SQLite's write-ahead log isn't safe: each "
        "change is synced instead, which is slower. Choose a folder on a disk of this "
        "machine.",
        path,
        network or "unknown",
    )


def set_aside_database(path: Path, counters_name: str = COUNTERS_FILE) -> str:
    """Rename a damaged store, with its journal and transaction counters.

    Args:
        path: The store's file, which no process has open.
        counters_name: The name of the file of its transaction counters.

    Returns:
        The new name of the file.

    Raises:
        StoreError: The file can't be renamed.
    """
    stem = f"{path.name}{DAMAGED_SUFFIX}{time.strftime('%Y%m%d-%H%M%S')}"
    target, number = path.with_name(stem), 2
    while any(path.parent.glob(f"{target.name}*")):
        target, number = path.with_name(f"{stem}-{number}"), number + 1
    belongings = (*_companions(path), path.with_name(counters_name))
    try:
        if path.exists():
            path.rename(target)
        for each, end in zip(belongings, ("-wal", "-journal", "-marks"), strict=True):
            if each.exists() and each.stat().st_size:
                each.rename(target.with_name(target.name + end))
            else:
                each.unlink(missing_ok=True)
        path.with_name(path.name + "-shm").unlink(missing_ok=True)
    except OSError as failed:
        raise _make_open_error(path, failed) from failed
    return target.name


def _companions(path: Path) -> tuple[Path, Path]:
    """The journals that belong to a file: of WAL, and of TRUNCATE."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")


# ---- the journal ----------------------------------------------------------------------------------


#: Bytes of the journal from which it is emptied without waiting for a quiet moment.
LARGE_JOURNAL_BYTES: Final = 64 << 20
#: Pages that are returned to the file system in one step.
_VACUUM_PAGES: Final = 4096


class TransactionJournal:
    """Transactions on a store, for one thread at a time.

    Args:
        connection: The connection of `database.open_writer`.
        path: The store's file.
        large_bytes: Bytes of the journal from which it counts as large.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        large_bytes: int = LARGE_JOURNAL_BYTES,
    ) -> None:
        self._connection = connection
        self._large_bytes = large_bytes
        self._wal_path = path.with_name(path.name + "-wal")
        ((mode,),) = connection.execute("PRAGMA journal_mode")
        ((busy,),) = connection.execute("PRAGMA busy_timeout")
        self._busy_timeout_ms = int(busy)
        # Else each transaction is synced (open_writer has seen to that).
        self._is_wal = mode == "wal"
        self._is_synced = True
        self._is_full_sync: bool | None = None  # what `synchronous` is set to
        self.sync(is_forced=True)  # a journal that is new has to be in its folder for good as well

    @property
    def is_synced(self) -> bool:
        """Whether every transaction so far is durable."""
        return self._is_synced

    @property
    def is_large(self) -> bool:
        """Whether the journal is so long that it should be emptied now."""
        try:
            return self._is_wal and self._wal_path.stat().st_size > self._large_bytes
        except OSError:
            return False

    @contextlib.contextmanager
    def transaction(self, *, full: bool) -> Iterator[None]:
        """A transaction: all writes inside it, or none.

        Args:
            full: Whether the transaction, and all before it, is durable afterwards; else it is recorded.

        Raises:
            sqlite3.Error: Nothing was written.
        """
        self._set_synchronous(full)
        with migrations.transaction(self._connection):
            yield
        self._is_synced = full or not self._is_wal

    def sync(self, *, is_forced: bool = False) -> None:
        """Make recorded transactions durable.

        Args:
            is_forced: Whether to sync even if nothing was recorded.

        Raises:
            sqlite3.Error: The sync failed.
        """
        if is_forced or not self._is_synced:
            with self.transaction(full=True):
                self._connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'syncs'")

    def checkpoint(self) -> bool:
        """Return free pages, and move the journal into the file, which empties the journal.

        Returns:
            Whether nothing is left to do; False if another process reads, or more pages are free.

        Raises:
            sqlite3.Error: The checkpoint can't be made now.
        """
        # A step of it frees one page, and `execute` takes one step where there are no rows to fetch.
        self._connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
        ((free,),) = self._connection.execute("PRAGMA freelist_count")
        if self._is_wal and not self._truncate():
            return False
        self._is_synced = True
        return not free

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _truncate(self) -> bool:
        # Who reads isn't waited for: agents are waiting here.
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            ((busy, _, _),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {self._busy_timeout_ms}")
        return not busy

    def _set_synchronous(self, full: bool) -> None:
        if self._is_wal and full is not self._is_full_sync:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._is_full_sync = full
