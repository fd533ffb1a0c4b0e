"""Migrates a store's file to this program's version, by numbered SQL files, one by one, forward.

The version is stored twice in the file's header, as `user_version` and in `application_id`, so that a
damaged byte isn't taken for another version.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from ...errors import NewerStoreError, StoreError

log = logging.getLogger(__name__)

_FOLDER: Final = Path(__file__).parent / "migrations"
#: The last version, which this program reads and writes: the number of its migrations.
VERSION: Final = len(sorted(_FOLDER.glob("[0-9][0-9][0-9][0-9].sql")))

#: The application id in the file's header: "AS" and the version.
APPLICATION_ID: Final = 0x41530000
#: The suffix of the copy from before a migration.
COPY_SUFFIX: Final = ".before-"

#: Everything a schema is made of: kind, name, its table, its SQL.
Schema = tuple[tuple[str, str, str, str | None], ...]


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Migrate a store to the last version; a new file gets all tables.

    Args:
        connection: The only writing connection, outside of a transaction.
        path: The store's file. If it has data, a copy is made beside it first.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: There is no space for the copy.
    """
    found = read_version(connection)
    refuse_newer_version(found, path)
    if found == VERSION:
        return
    if found:
        copy = copy_before_migration(connection, path, found)
        log.warning(
            "%s is upgraded from version %d to %d; a copy is %s", path, found, VERSION, copy
        )
    with transaction(connection):
        for number in range(found + 1, VERSION + 1):
            for statement in read_statements(number):
                connection.execute(statement)
        write_version(connection, VERSION)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction: all writes inside it, or none."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite has rolled back by itself where the disk is full
            connection.execute("ROLLBACK")
        raise


def read_version(connection: sqlite3.Connection, application: int = APPLICATION_ID) -> int:
    """Read the version of a store; 0 for an empty file.

    Args:
        connection: A connection to the file.
        application: The application id of this kind of file, without the version.

    Raises:
        sqlite3.DatabaseError: The header contradicts itself, or the file isn't such a store.
    """
    ((number,),) = connection.execute("PRAGMA user_version")
    ((found,),) = connection.execute("PRAGMA application_id")
    if not number and not found and not read_schema(connection):
        return 0
    if found != application + number or number < 1:
        raise sqlite3.DatabaseError("the header has no single version")
    return int(number)


def write_version(
    connection: sqlite3.Connection, number: int, application: int = APPLICATION_ID
) -> None:
    """Write a version into the header, inside a transaction. Arguments as `version`."""
    connection.execute(f"PRAGMA user_version = {number}")
    connection.execute(f"PRAGMA application_id = {application + number}")


def refuse_newer_version(version: int, path: Path, latest_version: int = VERSION) -> None:
    """Raise an error if a store's version is newer than this program's.

    Args:
        version: The store's version.
        path: The store's file.
        latest_version: This program's version.

    Raises:
        NewerStoreError: The store is newer.
    """
    if version > latest_version:
        raise NewerStoreError(
            f"{path} was written by a newer agentstepper_nb: it is of version {version}, and this one "
            f"reads versions up to {latest_version}. Upgrade agentstepper_nb, or choose another folder."
        )


def refuse_older_version(version: int, path: Path) -> None:
    """Raise an error if a store's version is older than this program's, for readers, who can't migrate.

    Raises:
        StoreError: The store is older.
    """
    if version < VERSION:
        raise StoreError(
            f"{path} is of version {version}, but this agentstepper_nb reads version "
            f"{VERSION}: start a Core on the folder once (`agentstepper serve --data DIR`) "
            "to upgrade the store."
        )


def read_statements(number: int, folder: Path = _FOLDER) -> Iterator[str]:
    """Read the statements of a folder's migration, as `executescript` would end the transaction.

    Comments and line breaks are removed: SQLite stores the schema's text, which then fits on the file's
    first page, and is complete wherever the file is cut.
    """
    waiting = ""
    for line in (folder / f"{number:04}.sql").read_text(encoding="utf-8").splitlines():
        waiting = f"{waiting} {line.partition('--')[0].strip()}".strip()
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""


def read_schema(connection: sqlite3.Connection) -> Schema:
    """Read a file's schema, without SQLite's internal tables.

    Raises:
        sqlite3.DatabaseError: The schema can't be read.
    """
    try:
        found = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema"
            " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name, type"
        )
        return tuple(found)
    except UnicodeDecodeError as error:  # what SQLite says of it quotes it
        raise sqlite3.DatabaseError("its schema is damaged") from error


@cache
def compute_schema(number: int = VERSION, folder: Path = _FOLDER) -> Schema:
    """Compute the schema of a version by a folder's migrations."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for each in range(1, number + 1):
            for statement in read_statements(each, folder):
                connection.execute(statement)
        return read_schema(connection)


# ---- copies -----------------------------------------------------------------------------------------


def copy_before_migration(connection: sqlite3.Connection, path: Path, number: int) -> Path:
    """Copy a store as `store.sqlite.before-N`, in place of any earlier copy.

    Args:
        connection: A connection to the store, outside of a transaction.
        path: The store's file.
        number: The store's version.

    Raises:
        StoreError: The copy can't be written.
    """
    target = path.with_name(f"{path.name}{COPY_SUFFIX}{number + 1}")
    try:
        copy_database(connection, target)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            f"{path} can't be copied to {target} before its upgrade: {error}. Free disk "
            "space, or move the file."
        ) from error
    for each in list_migration_copies(path):
        if each != target:
            each.unlink(missing_ok=True)
    return target


def copy_database(connection: sqlite3.Connection, target: Path) -> None:
    """Copy a database atomically, readable for its owner only.

    Raises:
        OSError: The copy can't be written.
        sqlite3.Error: The database can't be read.
    """
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with contextlib.closing(sqlite3.connect(part)) as copy:
            copy.execute("PRAGMA synchronous = FULL")
            connection.backup(copy)  # at one go: a Core that writes would begin it anew
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def list_migration_copies(path: Path) -> list[Path]:
    """The copies that migrations left beside a store."""
    return sorted(path.parent.glob(f"{path.name}{COPY_SUFFIX}*"))


def delete_migration_copies(path: Path) -> None:
    """Delete the copies that migrations left: a run that is deleted isn't to live on in them."""
    for each in list_migration_copies(path):
        each.unlink(missing_ok=True)
