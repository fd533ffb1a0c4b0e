"""`LocalWorkspace`: the folder whose files the coding agent may read and change."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import weakref
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from msgspec import Struct

from ..errors import AgentStepperError, UnsafePathError
from ..sdk.workspace import git_command
from .safe_paths import LocatedPath, SafeFolder, check_path, split_path

#: The largest file that `read_bytes` and `read_text` accept by default, in bytes.
MAX_READ_BYTES: Final = 16 * 1024 * 1024

# Opening a pipe without a writer must not block, and a terminal must not become controlling.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
#: The tools whose rules hold for all reading and all writing of files.
_READ_TOOL: Final = "read_file"
_WRITE_TOOL: Final = "write_file"
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PathKind(StrEnum):
    """The kind of file at a path."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"  # a pipe, a socket, a device


class FolderEntry(Struct, frozen=True):
    """One entry of a folder."""

    name: str
    kind: PathKind
    size_bytes: int  # bytes of a file; 0 of anything else


class DenialChecker(Protocol):
    """The interface of rules that deny access to files. See `coding.policy.denied_files.FileDenials`."""

    def has_rules(self) -> bool:
        """Whether any rule denies access to files."""

    def find_rule_for_file(
        self, names: tuple[str, ...], found: os.stat_result | None, tool: str
    ) -> object | None:
        """Return the rule that denies a file to a tool, as an object with a `str`; None: no rule does.

        Args:
            names: The path's parts, relative to the workspace.
            found: The file's status; None: the file doesn't exist.
            tool: The tool's name.
        """


class LocalWorkspace:
    """A folder of this machine, and the only access to its files. Paths are relative, with `/`.

    The folder is held open, so that it stays the same one even if another folder takes its place.
    Links are followed as long as they lead to places inside. A file that a hard link also names
    outside counts as inside. It can be read; after a write, the name inside has a file of its own,
    and the outer file is unchanged. Methods that raise OSError raise its subclass `UnsafePathError`
    for an unsafe path.

    Args:
        root: The folder.
        denials: The rules that keep files from being read or changed; None: no rules.
        git_timeout_s: The most seconds of a git command in the folder.

    Raises:
        OSError: The path can't be opened, or isn't a folder.
    """

    def __init__(
        self,
        root: str | Path,
        denials: DenialChecker | None = None,
        git_timeout_s: float = git_command.TIMEOUT_S,
    ) -> None:
        self.git_timeout_s = git_timeout_s
        self._folder = SafeFolder(Path(root).resolve(strict=True))
        self._denials = denials
        self._finalizer = weakref.finalize(self, self._folder.close)

    def close(self) -> None:
        """Close the folder. Idempotent."""
        self._finalizer()

    @property
    def root(self) -> Path:
        """The folder, with all links resolved."""
        return self._folder.root

    def resolve_path(self, relative: str) -> Path | None:
        """Resolve a path; None if the path is unsafe or can't be resolved."""
        try:
            return self._folder.resolve(split_path(relative))
        except OSError:
            return None

    def is_path_safe(self, absolute_path: str) -> bool:
        """Whether an absolute path, with links resolved, is inside of the folder."""
        try:
            check_path(absolute_path)
            if not absolute_path.startswith("/"):
                return False
            inside = Path(os.path.realpath(absolute_path)).relative_to(self.root)
        except (OSError, ValueError):
            return False
        return self.resolve_path(inside.as_posix()) is not None

    def kind(self, relative: str) -> PathKind | None:
        """Return the kind of a path, without following a link; None: nothing exists there.

        Raises OSError.
        """
        try:
            with self._locate(relative, should_follow=False) as target:
                return _kind(_stat_target(target).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_denied(self, relative: str) -> bool:
        """Whether a rule denies reading a file. A missing file is judged by its name.

        False if the path is unsafe.
        """
        if self._denials is None or not self._denials.has_rules():
            return False
        try:
            with self._locate(relative) as target:
                return self._rule(target.parts, _stat_if_exists(target), _READ_TOOL) is not None
        except UnsafePathError:
            return False
        except OSError:  # its folder is gone, too, but a commit may hold the file
            return self._rule(split_path(relative), None, _READ_TOOL) is not None

    def list_dir(self, relative: str) -> list[FolderEntry]:
        """List a folder's entries by name. Raises OSError."""
        with self._locate(relative) as target:
            folder = os.open(
                target.name,
                os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                dir_fd=target.folder,
            )
            try:
                with os.scandir(folder) as entries:
                    return sorted(filter(None, map(_entry, entries)), key=lambda entry: entry.name)
            finally:
                os.close(folder)

    def open(self, relative: str) -> BinaryIO:
        """Open a plain file for reading; the caller closes it. Raises OSError."""
        with self._locate(relative) as target:
            _require_file(
                _stat_target(target), relative
            )  # to open a device may do something already
            descriptor = os.open(target.name, _READ, dir_fd=target.folder)
        try:
            _require_file(os.fstat(descriptor), relative)
            self._refuse(target.parts, os.fstat(descriptor), _READ_TOOL, relative)
            return os.fdopen(descriptor, "rb")
        except BaseException:
            os.close(descriptor)
            raise

    def read_bytes(self, relative: str, limit: int = MAX_READ_BYTES) -> bytes:
        """Read a file's bytes. Raises OSError, also if there are more than `limit` bytes."""
        with self.open(relative) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise OSError(errno.EFBIG, f"Larger than {limit} bytes", relative)
        return data

    def read_text(self, relative: str) -> str:
        """Read a UTF-8 file's text. Raises OSError or UnicodeError."""
        return self.read_bytes(relative).decode()

    def mode(self, relative: str) -> int:
        """Return a file's permissions. Raises OSError."""
        with self._locate(relative) as target:
            return stat.S_IMODE(_stat_target(target).st_mode)

    def write_bytes(self, relative: str, data: bytes, mode: int | None = None) -> None:
        """Write a file, whole or not at all, and create its missing folders. Raises OSError.

        Args:
            relative: The path. A link at the path is refused, and so is a path in a `.git`.
            data: The new contents.
            mode: The permissions; None: those of the existing file, or the default of a new file.
        """
        self._refuse_new(relative)
        with self._locate(
            relative, should_follow=False, should_create=True, should_refuse_git=True
        ) as target:
            status = _stat_if_exists(target)
            self._refuse(target.parts, status, _WRITE_TOOL, relative)
            if status is not None:
                _require_file(status, relative)
                mode = stat.S_IMODE(status.st_mode) if mode is None else mode
            _replace(target, data, mode)

    def delete(self, relative: str) -> None:
        """Delete a file or a link, and then the folders that are left empty.

        A link's target is not deleted. Raises OSError.
        """
        with self._locate(relative, should_follow=False, should_refuse_git=True) as target:
            self._refuse(target.parts, _stat_if_exists(target), _WRITE_TOOL, relative)
            os.unlink(target.name, dir_fd=target.folder)
            above = target.parts[:-1]
        with contextlib.suppress(OSError):  # the first that isn't empty, or isn't there any more
            while above:
                with self._folder.locate(above, should_follow=False) as target:
                    os.rmdir(target.name, dir_fd=target.folder)
                above = above[:-1]

    def _rule(
        self, names: tuple[str, ...], found: os.stat_result | None, tool: str
    ) -> object | None:
        return self._denials and self._denials.find_rule_for_file(names, found, tool)

    def _refuse(
        self, names: tuple[str, ...], found: os.stat_result | None, tool: str, relative: str
    ) -> None:
        """Raise `UnsafePathError` if a rule denies a file to a tool, by any of the file's names."""
        rule = self._rule(names, found, tool)
        if rule is not None:
            raise UnsafePathError(relative, f"a rule says: {rule}")

    def _refuse_new(self, relative: str) -> None:
        """As `_refuse` of a write, before folders are made for a file that a rule denies by its name."""
        try:
            with self._locate(relative, should_follow=False, should_refuse_git=True):
                return  # its folder is there
        except FileNotFoundError:
            path = self.resolve_path(relative)
        if path is not None:
            self._refuse(path.relative_to(self.root).parts, None, _WRITE_TOOL, relative)

    @contextlib.contextmanager
    def _locate(
        self,
        relative: str,
        *,
        should_follow: bool = True,
        should_create: bool = False,
        should_refuse_git: bool = False,
    ) -> Iterator[LocatedPath]:
        """Open a path's folder. Errors have the path as the caller gave it."""
        names = split_path(relative)
        try:
            with self._folder.locate(
                names,
                should_follow=should_follow,
                should_create=should_create,
                should_refuse_git=should_refuse_git,
            ) as target:
                yield target
        except AgentStepperError:
            raise
        except OSError as error:
            error.filename = relative
            raise


def _stat_target(target: LocatedPath) -> os.stat_result:
    return os.stat(target.name, dir_fd=target.folder, follow_symlinks=False)


def _stat_if_exists(target: LocatedPath) -> os.stat_result | None:
    try:
        return _stat_target(target)
    except FileNotFoundError:
        return None


def _require_file(found: os.stat_result, relative: str) -> None:
    kind = _kind(found.st_mode)
    if kind is PathKind.FOLDER:
        raise IsADirectoryError(errno.EISDIR, "It is a folder", relative)
    if kind is PathKind.LINK:
        raise UnsafePathError(relative, "it is a link; name the file that it leads to")
    if kind is not PathKind.FILE:
        raise UnsafePathError(relative, "it is a pipe, a socket or a device")


def _kind(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return PathKind.FILE
    if stat.S_ISDIR(mode):
        return PathKind.FOLDER
    return PathKind.LINK if stat.S_ISLNK(mode) else PathKind.OTHER


def _entry(found: os.DirEntry[str]) -> FolderEntry | None:
    try:
        status = found.stat(follow_symlinks=False)
    except OSError:  # gone since
        return None
    kind = _kind(status.st_mode)
    return FolderEntry(found.name, kind, status.st_size if kind is PathKind.FILE else 0)


def _replace(target: LocatedPath, data: bytes, mode: int | None) -> None:
    """Write a file atomically. A link of this name is replaced, and its target is unchanged."""
    if target.name == ".":
        raise IsADirectoryError(errno.EISDIR, "It is a folder")
    temporary = f".agentstepper-{secrets.token_hex(8)}.tmp"
    descriptor = os.open(temporary, _CREATE, 0o666, dir_fd=target.folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode & 0o777)
            os.fsync(file.fileno())
        os.rename(temporary, target.name, src_dir_fd=target.folder, dst_dir_fd=target.folder)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=target.folder)
        raise
    os.fsync(target.folder)  # so that the name, too, outlives a power cut
