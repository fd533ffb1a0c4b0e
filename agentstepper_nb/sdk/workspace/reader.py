"""Reading the workspace into a draft: what is new is read, the rest is known by its stamp."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Set
from typing import NamedTuple

from .command import GitError
from .draft import Draft
from .files import Entry, Stamp, read
from .names import on_wire, one_line
from .scan import GONE, Scan, Scanner

_log = logging.getLogger("agentstepper_nb.workspace")

_NAMED = 5  # in a warning; the others are counted


class Known(NamedTuple):
    """What is known of the workspace before it is looked at."""

    parent: Mapping[bytes, Entry]  # the files of the draft's parent commit
    seen: Mapping[bytes, Entry]  # files whose contents are in the repository
    tracked: Set[bytes]  # files that `.gitignore` doesn't rule over


class Reader:
    """Reads a workspace.

    Args:
        root: The workspace.
        scanner: Looks at it.
    """

    def __init__(self, root: bytes, scanner: Scanner) -> None:
        self._root = root.rstrip(b"/") + b"/"
        self._scanner = scanner
        self._warned: set[bytes] = set()

    def read_into(self, draft: Draft, known: Known) -> dict[bytes, Entry]:
        """Put into a draft what differs from its parent.

        What can't be looked at or read stays as it was.

        Returns:
            The files of the draft.

        Raises:
            OSError: The workspace itself can't be listed.
            GitError: git failed.
        """
        scan = self._scan(known.tracked)
        files = _kept(scan, known.parent)
        for path in known.parent.keys() - scan.files.keys() - files.keys():
            draft.remove(path)  # first: a folder may have become a file
        for path, found in scan.files.items():
            entry = self._put(draft, path, found, known, scan.closed)
            if entry is not None:
                files[path] = entry
        self._warn(scan.closed)
        return files

    def _scan(self, tracked: Set[bytes]) -> Scan:
        try:
            return self._scanner.scan(tracked)
        except GitError:  # the agent moved something while git looked at it
            return self._scanner.scan(tracked)

    def _put(
        self, draft: Draft, path: bytes, found: os.stat_result, known: Known, closed: set[bytes]
    ) -> Entry | None:
        """Bring one file into the draft, unless it is there already."""
        parent, seen = known.parent.get(path), known.seen.get(path)
        data = None
        if seen is not None and seen.fresh(Stamp.of(found)):
            entry = seen
        else:
            try:
                entry, data = read(self._root + path, found)
            except OSError as error:
                if error.errno not in GONE:
                    closed.add(path)
                    return parent
                if parent is not None:
                    draft.remove(path)
                return None
        if not entry.same(parent):
            draft.put(path, entry.mode, entry.blob, data)
        return entry

    def _warn(self, closed: set[bytes]) -> None:
        """Say once of each path that it is left out."""
        new = sorted(closed - self._warned)
        if not new:
            return
        self._warned.update(new)
        names = ", ".join(one_line(on_wire(path)) for path in new[:_NAMED])
        more = f" and {len(new) - _NAMED} more" if len(new) > _NAMED else ""
        _log.warning("Can't be read and isn't watched: %s%s", names, more)


def _kept(scan: Scan, parent: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
    """Files that lie where we couldn't look."""
    if not scan.closed:
        return {}
    return {
        path: entry for path, entry in parent.items() if path not in scan.files and scan.hides(path)
    }
