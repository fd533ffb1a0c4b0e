"""What it costs to keep runs on disk: to append to one, the room it takes, and to open a thousand."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import msgspec

from agentstepper_nb.protocol.data_model import EventSide
from agentstepper_nb.protocol.records import ImportedRunSaved, Record, RunHistory
from agentstepper_nb.store import SqliteStore, open_store
from agentstepper_nb.store.run_validation import prepare_import
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.growing_agent import grow, size
from tests.helpers.histories import fold_records

from .conversation import body
from .round_trip import Spread

#: Bytes of a halt point that is appended.
SIZE = 2_000
#: Steps of each run of the folder that is opened.
STEPS = 10
#: Seconds without a change after which a folder is taken to be idle.
_QUIET = 1.5

_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    one_by_one: int  # halt points that are each durable before the next one
    together: int  # halt points that become durable at one go
    turns: int  # of the conversation that grows
    runs: int  # in the folder that is opened


@dataclass(frozen=True)
class Rate:
    """One way to append."""

    name: str
    seconds: Spread  # a halt point
    ratio: Spread  # to the floor's neighbouring round


@dataclass(frozen=True)
class Room:
    """What a conversation that grows takes on disk."""

    turns: int
    new: int  # bytes that were said for the first time
    idle: int  # bytes of the folder, once it is idle


@dataclass(frozen=True)
class Opening:
    """A folder with many runs, opened until a Core knows them all."""

    runs: int
    seconds: Spread


@dataclass(frozen=True)
class Storing:
    """All that this module measures."""

    rates: Sequence[Rate]
    room: Room
    opening: Opening


def measure(effort: Effort) -> Storing:
    """Measure appending, beside its floor, then the room that is taken, then opening."""
    return Storing(_rates(effort), _room(effort.turns), _opening(effort))


# ---- appending ----------------------------------------------------------------------------------------


class _HaltPoints:
    """The records of one run's halt points, each with contents of its own."""

    def __init__(self) -> None:
        self._stage = DebuggerHarness()
        self._numbers = count()
        self._stage.start()
        self._stage.resume(self._stage.query()[1])

    def take(self, number: int) -> list[list[Record]]:
        """The records of the next ones; the first time those of the run's beginning are among them."""
        return [self._next() for _ in range(number)]

    def _next(self) -> list[Record]:
        harness = self._stage
        data = json.dumps(body(SIZE, next(self._numbers)))
        harness.reach(harness.begin(), EventSide.BEGIN, data=data)
        records, harness.records = harness.records, []
        return records


def _rates(effort: Effort) -> list[Rate]:
    with tempfile.TemporaryDirectory() as folder:
        rounds = asyncio.run(_append(Path(folder), effort))[1:]
    floor, store, floor_together, store_together = zip(*rounds, strict=True)
    together = f"{effort.together} at one go"
    return [
        _rate("JSON Lines and `fdatasync`, one by one", floor, floor),
        _rate("the store, one by one", store, floor),
        _rate(f"JSON Lines and `fdatasync`, {together}", floor_together, floor_together),
        _rate(f"the store, {together}", store_together, floor_together),
    ]


def _rate(name: str, seconds: tuple[float, ...], floor: tuple[float, ...]) -> Rate:
    ratios = [own / least for own, least in zip(seconds, floor, strict=True)]
    return Rate(name, Spread.of(seconds), Spread.of(ratios))


async def _append(folder: Path, effort: Effort) -> list[tuple[float, float, float, float]]:
    """Seconds a halt point of the floor and the store, one by one, and of both at one go."""
    halt_points = _HaltPoints()
    rounds = []
    with closing(open_store(folder)) as store, (folder / "floor").open("ab", buffering=0) as file:
        for _ in range(effort.rounds + 1):
            few, many = (
                halt_points.take(number) for number in (effort.one_by_one, effort.together)
            )
            rounds.append(
                (
                    await _seconds(few, lambda each: _to_file(file.fileno(), each)),
                    await _seconds(few, lambda each: _to_store(store, each)),
                    await _seconds([many], lambda each: _to_file(file.fileno(), *each)),
                    await _seconds([many], lambda each: _to_store(store, *each)),
                )
            )
    per = (effort.one_by_one, effort.one_by_one, effort.together, effort.together)
    return [tuple(s / n for s, n in zip(each, per, strict=True)) for each in rounds]  # type: ignore[misc]


async def _seconds(items: Sequence[T], keep: Callable[[T], Awaitable[None]]) -> float:
    begin = time.perf_counter()
    for item in items:
        await keep(item)
    return time.perf_counter() - begin


async def _to_file(file: int, *groups: list[Record]) -> None:
    for group in groups:
        os.write(file, _encode(group) + b"\n")
    os.fdatasync(file)


async def _to_store(store: SqliteStore, *groups: list[Record]) -> None:
    durable = asyncio.Event()
    for group in groups[:-1]:
        store.append(group)
    store.append(groups[-1], durable.set, durable=True)
    await durable.wait()


# ---- room, and opening --------------------------------------------------------------------------------


def _room(turns: int) -> Room:
    async def idle(folder: Path) -> Room:
        with closing(open_store(folder)) as store:
            new = await grow(store, turns)
            return Room(turns, new, await _settled(folder))

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(idle(Path(folder)))


async def _settled(folder: Path) -> int:
    """The bytes of a folder in which nothing changes any more."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < _QUIET:
        now = size(folder)
        if now != last:
            last, since = now, time.monotonic()
        await asyncio.sleep(0.1)
    return last


def _opening(effort: Effort) -> Opening:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = [record for each in _HaltPoints().take(STEPS) for record in each]
        asyncio.run(_fill(folder, effort.runs, fold_records(records)))
        seconds = [_open(folder) for _ in range(effort.rounds + 1)][1:]
    return Opening(effort.runs, Spread.of(seconds))


async def _fill(folder: Path, runs: int, history: RunHistory) -> None:
    with closing(open_store(folder)) as store:
        for number in range(runs):
            store.append([ImportedRunSaved(history=prepare_import(history, f"run{number}"))])
        await store.info()


def _open(folder: Path) -> float:
    begin = time.perf_counter()
    with closing(open_store(folder)) as store:
        for _ in store.load():
            pass
        return time.perf_counter() - begin
