"""Writes files below one folder, and never outside of it: each folder is opened from the one above."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final

#: Git's modes of a program and of a link.
PROGRAM_MODE: Final = "100755"
LINK_MODE: Final = "120000"

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TreeWriter:
    """Writes, moves and deletes files below a folder; a link in a folder's place is an error.

    The folder of the last file stays open, so that files in the order of their paths cost one call each.

    Args:
        root: The folder.
        temporary: The name under which a file is written before it takes its place, in its folder; None:
            each file is new, and is written under its own name.
    """

    def __init__(self, root: Path, temporary: bytes | None = None) -> None:
        self._root = root
        self._temporary = temporary
        self._open: list[tuple[bytes, int]] = []  # folders, outermost first, with their descriptors

    def __enter__(self) -> TreeWriter:
        self._open.append((b"", os.open(self._root, _FOLDER)))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._open:
            os.close(self._open.pop()[1])

    def find(self, path: bytes) -> os.stat_result | None:
        """Return the status of a path; None: nothing exists there.

        Raises:
            OSError: A parent of the path isn't a folder, or is a link.
        """
        try:
            folder, name = self._open_parent(path, create=False)
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def write(
        self, path: bytes, mode: str, content: Iterable[bytes], permissions: int | None = None
    ) -> None:
        """Write a file or a link, with the folders above it.

        Args:
            path: Its path below the root.
            mode: git's mode.
            content: Its content, in parts; a link's target. What the iterator raises leaves no file.
            permissions: Its permission bits; None: as a new file has them.

        Raises:
            OSError: The file can't be written, or a folder above is none, or a link.
        """
        folder, name = self._open_parent(path, create=True)
        written = name if self._temporary is None else self._temporary
        try:
            if mode == LINK_MODE:
                os.symlink(b"".join(content), written, dir_fd=folder)
            else:
                self._write_content(folder, written, mode, content, permissions)
            if written is not name:
                os.rename(written, name, src_dir_fd=folder, dst_dir_fd=folder)
        except FileExistsError:  # which somebody else made
            raise
        except OSError:
            with suppress(OSError):
                os.unlink(written, dir_fd=folder)
            raise

    def delete(self, path: bytes) -> None:
        """Delete a file or a link.

        Raises:
            OSError: It can't be deleted, or is a folder.
        """
        folder, name = self._open_parent(path, create=False)
        os.unlink(name, dir_fd=folder)

    def delete_temporary(self, folder: bytes) -> None:
        """Delete what a writer that was killed left in a folder, b"" being the root."""
        assert self._temporary is not None
        with suppress(OSError):
            self.delete(folder + b"/" + self._temporary if folder else self._temporary)

    def make_folder(self, path: bytes, permissions: int) -> None:
        """Make a folder and its parents, unless the folder exists.

        Raises:
            OSError: A folder can't be made.
        """
        folder, name = self._open_parent(path, create=True)
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=folder)
            os.chmod(name, permissions, dir_fd=folder)

    def remove_folder(self, path: bytes) -> bool:
        """Remove a folder that is empty; whether it was."""
        try:
            folder, name = self._open_parent(path, create=False)
            os.rmdir(name, dir_fd=folder)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
                return False
            raise
        return True

    def _write_content(
        self,
        folder: int,
        name: bytes,
        mode: str,
        content: Iterable[bytes],
        permissions: int | None,
    ) -> None:
        new = 0o777 if mode == PROGRAM_MODE else 0o666
        descriptor = os.open(name, _NEW_FILE, new, dir_fd=folder)
        try:
            for part in content:
                view = memoryview(part)
                while view:
                    view = view[os.write(descriptor, view) :]
            if permissions is not None:
                os.fchmod(descriptor, permissions)
        finally:
            os.close(descriptor)

    def _open_parent(self, path: bytes, *, create: bool) -> tuple[int, bytes]:
        """The descriptor of the folder that a path lies in, and the last part of the path."""
        *folders, name = path.split(b"/")
        for part in (*folders, name):
            if part in (b"", b".", b"..") or part.lower() == b".git":
                raise OSError(errno.EINVAL, "Not the path of a snapshot's file", os.fsdecode(path))
        self._close_other_folders(folders)
        for part in folders[len(self._open) - 1 :]:
            self._open.append((part, self._open_folder(part, create=create)))
        return self._open[-1][1], name

    def _close_other_folders(self, folders: list[bytes]) -> None:
        shared = 0
        while (
            shared < len(folders)
            and shared + 1 < len(self._open)
            and self._open[shared + 1][0] == folders[shared]
        ):
            shared += 1
        while len(self._open) > shared + 1:
            os.close(self._open.pop()[1])

    def _open_folder(self, name: bytes, *, create: bool) -> int:
        above = self._open[-1][1]
        try:
            return os.open(name, _FOLDER, dir_fd=above)
        except FileNotFoundError:
            if not create:
                raise
        os.mkdir(name, dir_fd=above)
        return os.open(name, _FOLDER, dir_fd=above)


def match_permissions(mode: str, present: int | None) -> int | None:
    """The permission bits of a file that takes the place of another one.

    Args:
        mode: git's mode of the new one.
        present: The mode of the present one; None: there is none, or it is a link.

    Returns:
        The present ones, executable as git's mode says; None: as a new file has them.
    """
    if present is None or not stat.S_ISREG(present):
        return None
    bits = stat.S_IMODE(present)
    if mode == PROGRAM_MODE:
        return bits if bits & 0o100 else bits | (bits & 0o444) >> 2
    return bits & ~0o111
