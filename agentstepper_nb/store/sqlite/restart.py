"""What a Core replays that starts again on a store."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...errors import DamagedRunError
from ...protocol.records import Record, RunChanged, RunFound
from ...protocol.values import Failure, Run, RunState
from ...protocol.visible import on_one_line
from .reader import Listed, Reader

log = logging.getLogger(__name__)


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
