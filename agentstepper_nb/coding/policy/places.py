"""What a path is: a device, a place of secrets, and where it leads."""

from __future__ import annotations

import os.path
import re
from pathlib import Path
from typing import Final

#: Devices that keep nothing: what is written there is gone, or shown.
_HARMLESS_DEVICES: Final = {"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"} | {
    "/dev/random",
    "/dev/urandom",
    "/dev/full",
}
_DESCRIPTOR = re.compile(r"/dev/fd/\d+|/dev/std(in|out|err)|/dev/(tcp|udp)/.*")
_SECRET = re.compile(
    r"(^|[/=@~])\.(ssh|gnupg|aws|kube|netrc|pypirc|npmrc|git-credentials)(/|$)"
    r"|^/etc/(g?shadow|sudoers)|^/proc/[^/]+/(environ|mem)"
)


def is_device(path: str) -> bool:
    """Whether a path is a device that writing could hurt."""
    if not path.startswith("/"):
        return False
    full = "/" + os.path.normpath(path).lstrip("/")
    if full in _HARMLESS_DEVICES or _DESCRIPTOR.fullmatch(full):
        return False
    return full == "/dev" or full.startswith("/dev/")


def is_secret(path: str) -> bool:
    """Whether a path leads to where programs keep keys."""
    return bool(_SECRET.search(path))


def real_path(path: Path) -> Path:
    """A path without links; as it is where that can't be told.

    Args:
        path: The path, absolute.
    """
    try:
        return Path(os.path.realpath(path))
    except OSError:  # as another user's /proc/…/root
        return Path(os.path.normpath(path))
    except ValueError:  # no path of this system: nothing is there
        return path
