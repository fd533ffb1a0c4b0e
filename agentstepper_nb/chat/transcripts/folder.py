"""The transcripts of an installation: which there are, and one of them."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Container
from pathlib import Path
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.chat import SessionInfo
from .file import FileLines, MemoryLines, ReadLines
from .transcript import DAMAGED, Transcript, first_line, noted

log = logging.getLogger("agentstepper_nb.chat")

#: How a transcript's name ends.
_ENDING: Final = ".jsonl"
#: Bytes at a file's beginning and end, in which its first and its last line are looked for.
_ENDS: Final = 64 * 1024


class Transcripts:
    """Those of an installation.

    Args:
        folder: Where they are; None: in memory, and gone with the process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        #: What each file says, by its name, for as long as the file is the same.
        self._known: dict[str, tuple[tuple[int, int], SessionInfo | None]] = {}

    def create(self, session: SessionInfo) -> Transcript:
        """That of a new session. A file is made with its first message."""
        lines = MemoryLines() if self._folder is None else FileLines(self._path(session.id))
        return Transcript(lines, session)

    def open(self, session_id: str) -> Transcript:
        """One that is kept.

        Raises:
            CommandError: `unknown_session`: there is none; `session_open`: another process has it;
                `session_failed`: it can't be read.
        """
        path = self._path(session_id)
        lines: FileLines | None = None
        try:
            lines = FileLines(path)
            if not lines.size:
                raise FileNotFoundError
            return Transcript(lines, first_line(lines.read(0, _ENDS), session_id))
        except (OSError, *DAMAGED) as error:
            if lines is not None:
                lines.close()
            if isinstance(error, FileNotFoundError):
                raise unknown(session_id) from None
            raise CommandError(
                "session_failed", f"The chat session in {path} can't be read: {error}."
            ) from None

    def kept(self, beside: Container[str] = ()) -> list[SessionInfo]:
        """The sessions whose transcripts are kept, in no order.

        Args:
            beside: Ids of those that needn't be looked at: they are open here.
        """
        if self._folder is None:
            return []
        known = {}
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if _is_transcript(entry) and entry.name.removesuffix(_ENDING) not in beside:
                        known[entry.name] = self._look(entry)
        except OSError:  # there is no folder yet
            return []
        self._known = known
        return [info for _, info in known.values() if info is not None]

    def _look(self, entry: os.DirEntry[str]) -> tuple[tuple[int, int], SessionInfo | None]:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:  # deleted meanwhile
            return (0, 0), None
        if not stat.S_ISREG(status.st_mode):  # to open a pipe may take for ever
            return (0, 0), None
        mark = (status.st_mtime_ns, status.st_size)
        known = self._known.get(entry.name)
        if known is not None and known[0] == mark:
            return known
        try:
            return mark, _summary(Path(entry.path))
        except (OSError, *DAMAGED) as error:
            log.warning("%s can't be listed: %s", entry.path, error)
            return mark, None

    def _path(self, session_id: str) -> Path:
        if self._folder is None or not is_session_id(session_id):
            raise unknown(session_id)
        return self._folder / f"{session_id}{_ENDING}"


def is_session_id(text: str) -> bool:
    """Whether a session may have such an id: it is a file's name."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False


def unknown(session_id: str) -> CommandError:
    """There is no such session."""
    return CommandError("unknown_session", f"There is no chat session {session_id[:100]!r}.")


def _is_transcript(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_ENDING) and is_session_id(entry.name.removesuffix(_ENDING))


def _summary(path: Path) -> SessionInfo:
    """What a file says of its session: by its last line, where that is a note, else by all of it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        first = first_line(file.read(_ENDS), path.stem)
        file.seek(max(0, os.fstat(descriptor).st_size - _ENDS))
        tail = file.read()
        last = noted(tail.rstrip(b"\n").rpartition(b"\n")[2]) if tail.endswith(b"\n") else None
        if last is not None:
            return replace(last, id=path.stem)
        return Transcript(ReadLines(descriptor), first).summary()
