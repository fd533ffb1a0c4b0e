"""Confines commands by Landlock and seccomp, where no user namespaces can be made."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from ...errors import SandboxError
from . import CommandLaunch, ResourceLimits, SandboxAccess, seccomp
from .command_environment import make_environment
from .git_paths import find_git_parts
from .launch import Sandbox, make_launch_spec, prepare_launch
from .launcher import kernel as rights
from .launcher.launch_spec import LandlockRules
from .seccomp import SyscallRefusal
from .visible_paths import find_own_python, find_visible_paths, select_outermost

#: The most entries that are granted one by one.
MAX_GRANTS: Final = 20_000


def split_around_exclusions(
    root: Path, exclusions: Iterable[Path], max_grants: int = MAX_GRANTS
) -> tuple[list[str], list[str]]:
    """Part a folder so that some paths in it can be left out.

    Links are left out: what they lead to is granted by its own path, or isn't.

    Args:
        root: A folder or file, absolute, without links.
        exclusions: What is left out, with all below it.
        max_grants: Entries that are granted one by one at most.

    Returns:
        What can be granted with all below it, and the folders that are parted: of those only the names
        may be read.

    Raises:
        SandboxError: There are too many entries beside the holes.
    """
    names = {str(hole) for hole in exclusions}
    if any(root.is_relative_to(name) for name in names):
        return [], []
    parted = {str(above) for name in names for above in Path(name).parents}
    fully_granted: list[str] = []
    opened: list[str] = []
    for path, is_parted in _entries(str(root), parted, names):
        (opened if is_parted else fully_granted).append(path)
        if len(fully_granted) > max_grants:
            raise SandboxError(
                f"Landlock can't confine the command: beside what is protected, {opened[-1]!r} and the "
                f"folders above it have more than {max_grants:,} entries, each of which needs a grant "
                "of its own. Move entries to folders below, or use bubblewrap."
            )
    return fully_granted, opened


def _entries(root: str, parted: set[str], exclusions: set[str]) -> Iterator[tuple[str, bool]]:
    """Each path of the result, and whether it is a folder that is parted."""
    waiting = [root]
    while waiting:
        path = waiting.pop()
        if path not in parted:
            yield path, False
            continue
        yield path, True
        # What can't be listed, or went meanwhile, is left out.
        with contextlib.suppress(OSError), os.scandir(path) as entries:
            for entry in entries:
                if entry.path not in exclusions and not entry.is_symlink():
                    waiting.append(entry.path)


_UNIX, _INET, _INET6 = 1, 2, 10

_READ: Final = rights.EXECUTE | rights.READ_FILE | rights.READ_DIR
# All rights of Landlock's versions 1 to 5; a kernel's own are those of its version.
_ALL: Final = (1 << 16) - 1
_WRITE: Final = _ALL & ~(rights.MAKE_CHAR | rights.MAKE_BLOCK | rights.IOCTL_DEV)
# Rights that came later than with version 1.
_RIGHTS_SINCE: Final = ((rights.REFER, 2), (rights.TRUNCATE, 3), (rights.IOCTL_DEV, 5))
_BIND_AND_CONNECT_TCP: Final = 0b11
_UNIX_SOCKETS_AND_SIGNALS: Final = 0b11

_DEVICES: Final = tuple(f"/dev/{each}" for each in ("null", "zero", "full", "random", "urandom"))

# Git warns of settings that it may not read.
_NO_SYSTEM_SETTINGS: Final = {"GIT_CONFIG_NOSYSTEM": "1"}

# What is refused beside what every sandbox refuses. Without a network not even an unconnected socket
# is made: who asks for one learns at once. A pair of sockets reaches nobody; Node and asyncio need one.
_CALLS: Final = (
    *seccomp.ALWAYS_REFUSED,
    SyscallRefusal(
        ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "process_madvise")
    ),
    SyscallRefusal(("kcmp", "name_to_handle_at")),
    # What all programs of the user share, for there is no namespace of its own.
    SyscallRefusal(("mq_open", "mq_unlink", "msgget", "semget", "shmat", "shmget")),
    SyscallRefusal(("prlimit64",), 0, "none of", (0,)),  # another process's limits
    SyscallRefusal(("socketpair",), 0, "none of", (_UNIX,)),
)
_NO_NETWORK: Final = SyscallRefusal(("socket",))
_INTERNET_ALONE: Final = SyscallRefusal(
    ("socket",), 0, "none of", (_INET, _INET6), error=errno.EAFNOSUPPORT
)

_GAPS: Final = (
    "In a folder with a `.git`, and in one with a file that a deny rule names, a command makes, renames "
    "and deletes no entries: it can in the folders below.",
    "A command can find out whether any file exists, and change modes, times and extended "
    "attributes of the user's files; it can't read or change their contents.",
    "There is no `/proc`, no `/tmp` and no `/dev/shm`: `ps` and locks of Python's multiprocessing fail.",
)
#: The gap of a Landlock that lets commands signal processes outside.
SIGNALS_NOT_CONFINED: Final = (
    "A command can send signals to the user's other programs: it can end them."
)
# What a version of Landlock brought, and what an older one can't hold.
_MISSING_BEFORE_ABI: Final = (
    (2, "Files can't be moved from one folder to another."),
    (3, "A command can truncate any file of the user (`truncate`)."),
    (5, "A command can use devices that are already open."),
    (6, SIGNALS_NOT_CONFINED),
)


class Landlock(Sandbox):
    """Confines commands by Landlock and seccomp.

    Args:
        limits: What one command may use.

    Raises:
        SandboxError: This kernel has no Landlock, or no filter is known for this machine.
    """

    name = "landlock"

    def __init__(self, limits: ResourceLimits | None = None) -> None:
        super().__init__(limits)
        self._abi = rights.find_landlock_abi()
        if self._abi < 1:
            raise SandboxError(
                "Landlock can't confine commands: this kernel lacks Landlock, or it is "
                "switched off. Linux 5.13 and later have Landlock, if the boot option "
                "`lsm=` names `landlock`."
            )
        if not seccomp.is_supported():
            raise SandboxError(
                "Landlock can't confine commands: its filter of system calls supports "
                "x86_64 and aarch64, not this processor."
            )

    @property
    def missing_protections(self) -> tuple[str, ...]:
        """The protections that this sandbox lacks here, as sentences for a person."""
        return (*_GAPS, *(gap for since, gap in _MISSING_BEFORE_ABI if self._abi < since))

    @contextlib.contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> Iterator[CommandLaunch]:
        """Prepare a command; see `Sandbox.prepare_command`."""
        env = make_environment(access.home, access.temporary_folder) | _NO_SYSTEM_SETTINGS
        spec = make_launch_spec(argv, folder, env)
        spec["landlock"] = make_landlock_rules(self._abi, access)
        network = _INTERNET_ALONE if access.has_network else _NO_NETWORK
        spec["seccomp"] = seccomp.assemble_filter((*_CALLS, network))
        with prepare_launch(spec, env, self._limits) as launch:
            yield launch


def make_landlock_rules(abi: int, access: SandboxAccess) -> LandlockRules:
    """Make the Landlock rules of a command.

    Args:
        abi: The kernel's version of Landlock.
        access: The access of the command.

    Raises:
        SandboxError: A folder beside something protected has too many entries.
    """
    has_tcp = abi >= 4 and not access.has_network
    unknown = sum(right for right, since in _RIGHTS_SINCE if abi < since)
    return LandlockRules(
        files=_ALL & ~unknown,
        network=_BIND_AND_CONNECT_TCP if has_tcp else 0,
        scopes=_UNIX_SOCKETS_AND_SIGNALS if abi >= 6 else 0,
        grants=list(_grants(access)),
    )


def _grants(access: SandboxAccess) -> Iterator[tuple[str, int]]:
    """What a command is granted, each path with its rights."""
    changeable, parts = access.writable_folders, find_git_parts(access.workspace, *access.writable)
    closed = (*access.hidden, *access.unreadable)
    fixed = (
        *access.read_only,
        *parts.entries,
        # Who changes this process's own Python changes this process.
        *(path for path in find_own_python() if path not in changeable),
    )
    readable = {
        *_resolved(find_visible_paths((access.workspace, *access.writable))),
        *(path.resolve() for path in access.readable),
        *parts.outside_folders,
        access.workspace,
    }
    for device in _DEVICES:
        yield device, rights.READ_FILE | rights.WRITE_FILE
    for folder in readable:
        yield from _grant_around(folder, _READ, closed, access.workspace)
    for folder in changeable:
        yield from _grant_around(folder, _WRITE, (*closed, *fixed), access.workspace)
    for folder in (access.home, access.temporary_folder):
        yield str(folder), _WRITE


@cache
def _resolved(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return select_outermost(path.resolve() for path in paths)


def _grant_around(
    folder: Path, wanted: int, exclusions: tuple[Path, ...], workspace: Path
) -> Iterator[tuple[str, int]]:
    """The grants of a folder but for its holes. The workspace stays, also in a folder that is hidden."""
    if folder == workspace:
        exclusions = tuple(hole for hole in exclusions if not folder.is_relative_to(hole))
    fully_granted, parted = split_around_exclusions(folder, exclusions)
    yield from ((path, wanted) for path in fully_granted)
    # The right to read names holds below, too; so the names of what is hidden there can be read.
    yield from ((path, rights.READ_DIR) for path in parted)
