"""Reads the workspace into a draft: changed files are read, unchanged ones known by their stamps."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import NamedTuple

from .commit_draft import CommitDraft
from .files import FileEntry, FileLimits, read_file
from .git_names import escape_line_breaks, format_wire_name
from .scan import MISSING_ERRNOS, ScanResult, TrackedFiles, WorkspaceScanner

_log = logging.getLogger("agentstepper_nb.workspace")

_MAX_NAMED = 5  # in a warning; the others are counted


class KnownFiles(NamedTuple):
    """The files that are known before the workspace is scanned."""

    parent: Mapping[bytes, FileEntry]  # the files of the draft's parent commit
    seen: Mapping[bytes, FileEntry]  # files whose contents are in the repository
    tracked: TrackedFiles


class WorkspaceReader:
    """Reads a workspace.

    Args:
        root: The workspace.
        scanner: Scans the workspace.
        limits: Limits of a file's stored bytes.
    """

    def __init__(self, root: bytes, scanner: WorkspaceScanner, limits: FileLimits) -> None:
        self._limits = limits
        self._root = root
        self._scanner = scanner
        self._warned: set[bytes] = set()

    def read_into(self, draft: CommitDraft, known: KnownFiles) -> Mapping[bytes, FileEntry]:
        """Put the differences between the workspace and a draft's parent into the draft.

        Files that can't be read stay unchanged in the draft.

        Returns:
            The files of the draft; the parent's own mapping where nothing differs.

        Raises:
            OSError: The workspace itself can't be listed.
            GitError: git failed.
        """
        scan = self._scanner.scan(known.tracked, known.seen)
        if not scan.files and not scan.unreadable and scan.unchanged == known.parent:
            return known.parent
        files = _retain_unreadable(scan, known.parent)
        for path in [
            path for path in known.parent if not scan.has_file(path) and path not in files
        ]:
            draft.remove(path)  # first: a folder may have become a file
        for path, entry in scan.unchanged.items():
            files[path] = entry
            self._put(draft, path, entry, None, known)
        for path, found in scan.files.items():
            read_entry = self._read(draft, path, found, known, scan.unreadable)
            if read_entry is not None:
                files[path] = read_entry
        self._warn(scan.unreadable)
        return files

    def _read(
        self,
        draft: CommitDraft,
        path: bytes,
        found: os.stat_result,
        known: KnownFiles,
        unreadable: set[bytes],
    ) -> FileEntry | None:
        """Read one file into the draft, unless it is there already."""
        parent = known.parent.get(path)
        try:
            entry, data = read_file(self._root, path, found, self._limits)
        except OSError as error:
            if error.errno not in MISSING_ERRNOS:
                unreadable.add(path)
                return parent
            if parent is not None:
                draft.remove(path)
            return None
        self._put(draft, path, entry, data, known)
        return entry

    def _put(
        self,
        draft: CommitDraft,
        path: bytes,
        entry: FileEntry,
        data: bytes | None,
        known: KnownFiles,
    ) -> None:
        parent = known.parent.get(path)
        if entry is not parent and not entry.is_same(parent):
            draft.put(path, entry.mode, entry.blob, data)

    def _warn(self, unreadable: set[bytes]) -> None:
        """Say once of each path that it is left out."""
        new = sorted(unreadable - self._warned)
        if not new:
            return
        self._warned.update(new)
        names = ", ".join(escape_line_breaks(format_wire_name(path)) for path in new[:_MAX_NAMED])
        more = f" and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
        _log.warning("Can't be read and isn't watched: %s%s", names, more)


def _retain_unreadable(
    scan: ScanResult, parent: Mapping[bytes, FileEntry]
) -> dict[bytes, FileEntry]:
    """Files that lie where we couldn't look."""
    if not scan.unreadable:
        return {}
    return {
        path: entry
        for path, entry in parent.items()
        if not scan.has_file(path) and scan.is_below_unreadable(path)
    }
