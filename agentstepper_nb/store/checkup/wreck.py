"""A copy of a damaged store, made as readable as it can be, and its rows around the damage."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ..sqlite import header, migrate
from ..sqlite.opening import connect
from ..sqlite.rows import COLUMNS, OF_RUNS, select

#: How many rows are asked for one by one where a table breaks off; beyond, they are lost.
_GAP: Final = 1_000_000
_COPY: Final = ".salvage.part"

Row = Sequence[Any]


@contextlib.contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy beside the file, with its journal and its header put right; deleted afterwards.

    Args:
        path: The damaged store; it stays as it is.

    Raises:
        OSError: It can't be read, or there is no room for the copy.
    """
    copy = path.with_name(path.name + _COPY)
    journal = copy.with_name(copy.name + "-wal")
    try:
        for source, target in ((path, copy), (path.with_name(path.name + "-wal"), journal)):
            target.unlink(missing_ok=True)
            if source.exists():
                os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                shutil.copyfile(source, target)
        if copy.exists():
            _mend(copy, alone=not journal.exists() or not journal.stat().st_size)
        yield copy
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            copy.with_name(copy.name + end).unlink(missing_ok=True)


def _mend(copy: Path, *, alone: bool) -> None:
    size = copy.stat().st_size
    with copy.open("r+b") as file:
        file.seek(size)
        file.write(bytes(-size % header.PAGE))  # a page that was cut reads as far as it goes
        file.seek(0)
        pages = (size + header.PAGE - 1) // header.PAGE
        right = header.mended(file.read(header.SIZE), pages, cut=alone)
        file.seek(0)
        file.write(right)
    with (
        contextlib.suppress(sqlite3.DatabaseError),
        contextlib.closing(connect(copy, "rw")) as connection,
    ):
        _mend_schema(connection)


def _mend_schema(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA writable_schema = ON")
    number = migrate.version(connection)
    if 1 <= number <= migrate.VERSION and migrate.schema(connection) != migrate.expected(number):
        migrate.mend_schema(connection, number)


class Wreck:
    """The rows of a copy, as many as can be read.

    Args:
        copy: What `copied` gave.

    Raises:
        sqlite3.DatabaseError: Nothing can be read of it.
    """

    def __init__(self, copy: Path) -> None:
        self.connection = connect(copy, "rw")
        try:
            self.connection.execute("PRAGMA writable_schema = ON")  # opens a file that was cut, too
            self.connection.execute("PRAGMA query_only = ON")
            migrate.schema(self.connection)
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Let go of the copy."""
        self.connection.close()

    def row(self, table: str, n: int) -> Row | None:
        """A row by its number; None where it isn't there or can't be read."""
        try:
            found = self.connection.execute(select(table, "n = ?"), (n,)).fetchone()
        except sqlite3.DatabaseError:
            return None
        return found if found is not None and found[0] == n else None

    def numbers(self, table: str) -> dict[int, list[int]]:
        """The numbers of a table's rows, by their run's; of tables that belong to none under 0."""
        owner = "run" if table in OF_RUNS else "0"
        found: dict[int, int] = {}
        if not self._read(f"SELECT n, {owner} FROM {table} NOT INDEXED ORDER BY n", found):
            low = max(found, default=0)
            upper: dict[int, int] = {}
            self._read(f"SELECT n, {owner} FROM {table} NOT INDEXED ORDER BY n DESC", upper)
            self._read(f"SELECT n, {owner} FROM {table} ORDER BY {COLUMNS[table][1]}", upper)
            found.update(upper)
            high = max((n for n in found if n <= low + _GAP), default=low)
            for n in range(1, high + 1):
                if n not in found:
                    self._read(f"SELECT n, {owner} FROM {table} NOT INDEXED WHERE n = {n}", found)
        by_run: dict[int, list[int]] = {}
        for n in sorted(found):
            if isinstance(found[n], int):
                by_run.setdefault(found[n], []).append(n)
        return by_run

    def ids(self) -> dict[int, list[str]]:
        """What the runs' ids may be, by their numbers: they stand in the table and in its index."""
        found: dict[int, list[str]] = {}
        for order in ("NOT INDEXED ORDER BY n", "ORDER BY id"):
            pairs: dict[int, Any] = {}
            self._read(f"SELECT n, id FROM runs {order}", pairs)
            for n, id in pairs.items():
                if isinstance(id, str) and id and id not in found.setdefault(n, []):
                    found[n].append(id)
        return found

    def _read(self, query: str, into: dict[int, Any]) -> bool:
        """Take pairs from a query, until it breaks off: whether it didn't."""
        try:
            for n, value in self.connection.execute(query):
                if isinstance(n, int):
                    into.setdefault(n, value)
        except sqlite3.DatabaseError:
            return False
        return True
