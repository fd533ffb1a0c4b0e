"""What a Core takes in that starts on a folder: what its store leads to, and files of version 1."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ...errors import DamagedRunError, ProtocolError
from ...protocol.records import Record, RunChanged, RunFound, RunHistory
from ...protocol.v1 import runfile
from ...protocol.values import Failure, Run, RunState
from ...protocol.visible import on_one_line
from ..archive import read
from .reader import Listed, Reader

log = logging.getLogger(__name__)

#: Where the `.run` files lie, below the store's folder, that Cores kept before there was a store.
LOGS: Final = "logs"


def records(reader: Reader, listed: Sequence[Listed]) -> Iterator[Record]:
    """What `Store.load` gives. A live run that is hurt is given as one that ended.

    Args:
        reader: Of the store.
        listed: Its runs, oldest first.
    """
    rules = reader.rules()
    if rules.hurt:
        log.error("%d of the stops and prices are damaged and left out", rules.hurt)
    yield from rules.records
    rest: dict[str, list[Record]] = {}  # of those that live
    for each in listed:
        first, *others = _of(reader, each)
        if others:
            rest[each.run.id] = others
        yield first
    yield from _in_order([each for each in listed if each.run.id in rest])
    for others in rest.values():
        yield from others


def _of(reader: Reader, listed: Listed) -> list[Record]:
    if listed.active is None:
        return [RunFound(run=listed.run)]
    try:
        return reader.live_records(listed.run.id)
    except DamagedRunError as error:
        log.error("%s was running, and is given up: %s", on_one_line(listed.run.name), error)
        failure = Failure(type=type(error).__name__, message=str(error))
        return [RunFound(run=_ended(listed.run, failure))]


def _ended(run: Run, failure: Failure) -> Run:
    return replace(run, state=RunState.IDLE, pending=(), failure=failure, stopping=False)


def _in_order(live: list[Listed]) -> Iterator[Record]:
    """What makes the run that halted or started last the last one, where that isn't the newest."""
    order = sorted(live, key=lambda each: each.active or 0)
    if order == live:
        return
    for each in order:
        # Without what is counted by the records that follow.
        header = replace(each.run, rows=0, commits=0, usage=None, hits=())
        yield RunChanged(run=replace(header, state=RunState.HALTED))
        yield RunChanged(run=header)


# ---- files of version 1: each is taken in once ----------------------------------------------------


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
