"""The places for worker processes on one machine, each held by the process that fills it.

A place is a file that its worker has locked: whoever comes later sees whether a worker is there, also
where the Dask worker that started it is gone.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import AgentStepperError

#: `-P`: what lies in the folder where it starts is not imported in the package's place.
_COMMAND: Final = (sys.executable, "-P", "-m", "agentstepper_nb", "worker")


class FleetFolderError(AgentStepperError, OSError):
    """The folder of a fleet's files on a machine can't be used."""


def open_fleet_folder(name: str) -> Path:
    """The folder on this machine that a fleet keeps its files in; nobody else may write there.

    Args:
        name: The fleet's name.

    Raises:
        FleetFolderError: The folder is another user's.
    """
    own = Path(tempfile.gettempdir()) / f"agentstepper-fleet-{os.getuid()}" / name
    _make_folder(own)
    return own


def _make_folder(own: Path) -> None:
    folder = own.parent
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise FleetFolderError(
            f"The folder {folder} isn't this user's alone. Delete it, or set TMPDIR to another folder."
        )
    own.mkdir(mode=0o700, exist_ok=True)


class WorkerSlot:
    """A place for one worker process, which is a process of its own: it outlives who started it.

    Args:
        folder: The fleet's on this machine.
        name: The place's, as a file's name.
        options: What `agentstepper worker` is told.
        make_environment: Makes the worker's environment, and the files in the folder that it names.

    Attributes:
        log_file: What the worker says.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        options: Sequence[str],
        make_environment: Callable[[], Mapping[str, str]],
    ) -> None:
        self._folder = folder
        self.log_file = folder / f"{name}.log"
        self._lock_file = folder / f"{name}.lock"
        self._command = [*_COMMAND, *options]
        self._make_environment = make_environment
        self._process: subprocess.Popen[bytes] | None = None

    def is_empty(self) -> bool:
        """Whether no worker is there."""
        if self._find_own() is not None:
            return False
        descriptor = self._open_lock()
        try:
            return _lock(descriptor)
        finally:
            os.close(descriptor)

    @property
    def pid(self) -> int | None:
        """The process id of the worker that is there; None where none is, or one just begins."""
        own = self._find_own()
        if own is not None:
            return own
        text = "" if self.is_empty() else self._lock_file.read_text()
        return int(text) if text.isdecimal() else None

    def fill(self) -> bool:
        """Start a worker where none is.

        Returns:
            Whether one was started.

        Raises:
            OSError: It can't be started.
        """
        if self._find_own() is not None:
            return False
        descriptor = self._open_lock()
        try:
            if not _lock(descriptor):
                return False
            environment = self._make_environment()
            os.ftruncate(descriptor, 0)
            with suppress(FileNotFoundError):
                self.log_file.replace(f"{self.log_file}.1")  # how the one before ended
            with self.log_file.open("wb") as log:
                self._process = subprocess.Popen(
                    self._command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # signals to the Dask worker's group aren't the worker's
                    pass_fds=(descriptor,),  # with it the worker holds the lock
                )
            os.pwrite(descriptor, str(self._process.pid).encode(), 0)
            return True
        finally:
            os.close(descriptor)

    def drain(self) -> None:
        """Ask the worker that is there to hand over its sessions and end."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _open_lock(self) -> int:
        _make_folder(self._folder)  # whoever cleans /tmp may have deleted it
        return os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _find_own(self) -> int | None:
        """The process id of a worker that this process started and that runs, whatever became of its
        lock file.
        """
        if self._process is None or self._process.poll() is not None:
            return None
        return self._process.pid


def _lock(descriptor: int) -> bool:
    """Lock an open file; whether nobody else has."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
