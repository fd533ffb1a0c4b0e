"""What a command finds at each path of a sandbox that has a root folder of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from .base import Access
from .protected import GitParts
from .visible import is_at_or_below, own_python, visible

_TABLE: Final = Path("/proc/net/unix")
_COLUMNS: Final = 8  # the last one is the path


def sockets_in(folders: Iterable[Path]) -> tuple[Path, ...]:
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
_OWN: Final = (Path("/run"), Path("/var/tmp"))


class Mount(Struct, frozen=True):
    """What stands at one path.

    Args:
        kind: A folder or file of the machine, to read or to change; a link; an empty folder; nothing
            that could be read, in place of a folder or of a file.
        source: What of the machine it is, or where the link leads; None for what is empty.
    """

    kind: Literal["read", "write", "link", "empty", "masked folder", "masked file"]
    source: Path | None = None


def home_in_sandbox(access: Access) -> Path:
    """Where a command finds its private home: at the path of the person's own, so that `~` is the same.

    Where that path is taken, by the workspace or by what is visible, it is another one.
    """
    home = Path.home()
    changing = (access.workspace, *access.writable)
    taken = (*changing, *access.readable, *visible(changing))
    is_taken = not home.is_absolute() or home == Path("/") or is_at_or_below(home, taken)
    return _OTHER_HOME if is_taken else home


def mounts(
    access: Access, home: Path, parts: GitParts, placeholders: Iterable[Path]
) -> list[tuple[Path, Mount]]:
    """What stands at which path, a folder before all that it holds.

    Args:
        access: What the command may reach.
        home: Where it finds its private home.
        parts: What git has in the folders that the command may change.
        placeholders: Names in git's folders that exist so that the command can't make them.
    """
    changing = (access.workspace, *access.writable)
    plan = dict(_of_the_machine(access.workspace, access.writable))
    plan |= {folder: Mount("empty") for folder in _OWN}
    plan[Path("/var/run")] = Mount("link", Path("/run"))
    plan[_TMP] = Mount("write", access.temporary)
    plan[home] = Mount("write", access.home)
    plan |= {path: _read(path) for path in access.readable if not is_at_or_below(path, changing)}
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
    sockets = sockets_in((access.workspace, *granted, *visible(changing)))
    plan |= {path: Mount("masked file") for path in sockets if path not in granted}
    for folder in access.hidden:
        _hide(folder, plan, access.workspace)
    return sorted(plan.items(), key=lambda each: each[0])


def _of_the_machine(workspace: Path, writable: tuple[Path, ...]) -> Iterator[tuple[Path, Mount]]:
    """What every command sees. In folders that a command may change only this process's Python stays."""
    own = own_python()
    for path in visible((workspace, *writable)):
        is_kept = path in own and path != workspace and not is_at_or_below(path, writable)
        if is_kept or not is_at_or_below(path, (workspace, *writable)):
            yield path, _read(path)


def _git_folders(parts: GitParts) -> Iterator[Path]:
    """Git's folders, each a mount of its own, so that none can be renamed."""
    yield from (path for path in parts.entries if path.is_dir())
    yield from parts.outside


def _folders_of_denied(access: Access) -> Iterator[Path]:
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
        stays = path.is_relative_to(workspace) and workspace.is_relative_to(folder)
        if not stays and plan[path].source == path:
            del plan[path]
    above = [path for path in plan if folder.is_relative_to(path)]
    shown = plan[max(above, key=lambda path: len(path.parts))] if above else None
    if shown is not None and shown.kind in ("read", "write") and shown.source in folder.parents:
        plan[folder] = Mount("masked folder" if folder.is_dir() else "masked file")
