"""The runtime's file: how it is opened and brought to the last version."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from pathlib import Path
from typing import Final

from ....errors import StoreError
from ...files import sync_folder
from ...sqlite import migrate, opening

log = logging.getLogger(__name__)

#: The file, in the folder of the runs.
RUNTIME_FILE: Final = "runtime.sqlite"
#: "AR" and the version: what the header's application id says.
APPLICATION: Final = 0x41520000

_FOLDER: Final = Path(__file__).parent / "migrations"
#: The last version, which this program reads and writes: the number of its migrations.
VERSION: Final = len(sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql")))

_MARKS: Final = "runtime.marks"  # it has none
_CACHE: Final = 16 * 1024  # KiB


def open_writer(path: Path | None) -> sqlite3.Connection:
    """Open the file for its one writer. Whoever calls holds the folder's lock.

    A file that is no database, or whose schema is hurt, is put aside, and a new one begins.

    Args:
        path: The file; None keeps everything in memory.

    Returns:
        A connection without implicit transactions, for one thread at a time.

    Raises:
        NewerStoreError: A newer program wrote it.
        StoreError: It can't be opened: no rights, no room, a failing disk.
    """
    if path is None:
        return _in_memory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            return _open(path)
        except sqlite3.DatabaseError as error:
            if not opening.hurt(error):
                raise
            log.error(
                "%s can't be read (%s). It is kept as %s, and a new one begins: background agents of "
                "before are only there. `sqlite3 FILE .recover` brings back what can be read of it.",
                path,
                error,
                opening.put_aside(path, _MARKS),
            )
        return _open(path)
    except StoreError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise failed(path, error) from error


def open_reader(path: Path) -> sqlite3.Connection:
    """Open the file beside its writer, to read.

    Raises:
        StoreError: It can't be.
    """
    try:
        return opening.connect(path, "ro")
    except sqlite3.Error as error:
        raise failed(path, error) from error


def failed(path: Path, error: Exception) -> StoreError:
    """What is told where the file can't be read or written."""
    if isinstance(error, sqlite3.Error) and opening.hurt(error):
        return StoreError(
            f"{path} is damaged: {error}. Stop the Core, and move the file away: a new one begins. "
            "`sqlite3 FILE .recover` brings back what can be read of the old one."
        )
    return StoreError(
        f"Background agents can't be kept in {path}: {error}. Make room there, and see that the folder "
        "can be written."
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
    connection = opening.connect(path, "rw")
    try:
        found = migrate.version(connection, APPLICATION)
        migrate.refuse_newer(found, path, VERSION)
        if migrate.schema(connection) != migrate.expected(found, _FOLDER):
            raise sqlite3.DatabaseError("its schema is damaged")
        connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # the writer does it when it is idle
        opening.use_journal(connection, path)
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
    with contextlib.closing(opening.connect(part, "rw")) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # before there is any table
        connection.execute("PRAGMA synchronous = FULL")
        _migrate(connection, None)
    part.replace(path)
    sync_folder(path.parent)


def _migrate(connection: sqlite3.Connection, path: Path | None) -> None:
    """Bring the tables to the last version; where a file holds any, a copy is left beside it first."""
    found = migrate.version(connection, APPLICATION)
    if found == VERSION:
        return
    if found and path is not None:
        copy = migrate.backup(connection, path, found)
        log.warning("%s goes from version %d to %d; a copy is %s", path, found, VERSION, copy)
    with migrate.transaction(connection):
        for number in range(found + 1, VERSION + 1):
            for statement in migrate.statements(number, _FOLDER):
                connection.execute(statement)
        migrate.stamp(connection, VERSION, APPLICATION)
