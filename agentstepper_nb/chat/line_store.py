"""The storage of a transcript's lines: a file that one process at a time may write, or memory."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Final

from ..errors import CommandError
from ..line_file import LineFile

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
        """Read bytes at an offset.

        Raises:
            OSError: The bytes can't be read.
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
        """Close the store. Idempotent."""


class MemoryLineStore(LineStore):
    """Lines that go with the process. What is too much for memory is in a file without a name.

    Args:
        max_memory_bytes: Bytes of lines up to which they are in memory.
    """

    def __init__(self, max_memory_bytes: int = MAX_MEMORY_BYTES) -> None:
        self._file = SpooledTemporaryFile(max_memory_bytes)  # noqa: SIM115 - `close` closes it

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
    """The lines of a file that is only read.

    Args:
        descriptor: The file descriptor, which the caller closes.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, offset: int, length: int) -> bytes:
        """See `LineStore`."""
        return os.pread(self._descriptor, length, offset)


class FileLineStore(LineStore):
    """Lines of a file, which is made with the first one.

    Args:
        path: The file.

    Raises:
        CommandError: `session_open`: another process has it.
        OSError: It is there, and can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: LineFile | None = None
        self._is_closed = False
        with suppress(FileNotFoundError):
            self._open(create=False)

    def append(self, line: bytes) -> int:
        """See `LineStore`."""
        if self._is_closed:
            raise OSError("the session is closed")
        file = self._file or self._open(create=True)
        offset = file.append(line)
        self.size = file.size
        return offset

    def read(self, offset: int, length: int) -> bytes:
        """See `LineStore`."""
        if self._file is None:
            raise OSError("the session is closed" if self._is_closed else "nothing was written yet")
        return self._file.read(offset, length)

    def remove(self) -> None:
        """See `LineStore`."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        self.close()

    def close(self) -> None:
        """See `LineStore`."""
        self._is_closed = True
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _open(self, *, create: bool) -> LineFile:
        try:
            file = self._file = LineFile(self._path, create=create)
        except BlockingIOError:
            raise CommandError(
                "session_open",
                f"The chat session {self._path.stem} is open in another process: close it "
                "there, or begin a new session here.",
            ) from None
        self.size = file.size
        return file
