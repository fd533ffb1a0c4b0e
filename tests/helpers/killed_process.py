"""Forks a process that writes, and kills it in the midst of that."""

from __future__ import annotations

import asyncio
import os
import signal
import traceback
from collections.abc import Callable, Coroutine
from typing import Any


def kill_writer(write: Callable[[int], Coroutine[Any, Any, None]], lines: int) -> dict[str, int]:
    """Fork a process that writes, and kill it after so many lines.

    Args:
        write: What the process does until it is killed. It gets a pipe's descriptor, into which it
            writes a line `NAME NUMBER` for each thing that is stored.
        lines: How many lines are read before the process is killed.

    Returns:
        The last number of each name; what it reported before it died counts as well.
    """
    read, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            asyncio.run(write(write_end))
        except BaseException:
            # `os._exit` leaves without printing what ended the writer.
            traceback.print_exc()
        finally:
            os._exit(1)
    os.close(write_end)
    reported: dict[str, int] = {}
    number = 0
    with os.fdopen(read) as pipe:
        for number, line in enumerate(pipe, 1):
            name, n = line.split()
            reported[name] = int(n)
            if number == lines:
                os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert number >= lines, f"The writer ended by itself after {number} of {lines} lines."
    return reported
