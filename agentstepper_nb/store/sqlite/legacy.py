"""The `.run` files that Cores kept before there was a store: each is taken in once."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Final

from ...errors import ProtocolError
from ...protocol.records import RunHistory
from ...protocol.v1 import runfile
from ..archive import read

log = logging.getLogger(__name__)

#: Where they lie, below the store's folder.
LOGS: Final = "logs"


def untaken(
    folder: Path, taken: Container[str], runs: Container[str]
) -> Iterator[tuple[str, RunHistory]]:
    """Give the runs of `.run` files that weren't taken in yet, oldest first, each with its file's name.

    Files that can't be read are logged and left alone; they are tried again at the next start.

    Args:
        folder: The store's folder.
        taken: The names of files that were (the table `files`).
        runs: The ids of the store's runs: a copy of a file is a run of its own.
    """
    found: list[tuple[str, RunHistory]] = []
    ids: set[str] = set()
    for path in sorted((folder / LOGS).glob("*.run")):
        if path.name in taken:
            continue
        try:
            data = read(path)
            history = runfile.load(data)
            if history.run.id in runs or history.run.id in ids:
                history = runfile.load(data, path.stem)
        except (ProtocolError, OSError) as error:
            log.warning("%s is not listed: %s", path, error)
            continue
        ids.add(history.run.id)
        found.append((path.name, history))
    yield from sorted(found, key=lambda each: each[1].run.started_at)


def discard(folder: Path, name: str) -> None:
    """Delete a file whose run was deleted, with the text beside it: nothing of it is to be left.

    Args:
        folder: The store's folder.
        name: The file's name, as `untaken` gave it.
    """
    path = folder / LOGS / name
    for each in (path, path.with_suffix(".log")):
        with contextlib.suppress(OSError):
            each.unlink(missing_ok=True)
