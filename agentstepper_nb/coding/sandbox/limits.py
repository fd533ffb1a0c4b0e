"""What limits a command's memory and processes here: control groups, else the limits of a process."""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from . import cgroups
from .base import GIB, ResourceLimits
from .cgroups import Controller, Place

_IS_LINUX: Final[bool] = sys.platform == "linux"
_MIB: Final = 1024**2
# The number of the first process namespace in each kernel.
_FIRST_NAMESPACE: Final = "pid:[4026531836]"


class Applied(Struct, frozen=True):
    """What one command is started with.

    Args:
        cgroups: The groups that it joins.
        rlimits: The limits of its processes, as `resource` numbers them.
    """

    cgroups: tuple[Path, ...] = ()
    rlimits: tuple[tuple[int, int], ...] = ()


class Limiter:
    """Limits commands by what this machine allows this user.

    Args:
        limits: What one command may use.
        places: Where control groups can be made; None: they are looked for.
    """

    def __init__(self, limits: ResourceLimits, places: Sequence[Place] | None = None) -> None:
        self._limits = limits
        self._places = tuple(cgroups.places() if places is None else places)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Which limits hold, and by what."""
        return self._memory(), self._processes()

    @contextlib.contextmanager
    def applied(self) -> Iterator[Applied]:
        """Make what limits one command. Leaving the context frees it.

        Raises:
            OSError: A control group can't be made.
        """
        with contextlib.ExitStack() as stack:
            groups = [
                stack.enter_context(cgroups.group(place, self._limits)) for place in self._places
            ]
            yield Applied(tuple(groups), tuple(self._rlimits()))

    def _rlimits(self) -> Iterator[tuple[int, int]]:
        memory, processes = self._limits.memory_bytes, self._limits.processes
        if memory is not None and not self._has_group("memory") and _IS_LINUX:
            # Not the address space, of which Node reserves far more than it uses.
            yield resource.RLIMIT_DATA, memory
        if processes is not None and not self._has_group("pids") and not _why_uncounted():
            # The kernel counts all tasks of the user, so those that run already are added.
            yield resource.RLIMIT_NPROC, _tasks_of(os.getuid()) + processes

    def _has_group(self, controller: Controller) -> bool:
        return any(controller in place.controllers for place in self._places)

    def _memory(self) -> str:
        most = self._limits.memory_bytes
        if most is None:
            return "Memory: not limited, as the settings say."
        if self._has_group("memory"):
            return (
                f"Memory: {_size(most)} for a command with all that it starts, by a control group."
            )
        if _IS_LINUX:
            return (
                f"Memory: {_size(most)} for each process of a command, by RLIMIT_DATA; not for all "
                "together, since this user may make no control group for memory."
            )
        return "Memory: not limited: this system has no limit for it."

    def _processes(self) -> str:
        most = self._limits.processes
        if most is None:
            return "Processes: not limited, as the settings say."
        if self._has_group("pids"):
            return f"Processes and threads: {most} for a command, by a control group."
        if why := _why_uncounted():
            return f"Processes: not limited: there is no control group for them, and {why}."
        return f"Processes and threads: {most} for a command, beside the user's others, by RLIMIT_NPROC."


def _why_uncounted() -> str:
    """Why RLIMIT_NPROC doesn't serve here, in words; empty where it does."""
    if not _IS_LINUX:
        return "this system counts them for the whole user"
    if os.getuid() == 0:
        return "RLIMIT_NPROC doesn't hold for root"
    if _process_namespace() != _FIRST_NAMESPACE:
        return "in a container RLIMIT_NPROC counts what other containers run for the same user"
    return ""


def _process_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _tasks_of(user: int) -> int:
    """The processes and threads of a user on this machine."""
    count = 0
    with os.scandir("/proc") as entries:
        for entry in entries:
            with contextlib.suppress(OSError, ValueError, IndexError):
                if entry.name.isdecimal() and entry.stat().st_uid == user:
                    # `PID (NAME) STATE …`: the number of threads is the 18th behind the name.
                    stat = Path(entry.path, "stat").read_bytes()
                    count += int(stat.rpartition(b")")[2].split()[17])
    return count


def _size(count: int) -> str:
    """Bytes, as a person reads them."""
    return f"{count / GIB:g} GiB" if count >= GIB else f"{count / _MIB:g} MiB"
