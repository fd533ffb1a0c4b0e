"""A scan of the whole workspace, which lists files without reading any."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from agentstepper_nb.errors import WorkspaceError

from .files import FileEntry
from .ignore_rules import (
    IGNORE_FILE,
    IgnoreChecker,
    IgnoreQuery,
    IgnoreRulesKey,
    extend_rules,
    list_folders_above,
    stat_file,
)
from .outer_repository import OuterRepository, make_ignore_checker
from .special_files import SpecialFileError, refuse_special_file

#: Errors of files that were just deleted: the agent may be at work. Other errors hide a file's state.
MISSING_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR})


class ScanLimits(NamedTuple):
    """The largest workspace that a scan accepts."""

    max_files: int
    max_unread_bytes: int  # of the files that one scan reads and stores


class TrackedFiles:
    """Files that are tracked although `.gitignore` may exclude them now: its rules affect new files.

    Args:
        files: The files' paths: an earlier scan found them, or the user's own index has them.
    """

    def __init__(self, files: Set[bytes]) -> None:
        self.files = files
        self.folders = _folders(files)


@dataclass
class ScanResult:
    """The files that a scan found."""

    #: Files that are unchanged since they were last seen.
    unchanged: dict[bytes, FileEntry] = field(default_factory=dict)
    #: Files that are to be read.
    files: dict[bytes, os.stat_result] = field(default_factory=dict)
    #: Files and folders that couldn't be read: their state is unknown, and they don't count as deleted.
    unreadable: set[bytes] = field(default_factory=set)
    #: Files and folders that `.gitignore` leaves out; the contents of such a folder aren't listed.
    ignored: set[bytes] = field(default_factory=set)
    #: Bytes of the files that are to be read and stored.
    unread_bytes: int = 0

    def has_file(self, path: bytes) -> bool:
        """Whether the scan found this file."""
        return path in self.unchanged or path in self.files

    def is_below_unreadable(self, path: bytes) -> bool:
        """Whether a path lies where we couldn't look."""
        return path in self.unreadable or any(
            folder in self.unreadable for folder in list_folders_above(path)
        )


class _Folder(NamedTuple):
    path: bytes  # below the workspace
    full_path: bytes
    rules: IgnoreRulesKey  # from above


class _Item(NamedTuple):
    path: bytes  # below the workspace
    directory: bool
    rules: IgnoreRulesKey
    entry: os.DirEntry[bytes]


class WorkspaceScanner:
    """Scans a workspace, as often as needed.

    Args:
        root: The workspace.
        ignore: Decides which files are ignored.
        skip: Folders to leave out: the debugger's own data, where it lies in the workspace.
        limits: The largest workspace that is scanned; None: any.
        max_stored_bytes: Bytes of the largest file that is stored.
    """

    def __init__(
        self,
        root: bytes,
        ignore: IgnoreChecker,
        skip: Collection[bytes],
        limits: ScanLimits | None,
        max_stored_bytes: int,
    ) -> None:
        self._max_stored_bytes = max_stored_bytes
        self._root = root
        self._ignore = ignore
        self._skip = skip
        self._limits = limits

    def scan(self, tracked: TrackedFiles, seen: Mapping[bytes, FileEntry]) -> ScanResult:
        """Scan the workspace.

        Args:
            tracked: Files that `.gitignore` doesn't exclude.
            seen: The files as they were last seen.

        Raises:
            OSError: The workspace itself can't be listed.
            GitError: git can't decide which files are ignored.
            SpecialFileError: A `.gitignore` is a pipe.
            WorkspaceError: The workspace is larger than `limits`.
        """
        look = _Scan(tracked, seen, self._skip, self._max_stored_bytes)
        look.list_folder(_Folder(b"", self._root, self._ignore.begin()))
        # Level by level: git is asked once a level, and nothing ignored is listed.
        while look.unchecked or look.below:
            unchecked, look.unchecked = look.unchecked, []
            left_out = self._ignore.select_ignored(
                [IgnoreQuery(item.path, item.directory, item.rules) for item in unchecked]
            )
            look.scan.ignored |= left_out
            for item in unchecked:
                if item.path not in left_out:
                    look.add(item)
            below, look.below = look.below, []
            for folder in below:
                look.try_folder(folder)
                self._check_size(look.scan)
        self._check_size(look.scan)
        return look.scan

    def _check_size(self, scan: ScanResult) -> None:
        limits = self._limits
        if limits is None:
            return
        if (
            len(scan.unchanged) + len(scan.files) > limits.max_files
            or scan.unread_bytes > limits.max_unread_bytes
        ):
            raise WorkspaceError(
                f"{os.fsdecode(self._root)} has more than {limits.max_files:,} files or "
                f"{limits.max_unread_bytes / 1024**3:g} GiB that git doesn't ignore. Name "
                "large files and folders in a `.gitignore`, or work in a subfolder."
            )


class _Scan:
    """A scan in progress: the files found so far, and the folders still to list.

    The cost of a step is what the scan does for each file that hasn't changed, so the scan makes
    nothing but the path for such a file.
    """

    def __init__(
        self,
        tracked: TrackedFiles,
        seen: Mapping[bytes, FileEntry],
        skip: Collection[bytes],
        max_stored_bytes: int,
    ) -> None:
        self._max_stored_bytes = max_stored_bytes
        self._tracked, self._seen, self._skip = tracked, seen, skip
        self.scan = ScanResult()
        #: Folders to list.
        self.below: list[_Folder] = []
        #: Files and folders for which git must decide whether they are ignored.
        self.unchecked: list[_Item] = []

    def try_folder(self, folder: _Folder) -> None:
        """List a folder that may be gone, or closed to us."""
        try:
            self.list_folder(folder)
        except SpecialFileError:  # of which nobody should be left in doubt
            raise
        except OSError as error:
            self._record_unreadable(folder.path, error)

    def list_folder(self, folder: _Folder) -> None:
        """List a folder, without files that are never tracked."""
        tracked, folders, add_file = self._tracked.files, self._tracked.folders, self._add_file
        prefix = folder.path + b"/" if folder.path else b""
        with os.scandir(folder.full_path) as listed:
            entries = list(listed)
        rules = _rules_in(entries, folder.rules)
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                # Every `.git` there is, in any case: on some file systems all of them are git's.
                if entry.name.lower() != b".git" and entry.path not in self._skip:
                    if path in folders:
                        self.below.append(_Folder(path, entry.path, rules))
                    else:
                        self.unchecked.append(_Item(path, True, rules, entry))
            elif path in tracked:
                add_file(path, entry)
            elif _is_trackable(entry):
                self.unchecked.append(_Item(path, False, rules, entry))

    def add(self, item: _Item) -> None:
        """Look at what isn't ignored."""
        if item.directory:
            self.below.append(_Folder(item.path, item.entry.path, item.rules))
        else:
            self._add_file(item.path, item.entry)

    def _add_file(self, path: bytes, entry: os.DirEntry[bytes]) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._record_unreadable(path, error)
            return
        seen = self._seen.get(path)
        if seen is not None and seen.is_fresh(found):
            self.scan.unchanged[path] = seen
        elif _is_trackable(entry):
            self.scan.files[path] = found
            if found.st_size <= self._max_stored_bytes:
                self.scan.unread_bytes += found.st_size

    def _record_unreadable(self, path: bytes, error: OSError) -> None:
        if error.errno not in MISSING_ERRNOS:
            self.scan.unreadable.add(path)


def list_ignored_files(
    git_dir: Path, folder: Path, tracked: Set[bytes], skip: Collection[bytes]
) -> set[bytes]:
    """The files and folders of a workspace that `.gitignore` leaves out, as it is now.

    Args:
        git_dir: The private repository.
        folder: The workspace.
        tracked: Files that `.gitignore` doesn't exclude.
        skip: Folders to leave out: the debugger's own data.

    Raises:
        OSError: The workspace can't be listed, or a `.gitignore` is a pipe.
        GitError: git can't decide which files are ignored.
    """
    checker = make_ignore_checker(git_dir, folder, OuterRepository.find(folder))
    scanner = WorkspaceScanner(os.fsencode(folder), checker, skip, None, max_stored_bytes=0)
    return scanner.scan(TrackedFiles(tracked), {}).ignored


def _rules_in(entries: Iterable[os.DirEntry[bytes]], above: IgnoreRulesKey) -> IgnoreRulesKey:
    """The rules in a folder: those from above, and its own where it has some."""
    for entry in entries:
        if entry.name == IGNORE_FILE:
            refuse_special_file(Path(os.fsdecode(entry.path)))
            return extend_rules(above, stat_file(entry))
    return above


def _is_trackable(entry: os.DirEntry[bytes]) -> bool:
    """Whether what isn't a folder is a file or a link that may be tracked."""
    name = entry.name.lower()
    if entry.is_symlink():
        return name not in (b".git", b".gitmodules")  # as a link, newer gits refuse the second
    return name != b".git" and entry.is_file(follow_symlinks=False)  # no socket, pipe or device


def _folders(paths: Collection[bytes]) -> set[bytes]:
    """Every folder that a path lies in."""
    folders: set[bytes] = set()
    for path in paths:
        for folder in list_folders_above(path):
            if folder in folders:
                break
            folders.add(folder)
    return folders
