"""Starts commands with the launcher, and defines the sandbox that confines nothing."""

from __future__ import annotations

import contextlib
import marshal
import os
import shutil
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, cast

from ...errors import SandboxError
from . import CommandLaunch, ResourceLimits, SandboxAccess, SandboxChoice
from .command_environment import make_environment
from .launcher.launch_spec import LaunchSpec
from .resource_limits import ResourceLimiter

#: Seconds that programs have to end by themselves when they are asked to.
GRACE_S: Final = 2.0

#: The protections that the launcher lacks without Linux's subreapers and /proc.
DAEMONS_NOT_ENDED: Final = "A program that leaves its session outlives its command."

_PROGRAM: Final = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from launcher.main import main; main(int(sys.argv[2]))"
)


@contextlib.contextmanager
def prepare_launch(
    spec: LaunchSpec, env: Mapping[str, str], limits: ResourceLimiter
) -> Iterator[CommandLaunch]:
    """Prepare a launcher. Leaving the context kills what the command left, if anything is there yet.

    Args:
        spec: How the command is started; the lifeline and the limits are set here.
        env: The command's environment, which is the launcher's, too.
        limits: What the command may use.

    Raises:
        SandboxError: This Python doesn't know its own program.
        OSError: The operating system refuses.
    """
    if not sys.executable:
        raise SandboxError(
            "No command can be started, because Python doesn't know its own program "
            "(`sys.executable` is empty). Start the agent by `python`."
        )
    with contextlib.ExitStack() as stack:
        readable, writable = os.pipe()  # the lifeline: this process alone holds its writable end
        stack.callback(os.close, readable)
        stack.callback(os.close, writable)
        applied = stack.enter_context(limits.apply())
        file = stack.enter_context(tempfile.TemporaryFile())
        complete: LaunchSpec = {
            **spec,
            "parent_death_fd": readable,
            "cgroups": [str(each) for each in applied.cgroups],
            "rlimits": list(applied.rlimits),
        }
        marshal.dump(cast(dict[str, Any], complete), file)
        file.seek(0)
        inherited = (file.fileno(), readable, *spec.get("pass_fds", ()))
        here = str(Path(__file__).parent)
        argv = (sys.executable, "-I", "-S", "-c", _PROGRAM, here, str(file.fileno()))
        yield CommandLaunch(argv=argv, env=dict(env), pass_fds=inherited)


def make_launch_spec(argv: Sequence[str], folder: Path, env: Mapping[str, str]) -> LaunchSpec:
    """The plainest orders for a command.

    Args:
        argv: The program and its arguments.
        folder: Where it runs.
        env: Its environment.

    Raises:
        FileNotFoundError: There is no such program.
        PermissionError: The program may not be run.
    """
    program = find_program(argv[0], folder, env)
    return LaunchSpec(program=program, argv=list(argv), parent_death_fd=-1, grace_s=GRACE_S)


def find_program(name: str, folder: Path, env: Mapping[str, str]) -> str:
    """Find the path of a program, as `execvp` does.

    Args:
        name: A name or a path; a path with a slash is relative to the folder.
        folder: The folder in which the program will run.
        env: The environment variables, with the PATH to search.

    Raises:
        FileNotFoundError: There is no such program.
        PermissionError: The file isn't executable.
    """
    if "/" in name:
        path = folder / name
        if not path.exists():
            raise FileNotFoundError(f"There is no program {name!r}.")
        if path.is_dir() or not os.access(path, os.X_OK):
            raise PermissionError(f"The program {name!r} isn't executable.")
        return str(path)
    # Of PATH's entries the relative ones start where the command runs.
    entries = [str(folder / entry) for entry in env.get("PATH", os.defpath).split(os.pathsep)]
    if found := shutil.which(name, path=os.pathsep.join(entries)):
        return found
    raise FileNotFoundError(f"There is no program {name!r} in PATH.")


class Sandbox(ABC):
    """Confines commands by means of the operating system.

    Args:
        limits: What one command may use.

    Attributes:
        name: Which sandbox it is.
    """

    name: SandboxChoice

    def __init__(self, limits: ResourceLimits | None = None) -> None:
        self._limits = ResourceLimiter(limits or ResourceLimits())

    @property
    def limits(self) -> tuple[str, ...]:
        """The resource limits in force, with their mechanism, as sentences for a person."""
        return self._limits.descriptions

    @property
    @abstractmethod
    def missing_protections(self) -> tuple[str, ...]:
        """The protections that this sandbox lacks here, as sentences for a person."""

    @abstractmethod
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> AbstractContextManager[CommandLaunch]:
        """Prepare a command.

        The command, and all that it started, is killed when the process that is started is killed, and
        when this process ends, however it ends. Leaving the context frees what the command needed, once
        the process has ended. Blocking: call it on a thread.

        Args:
            argv: The program and its arguments.
            folder: Where it runs.
            access: What it may reach.

        Raises:
            SandboxError: The command can't be confined as `access` says.
            OSError: The operating system refuses.
        """


class Unconfined(Sandbox):
    """Starts commands without any confinement, with the user's own HOME and temporary folder."""

    name = "none"

    @property
    def missing_protections(self) -> tuple[str, ...]:
        """The protections that this sandbox lacks: all."""
        other_gaps = () if sys.platform == "linux" else (DAEMONS_NOT_ENDED,)
        return (
            "Commands aren't confined: they read, change and delete what you can, and use "
            "the network.",
            "Approvals are no protection against the command itself: it can read the control token.",
            *other_gaps,
        )

    @contextlib.contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> Iterator[CommandLaunch]:
        """Prepare a command; see `Sandbox.prepare_command`. Nothing of `access` is enforced."""
        env = make_environment()
        with prepare_launch(make_launch_spec(argv, folder, env), env, self._limits) as launch:
            yield launch
