"""Runs on disk: `NAME_YYYY-MM-DD_HH-MM-SS.run` for programs and `.log` beside it for people."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from ..errors import ProtocolError
from ..protocol.records import RunHistory
from ..protocol.v1 import runfile
from ..protocol.values import Run
from .logs import readable

log = logging.getLogger(__name__)

_REFUSED: Final = re.compile(r"[^\w .#-]+")


class RunFiles:
    """The files of a folder. Writing happens on a thread of its own.

    Args:
        folder: Made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[str, Path] = {}
        self._writer = ThreadPoolExecutor(1, "agentstepper-files")

    def load(self) -> Iterator[RunHistory]:
        """Read the folder's runs, oldest first. A damaged file is logged and left alone."""
        found = []
        for path in sorted(self._folder.glob("*.run")):
            try:
                history = runfile.load(path.read_bytes())
                if history.run.id in self._paths:
                    history = runfile.load(path.read_bytes(), path.stem)
            except (ProtocolError, OSError) as error:
                log.warning("%s is not listed: %s", path, error)
                continue
            self._paths[history.run.id] = path
            found.append(history)
        yield from sorted(found, key=lambda history: history.run.started_at)

    def write(self, history: RunHistory) -> None:
        """Write a run's files; a run written before is written again in its place."""
        path = self._paths.get(history.run.id)
        if path is None:
            path = self._free_path(history.run)
            self._paths[history.run.id] = path
        self._writer.submit(self._write, path, history)

    def delete(self, run_id: str) -> None:
        """Delete a run's files, where it has any."""
        path = self._paths.pop(run_id, None)
        if path:
            self._writer.submit(self._delete, path)

    def close(self) -> None:
        """Wait until all is written."""
        self._writer.shutdown(wait=True)

    def _free_path(self, run: Run) -> Path:
        # File systems count bytes.
        name = (
            _REFUSED.sub("", run.name).encode()[:120].decode(errors="ignore").strip(". ") or "run"
        )
        stem = f"{name}_{time.strftime('%Y-%m-%d_%H-%M-%S', time.localtime(run.started_at))}"
        taken = set(self._paths.values())
        path = self._folder / f"{stem}.run"
        number = 2
        while path in taken or path.exists():
            path = self._folder / f"{stem}_{number}.run"
            number += 1
        return path

    def _write(self, path: Path, history: RunHistory) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, runfile.dump(history))
            write_whole(
                path.with_suffix(".log"), readable(history).encode(errors="backslashreplace")
            )
        except Exception:  # it would be lost in the executor
            log.exception("The run %s could not be written to %s", history.run.name, path)

    def _delete(self, path: Path) -> None:
        for each in (path, path.with_suffix(".log")):
            try:
                each.unlink(missing_ok=True)
            except OSError as error:
                log.error("%s could not be deleted: %s", each, error)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; contents of prompts are their owner's alone.

    Raises:
        OSError: It can't be written.
    """
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
