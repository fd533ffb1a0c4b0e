"""A copy of a folder's runs and background agents, made beside the Core that writes them."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from ..errors import StoreError
from .atomic_files import sync_folder
from .folder_lock import find_lock_holder
from .runtime.sqlite.runtime_file import RUNTIME_FILE
from .sqlite import migrations
from .sqlite.database import STORE_FILE, connect

#: The files to copy. A Core makes the search index and the tokens anew.
_FILES: Final = (STORE_FILE, RUNTIME_FILE)


def back_up(folder: Path, target: Path) -> tuple[str, ...]:
    """Copy the runs and background agents of a Core's folder into a new folder, which a Core can open.

    A Core that has the folder goes on writing: each copied file holds the state of one moment.

    Args:
        folder: The Core's data folder.
        target: The new folder.

    Returns:
        The names of the copied files.

    Raises:
        StoreError: There is nothing to copy, the new folder exists, or a file can't be read or written;
            nothing is left in the new folder then.
    """
    found = tuple(name for name in _FILES if (folder / name).exists())
    if STORE_FILE not in found:
        raise StoreError(f"{folder} holds no store: name the folder that the runs are kept in.")
    try:
        target.mkdir(parents=True, mode=0o700)
    except FileExistsError:
        raise StoreError(f"{target} exists: name a folder that doesn't exist yet.") from None
    except OSError as error:
        raise _make_backup_error(folder, target, error) from error
    try:
        for name in found:
            _copy(folder / name, target / name)
        sync_folder(target)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(target, ignore_errors=True)
        raise _make_backup_error(folder, target, error) from error
    except BaseException:  # Ctrl+C
        shutil.rmtree(target, ignore_errors=True)
        raise
    return found


def _copy(source: Path, target: Path) -> None:
    with contextlib.closing(connect(source, "ro")) as connection:
        migrations.copy_database(connection, target)
    with contextlib.closing(connect(target, "rw")) as copy:
        ((line,),) = copy.execute("PRAGMA integrity_check(1)")
    if line != "ok":
        raise sqlite3.DatabaseError(f"{source.name} is damaged ({line})")


def _make_backup_error(folder: Path, target: Path, error: Exception) -> StoreError:
    owner = find_lock_holder(folder)
    held = f" {owner} holds the folder." if owner else ""
    return StoreError(
        f"{folder} can't be backed up to {target}: {error}.{held} "
        f"`agentstepper doctor --data {folder}` says more."
    )
