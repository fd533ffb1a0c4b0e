"""Limits a command's memory and processes: with control groups, or else with the limits of a process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from . import GIB, ResourceLimits

Controller = Literal["memory", "pids"]

CONTROLLERS: Final[tuple[Controller, ...]] = ("memory", "pids")
_PREFIX: Final = "agentstepper-"
_MAX_ATTEMPTS: Final = 5
# Seconds that the kernel has to let go of a group whose processes were killed.
_REMOVE_TIMEOUT_S: Final = 2.0
_RETRY_S: Final = 0.01


class CgroupFolder(Struct, frozen=True):
    """A folder of control groups in which this process may make some.

    Args:
        folder: The folder.
        controllers: What the groups in it can limit.
        version: Of the kernel's interface.
    """

    folder: Path
    controllers: tuple[Controller, ...]
    version: Literal[1, 2]

    def settings(self, limits: ResourceLimits) -> Iterator[tuple[str, int]]:
        """The files of a group that hold its limits, with what is written; a file may be missing."""
        if "memory" in self.controllers and limits.memory_bytes is not None:
            if self.version == 2:
                yield "memory.max", limits.memory_bytes
                yield "memory.swap.max", 0
            else:
                yield "memory.limit_in_bytes", limits.memory_bytes
                yield "memory.memsw.limit_in_bytes", limits.memory_bytes
        if "pids" in self.controllers and limits.processes is not None:
            yield "pids.max", limits.processes


@cache
def find_cgroup_folders() -> tuple[CgroupFolder, ...]:
    """Where this process can make control groups, by a real try of each. Blocking.

    Groups that killed processes left there are removed.
    """
    found: list[CgroupFolder] = []
    for candidate in _candidates():
        wanted = tuple(
            each
            for each in candidate.controllers
            if not any(each in place.controllers for place in found)
        )
        place = CgroupFolder(candidate.folder, wanted, candidate.version)
        if wanted and _can_make_cgroup(place):
            remove_stale_cgroups(place)
            found.append(place)
    return tuple(found)


@contextlib.contextmanager
def make_cgroup(place: CgroupFolder, limits: ResourceLimits) -> Iterator[Path]:
    """Make a group with limits. At the end what is left in it is killed, and it is removed.

    Args:
        place: Where.
        limits: What all processes of the group may use together.

    Raises:
        OSError: The kernel refuses.
    """
    folder, lock = _make(place.folder)
    try:
        for name, value in place.settings(limits):
            file = folder / name
            if file.exists() or not name.startswith(("memory.swap", "memory.memsw")):
                file.write_text(str(value))
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def remove_stale_cgroups(place: CgroupFolder) -> None:
    """Remove the groups of processes that were killed: nobody holds their locks any more."""
    for folder in place.folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _remove(folder)
            finally:
                os.close(descriptor)


def _make(parent: Path) -> tuple[Path, int]:
    """Make a group, and a lock on it that ends with this process."""
    for _ in range(_MAX_ATTEMPTS):
        folder = parent / f"{_PREFIX}{secrets.token_hex(8)}"
        folder.mkdir()
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if folder.exists():
                    return folder, descriptor
            os.close(descriptor)
    raise OSError(
        f"No control group could be created in {parent}: another program removes it at once."
    )


def _remove(folder: Path) -> None:
    """Kill all in a group and remove it; a group that can't be removed in time is left."""
    until = time.monotonic() + _REMOVE_TIMEOUT_S
    while True:
        with contextlib.suppress(OSError):
            for pid in (folder / "cgroup.procs").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(_RETRY_S)


def _can_make_cgroup(place: CgroupFolder) -> bool:
    """Whether a group can be made there, limited, joined and removed."""
    limits = ResourceLimits(memory_bytes=1 << 30, processes=16)
    try:
        with make_cgroup(place, limits) as folder:
            if not all((folder / name).exists() for name in _needed(place)):
                return False
            # It waits for its input to end, which is after it was moved.
            with subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE) as process:
                (folder / "cgroup.procs").write_text(str(process.pid))
    except OSError:
        return False
    return not folder.exists()


def _needed(place: CgroupFolder) -> Iterator[str]:
    if "memory" in place.controllers:
        yield "memory.max" if place.version == 2 else "memory.limit_in_bytes"
    if "pids" in place.controllers:
        yield "pids.max"


def _candidates() -> Iterator[CgroupFolder]:
    """This process's own groups and those above them, the nearest first; of version 2 first."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
        own = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    paths = {controllers: path for _, controllers, path in (line.split(":", 2) for line in own)}
    for version in (2, 1):
        for mount in mounts:
            yield from _of_mount(mount, paths, version)


def _of_mount(mount: str, paths: dict[str, str], version: int) -> Iterator[CgroupFolder]:
    before, _, after = mount.partition(" - ")
    root, at = before.split()[3:5]
    kind, _, options = after.split()[:3]
    if version == 2 and kind == "cgroup2" and "" in paths:
        for folder in _upwards(at, root, paths[""]):
            enabled = _words(folder / "cgroup.subtree_control")
            yield CgroupFolder(folder, tuple(each for each in CONTROLLERS if each in enabled), 2)
    if version == 1 and kind == "cgroup":
        names = options.split(",")
        held_controllers = tuple(each for each in CONTROLLERS if each in names)
        own = next(
            (
                path
                for key, path in paths.items()
                if held_controllers and held_controllers[0] in key.split(",")
            ),
            None,
        )
        for folder in _upwards(at, root, own) if own is not None else ():
            yield CgroupFolder(folder, held_controllers, 1)


def _upwards(at: str, root: str, own: str) -> Iterator[Path]:
    """The folder of a group where its file system is mounted, and those above it."""
    top = Path(at)
    inside = Path(own).relative_to(root) if Path(own).is_relative_to(root) else Path()
    folder = top / str(inside).lstrip("/")
    yield folder
    yield from (each for each in folder.parents if each.is_relative_to(top))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


_IS_LINUX: Final[bool] = sys.platform == "linux"
_MIB: Final = 1024**2
# The number of the first process namespace in each kernel.
_FIRST_NAMESPACE: Final = "pid:[4026531836]"


class AppliedLimits(Struct, frozen=True):
    """The limits with which one command is started.

    Args:
        cgroups: The control groups that the command joins.
        rlimits: The limits of the command's processes, by the numbers of `resource`.
    """

    cgroups: tuple[Path, ...] = ()
    rlimits: tuple[tuple[int, int], ...] = ()


class ResourceLimiter:
    """Limits commands by what this machine allows this user.

    Args:
        limits: What one command may use.
        places: Where control groups can be made; None: they are looked for.
    """

    def __init__(
        self, limits: ResourceLimits, places: Sequence[CgroupFolder] | None = None
    ) -> None:
        self._limits = limits
        self._places = tuple(find_cgroup_folders() if places is None else places)

    @property
    def descriptions(self) -> tuple[str, ...]:
        """Which limits hold, and by what."""
        return self._memory(), self._processes()

    @contextlib.contextmanager
    def apply(self) -> Iterator[AppliedLimits]:
        """Make what limits one command. Leaving the context frees it.

        Raises:
            OSError: A control group can't be made.
        """
        with contextlib.ExitStack() as stack:
            groups = [
                stack.enter_context(make_cgroup(place, self._limits)) for place in self._places
            ]
            yield AppliedLimits(tuple(groups), tuple(self._rlimits()))

    def _rlimits(self) -> Iterator[tuple[int, int]]:
        memory, processes = self._limits.memory_bytes, self._limits.processes
        if memory is not None and not self._has_group("memory") and _IS_LINUX:
            # Not the address space, of which Node reserves far more than it uses.
            yield resource.RLIMIT_DATA, memory
        if processes is not None and not self._has_group("pids") and not _explain_uncounted():
            # The kernel counts all tasks of the user, so those that run already are added.
            yield resource.RLIMIT_NPROC, _tasks_of(os.getuid()) + processes

    def _has_group(self, controller: Controller) -> bool:
        return any(controller in place.controllers for place in self._places)

    def _memory(self) -> str:
        limit = self._limits.memory_bytes
        if limit is None:
            return "Memory: not limited, by the settings."
        if self._has_group("memory"):
            return (
                f"Memory: {_size(limit)} for a command with all that it starts, by a control group."
            )
        if _IS_LINUX:
            return (
                f"Memory: {_size(limit)} for each process of a command, by RLIMIT_DATA; "
                "not for all together, because this user may not create a control group "
                "for memory."
            )
        return "Memory: not limited: this system has no limit for it."

    def _processes(self) -> str:
        limit = self._limits.processes
        if limit is None:
            return "Processes: not limited, by the settings."
        if self._has_group("pids"):
            return f"Processes and threads: {limit} for a command, by a control group."
        if why := _explain_uncounted():
            return f"Processes: not limited: there is no control group for them, and {why}."
        return (
            f"Processes and threads: {limit} for a command, beside the user's others, "
            "by RLIMIT_NPROC."
        )


def _explain_uncounted() -> str:
    """Why RLIMIT_NPROC doesn't serve here, in words; empty where it does."""
    if not _IS_LINUX:
        return "this system counts them for the whole user"
    if os.getuid() == 0:
        return "RLIMIT_NPROC has no effect for root"
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
