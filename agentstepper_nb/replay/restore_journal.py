"""The journal of a restore in place: a file beside the snapshots, by which the restore is put back.

A journal is written before the first file is changed, and names the commit with the state before. The
journal doesn't record progress: each file has either its old or its new state, and is checked again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import typed_json
from ..errors import WorkspaceError

_FOLDER: Final = "restores"


class RestoreJournal(Struct, frozen=True, kw_only=True):
    """The journal of one restore. Paths are relative to the folder; invalid UTF-8 is read as latin-1."""

    id: str  # orders the journals of a folder
    folder: str
    run: str
    row: int
    commit: str  # the snapshot that is restored
    previous_commit: str  # the state before
    temporary: str  # the name under which files are written, each in its folder
    is_done: bool = False
    written: tuple[str, ...] = ()  # files that the restore, or what puts it back, may write
    folders: dict[
        str, int
    ] = {}  # folders that were there where files are written or deleted; modes
    permissions: dict[str, int] = {}  # of files where they aren't those of a new file


def encode_path(path: bytes) -> str:
    """A path as a journal has it."""
    return path.decode("latin-1")


def decode_path(path: str) -> bytes:
    """The path that a journal has."""
    return path.encode("latin-1")


class JournalFolder:
    """The journals of one workspace.

    Args:
        git_dir: The workspace's private repository.
        folder: The workspace.
    """

    def __init__(self, git_dir: Path, folder: Path) -> None:
        self._path = git_dir / _FOLDER
        self._folder = folder

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Let one process at a time restore the workspace.

        Raises:
            WorkspaceError: Another process restores the workspace now.
        """
        self._path.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self._path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise WorkspaceError(
                    f"Another process is restoring files in {self._folder} now. Wait until it has "
                    "ended, and try again."
                ) from None
            yield
        finally:
            os.close(descriptor)

    def find_newest(self) -> RestoreJournal | None:
        """The journal of the newest restore that wasn't put back.

        Raises:
            WorkspaceError: It can't be read.
        """
        paths = sorted(self._path.glob("*.json"))
        if not paths:
            return None
        try:
            return typed_json.decode(paths[-1].read_bytes(), RestoreJournal)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise WorkspaceError(
                f"The journal {paths[-1]} of a restore in {self._folder} can't be read: {error}. The "
                "files before the restore are the newest commit below before-restore/ in the "
                "repository beside it."
            ) from error

    def save(self, journal: RestoreJournal) -> None:
        """Write a journal, whole or not at all, so that it outlives this process.

        Raises:
            OSError: It can't be written.
        """
        path = self._path / f"{journal.id}.json"
        new = path.with_suffix(".new")
        with new.open("wb") as file:
            file.write(msgspec.json.encode(journal))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)

    def finish(self, journal: RestoreJournal) -> None:
        """Say in a journal that all was done.

        Raises:
            OSError: It can't be written.
        """
        self.save(replace(journal, is_done=True))

    def delete(self, journal: RestoreJournal) -> None:
        """Delete a journal whose restore was put back.

        Raises:
            OSError: The journal can't be deleted.
        """
        (self._path / f"{journal.id}.json").unlink()
