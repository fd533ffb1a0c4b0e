"""What a folder is like, without writing to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from .facts import Folder


def folder(path: Path) -> Folder:
    """Look at a folder, or at the one that it would be made in."""
    from ..store.network import network_type

    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    return Folder(
        path=str(path),
        writable=there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        free=shutil.disk_usage(there).free,
        network=network_type(there) or "",
    )


def mode_of_token(data: Path, file: str) -> int | None:
    """The permissions of a token's file in a data folder."""
    try:
        return (data / file).stat().st_mode & 0o777
    except OSError:
        return None
