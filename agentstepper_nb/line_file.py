"""A file of lines, each written at once; one process at a time may open it."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

#: Attempts to lock, and the seconds between: a process that checks whether a file is in use holds the
#: lock for a moment.
_MAX_LOCK_ATTEMPTS: Final = 5
_LOCK_RETRY_S: Final = 0.01


class LineFile:
    """Appends lines to a file, and reads them.

    A line that a crash cut short stays unchanged, and the next line begins on a line of its own.

    Args:
        path: The file.
        create: Whether to create a missing file, with its folder, for this user only.

    Attributes:
        size: The file's size in bytes.

    Raises:
        BlockingIOError: Another process has the file open.
        OSError: The file can't be opened.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self._path = path
        self._pid = os.getpid()
        self._is_closed = False
        if create:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        self._descriptor = os.open(path, flags, 0o600)
        try:
            self._lock()
            self.size = os.fstat(self._descriptor).st_size
            last = os.pread(self._descriptor, 1, self.size - 1) if self.size else b"\n"
            self._is_cut = last != b"\n"
        except BaseException:
            os.close(self._descriptor)
            raise

    def append(self, line: bytes) -> int:
        """Write a line completely, or not at all.

        Args:
            line: The line, with its line end.

        Returns:
            The offset of the line's begin.

        Raises:
            OSError: The line can't be written, or the file was closed.
        """
        if self._is_closed:
            raise OSError(f"{self._path} is closed")
        # One write, so that a reader beside us sees whole lines; a full disk may still cut it.
        data = b"\n" + line if self._is_cut else line
        written = 0
        try:
            while written < len(data):
                written += os.pwrite(self._descriptor, data[written:], self.size + written)
        except OSError:
            with suppress(OSError):  # what was cut would spoil the line that comes next
                os.ftruncate(self._descriptor, self.size)
            raise
        self._is_cut = False
        self.size += len(data)
        return self.size - len(line)

    def read(self, offset: int, length: int) -> bytes:
        """Read bytes from an offset.

        Raises:
            OSError: The bytes can't be read, or the file was closed.
        """
        if self._is_closed:
            raise OSError(f"{self._path} is closed")
        return os.pread(self._descriptor, length, offset)

    def close(self) -> None:
        """Close the file. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            # A forked process may have it still, and would hold the lock.
            if self._pid == os.getpid():
                with suppress(OSError):
                    unlock_descriptor(self._descriptor)
            os.close(self._descriptor)

    def _lock(self) -> None:
        for _ in range(_MAX_LOCK_ATTEMPTS):
            if lock_descriptor(self._descriptor, blocking=False):
                break
            time.sleep(_LOCK_RETRY_S)
        else:
            raise BlockingIOError(errno.EAGAIN, "another process has it open", str(self._path))
        if not self._is_linked():
            raise FileNotFoundError(errno.ENOENT, "it was just deleted", str(self._path))

    def _is_linked(self) -> bool:
        """Whether the open file still has this path: its last owner may have deleted it."""
        try:
            found = self._path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._descriptor))


def is_line_file_open(path: Path) -> bool:
    """Whether a process has a file of lines open.

    Args:
        path: The file.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
