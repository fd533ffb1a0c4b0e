"""Starting a child process that doesn't outlive this one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Final

_PARENT_GUARD: Final = Path(__file__).with_name("parent_guard.py")


def start_process(
    program: Sequence[str], folder: str | None, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a program in this process group, with its output in two pipes.

    On Linux the program gets SIGTERM when this process ends, even if it is killed.

    Raises:
        OSError: The program can't be run, or the folder doesn't exist.
    """
    _check(program[0], folder, environment)
    if not (sys.platform == "linux" and sys.executable):
        return _popen(program, folder, environment)
    guard = [sys.executable, "-I", "-S", str(_PARENT_GUARD), str(os.getpid())]
    return _get_spawn_thread().start([*guard, *program], folder, environment)


def _check(name: str, folder: str | None, environment: Mapping[str, str]) -> None:
    """Refuse here, with an exception, what would fail there."""
    if folder is not None and not Path(folder).is_dir():
        raise NotADirectoryError(f"cwd={folder!r} isn't a folder.")
    if os.sep in name:
        path = Path(folder or ".") / name
        if not path.exists():
            raise FileNotFoundError(f"There is no program {str(path)!r}.")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise PermissionError(
                f"{str(path)!r} isn't an executable file. Run a Python file as "
                "[sys.executable, 'agent.py', …]."
            )
    elif shutil.which(name, path=environment.get("PATH")) is None:
        raise FileNotFoundError(
            f"There is no program {name!r} on PATH. To run this Python, pass sys.executable."
        )


def _popen(
    command: Sequence[str], folder: str | None, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,  # a notebook has no keyboard to lend
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


class _SpawnThread:
    """The thread that starts children: to Linux, a parent ends with the thread that forked.

    A cell's thread ends with the cell, so this thread forks, which lasts as long as the process.
    """

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._requests: SimpleQueue[
            tuple[Sequence[str], str | None, Mapping[str, str], Future[subprocess.Popen[bytes]]]
        ] = SimpleQueue()
        threading.Thread(target=self._run, name="agentstepper-spawn", daemon=True).start()

    def start(
        self, command: Sequence[str], folder: str | None, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start a command on this thread."""
        started: Future[subprocess.Popen[bytes]] = Future()
        self._requests.put((command, folder, environment, started))
        try:
            return started.result()
        except BaseException:
            started.add_done_callback(_discard)  # interrupted: nobody would know the child
            raise

    def _run(self) -> None:
        while True:
            command, folder, environment, started = self._requests.get()
            try:
                started.set_result(_popen(command, folder, environment))
            except BaseException as error:
                started.set_exception(error)
            del started


def _discard(started: Future[subprocess.Popen[bytes]]) -> None:
    if started.exception() is None:
        started.result().kill()


_lock = threading.Lock()
_current: _SpawnThread | None = None


def _get_spawn_thread() -> _SpawnThread:
    """The spawn thread of this process; a forked child makes its own."""
    global _current
    with _lock:
        if _current is None or _current.pid != os.getpid():
            _current = _SpawnThread()
        return _current


def _reset_after_fork() -> None:
    global _lock, _current
    _lock, _current = threading.Lock(), None


os.register_at_fork(after_in_child=_reset_after_fork)
