"""From the version of a store's file to this program's: numbered SQL files, run one by one, forward.

The version stands twice in the file's header, as `user_version` and in `application_id`, so that a
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

#: "AS" and the version: what the header's application id says.
APPLICATION_ID: Final = 0x41530000
#: What follows a store's name in that of the copy from before a migration.
COPY_SUFFIX: Final = ".before-"

#: Everything a schema is made of: kind, name, its table, its SQL.
Schema = tuple[tuple[str, str, str, str | None], ...]


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a store to the last version; a new file gets all of its tables.

    Args:
        connection: Its only connection that writes, outside of a transaction.
        path: Its file. Where it holds anything, a copy is left beside it first.

    Raises:
        NewerStoreError: A newer program wrote it.
        StoreError: There is no room for the copy.
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
    """All of what is written inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def read_version(connection: sqlite3.Connection, application: int = APPLICATION_ID) -> int:
    """The version of a store; 0 of an empty file.

    Args:
        connection: To the file.
        application: What the application id of its kind of file is, beside the version.

    Raises:
        sqlite3.DatabaseError: The header contradicts itself, or it is no store of ours.
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
    """Raise where a store's version is newer than this program's.

    Args:
        version: The store's.
        path: Its file.
        latest_version: This program's.

    Raises:
        NewerStoreError: It is.
    """
    if version > latest_version:
        raise NewerStoreError(
            f"{path} was written by a newer agentstepper_nb: it is of version {version}, and this one "
            f"reads versions up to {latest_version}. Upgrade agentstepper_nb, or choose another folder."
        )


def refuse_older_version(version: int, path: Path) -> None:
    """Raise where a store's version is older than this program's, and it can't be migrated now.

    Raises:
        StoreError: It is.
    """
    if version < VERSION:
        raise StoreError(
            f"{path} is of version {version}, but this agentstepper_nb reads version "
            f"{VERSION}: start a Core on the folder once (`agentstepper serve --data DIR`) "
            "to upgrade the store."
        )


def read_statements(number: int, folder: Path = _FOLDER) -> Iterator[str]:
    """The statements of a folder's migration, one by one: `executescript` would end the transaction.

    They come without comments and line breaks: so the schema, which SQLite keeps as it was written, has
    room on the file's first page, and is whole wherever the file is cut.
    """
    waiting = ""
    for line in (folder / f"{number:04}.sql").read_text(encoding="utf-8").splitlines():
        waiting = f"{waiting} {line.partition('--')[0].strip()}".strip()
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""


def read_schema(connection: sqlite3.Connection) -> Schema:
    """What a file's schema is; without what SQLite keeps for itself.

    Raises:
        sqlite3.DatabaseError: It can't be read.
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
    """What the schema of a version is, by a folder's migrations."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        for each in range(1, number + 1):
            for statement in read_statements(each, folder):
                connection.execute(statement)
        return read_schema(connection)


# ---- copies -----------------------------------------------------------------------------------------


def copy_before_migration(connection: sqlite3.Connection, path: Path, number: int) -> Path:
    """Copy a store as it stands, in the place of any earlier copy: `store.sqlite.before-N`.

    Args:
        connection: To the store, outside of a transaction.
        path: Its file.
        number: Its version.

    Raises:
        StoreError: It can't be written.
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
    """Copy a database whole or not at all, for its owner alone.

    Raises:
        OSError: It can't be written.
        sqlite3.Error: It can't be read.
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
