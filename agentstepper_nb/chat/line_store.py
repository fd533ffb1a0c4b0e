"""Where the lines of a transcript are: a file that belongs to one process at a time, or memory."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Final

from filelock import lock_descriptor, unlock_descriptor

from ..errors import CommandError

#: Bytes of lines that go with the process, up to which they are in memory.
MAX_MEMORY_BYTES: Final = 64 * 1024 * 1024


class LineStore(ABC):
    """Takes lines, and gives back what was written.

    Attributes:
        size: How many bytes there are.
    """

    size = 0

    def append(self, line: bytes) -> int:
        """Write a line; where it begins. All of it, or nothing.

        Raises:
            OSError: It can't be written.
        """
        raise OSError("the file is open for reading only")

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """What stands somewhere.

        Raises:
            OSError: It can't be read.
        """

    def lines(self) -> Iterator[bytes]:
        """All lines, with their ends.

        Raises:
            OSError: They can't be read.
        """
        rest, offset = b"", 0
        while offset < self.size:
            block = self.read(offset, min(1 << 20, self.size - offset))
            if not block:
                break
            offset += len(block)
            *whole, rest = (rest + block).split(b"\n")
            yield from (each + b"\n" for each in whole)
        if rest:
            yield rest

    def remove(self) -> None:
        """Delete it, and let go of it.

        Raises:
            OSError: It can't be deleted.
        """
        self.close()

    def close(self) -> None:  # noqa: B027 - what is only read is its opener's to close
        """Let go of it. Idempotent."""


class MemoryLineStore(LineStore):
    """Lines that go with the process. What is too much for memory is in a file without a name."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(MAX_MEMORY_BYTES)  # noqa: SIM115 - `close` closes it

    def append(self, line: bytes) -> int:
        """See `LineStore`."""
        self._at(self.size).write(line)  # over what failed half-way
        offset, self.size = self.size, self.size + len(line)
        return offset

    def read(self, offset: int, length: int) -> bytes:
        """See `LineStore`."""
        return self._at(offset).read(length)

    def close(self) -> None:
        """See `LineStore`."""
        self._file.close()
        self.size = 0

    def _at(self, offset: int) -> SpooledTemporaryFile[bytes]:
        if self._file.closed:
            raise OSError("the file is closed")
        self._file.seek(offset)
        return self._file


class ReadOnlyLineStore(LineStore):
    """Lines of a file that is read once, and written by nobody here.

    Args:
        descriptor: The file's; whoever opened it closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, offset: int, length: int) -> bytes:
        """See `LineStore`."""
        return os.pread(self._descriptor, length, offset)


class FileLineStore(LineStore):
    """Lines of a file, each written as it comes. It is made with the first one, for this user alone.

    A line that a crash cut short stays as it is, and what follows begins on a line of its own.

    Args:
        path: The file.

    Raises:
        CommandError: `session_open`: another process has it.
        OSError: It is there, and can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._is_closed = False
        with suppress(FileNotFoundError):
            self._open(os.O_RDWR)

    def append(self, line: bytes) -> int:
        """See `LineStore`."""
        if self._is_closed:
            raise OSError("the session is closed")
        if self._descriptor is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open(os.O_RDWR | os.O_CREAT)
        offset = self.size
        self._write(line)
        return offset

    def read(self, offset: int, length: int) -> bytes:
        """See `LineStore`."""
        if self._descriptor is None:
            raise OSError("the session is closed" if self._is_closed else "nothing was written yet")
        return os.pread(self._descriptor, length, offset)

    def remove(self) -> None:
        """See `LineStore`."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        self.close()

    def close(self) -> None:
        """See `LineStore`."""
        self._is_closed = True
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):  # a forked process may have it still, and would hold the lock
                unlock_descriptor(descriptor)
            os.close(descriptor)

    def _open(self, flags: int) -> None:
        descriptor = os.open(self._path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if not lock_descriptor(descriptor, blocking=False):
            os.close(descriptor)
            raise CommandError(
                "session_open",
                f"The chat session {self._path.stem} is open in another process: close it "
                "there, or begin a new session here.",
            )
        if not self._is_linked(descriptor):
            os.close(descriptor)
            raise FileNotFoundError(errno.ENOENT, "the session was just deleted", str(self._path))
        self._descriptor, self.size = descriptor, os.fstat(descriptor).st_size
        if self.size and os.pread(descriptor, 1, self.size - 1) != b"\n":
            with suppress(OSError):  # a full disk: it may still be read
                self._write(b"\n")

    def _is_linked(self, descriptor: int) -> bool:
        """Whether what was opened is still the file of this name: who had it may have deleted it."""
        try:
            found = self._path.stat(follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(descriptor))

    def _write(self, data: bytes) -> None:
        assert self._descriptor is not None
        written = 0
        try:
            while written < len(data):
                at = self.size + written
                written += os.pwrite(self._descriptor, data[written:], at)
        except OSError:
            with suppress(OSError):  # what was cut would spoil the line that comes next
                os.ftruncate(self._descriptor, self.size)
            raise
        self.size += len(data)
