"""The processes that this one descends from: a kernel's Jupyter server is among them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path


def list_ancestors() -> Iterator[int]:
    """Give the server that a kernel names as its parent, then this process's own ancestors."""
    named = os.environ.get("JPY_PARENT_PID", "")
    if named.isdecimal():
        yield int(named)
    pid = os.getppid()
    while pid > 1:
        yield pid
        pid = _parent(pid)


def _parent(pid: int) -> int:
    """The parent of a process; 0 where it is unknown."""
    if Path("/proc/self/stat").exists():
        try:
            # The name before may hold spaces, brackets and a cut character; the state and the parent
            # come after it.
            after = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2]
            return int(after.split()[1])
        except (OSError, ValueError, IndexError):
            return 0
    try:
        command = ["ps", "-o", "ppid=", "-p", str(pid)]
        return int(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    except (OSError, ValueError):
        return 0
