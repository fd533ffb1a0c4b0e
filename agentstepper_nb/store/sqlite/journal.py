"""The connection that writes: its transactions, when they are synced, the emptying of the journal."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

#: Bytes of the journal from which it is emptied without waiting for a quiet moment.
LARGE: Final = 64 << 20
#: Pages that are given back to the file system at one go.
_PAGES: Final = 4096


class Journal:
    """Transactions on a store, for one thread at a time.

    Args:
        connection: As `opening.open_writer` gives it.
        path: The store's file.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._log = path.with_name(path.name + "-wal")
        ((mode,),) = connection.execute("PRAGMA journal_mode")
        ((busy,),) = connection.execute("PRAGMA busy_timeout")
        self._busy = int(busy)
        self._ahead = (
            mode == "wal"
        )  # else each transaction is synced (open_writer has seen to that)
        self._synced = True
        self._full: bool | None = None  # what `synchronous` is set to
        self.sync(always=True)  # a journal that is new has to be in its folder for good as well

    @property
    def synced(self) -> bool:
        """Whether every transaction so far is durable."""
        return self._synced

    @property
    def large(self) -> bool:
        """Whether the journal is so long that it should be emptied now."""
        try:
            return self._ahead and self._log.stat().st_size > LARGE
        except OSError:
            return False

    @contextlib.contextmanager
    def transaction(self, *, full: bool) -> Iterator[None]:
        """All that is written inside, or nothing of it.

        Args:
            full: Whether it is durable afterwards, with all before it; else it is recorded.

        Raises:
            sqlite3.Error: Nothing was written.
        """
        self._set(full)
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._synced = full or not self._ahead

    def sync(self, *, always: bool = False) -> None:
        """Make durable what was recorded.

        Args:
            always: Even if nothing was.

        Raises:
            sqlite3.Error: It can't be.
        """
        if always or not self._synced:
            with self.transaction(full=True):
                self._connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'syncs'")

    def empty(self) -> bool:
        """Give free pages back, and take the journal into the file: then it has no bytes.

        Returns:
            Whether nothing is left to do; False where somebody reads, or more pages are free.

        Raises:
            sqlite3.Error: It can't be done now.
        """
        # A step of it frees one page, and `execute` takes one step where there are no rows to fetch.
        self._connection.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
        ((free,),) = self._connection.execute("PRAGMA freelist_count")
        if self._ahead and not self._truncate():
            return False
        self._synced = True
        return not free

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _truncate(self) -> bool:
        # Who reads isn't waited for: agents are waiting here.
        self._connection.execute("PRAGMA busy_timeout = 0")
        try:
            ((busy, _, _),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._connection.execute(f"PRAGMA busy_timeout = {self._busy}")
        return not busy

    def _set(self, full: bool) -> None:
        if self._ahead and full is not self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
