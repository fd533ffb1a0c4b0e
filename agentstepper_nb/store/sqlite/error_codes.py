"""SQLite's error codes: which errors may pass, and what a person can do about them."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from ...errors import StoreError

#: Primary codes for a file that can't be read for another reason than damage.
_NO_DAMAGE_CODES: Final = frozenset(
    (
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM),
        *(sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN),
    )
)

_FREE_SPACE: Final = "Free disk space there"
_END_OTHERS: Final = "End the other program that uses store.sqlite there"
_ALLOW_WRITING: Final = "Make the folder and its files writable"
#: What to do if a disk is full or fails, or the file is locked or protected at present, by primary code.
_WRITE_ADVICE: Final = {
    sqlite3.SQLITE_FULL: _FREE_SPACE,
    sqlite3.SQLITE_IOERR: "Check the disk, and free space there",
    sqlite3.SQLITE_BUSY: _END_OTHERS,
    sqlite3.SQLITE_LOCKED: _END_OTHERS,
    sqlite3.SQLITE_PROTOCOL: _END_OTHERS,
    sqlite3.SQLITE_READONLY: _ALLOW_WRITING,
    sqlite3.SQLITE_CANTOPEN: _ALLOW_WRITING,
    sqlite3.SQLITE_PERM: _ALLOW_WRITING,
}


def is_no_damage(error: BaseException | None) -> bool:
    """Whether a failed read lies with the disk, rights or another process, and may pass."""
    return _get_primary_code(error) in _NO_DAMAGE_CODES


def is_transient(error: Exception) -> bool:
    """Whether a failed write lies with the disk or another process, and may pass; else with the data."""
    return _get_primary_code(error) in _WRITE_ADVICE


def advise_on_failed_write(error: Exception, folder: Path) -> str:
    """Say what to do about a failed write: a sentence without its end.

    Args:
        error: An error of SQLite.
        folder: The store's folder.
    """
    code = _get_primary_code(error)
    return _WRITE_ADVICE.get(code, f"Run `agentstepper doctor --data {folder} --repair`")


def make_write_error(error: sqlite3.Error, folder: Path, alternative: str) -> StoreError:
    """Make the error of a store that can't be written.

    Args:
        error: The error of SQLite.
        folder: The store's folder.
        alternative: What else a person can do, after the advice: "or choose another folder".
    """
    advice = advise_on_failed_write(error, folder)
    return StoreError(f"The store can't write to {folder}: {error}. {advice}, {alternative}.")


def _get_primary_code(error: BaseException | None) -> int:
    """The primary code of an error; 0 for an error that isn't SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)  # None: it is our own
    return 0 if code is None else code & 0xFF
