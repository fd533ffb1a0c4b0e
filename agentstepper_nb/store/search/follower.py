"""Keeps an index up to date with its store, on the index's thread, even if the file is damaged."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from ...errors import CommandError, DamagedRunError, StoreError
from ...protocol.records import Record, RunDeleted, RunHistory
from ...protocol.run_queries import SearchHit
from ..atomic_files import find_network_file_system
from .index import SearchIndex

log = logging.getLogger(__name__)

#: SQLite's files, beside the one that is named.
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")

#: The errors of wrong use of the index, whatever the file's state.
_PROGRAMMING_ERRORS: Final = (
    sqlite3.DataError,
    sqlite3.IntegrityError,
    sqlite3.InterfaceError,
    sqlite3.NotSupportedError,
    sqlite3.ProgrammingError,
)

#: Times that a run which can't be read now is tried, before the search leaves it out.
_MAX_READ_TRIES: Final = 5

_NO_FTS5: Final = (
    "Searching needs SQLite with FTS5, which this Python's sqlite3 lacks. Use a Python that has it, as "
    "those of python.org, conda and the Linux distributions do."
)


class IndexFollower:
    """An index that repairs itself by comparison with the store's runs.

    Errors of the file are logged, and repaired if possible, but not raised.

    Args:
        path: The index's file; None: in memory.
        journal: SQLite's journal mode; None: chosen by the file system.
    """

    def __init__(self, path: Path | None, journal: str | None = None) -> None:
        self._path = path
        self._journal = journal or _journal(path)
        self._index: SearchIndex | None = None
        self._read: Callable[[str], RunHistory] | None = None
        self._change_counts: dict[str, int] = {}  # of all runs, as the store last said them
        #: Runs to take in whole, in this order, each with the number of failed tries to read it.
        self._stale_runs: dict[str, int] = {}
        self._left_out_runs: set[str] = set()  # that couldn't be read: the next start tries again
        self._trouble: str | None = None
        self._failures = 0  # in a row
        #: Whether the file, as it was found, is still to be compared with itself.
        self.needs_check = path is not None

    @property
    def needs_cleanup(self) -> bool:
        """Whether bytes of deleted runs may still be in the file."""
        return self._index is not None and self._index.needs_cleanup

    @property
    def is_behind(self) -> bool:
        """Whether some runs aren't indexed yet."""
        return bool(self._stale_runs)

    @property
    def is_failing(self) -> bool:
        """Whether things go wrong one after the other: they are better tried again later."""
        return self._failures > 1

    def describe_delay(self) -> str:
        """Explain why a search has to wait, for a person. May be called from any thread."""
        left = len(self._stale_runs)
        what = f"{left} runs are" if left else "the latest event is"
        return self._trouble or (
            f"The search index is being built: {what} still missing. Search again in a moment."
        )

    def apply(self, records: Sequence[Record], change_counts: Mapping[str, int]) -> None:
        """Index records; see `SearchService.apply`."""
        self._change_counts.update(change_counts)
        for record in records:
            if isinstance(record, RunDeleted):
                self._change_counts.pop(record.run, None)
                self._stale_runs.pop(record.run, None)
        # A run that is to be taken in whole has its number only then.
        numbers = {
            run: number
            for run, number in change_counts.items()
            if run not in self._stale_runs and run not in self._left_out_runs
        }
        try:
            self._try(lambda index: index.apply(records, numbers))
        except Exception:
            self._stale_runs.update(
                dict.fromkeys(change_counts, 0)
            )  # so that what is good of it is taken in
            raise

    def catch_up(self, change_counts: Mapping[str, int], read: Callable[[str], RunHistory]) -> None:
        """Compare with a store: `Search.mend`."""
        self._change_counts = dict(change_counts)
        self._left_out_runs.clear()
        self._read = read
        self._try(self._compare)

    def reindex_one(self) -> None:
        """Index one run that is missing, or differs. If it can't be read now, it becomes the last."""
        run, tries = next(iter(self._stale_runs.items()))
        done = True  # also where it can't be taken in: the others still are
        try:
            done = self._try(lambda index: self._reindex(index, run))
        except StoreError as error:
            done = self._postpone_or_leave_out(run, tries + 1, error)
        finally:
            if done:
                self._stale_runs.pop(run, None)

    def find(self, query: str, run: str | None, limit: int) -> list[SearchHit] | None:
        """Find text; None if the index must catch up first.

        Raises:
            ProtocolError: `invalid_search`.
            CommandError: `cannot_search`: the index can't be used.
        """
        found: list[SearchHit] = []
        done = self._try(lambda index: found.extend(index.find(query, run, limit)))
        if self.is_behind:
            return None
        if done:
            return found
        raise CommandError("cannot_search", self.describe_delay())

    def clean_up(self, should_continue: Callable[[], bool]) -> None:
        """Remove deleted bytes from the file, while `should_continue` returns True."""
        self._try(lambda index: index.clean_up(should_continue))

    def check(self) -> None:
        """Check the file's integrity: damage could hide hits without an error."""
        self.needs_check = False
        self._try(lambda index: index.check())

    def close(self) -> None:
        """Close the file."""
        if self._index is not None:
            self._index.close()
            self._index = None

    # ---- the index, whatever becomes of it ----------------------------------------------------------

    def _try(self, work: Callable[[SearchIndex], object]) -> bool:
        """Use the index. If that fails, the index is opened anew the next time."""
        try:
            if self._index is None:
                self._index = SearchIndex(self._path, self._journal)
                if self._trouble is not None:
                    self._compare(self._index)
            work(self._index)
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            if isinstance(error, (*_PROGRAMMING_ERRORS, StoreError)):  # the latter: of the store
                raise
            self._failures += 1
            self._discard_index(error)
            return False
        self._trouble = None
        self._failures = 0
        return True

    def _discard_index(self, error: Exception) -> None:
        if "no such module" in str(error):
            self._set_trouble(_NO_FTS5)
            return
        self._set_trouble(f"The search index {self._path or 'in memory'} can't be used: {error}.")
        if self._path is None:
            return
        self.close()
        if _is_about_the_file(error):
            for suffix in _SUFFIXES:
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
            self._stale_runs = dict.fromkeys(self._change_counts, 0)

    def _set_trouble(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble

    def _compare(self, index: SearchIndex) -> None:
        known = index.read_change_counts()
        self._stale_runs = {
            run: 0 for run, number in self._change_counts.items() if known.get(run) != number
        }
        for run in known.keys() - self._change_counts.keys():
            index.forget(run)

    def _reindex(self, index: SearchIndex, run: str) -> None:
        """Index a run; a damaged one is left out. Raises `StoreError`: the run can't be read now."""
        if self._read is None or run not in self._change_counts:
            return
        try:
            history = self._read(run)
        except (DamagedRunError, KeyError) as error:
            log.warning("Run %s can't be searched: %s", run, error)
            index.forget(run)
            return
        index.replace(history, self._change_counts[run])
        self._left_out_runs.discard(run)

    def _postpone_or_leave_out(self, run: str, tries: int, error: StoreError) -> bool:
        """Try to read a run again after all others, but not for ever. Returns whether that is done."""
        if tries == _MAX_READ_TRIES:
            log.warning("Run %s can't be searched: %s", run, error)
            self._left_out_runs.add(run)
            return self._try(lambda index: index.forget(run))
        if tries == 1:
            log.warning("Run %s can't be searched yet: %s", run, error)
        self._failures += 1
        self._stale_runs.pop(run, None)
        self._stale_runs[run] = tries
        return False


def _journal(path: Path | None) -> str:
    """SQLite's write-ahead log needs shared memory, which other machines don't share."""
    return "TRUNCATE" if path is not None and find_network_file_system(path) else "WAL"


def _is_about_the_file(error: Exception) -> bool:
    """Whether the file itself is bad, not a disk that is full, or a lock."""
    if isinstance(error, sqlite3.OperationalError):  # of these the one that means: no such table
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_ERROR
    # Of a hurt file even the error's text may be unreadable.
    return isinstance(error, (sqlite3.DatabaseError, UnicodeDecodeError))
