"""Reads files of runs one after another, on a thread, so that the event loop isn't blocked."""

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
    """The import was cancelled, or the Core ends."""


class LoadRun(Protocol):
    """As `archive.load_run_file`."""

    def __call__(self, data: bytes, run_id: str, *, check: CheckCancelled) -> RunHistory:
        """Read a file; `check` is called between two steps."""


class RunImporter:
    """Reads files of runs. One at a time, so that many take no more memory than one.

    Args:
        load: Reads a file.
    """

    def __init__(self, load: LoadRun = archive.load_run_file) -> None:
        self._load = load
        self._thread = ThreadPoolExecutor(1, "agentstepper-import")
        self._closed = threading.Event()

    async def load(self, data: bytes, run_id: str) -> RunHistory:
        """Read a file. If the caller is cancelled, the thread stops at its next step.

        Args:
            data: The file's bytes.
            run_id: The id for the file's run.

        Raises:
            ProtocolError: The file is damaged, too large, or of a newer version.
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
        """Stop reading: the file in progress ends at its next step."""
        self._closed.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
