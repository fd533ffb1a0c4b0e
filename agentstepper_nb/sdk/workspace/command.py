"""git, with nothing of the user's in it: no configuration, hook, filter or environment."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from agentstepper_nb.errors import WorkspaceError

_OLDEST = (2, 32)  # GIT_CONFIG_GLOBAL and GIT_CONFIG_COUNT: without them git isn't disarmed

#: Settings that win over those of any repository: git runs no program but itself.
_CONFIG = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.untrackedCache": "false",
    # Nothing is ever checked out, so a name that means `.git` on some other system is only a name.
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.quotePath": "false",
    "core.bigFileThreshold": "1m",  # what is larger isn't diffed; see files.BODY_LIMIT
    "gc.auto": "0",
    "maintenance.auto": "false",
}

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` would write the user's index
    "GIT_TERMINAL_PROMPT": "0",
    # Global ignore and attribute files have defaults below these, whatever the configuration says.
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
}


class GitError(Exception):
    """A git command failed.

    Args:
        command: What was called, as `fast-import`.
        status: Its exit status.
        message: What it said.
    """

    def __init__(self, command: str, status: int, message: str) -> None:
        super().__init__(f"git {command} failed with status {status}: {message or 'no message'}")


class Git:
    """One repository's git.

    Args:
        git_dir: The repository. Named outright, so that git neither searches for one nor minds who
            owns it.
        work_tree: The folder it looks at, for the commands that look at one.
        folder: Where to run, below the work tree.
        config: Settings beside the disarming ones.
    """

    def __init__(
        self,
        git_dir: Path,
        *,
        work_tree: Path | None = None,
        folder: Path | None = None,
        config: Mapping[str, str] | None = None,
    ) -> None:
        self.git_dir = git_dir
        self._folder = folder or work_tree or git_dir
        self._environment = {**_ENVIRONMENT, "GIT_DIR": str(git_dir)}
        if work_tree is not None:
            self._environment["GIT_WORK_TREE"] = str(work_tree)
        self._environment |= _as_environment({**_CONFIG, **(config or {})})

    def run(self, *arguments: str, stdin: bytes = b"", allowed: Sequence[int] = (0,)) -> bytes:
        """Run a command to its end.

        Args:
            arguments: The command's name and arguments.
            stdin: What it reads.
            allowed: The exit statuses that aren't failures.

        Returns:
            What it wrote.

        Raises:
            GitError: It failed.
        """
        with self.started(*arguments) as process:
            out, err = process.communicate(stdin)
        if process.returncode not in allowed:
            raise self.failure(arguments[0], process.returncode, err)
        return out

    @contextlib.contextmanager
    def started(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command beside us; leaving ends it."""
        process = self.start(*arguments)
        try:
            yield process
        finally:
            end(process)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command with all three pipes; the caller `end`s it."""
        return _start(self._folder, arguments, self._environment)

    def failure(self, command: str, status: int, message: bytes) -> GitError:
        """Make an error of what a failed command said."""
        return GitError(command, status, message.decode("utf-8", "backslashreplace").strip())


def end(process: subprocess.Popen[bytes]) -> None:
    """Let go of a process: killed where it still runs, its pipes closed."""
    if process.poll() is None:
        process.kill()
    for pipe in (process.stdin, process.stdout, process.stderr):
        _close(pipe)
    process.wait()


def check() -> None:
    """Make sure that there is a git, new enough to be disarmed.

    Raises:
        WorkspaceError: There is none.
    """
    version = _version()
    if version < _OLDEST:
        raise WorkspaceError(
            f"git {'.'.join(map(str, version))} is too old to watch the workspace: "
            f"install git {'.'.join(map(str, _OLDEST))} or newer, or run without a workspace."
        )


@functools.cache
def _version() -> tuple[int, ...]:
    process = _start(None, ["version"], _ENVIRONMENT)
    out, _ = process.communicate()
    if process.returncode != 0:
        raise _missing()
    digits = out.split()[2].decode("ascii", "replace").split(".")[:2]  # "2.39.5 (Apple Git-154)"
    return tuple(int(part) for part in digits)


def _start(
    folder: Path | None, arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    module = _git_python()
    command = [str(module.Git.GIT_PYTHON_GIT_EXECUTABLE or "git"), *arguments]
    # GitPython can add to the environment but not take away from it; `env` can.
    strangers = [
        name
        for name in os.environ
        if name.startswith("GIT_")
        and not name.startswith("GIT_PYTHON_")
        and name not in environment
    ]
    if strangers:
        command = ["env", *(f"-u{name}" for name in strangers), *command]
    try:
        wrapper = module.Git(folder).execute(
            command,
            istream=subprocess.PIPE,
            as_process=True,
            env=dict(environment),
            shell=False,
            start_new_session=True,  # an interrupt of the notebook's cell is not meant for git
        )
    except module.GitCommandNotFound as error:
        raise _missing() from error
    process: subprocess.Popen[bytes] = wrapper.proc
    wrapper.proc = None  # or it would end the process when collected
    return process


def _git_python() -> Any:
    """GitPython, which looks for git when it is imported."""
    try:
        import git
    except ImportError as error:
        raise _missing() from error
    return git


def _missing() -> WorkspaceError:
    return WorkspaceError(
        "git was not found, and the workspace is watched by it: install git (as `apt install git` "
        "or `conda install git`), or run without a workspace."
    )


def _as_environment(config: Mapping[str, str]) -> dict[str, str]:
    """Settings as variables: unlike `-c`, these may have any name."""
    environment = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (name, value) in enumerate(config.items()):
        environment[f"GIT_CONFIG_KEY_{number}"] = name
        environment[f"GIT_CONFIG_VALUE_{number}"] = value
    return environment


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with contextlib.suppress(BrokenPipeError):  # what was still to be written has no reader
            pipe.close()
