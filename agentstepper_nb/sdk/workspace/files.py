"""Files of the workspace: how one is read, and the entry that is stored between commits."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

#: Text up to this size travels with its contents.
MAX_BODY_BYTES = 1024 * 1024
# A file may change again within one tick of its file system's clock and look the same. One that was
# changed this shortly before it was read is read again. The coarsest clock (FAT) ticks every 2 s.
_TICK_NS = 2_000_000_000

# Opened so that a link, or a pipe nobody writes to, put in a file's place a moment ago does no harm.
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_LARGE_FILE = re.compile(rb"([0-9a-f]{64}) (\d+) bytes, too large to be stored\n")
_MAX_NOTE_BYTES = 128

_FILE, _PROGRAM, _LINK = "100644", "100755", "120000"  # git's modes


class FileLimits(NamedTuple):
    """Limits of the bytes of a workspace's files that are stored, read at a time, and sent."""

    #: Files above this size are tracked, not stored.
    max_stored_bytes: int = 50 * 1024 * 1024
    #: Bytes of such a file that are read at a time.
    chunk_bytes: int = 1024 * 1024
    #: All bodies of a commit together, in bytes of old and new contents. A commit travels in one
    #: message, which has its limit; what goes beyond this one travels by name.
    max_bodies_bytes: int = 12 * 1024 * 1024


DEFAULT_FILE_LIMITS = FileLimits()


class FileStamp(NamedTuple):
    """Metadata that shows, without reading it, that a file is the same.

    The change time decides: no program can set it back, as `cp -p` does with the modification time.
    """

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def from_stat(cls, stat_result: os.stat_result) -> FileStamp:
        """The stamp of a file that was looked at."""
        return cls(
            stat_result.st_mode,
            stat_result.st_size,
            stat_result.st_mtime_ns,
            stat_result.st_ctime_ns,
            stat_result.st_ino,
        )

    def can_detect_change_after(self, at_ns: int) -> bool:
        """Whether a change after `at_ns` (nanoseconds) surely shows."""
        return self.ctime_ns < at_ns - _TICK_NS


class FileEntry(NamedTuple):
    """A file at the time of its last scan."""

    mode: str  # git's
    blob: str  # git's hash of the contents; for a file too large to be stored, of the note in its place
    size: int  # of the file itself
    binary: bool
    digest: str | None  # SHA-256 in hex, where the contents aren't sent; None where they are
    stamp: FileStamp
    read_at: int  # nanoseconds

    def is_fresh(self, found: os.stat_result) -> bool:
        """Whether the file is unchanged since it was read, by its present metadata."""
        # Asked of every file at every look, so that it makes no `FileStamp` and asks first what is
        # likeliest to differ.
        mode, size, mtime_ns, ctime_ns, inode = self.stamp
        return (
            found.st_ctime_ns == ctime_ns < self.read_at - _TICK_NS
            and found.st_mtime_ns == mtime_ns
            and found.st_size == size
            and found.st_ino == inode
            and found.st_mode == mode
        )

    def is_same(self, other: FileEntry | None) -> bool:
        """Whether git would see no difference."""
        return other is not None and (self.mode, self.blob) == (other.mode, other.blob)


class FileReadResult(NamedTuple):
    """A file and what to store of it."""

    entry: FileEntry
    stored: bytes


def read_file(
    root: bytes, path: bytes, found: os.stat_result, limits: FileLimits
) -> FileReadResult:
    """Read a file or a link of the workspace.

    Args:
        root: The workspace.
        path: The file's path, below the root. Never beyond a link, even if a link replaced a folder.
        found: The metadata of the file.
        limits: Limits of the stored bytes.

    Raises:
        OSError: The file is gone, was replaced by something else, or can't be read.
    """
    read_at = time.time_ns()
    name = path.rpartition(b"/")[2]
    if stat.S_ISLNK(found.st_mode):
        with _folder_of(root, path) as folder:
            target = os.readlink(name, dir_fd=folder)
        return _small(_LINK, target, FileStamp.from_stat(found), read_at)
    with open_file(root, path) as descriptor:
        return _read_file(descriptor, os.fstat(descriptor), read_at, limits)


@contextlib.contextmanager
def open_file(root: bytes, path: bytes) -> Iterator[int]:
    """Open a file of the workspace for reading, as a descriptor.

    Args:
        root: The workspace.
        path: The file's path, below the root; never beyond a link.

    Raises:
        OSError: The file is gone, or is no file, or can't be read.
    """
    with _folder_of(root, path) as folder:
        descriptor = os.open(path.rpartition(b"/")[2], _OPEN, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.ESTALE, "No longer a file", path)
        yield descriptor
    finally:
        os.close(descriptor)


class LargeFile(NamedTuple):
    """A file above the limit: only its digest and its size are stored."""

    digest: str  # SHA-256 in hex
    size: int  # bytes


def parse_large_file(stored: bytes) -> LargeFile | None:
    """Parse the note that replaces a file too large to be stored; None: `stored` is a file."""
    match = _LARGE_FILE.fullmatch(stored) if len(stored) < _MAX_NOTE_BYTES else None
    return None if match is None else LargeFile(match[1].decode(), int(match[2]))


@contextlib.contextmanager
def _folder_of(root: bytes, path: bytes) -> Iterator[int]:
    """A descriptor of the folder a file lies in, reached folder by folder."""
    at = os.open(root, _FOLDER)
    try:
        for name in path.split(b"/")[:-1]:
            below = _open_folder(name, at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _open_folder(name: bytes, above: int) -> int:
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except OSError as error:
        if error.errno != errno.ELOOP:  # what some systems say of a link, and others ENOTDIR
            raise
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from None


def sha256(data: bytes) -> str:
    """The digest under which contents that don't travel are named."""
    return hashlib.sha256(data).hexdigest()


def _read_file(
    descriptor: int, opened: os.stat_result, read_at: int, limits: FileLimits
) -> FileReadResult:
    mode = _PROGRAM if opened.st_mode & stat.S_IXUSR else _FILE
    stamp = FileStamp.from_stat(opened)
    with open(descriptor, "rb", closefd=False) as file:
        if opened.st_size <= limits.max_stored_bytes:
            data = file.read(limits.max_stored_bytes + 1)
            if len(data) <= limits.max_stored_bytes:
                return _small(mode, data, stamp, read_at)
            file.seek(0)  # it has grown under our eyes
        return _large(mode, file, stamp, read_at, limits.chunk_bytes)


def _small(mode: str, data: bytes, stamp: FileStamp, read_at: int) -> FileReadResult:
    binary = b"\0" in data or not _is_utf8(data)
    digest = sha256(data) if binary or len(data) > MAX_BODY_BYTES else None
    return FileReadResult(
        FileEntry(mode, _blob(data), len(data), binary, digest, stamp, read_at), data
    )


def _large(
    mode: str, file: BinaryIO, stamp: FileStamp, read_at: int, chunk_bytes: int
) -> FileReadResult:
    """Hash a file without holding it."""
    hashed, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    size, text = 0, True
    while chunk := file.read(chunk_bytes):
        hashed.update(chunk)
        size += len(chunk)
        text = text and b"\0" not in chunk and _is_utf8(chunk, decoder)
    digest = hashed.hexdigest()
    # In the file's place, so that git's own comparison finds changes and renames. The digest comes
    # first and fills the 64 bytes git compares at a time: no two such notes are alike.
    note = f"{digest} {size} bytes, too large to be stored\n".encode()
    return FileReadResult(
        FileEntry(mode, _blob(note), size, not text, digest, stamp, read_at), note
    )


def _is_utf8(data: bytes, decoder: codecs.IncrementalDecoder | None = None) -> bool:
    """Whether a whole text, or the next part of the decoder's, is UTF-8."""
    try:
        decoder.decode(data) if decoder else data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _blob(data: bytes) -> str:
    """Git's name for these contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
