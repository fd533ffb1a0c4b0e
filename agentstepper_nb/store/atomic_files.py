"""Files that are written whole or not at all, and whether a folder lies on another machine's disk."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path
from typing import Final


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically, readable for its owner only: prompts are private.

    Raises:
        OSError: The file can't be written.
    """
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def sync_folder(folder: Path) -> None:
    """Make a folder's list of files durable.

    Raises:
        OSError: The folder can't be synced.
    """
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sync_file_system(folder: Path) -> None:
    """Make all writes to a folder's file system durable; without `syncfs`, those to all file systems.

    Raises:
        OSError: The file system can't be synced.
    """
    sync = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if sync is None:
        os.sync()
        return
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if sync(file):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(file)


# ---- network file systems, where locks and shared memory can't be relied on -----------------------


#: As Linux names them; FUSE puts its own before.
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "efs", "gfs2", "glusterfs"),
        *("gpfs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4", "ocfs2", "orangefs", "panfs"),
        *("pvfs2", "smb2", "smb3", "smbfs", "virtiofs", "wekafs"),
    )
)
#: FUSE file systems of this machine's own disks; the others mostly reach another's.
_LOCAL_FUSE_TYPES: Final = frozenset(
    (
        *("fuse.fuse-overlayfs", "fuse.bindfs", "fuse.gocryptfs", "fuse.encfs", "fuse.ntfs-3g"),
        *("fuse.mergerfs", "fuse.lxcfs", "fuse.squashfuse", "fuse.unionfs", "fuse.portal"),
    )
)
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def find_network_file_system(path: Path, mounts: str | None = None) -> str | None:
    """Find the network file system that a path lies on.

    Args:
        path: A file or folder; if it doesn't exist yet, its nearest existing parent counts.
        mounts: The text of `/proc/self/mountinfo`; None reads it.

    Returns:
        The file system's type in Linux ("nfs4"); None on a disk of this machine, and if unknown.
    """
    kind = _file_system(path, _read_mounts() if mounts is None else mounts)
    is_network = kind in _NETWORK_FILE_SYSTEMS or (
        kind.startswith("fuse.") and kind not in _LOCAL_FUSE_TYPES
    )
    return kind if is_network else None


def _read_mounts() -> str:
    try:
        return _MOUNTS.read_text(errors="surrogateescape")
    except OSError:  # not Linux
        return ""


def _file_system(path: Path, mounts: str) -> str:
    """The file system's type, from the nearest mount above a path; empty if none is listed."""
    real = path.resolve()
    kinds: dict[Path, str] = {}
    for line in mounts.splitlines():
        mount, _, source = line.partition(" - ")
        fields, kind = mount.split(" "), source.split(" ")[0]
        if len(fields) > 4 and kind:
            kinds[Path(_unescape_mount_path(fields[4]))] = (
                kind  # a later mount covers an earlier one
            )
    return next((kinds[each] for each in (real, *real.parents) if each in kinds), "")


def _unescape_mount_path(escaped: str) -> str:
    r"""Decode a mount point's name: a space is `\040` there, and other bytes are unchanged."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), escaped)
