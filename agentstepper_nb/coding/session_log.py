"""The log of a coding session: a line an entry, appended as it happens."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from ..errors import SessionError
from .entries import Entry

#: How often a lock is tried, and the seconds between.
_TRIES: Final = 5
_PAUSE_S: Final = 0.01


class SessionLog:
    """Appends to a log, which belongs to one process at a time.

    ::

        with SessionLog(path) as log:
            log.append(UserPrompt(content="fix the tests"))

    A line that a crash cut short stays as it is, and what follows begins on a line of its own.

    Args:
        path: The file, which is made where there is none, for this user alone.
        now: Gives the time.

    Raises:
        SessionError: Another process has it open, or it can't be opened.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._now = now
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise SessionError(f"The session's log {path} can't be opened: {error}.") from None
        try:
            self._take()
        except BaseException:
            os.close(self._descriptor)
            raise
        self._closed = False

    def append(self, entry: Entry | dict[str, Any]) -> None:
        """Write an entry; it outlives this process once this returns.

        Args:
            entry: The entry; a dict is one of a kind that `event_entry` makes.

        Raises:
            OSError: It could not be written.
            ValueError: JSON can't carry it.
        """
        if self._closed:
            return
        line = {"timestamp": _stamp(self._now()), "data": entry}
        self._write(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Let go of the file. Idempotent."""
        if not self._closed:
            self._closed = True
            os.close(self._descriptor)

    def __enter__(self) -> SessionLog:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _take(self) -> None:
        if not self._locked():
            raise SessionError(
                f"The session {self.path.stem} is open in another process: end it there first."
            )
        size = os.fstat(self._descriptor).st_size
        if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
            self._write(b"\n")

    def _locked(self) -> bool:
        """Lock the file; tried again, since a list of sessions holds it for a moment."""
        for _ in range(_TRIES):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_PAUSE_S)
            else:
                return True
        return False

    def _write(self, data: bytes) -> None:
        # One write, so that a reader beside us sees whole lines; a full disk may still cut it.
        written = os.write(self._descriptor, data)
        while written < len(data):
            written += os.write(self._descriptor, data[written:])


def is_held(path: Path) -> bool:
    """Whether a process has a session's log open.

    Args:
        path: The log.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
