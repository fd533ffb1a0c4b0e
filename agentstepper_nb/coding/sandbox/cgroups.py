"""Control groups: what a command with all that it starts may use, counted together by the kernel."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from .base import ResourceLimits

Controller = Literal["memory", "pids"]

CONTROLLERS: Final[tuple[Controller, ...]] = ("memory", "pids")
_PREFIX: Final = "agentstepper-"
_ATTEMPTS: Final = 5
# Seconds that the kernel has to let go of a group whose processes were killed.
_PATIENCE_S: Final = 2.0
_INTERVAL_S: Final = 0.01


class Place(Struct, frozen=True):
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
def places() -> tuple[Place, ...]:
    """Where this process can make control groups, by a real try of each. Blocking.

    Groups that killed processes left there are removed.
    """
    found: list[Place] = []
    for candidate in _candidates():
        wanted = tuple(
            each
            for each in candidate.controllers
            if not any(each in place.controllers for place in found)
        )
        place = Place(candidate.folder, wanted, candidate.version)
        if wanted and _works(place):
            remove_leftovers(place)
            found.append(place)
    return tuple(found)


@contextlib.contextmanager
def group(place: Place, limits: ResourceLimits) -> Iterator[Path]:
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


def remove_leftovers(place: Place) -> None:
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
    for _ in range(_ATTEMPTS):
        folder = parent / f"{_PREFIX}{secrets.token_hex(8)}"
        folder.mkdir()
        with contextlib.suppress(FileNotFoundError):  # taken for a leftover before it was locked
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
                if folder.exists():
                    return folder, descriptor
            os.close(descriptor)
    raise OSError(f"No control group could be made in {parent}: others remove it at once.")


def _remove(folder: Path) -> None:
    """Kill all in a group and remove it; a group that can't be removed in time is left."""
    until = time.monotonic() + _PATIENCE_S
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
            time.sleep(_INTERVAL_S)


def _works(place: Place) -> bool:
    """Whether a group can be made there, limited, joined and removed."""
    limits = ResourceLimits(memory_bytes=1 << 30, processes=16)
    try:
        with group(place, limits) as folder:
            if not all((folder / name).exists() for name in _needed(place)):
                return False
            # It waits for its input to end, which is after it was moved.
            with subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE) as process:
                (folder / "cgroup.procs").write_text(str(process.pid))
    except OSError:
        return False
    return not folder.exists()


def _needed(place: Place) -> Iterator[str]:
    if "memory" in place.controllers:
        yield "memory.max" if place.version == 2 else "memory.limit_in_bytes"
    if "pids" in place.controllers:
        yield "pids.max"


def _candidates() -> Iterator[Place]:
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


def _of_mount(mount: str, paths: dict[str, str], version: int) -> Iterator[Place]:
    before, _, after = mount.partition(" - ")
    root, at = before.split()[3:5]
    kind, _, options = after.split()[:3]
    if version == 2 and kind == "cgroup2" and "" in paths:
        for folder in _upwards(at, root, paths[""]):
            enabled = _words(folder / "cgroup.subtree_control")
            yield Place(folder, tuple(each for each in CONTROLLERS if each in enabled), 2)
    if version == 1 and kind == "cgroup":
        names = options.split(",")
        held = tuple(each for each in CONTROLLERS if each in names)
        own = next(
            (path for key, path in paths.items() if held and held[0] in key.split(",")), None
        )
        for folder in _upwards(at, root, own) if own is not None else ():
            yield Place(folder, held, 1)


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
