"""Lists the files of a Core in its data folder, by kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ..folder_lock import LOCK_FILE
from ..runtime.sqlite.runtime_file import RUNTIME_FILE
from ..sqlite import migrations
from ..sqlite.database import COUNTERS_FILE, DAMAGED_SUFFIX, STORE_FILE
from ..sqlite.store import SEARCH_FILE

#: The agent token, the control token and the worker token.
TOKEN_FILES: Final = ("agent-token", "control-token", "worker-token")
#: The suffix of a store whose runs were restored from it.
SALVAGED_SUFFIX: Final = ".salvaged-"
#: Stands in the names of unfinished files and working copies.
PART_SUFFIX: Final = ".part"

#: Patterns of a Core's files, if the first file exists; other files in a folder are the person's.
_CORE_FILE_PATTERNS: Final = (f"{STORE_FILE}*", *(f"{each}*" for each in TOKEN_FILES))
_OWN_FILE_PATTERNS: Final = (
    *_CORE_FILE_PATTERNS,
    f"{SEARCH_FILE}*",
    f"{RUNTIME_FILE}*",
    COUNTERS_FILE,
    LOCK_FILE,
)


def list_core_files(folder: Path) -> list[Path]:
    """List the files of a Core in a folder; empty if the folder isn't a Core's."""
    if not any(any(folder.glob(each)) for each in _CORE_FILE_PATTERNS):
        return []
    found = (path for each in _OWN_FILE_PATTERNS for path in folder.glob(each))
    return sorted(path for path in found if path.is_file())


def list_set_aside_stores(path: Path) -> list[Path]:
    """The stores that couldn't be opened, oldest first."""
    found = path.parent.glob(f"{path.name}{DAMAGED_SUFFIX}*")
    return sorted(
        each
        for each in found
        if PART_SUFFIX not in each.name and not re.search(r"-(wal|journal|shm|marks)$", each.name)
    )


def list_store_copies(path: Path) -> list[Path]:
    """List the files with an earlier state of a store, and the files that belong to them."""
    salvaged = sorted(path.parent.glob(f"{path.name}{SALVAGED_SUFFIX}*"))
    return [*migrations.list_migration_copies(path), *salvaged]


def list_leftover_files(folder: Path, *, is_locked: bool) -> list[Path]:
    """List the leftovers of interrupted writes; empty for a locked folder, whose files may be in use."""
    return [] if is_locked else sorted(folder.glob(f"{STORE_FILE}*{PART_SUFFIX}*"))
