"""Files of runs are read one after another, on a thread of their own: the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

from ..protocol.json_limits import CheckCancelled
from ..protocol.records import RunHistory
from ..store import archive


class _ImportEnded(Exception):
    """Nobody waits for the run any more."""


class LoadRun(Protocol):
    """As `archive.load_run_file`."""

    def __call__(self, data: bytes, run_id: str, *, check: CheckCancelled) -> RunHistory:
        """Read a file; `check` is called between two steps."""


class RunImporter:
    """Reads files of runs. One at a time, so that many take no more memory than one.

    Args:
        load: Reads one.
    """

    def __init__(self, load: LoadRun = archive.load_run_file) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(1, "agentstepper-import")
        self._closed = threading.Event()

    async def load(self, data: bytes, run_id: str) -> RunHistory:
        """Read a file. Where the caller is cancelled, the thread ends its work at its next step.

        Args:
            data: The file.
            run_id: The id that its run gets.

        Raises:
            ProtocolError: It is damaged, above a bound, or of a newer version.
        """
        ended = threading.Event()

        def check() -> None:
            if ended.is_set() or self._closed.is_set():
                raise _ImportEnded

        load = partial(self._load, data, run_id, check=check)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, load)
        except _ImportEnded:
            raise asyncio.CancelledError from None
        finally:
            ended.set()

    def close(self) -> None:
        """Read no more: what is being read ends at its next step."""
        self._closed.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
