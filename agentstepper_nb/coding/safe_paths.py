"""Checks the syntax of paths, and opens paths below a folder without leaving the folder."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import UnsafePathError
from ..protocol.text_escaping import INVISIBLE_CHARACTERS

#: The most bytes of a path, and of one name in a path: limits that all POSIX systems support.
MAX_PATH_BYTES: Final = 4096
MAX_NAME_BYTES: Final = 255
#: Folders below each other: the walk holds a descriptor for each.
DEPTH_LIMIT: Final = 128

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL: Final = re.compile(r"[\t\n\r]")


def split_path(relative: str) -> tuple[str, ...]:
    """The names in a path below the workspace, `..` among them; none for the workspace itself.

    Args:
        relative: The path, with `/`.

    Raises:
        UnsafePathError: It isn't relative, or no path that a person could check.
    """
    check_path(relative)
    if relative.startswith("/") or _DRIVE.match(relative):
        raise UnsafePathError(relative, "it is absolute; paths are relative to the workspace")
    if relative.startswith("~"):
        raise UnsafePathError(relative, "`~` isn't a folder of the workspace")
    names = tuple(name for name in relative.split("/") if name not in ("", "."))
    if len(names) > DEPTH_LIMIT:
        raise UnsafePathError(relative, f"it has more than {DEPTH_LIMIT} names")
    if any(len(os.fsencode(name)) > MAX_NAME_BYTES for name in names):
        raise UnsafePathError(relative, f"a name in it is longer than {MAX_NAME_BYTES} bytes")
    return names


def check_path(path: str) -> None:
    """Refuse text that is no path here, absolute or not.

    Raises:
        UnsafePathError: It is empty, too long, or has characters that a path here never has.
    """
    if not path:
        raise UnsafePathError(path, "it is empty; `.` is the workspace")
    if "\\" in path:
        raise UnsafePathError(path, "it has a backslash; separate names by `/`")
    found = _CONTROL.search(path) or INVISIBLE_CHARACTERS.search(
        path
    )  # nobody would see what is meant
    if found is not None:
        raise UnsafePathError(path, f"it has the character U+{ord(found[0]):04X}")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise UnsafePathError(path, f"it is longer than {MAX_PATH_BYTES} bytes")


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Links that one path may lead through, and folders that may change into links under our eyes.
_MAX_LINKS: Final = 40
# What systems say where O_DIRECTORY | O_NOFOLLOW meets a link.
_MAYBE_LINK: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
#: git's own folder: hooks and settings in it are run by git.
GIT_FOLDER_NAME: Final = ".git"


class LocatedPath(NamedTuple):
    """The location of a path: its open parent folder, and its name in the folder."""

    folder: int  # a descriptor, open as long as the walk's context
    name: str  # in that folder; `.` where the path is the folder itself
    parts: tuple[str, ...]  # from the root to here, without links and `..`


class SafeFolder:
    """A folder that is held open, and walks that begin there. Safe from any thread.

    Args:
        root: The folder, with all links resolved.

    Raises:
        OSError: It can't be opened.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._lock = threading.Lock()
        self._descriptor: int | None = os.open(root, _FOLDER)

    def close(self) -> None:
        """Close the folder. Lookups in progress finish."""
        with self._lock:
            descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _duplicate_descriptor(self) -> int:
        """Another descriptor of the folder: once closed, its number may be any other folder's."""
        with self._lock:
            if self._descriptor is None:
                raise OSError(errno.EBADF, "The workspace is closed")
            return os.dup(self._descriptor)

    @contextlib.contextmanager
    def locate(
        self,
        parts: Sequence[str],
        *,
        should_follow: bool = True,
        should_create: bool = False,
        should_refuse_git: bool = False,
    ) -> Iterator[LocatedPath]:
        """Walk to what a path names, which needn't be there.

        Args:
            parts: The names in the path.
            should_follow: Whether the last name is walked through where it is a link.
            should_create: Make the folders that are missing on the way.
            should_refuse_git: Refuse what lies in a `.git`.

        Raises:
            UnsafePathError: It leads out.
            OSError: A folder on the way can't be entered.
        """
        walk = _Walk(
            self.root,
            self._duplicate_descriptor(),
            parts,
            should_create=should_create,
            should_refuse_git=should_refuse_git,
        )
        try:
            yield walk.run(should_follow)
        finally:
            walk.close()

    def resolve(self, parts: Sequence[str]) -> Path:
        """Resolve the links of a path. Names that don't exist are kept.

        Raises:
            UnsafePathError: The path leads out of the folder.
            OSError: A folder of the path can't be opened.
        """
        walk = _Walk(self.root, self._duplicate_descriptor(), parts)
        try:
            return self.root.joinpath(*walk.run(should_follow=True).parts)
        except FileNotFoundError:
            return self.root.joinpath(*walk.expected())
        finally:
            walk.close()


class _Walk:
    """One walk. It holds the folders it went through, so that `..` leads to where it came from."""

    def __init__(
        self,
        root: Path,
        descriptor: int,  # of the root; closed with the walk
        parts: Sequence[str],
        *,
        should_create: bool = False,
        should_refuse_git: bool = False,
    ) -> None:
        self._root = root
        self._path = "/".join(parts) or "."
        self._descriptors = [descriptor]  # the first is the root's
        self._names: list[str] = []  # of the others
        self._remaining = list(reversed(parts))
        self._links = 0
        self._should_create = should_create
        self._should_refuse_git = should_refuse_git

    def run(self, should_follow: bool) -> LocatedPath:
        """Go to the last name."""
        while self._remaining:
            name = self._remaining.pop()
            if name == "..":
                self._up()
                continue
            if self._should_refuse_git and name.casefold() == GIT_FOLDER_NAME:
                raise UnsafePathError(self._path, "only git writes in `.git`")
            last = not self._remaining
            target = self._target(name) if should_follow or not last else None
            if target is not None:
                self._follow(target)
            elif last:
                return LocatedPath(self._descriptors[-1], name, (*self._names, name))
            else:
                self._enter(name)
        return LocatedPath(self._descriptors[-1], ".", tuple(self._names))

    def expected(self) -> tuple[str, ...]:
        """Where the walk would have ended, had it not met a name that isn't there."""
        if ".." in self._remaining:
            raise UnsafePathError(self._path, "`..` follows a folder that doesn't exist")
        return (*self._names, *reversed(self._remaining))

    def close(self) -> None:
        """Close the folders."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _target(self, name: str) -> str | None:
        """Where a link leads; None for what is no link, or isn't there."""
        try:
            return os.readlink(name, dir_fd=self._descriptors[-1])
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise

    def _follow(self, target: str) -> None:
        self._count()
        names = [name for name in target.split("/") if name not in ("", ".")]
        if target.startswith("/"):
            top = self._root.parts[1:]
            if tuple(names[: len(top)]) != top:
                raise self._outside()
            names = names[len(top) :]
            while self._names:
                self._up()
        self._remaining.extend(reversed(names))

    def _up(self) -> None:
        if not self._names:
            raise self._outside()
        self._names.pop()
        os.close(self._descriptors.pop())

    def _enter(self, name: str) -> None:
        if len(self._names) >= DEPTH_LIMIT:
            raise UnsafePathError(self._path, f"it leads more than {DEPTH_LIMIT} folders down")
        try:
            folder = self._open_folder(name)
        except FileNotFoundError:
            if not self._should_create or ".." in self._remaining:
                self._remaining.append(name)  # see `expected`
                raise
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._descriptors[-1])
            folder = self._open_folder(name)
        except OSError as error:
            if error.errno not in _MAYBE_LINK or self._target(name) is None:
                raise
            self._count()  # a link was put there since: it is walked as one
            self._remaining.append(name)
            return
        self._descriptors.append(folder)
        self._names.append(name)

    def _open_folder(self, name: str) -> int:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=self._descriptors[-1])

    def _count(self) -> None:
        self._links += 1
        if self._links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)

    def _outside(self) -> UnsafePathError:
        return UnsafePathError(self._path, "it leads out of the workspace")
