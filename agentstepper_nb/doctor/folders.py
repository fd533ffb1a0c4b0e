"""What a folder is like, without writing to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from .facts import Folder

#: As Linux names them; FUSE puts its own before.
_NETWORK: Final = (
    *("9p", "afs", "ceph", "cifs", "glusterfs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone", "fuse.s3fs"),
)
_MOUNTS: Final = Path("/proc/self/mountinfo")


def folder(path: Path) -> Folder:
    """Look at a folder, or at the one that it would be made in."""
    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    kind = _file_system(there, _mounts())
    return Folder(
        path=str(path),
        writable=there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        free=shutil.disk_usage(there).free,
        network=kind if kind in _NETWORK else "",
    )


def mode_of_token(data: Path) -> int | None:
    """The permissions of the agents' token in a data folder."""
    try:
        return (data / "agent-token").stat().st_mode & 0o777
    except OSError:
        return None


def _mounts() -> str:
    try:
        return _MOUNTS.read_text()
    except OSError:  # not Linux
        return ""


def _file_system(path: Path, mounts: str) -> str:
    """The file system's type, of the mount that is nearest above a path; empty where none is told."""
    real = path.resolve()
    kinds: dict[Path, str] = {}
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        place = Path(mount.split()[4].encode().decode("unicode_escape"))  # a space is \040
        kinds[place] = source.split()[0]
    return next((kinds[each] for each in (real, *real.parents) if each in kinds), "")
