"""The one place that starts git, with nothing of the user's in it: no configuration, hook or filter."""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from agentstepper_nb.errors import WorkspaceError

from .git_environment import find_git, make_arguments, make_environment

_MIN_VERSION = (2, 32)  # GIT_CONFIG_GLOBAL and GIT_CONFIG_COUNT: without them git isn't disarmed

#: Seconds that a git command may take: it may read a pipe that no process writes to.
TIMEOUT_S: Final = 30.0


class GitError(Exception):
    """A git command failed.

    Args:
        command: The git command, as `fast-import`.
        status: The command's exit status.
        message: The command's error output.
    """

    def __init__(self, command: str, status: int, message: str) -> None:
        super().__init__(f"git {command} failed with status {status}: {message or 'no message'}")


class Git:
    """Runs git on one repository.

    Args:
        git_dir: The repository. Named outright, so that git neither searches for one nor minds who
            owns it.
        work_tree: The work tree, for the commands that read one.
        folder: The folder to run git in, below the work tree.
        config: Settings besides those that disarm git.
        workspace: The folder that an agent may write to, from which no git program is executed; the
            work tree by default.
        timeout_s: Seconds that a command may take.
    """

    def __init__(
        self,
        git_dir: Path,
        *,
        work_tree: Path | None = None,
        folder: Path | None = None,
        config: Mapping[str, str] | None = None,
        workspace: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.git_dir = git_dir
        self._timeout_s = timeout_s
        self._folder = folder or work_tree or git_dir
        self._workspace = workspace or work_tree or folder
        self._config = config
        self._variables = {"GIT_DIR": str(git_dir)}
        if work_tree is not None:
            self._variables["GIT_WORK_TREE"] = str(work_tree)

    def with_config(self, config: Mapping[str, str]) -> Git:
        """The same git with more settings."""
        git = copy.copy(self)
        git._config = {**(self._config or {}), **config}
        return git

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        allowed_statuses: Sequence[int] = (0,),
        timeout_s: float | None = None,
    ) -> bytes:
        """Run a command to its end.

        Args:
            arguments: The command's name and arguments.
            stdin: The command's input.
            allowed_statuses: The exit statuses that aren't failures.
            timeout_s: Seconds that the command may take; None: as long as each command.

        Returns:
            The command's output.

        Raises:
            GitError: The command failed, or took too long.
        """
        with self._bounded(arguments, timeout_s or self._timeout_s) as process:
            out, err = process.communicate(stdin)
            if process.returncode not in allowed_statuses:
                raise self.failure(arguments[0], process.returncode, err)
        return out

    def read(self, *arguments: str, size_bytes: int) -> bytes:
        """Run a command with much output, and read the beginning.

        Args:
            arguments: The command's name and arguments.
            size_bytes: The bytes to read; a command that writes more is ended.

        Raises:
            GitError: The command failed, or took too long.
        """
        with self._bounded(arguments, self._timeout_s) as process:
            assert process.stdout is not None and process.stderr is not None
            out = process.stdout.read(size_bytes)
            if len(out) < size_bytes:
                said = process.stderr.read()
                if process.wait() != 0:
                    raise self.failure(arguments[0], process.returncode, said)
        return out

    @contextlib.contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command beside us; leaving ends it."""
        process = self.start(*arguments)
        try:
            yield process
        finally:
            end_process(process)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command with all three pipes; the caller `end`s it."""
        return _start(
            self._folder,
            arguments,
            make_environment(self._variables, self._config, self._workspace),
        )

    def failure(self, command: str, status: int, message: bytes) -> GitError:
        """Make an error from a failed command's output."""
        return GitError(command, status, message.decode("utf-8", "backslashreplace").strip())

    @contextlib.contextmanager
    def _bounded(
        self, arguments: Sequence[str], timeout_s: float
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command beside us, which is killed where it takes too long."""
        late = threading.Event()
        with self.started(*arguments) as process:

            def kill() -> None:
                late.set()
                _kill(process)

            timer = threading.Timer(timeout_s, kill)
            timer.daemon = True
            timer.start()
            try:
                yield process
            except GitError as error:
                if not late.is_set():
                    raise
                message = (
                    f"it took longer than {timeout_s:g} s; check that no file that git reads "
                    "is a pipe"
                )
                raise GitError(arguments[0], process.returncode, message) from error
            finally:
                timer.cancel()


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Let go of a process: killed where it still runs, its pipes closed."""
    _kill(process)
    for pipe in (process.stdin, process.stdout, process.stderr):
        _close(pipe)
    process.wait()


def check_git() -> None:
    """Make sure that there is a git, new enough to be disarmed.

    Raises:
        WorkspaceError: There is none.
    """
    number = tuple(int(part) for part in find_git_version().split(".")[:2])
    if number < _MIN_VERSION:
        raise WorkspaceError(
            f"git {'.'.join(map(str, number))} is too old to watch the workspace. Install "
            f"git {'.'.join(map(str, _MIN_VERSION))} or newer, or run without a workspace."
        )


@functools.cache
def find_git_version() -> str:
    """Git's version, as `2.39.5`.

    Raises:
        WorkspaceError: There is no git.
    """
    process = _start(Path("/"), ["version"], make_environment({}))
    out, _ = process.communicate()
    if process.returncode != 0:
        raise _missing()
    return out.split()[2].decode("ascii", "replace")  # of "git version 2.39.5 (Apple Git-154)"


def _start(
    folder: Path, command: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    program = find_git(environment["PATH"])
    if program is None:
        raise _missing()
    try:
        return subprocess.Popen(
            [program, *make_arguments(command)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # an interrupt of the notebook's cell is not meant for git
        )
    except OSError as error:
        raise GitError(command[0], 127, str(error)) from error


def _missing() -> WorkspaceError:
    return WorkspaceError(
        "git was not found outside of the workspace, and watching the workspace needs "
        "git. Install git (as `apt install git` or `conda install git`), or run without "
        "a workspace."
    )


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill what still runs, with the processes of its session."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            os.killpg(process.pid, signal.SIGKILL)


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader
            pipe.close()
