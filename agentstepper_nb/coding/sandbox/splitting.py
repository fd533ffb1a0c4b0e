"""Grants around holes: Landlock grants a folder with all below it, and takes nothing back there."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from ...errors import SandboxError

#: How many entries are granted one by one at most.
MOST_GRANTS: Final = 20_000


def split(root: Path, holes: Iterable[Path]) -> tuple[list[str], list[str]]:
    """Part a folder so that some paths in it can be left out.

    Links are left out: what they lead to is granted by its own path, or isn't.

    Args:
        root: A folder or file, absolute, without links.
        holes: What is left out, with all below it.

    Returns:
        What can be granted with all below it, and the folders that are parted: of those only the names
        may be read.

    Raises:
        SandboxError: There are too many entries beside the holes.
    """
    names = {str(hole) for hole in holes}
    if any(root.is_relative_to(name) for name in names):
        return [], []
    parted = {str(above) for name in names for above in Path(name).parents}
    whole: list[str] = []
    opened: list[str] = []
    for path, is_parted in _entries(str(root), parted, names):
        (opened if is_parted else whole).append(path)
        if len(whole) > MOST_GRANTS:
            raise SandboxError(
                f"Landlock can't confine the command: beside what is protected, {opened[-1]!r} and the "
                f"folders above it have more than {MOST_GRANTS:,} entries, each of which needs a grant "
                "of its own. Move entries to folders below, or use bubblewrap."
            )
    return whole, opened


def _entries(root: str, parted: set[str], holes: set[str]) -> Iterator[tuple[str, bool]]:
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
                if entry.path not in holes and not entry.is_symlink():
                    waiting.append(entry.path)
