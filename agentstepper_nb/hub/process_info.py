"""Finds processes of this machine."""

from __future__ import annotations

import os
import re
import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
#: Of a line of /proc/PID/stat, counted behind the command's name.
_STATE, _START = 0, 19
_ENDED: Final = (b"Z", b"X")


@dataclass(frozen=True)
class ProcessInfo:
    """A process that exists.

    Args:
        started_at: Its start in POSIX seconds; None if unknown.
        start_ticks: Its start in clock ticks since the machine's boot. Setting the clock doesn't change
            the ticks, so that pid and ticks identify one process.
    """

    started_at: float | None = None
    start_ticks: int | None = None


def identify_machine() -> tuple[str, str]:
    """Return this machine's name and boot id, as agents report them."""
    boot = ""
    with suppress(OSError):
        boot = _BOOT.read_text(encoding="ascii").strip()
    return socket.gethostname(), boot


def find_process(pid: int) -> ProcessInfo | None:
    """Find a process of this machine; None if it has ended, or its pid is now a thread's.

    Args:
        pid: The process id, above 0.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # another user's
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ProcessInfo()  # there is no such file on this system, or it isn't for us
    fields = line.rpartition(b")")[2].split()
    if fields[_STATE] in _ENDED or not _is_thread_group(pid):
        return None
    ticks = int(fields[_START])
    return ProcessInfo(_booted_at() + ticks / os.sysconf("SC_CLK_TCK"), ticks)


def _is_thread_group(pid: int) -> bool:
    """Whether a number is a process's: its threads have numbers of the same kind."""
    status = b""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_bytes()
    group = re.search(rb"^Tgid:\s*(\d+)$", status, re.MULTILINE)
    return group is None or int(group[1]) == pid


def _booted_at() -> float:
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
