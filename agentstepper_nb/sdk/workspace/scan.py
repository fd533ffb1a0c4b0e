"""One look at the whole workspace: which files are there, without reading any."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from .ignore import IGNORE_FILE, Ignore, Question, Rules, extended, lstat

#: Errors of what was there a moment ago: the agent may be at work. All others hide what is there.
GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


@dataclass
class Scan:
    """What was found."""

    files: dict[bytes, os.stat_result] = field(default_factory=dict)
    #: Files and folders that couldn't be looked at: what is there is unknown, not gone.
    closed: set[bytes] = field(default_factory=set)

    def hides(self, path: bytes) -> bool:
        """Whether a path lies where we couldn't look."""
        return path in self.closed or any(folder in self.closed for folder in _above(path))


class _Item(NamedTuple):
    path: bytes  # below the workspace
    directory: bool
    rules: Rules
    entry: os.DirEntry[bytes]


class Scanner:
    """Looks at a workspace, again and again.

    Args:
        root: The workspace.
        ignore: What to leave out.
        skip: Folders to leave out: our own data, where it lies in the workspace.
    """

    def __init__(self, root: bytes, ignore: Ignore, skip: Collection[bytes]) -> None:
        self._root = root
        self._ignore = ignore
        self._skip = skip

    def scan(self, tracked: Collection[bytes]) -> Scan:
        """Look.

        Args:
            tracked: Files that aren't left out, whatever `.gitignore` says now: as in git, it rules
                only over what is new.

        Raises:
            OSError: The workspace itself can't be listed.
            GitError: A folder was replaced while git looked at it.
        """
        scan = Scan()
        folders = _folders(tracked)
        # Level by level: git is asked once a level, and nothing ignored is listed.
        level = list(self._items(b"", self._root, self._ignore.begin()))
        while level:
            ignored = self._ignore.ignored(
                [
                    Question(item.path, item.directory, item.rules)
                    for item in level
                    if item.path not in (folders if item.directory else tracked)
                ]
            )
            level = [
                below
                for item in level
                if item.path not in ignored
                for below in self._look(item, scan)
            ]
        return scan

    def _look(self, item: _Item, scan: Scan) -> Iterator[_Item]:
        """Note a file, or list a folder."""
        try:
            if item.directory:
                yield from self._items(item.path + b"/", item.entry.path, item.rules)
            else:
                scan.files[item.path] = item.entry.stat(follow_symlinks=False)
        except OSError as error:
            if error.errno not in GONE:
                scan.closed.add(item.path)

    def _items(self, prefix: bytes, folder: bytes, rules: Rules) -> Iterator[_Item]:
        """List a folder, without what is never tracked."""
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if self._counts(entry)]
        for entry in found:
            if entry.name == IGNORE_FILE:
                rules = extended(rules, lstat(entry))
        for entry in found:
            yield _Item(prefix + entry.name, entry.is_dir(follow_symlinks=False), rules, entry)

    def _counts(self, entry: os.DirEntry[bytes]) -> bool:
        """Whether it is a file, a link or a folder that may be tracked."""
        # Every `.git` there is, in any case: on some file systems all of them are git's.
        if entry.name.lower() == b".git" or entry.path in self._skip:
            return False
        if entry.is_symlink():
            return entry.name.lower() != b".gitmodules"  # as a link, newer gits refuse it
        if entry.is_file(follow_symlinks=False):
            return True
        return entry.is_dir(follow_symlinks=False)  # no socket, pipe or device


def _folders(paths: Collection[bytes]) -> set[bytes]:
    """Every folder that a path lies in."""
    folders: set[bytes] = set()
    for path in paths:
        for folder in _above(path):
            if folder in folders:
                break
            folders.add(folder)
    return folders


def _above(path: bytes) -> Iterator[bytes]:
    """The folders a path lies in, innermost first."""
    while path := path.rpartition(b"/")[0]:
        yield path
