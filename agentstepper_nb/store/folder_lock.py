"""The lock that gives a folder one owner, and reports the owner to other processes."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from filelock import BaseFileLock, FileLock, Timeout

from ..errors import StoreError, StoreLockedError

#: The locked file, which names the owner.
LOCK_FILE: Final = "lock"

#: Seconds to wait for the lock: a process that only checks the lock holds it for a moment.
_TIMEOUT_S: Final = 0.1
_RETRY_S: Final = 0.02  # between two tries
#: The errors of file systems without locks.
_NO_LOCKS: Final = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}


@dataclass(frozen=True)
class LockHolder:
    """The holder of a folder's lock.

    Args:
        pid: The process id; 0 if the file has none.
        host: The process's machine.
        program: The program's name, such as "agentstepper serve".
        locked_at: The time of locking, POSIX seconds.
    """

    pid: int = 0
    host: str = ""
    program: str = ""
    locked_at: float = 0.0

    def __str__(self) -> str:
        if not self.pid:
            return "another process"
        day = "" if time.time() - self.locked_at < 12 * 3600 else "%Y-%m-%d "
        began = time.strftime(f"{day}%H:%M", time.localtime(self.locked_at))
        return f"{self.program} (pid {self.pid} on {self.host}, since {began})"


class FolderLock:
    """A folder's lock, held until it is released or the process ends for any reason.

    A forked child doesn't hold the lock.

    Args:
        folder: The folder.
        file: The folder's lock file, which is locked.
    """

    def __init__(self, folder: Path, file: BaseFileLock) -> None:
        self.folder = folder
        self._file = file

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._file.is_locked:
            with suppress(FileNotFoundError):  # the folder may be gone
                os.truncate(self._file.lock_file, 0)  # what it said is no longer so
            self._file.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def lock_folder(folder: Path, program: str) -> FolderLock:
    """Lock a folder, and become its owner.

    Args:
        folder: The folder; created for this user only if it doesn't exist.
        program: This program's name, for other processes: "agentstepper serve".

    Raises:
        StoreLockedError: Another process, or this one, holds the lock already.
        StoreError: The folder can't be created or locked.
    """
    path = folder / LOCK_FILE
    file = FileLock(
        path,
        timeout=_TIMEOUT_S,
        poll_interval=_RETRY_S,
        mode=0o600,
        thread_local=False,
        fallback_to_soft=False,
    )
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.acquire()
    except Timeout:
        raise StoreLockedError(str(folder), str(_read(path))) from None
    except OSError as error:
        raise StoreError(_explain_lock_failure(folder, error)) from error
    lock = FolderLock(folder, file)
    try:
        _write(path, LockHolder(os.getpid(), socket.gethostname(), program, time.time()))
    except BaseException:
        lock.release()
        raise
    return lock


def _explain_lock_failure(folder: Path, error: OSError) -> str:
    if error.errno in _NO_LOCKS:
        return (
            f"The file system of {folder} has no locks, so that two Cores could write "
            f"there at once ({error.strerror}). Choose a folder on a disk of this machine."
        )
    return (
        f"Runs can't be stored in {folder}: {error.strerror or error}. Make the folder "
        "writable, or choose another."
    )


def find_lock_holder(folder: Path) -> LockHolder | None:
    """Find the holder of a folder's lock, without locking it; None if the folder isn't locked.

    The lock is tried as a shared one, which filelock lacks: otherwise two processes that check at the
    same time would each take the other for the owner.
    """
    path = folder / LOCK_FILE
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(path)
    except OSError:  # never taken, or locks aren't to be had there
        return None
    return None


def lock_first_free_folder(base: Path, program: str) -> tuple[Path, FolderLock]:
    """Lock the first of `base`, `base/2`, `base/3` and so on that isn't locked.

    Args:
        base: The preferred folder.
        program: As for `lock_folder`.

    Raises:
        StoreError: A folder can't be created or locked.
    """
    for number in count(1):
        folder = base if number == 1 else base / str(number)
        try:
            return folder, lock_folder(folder, program)
        except StoreLockedError:
            continue
    raise AssertionError("unreachable")


def _read(path: Path) -> LockHolder:
    """Read the holder from the file, which may be empty yet or damaged."""
    try:
        document: Any = json.loads(path.read_bytes())
        return LockHolder(
            pid=int(document["pid"]),
            host=str(document["host"]),
            program=str(document["what"]),
            locked_at=float(document["since"]),
        )
    except (ValueError, TypeError, KeyError, OSError):
        return LockHolder()


def _write(path: Path, holder: LockHolder) -> None:
    # Another version of this program may read it: its keys stay.
    document = {
        "pid": holder.pid,
        "host": holder.host,
        "what": holder.program,
        "since": holder.locked_at,
    }
    path.write_bytes(json.dumps(document).encode() + b"\n")
