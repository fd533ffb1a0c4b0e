"""Waiting for the end of processes that aren't this one's children."""

from __future__ import annotations

import os
import select


def gone(pid: int, patience: float = 60.0) -> bool:
    """Whether a process ended, or does within so many seconds."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], patience)[0])
    finally:
        os.close(watched)
