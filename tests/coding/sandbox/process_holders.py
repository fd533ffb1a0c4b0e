"""Processes that want to stay: what they hold tells when the last of them is gone."""

from __future__ import annotations

import os
import select
from pathlib import Path
from typing import Final

#: A program that becomes a daemon: it forks twice, leaves its session, is deaf to signals, and holds
#: the pipe that it is given until it is killed.
DAEMON: Final = """
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
held = os.open(sys.argv[1], os.O_WRONLY)
ready, there = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(held, b"d")
        os.write(there, b".")
        time.sleep(1000)
    os._exit(0)
os.read(ready, 1)
os.write(held, b"c")
"""


class FileHolders:
    """A pipe in the file system that processes of a test open and never close.

    Args:
        path: Where the pipe is made.
    """

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def wait_for(self, count: int) -> None:
        """Wait until so many bytes were written."""
        while count > 0:
            data = self._read()
            assert data, "all left before they wrote"
            count -= len(data)

    def wait_until_free(self) -> None:
        """Wait until no process holds the pipe. It was held before."""
        while self._read():
            pass

    def _read(self) -> bytes:
        assert select.select([self._end], [], [], 60)[0], "nobody wrote, and nobody left"
        return os.read(self._end, 100)
