"""The Unix sockets of other programs that have a path: a network namespace doesn't hide those."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from .visible import is_at_or_below

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
