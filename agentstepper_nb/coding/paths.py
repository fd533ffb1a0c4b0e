"""What a path has to look like before anybody looks for it on the disk."""

from __future__ import annotations

import os
import re
from typing import Final

from ..errors import UnsafePathError
from ..protocol.visible import HIDDEN

#: Bytes of a path, and of one name in it: what POSIX systems take at least.
PATH_LIMIT: Final = 4096
NAME_LIMIT: Final = 255
#: Folders below each other: the walk holds a descriptor for each.
DEPTH_LIMIT: Final = 128

_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL: Final = re.compile(r"[\t\n\r]")


def split(relative: str) -> tuple[str, ...]:
    """The names in a path below the workspace, `..` among them; none for the workspace itself.

    Args:
        relative: The path, with `/`.

    Raises:
        UnsafePathError: It isn't relative, or no path that a person could check.
    """
    check(relative)
    if relative.startswith("/") or _DRIVE.match(relative):
        raise UnsafePathError(relative, "it is absolute; paths are relative to the workspace")
    if relative.startswith("~"):
        raise UnsafePathError(relative, "`~` is no folder of the workspace")
    names = tuple(name for name in relative.split("/") if name not in ("", "."))
    if len(names) > DEPTH_LIMIT:
        raise UnsafePathError(relative, f"it has more than {DEPTH_LIMIT} names")
    if any(len(os.fsencode(name)) > NAME_LIMIT for name in names):
        raise UnsafePathError(relative, f"a name in it is longer than {NAME_LIMIT} bytes")
    return names


def check(path: str) -> None:
    """Refuse text that is no path here, absolute or not.

    Raises:
        UnsafePathError: It is empty, too long, or has characters that a path here never has.
    """
    if not path:
        raise UnsafePathError(path, "it is empty; `.` is the workspace")
    if "\\" in path:
        raise UnsafePathError(path, "it has a backslash; names are parted by `/`")
    found = _CONTROL.search(path) or HIDDEN.search(path)  # nobody would see what is meant
    if found is not None:
        raise UnsafePathError(path, f"it has the character U+{ord(found[0]):04X}")
    if len(path.encode()) > PATH_LIMIT:
        raise UnsafePathError(path, f"it is longer than {PATH_LIMIT} bytes")
