"""Where a path leads, as far as its text says."""

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
_DESCRIPTOR = re.compile(r"/dev/fd/\d+|/dev/std(in|out|err)")
_SECRET = re.compile(
    r"(^|[/=@~])\.(ssh|gnupg|aws|kube|netrc|pypirc|npmrc|git-credentials)(/|$)"
    r"|^/etc/(g?shadow|sudoers)|^/proc/[^/]+/(environ|mem)"
)


class Places:
    """Tells what lies outside of a workspace. It looks at no disk: links are the workspace's business.

    Args:
        root: The workspace's folder; None: nothing is told to be outside.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = None if root is None else os.path.normpath(root)

    def is_device(self, path: str) -> bool:
        """Whether a path is a device that writing could hurt."""
        if not path.startswith("/"):
            return False
        full = "/" + os.path.normpath(path).lstrip("/")
        if full in _HARMLESS_DEVICES or _DESCRIPTOR.fullmatch(full):
            return False
        return full == "/dev" or full.startswith("/dev/")

    def is_outside(self, path: str) -> bool:
        """Whether a path, or the beginning of one, leaves the workspace."""
        if path.startswith("~"):
            return True
        plain = os.path.normpath(path) if path else ""
        if not path.startswith("/"):
            return plain == ".." or plain.startswith("../")
        full = "/" + plain.lstrip("/")
        if full in _HARMLESS_DEVICES or _DESCRIPTOR.fullmatch(full):
            return False
        return (
            self._root is not None and full != self._root and not full.startswith(self._root + "/")
        )

    def is_git(self, path: str) -> bool:
        """Whether a path lies in a `.git`: hooks and settings there are programs that git will run."""
        return ".git" in path.lower().split("/")

    def is_secret(self, path: str) -> bool:
        """Whether a path leads to where programs keep keys."""
        return bool(_SECRET.search(path))
