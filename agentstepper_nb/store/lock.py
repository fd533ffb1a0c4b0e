"""A folder's one owner: who holds it, told to whoever comes second."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
import weakref
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from ..errors import StoreError, StoreTakenError

#: The file that is locked; it says who holds it.
LOCK_FILE: Final = "lock"

#: Somebody who only looks whether a folder is free holds it for a moment.
_TRIES: Final = 5
_PAUSE: Final = 0.02  # seconds between them


@dataclass(frozen=True)
class Holder:
    """Who holds a folder.

    Args:
        pid: The process; 0 where the file doesn't say.
        host: Its machine.
        what: What it is: "agentstepper serve".
        since: When it took the folder, POSIX seconds.
    """

    pid: int = 0
    host: str = ""
    what: str = ""
    since: float = 0.0

    def __str__(self) -> str:
        if not self.pid:
            return "another process"
        day = "" if time.time() - self.since < 12 * 3600 else "%Y-%m-%d "
        began = time.strftime(f"{day}%H:%M", time.localtime(self.since))
        return f"{self.what} (pid {self.pid} on {self.host}, since {began})"


class Lock:
    """A folder that is held, until it is released or the process ends, however that happens.

    Args:
        folder: The folder.
        file: The descriptor of its lock file, which is locked.
    """

    def __init__(self, folder: Path, file: int) -> None:
        self.folder = folder
        self._file = file
        _held.add(self)

    def release(self) -> None:
        """Let the folder go. Idempotent."""
        if self._file >= 0:
            os.ftruncate(self._file, 0)  # what it said is no longer so
            self.forget()

    def forget(self) -> None:
        """Close the file: what a forked child does with what its parent holds, and goes on holding."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


#: A lock belongs to the open file, which a forked child shares: it would outlive the parent there.
_held: weakref.WeakSet[Lock] = weakref.WeakSet()


def _forget_all() -> None:
    for lock in list(_held):
        lock.forget()


os.register_at_fork(after_in_child=_forget_all)


def take(folder: Path, what: str) -> Lock:
    """Become a folder's owner.

    Args:
        folder: Made where it is missing, for this user alone.
        what: What this process is, for whoever comes second: "agentstepper serve".

    Raises:
        StoreTakenError: Another process, or this one, holds it already.
        StoreError: The folder can't be made or locked.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(
            f"Runs can't be kept in {folder}: {error.strerror or error}. Make the folder yours, or "
            "choose another."
        ) from error
    try:
        if not _locked(file, folder):
            raise StoreTakenError(str(folder), str(_read(file)))
        _write(file, Holder(os.getpid(), socket.gethostname(), what, time.time()))
    except BaseException:
        os.close(file)
        raise
    return Lock(folder, file)


def holder(folder: Path) -> Holder | None:
    """Tell who holds a folder, without taking it; None where nobody does."""
    try:
        file = os.open(folder / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # never taken
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(file)
    except OSError:  # locks aren't to be had there
        return None
    finally:
        os.close(file)
    return None


def free_folder(base: Path, what: str) -> tuple[Path, Lock]:
    """Take the first of `base`, `base/2`, `base/3` and so on that nobody holds.

    Args:
        base: The folder that is wanted.
        what: As for `take`.

    Raises:
        StoreError: A folder can't be made or locked.
    """
    for number in count(1):
        folder = base if number == 1 else base / str(number)
        try:
            return folder, take(folder, what)
        except StoreTakenError:
            continue
    raise AssertionError("unreachable")


def _locked(file: int, folder: Path) -> bool:
    for left in reversed(range(_TRIES)):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
        except OSError as error:
            if error.errno == errno.EINTR:
                continue
            raise StoreError(
                f"The file system of {folder} has no locks, so that two Cores could write there at "
                f"once ({error.strerror}). Choose a folder on a disk of this machine."
            ) from error
    return False


def _read(file: int) -> Holder:
    """What the holder wrote; it may not have come to that yet, or the file may be damaged."""
    try:
        document: Any = json.loads(os.pread(file, 4096, 0))
        return Holder(
            pid=int(document["pid"]),
            host=str(document["host"]),
            what=str(document["what"]),
            since=float(document["since"]),
        )
    except (ValueError, TypeError, KeyError, OSError):
        return Holder()


def _write(file: int, holder: Holder) -> None:
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps(asdict(holder)).encode() + b"\n", 0)
