"""A cache of the files that were read last, so that the next run reads only changed files."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from .files import MAX_BODY_BYTES, FileEntry, FileStamp

_log = logging.getLogger("agentstepper_nb.workspace")

_VERSION = 1


class EntryCache:
    """The entries of a workspace's files, in a file beside its repository's objects.

    Without the cache, only time is lost; several runs write it, and the last one wins.

    Args:
        path: The path of the cache.
        max_stored_bytes: Bytes of the largest file that is stored.
    """

    def __init__(self, path: Path, max_stored_bytes: int) -> None:
        self._path = path
        # Written by another version, or with other limits, it says nothing.
        self._format = [_VERSION, MAX_BODY_BYTES, max_stored_bytes]

    def load(self) -> dict[bytes, FileEntry]:
        """Read the entries; none where there is nothing usable."""
        try:
            saved = json.loads(self._path.read_bytes())
            if saved["format"] != self._format:
                return {}
            return {os.fsencode(path): _entry(*row) for path, row in saved["files"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, LookupError) as error:
            _log.debug("The cache %s can't be read: %s", self._path, error)
            return {}

    def save(self, entries: Mapping[bytes, FileEntry]) -> None:
        """Write the entries, all or nothing."""
        files = {os.fsdecode(path): list(entry) for path, entry in entries.items()}
        text = json.dumps({"format": self._format, "files": files}, separators=(",", ":"))
        try:
            _replace(self._path, text.encode())
        except OSError as error:
            _log.debug("The cache %s can't be written: %s", self._path, error)


def _entry(
    mode: str,
    blob: str,
    size: int,
    binary: bool,
    digest: str | None,
    stamp: list[int],
    read_at: int,
) -> FileEntry:
    return FileEntry(mode, blob, size, binary, digest, FileStamp(*stamp), read_at)


def _replace(path: Path, data: bytes) -> None:
    """Write a file that another process may be reading."""
    descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - no path
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise
