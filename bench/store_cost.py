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
from tests.helpers.growing_agent import append_growing_run, folder_size_bytes
from tests.helpers.histories import fold_records

from .conversation import make_body
from .round_trip import Spread

#: Bytes of a halt point that is appended.
BODY_BYTES = 2_000
#: Steps of each run of the folder that is opened.
STEPS = 10

_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


@dataclass(frozen=True)
class StoreEffort:
    """How much is measured."""

    rounds: int
    one_by_one: int  # halt points that are each durable before the next one
    together: int  # halt points that become durable at one go
    turns: int  # of the conversation that grows
    runs: int  # in the folder that is opened
    quiet_s: float = 1.5  # without a change, after which a folder is taken to be idle


@dataclass(frozen=True)
class AppendCost:
    """One way to append."""

    name: str
    seconds: Spread  # a halt point
    ratio: Spread  # to the floor's neighbouring round


@dataclass(frozen=True)
class DiskUsage:
    """What a conversation that grows takes on disk."""

    turns: int
    new_bytes: int  # bytes that were said for the first time
    idle_bytes: int  # bytes of the folder, once it is idle


@dataclass(frozen=True)
class FolderOpening:
    """A folder with many runs, opened until a Core knows them all."""

    runs: int
    seconds: Spread


@dataclass(frozen=True)
class StoreCosts:
    """All that this module measures."""

    appends: Sequence[AppendCost]
    disk_usage: DiskUsage
    opening: FolderOpening


def measure(effort: StoreEffort) -> StoreCosts:
    """Measure appending, beside its floor, then the room that is taken, then opening."""
    return StoreCosts(
        _measure_appends(effort), _measure_disk_usage(effort), _measure_opening(effort)
    )


# ---- appending ----------------------------------------------------------------------------------------


class HaltPointRecords:
    """The records of one run's halt points, each with contents of its own."""

    def __init__(self) -> None:
        self._harness = DebuggerHarness()
        self._numbers = count()
        self._harness.start()
        self._harness.resume(self._harness.begin_query()[1])

    def make_next(self, number: int) -> list[list[Record]]:
        """The records of the next ones; the first time those of the run's beginning are among them."""
        return [self._next() for _ in range(number)]

    def _next(self) -> list[Record]:
        harness = self._harness
        data = json.dumps(make_body(BODY_BYTES, next(self._numbers)))
        harness.reach(harness.begin(), EventSide.BEGIN, data=data)
        records, harness.records = harness.records, []
        return records


def _measure_appends(effort: StoreEffort) -> list[AppendCost]:
    with tempfile.TemporaryDirectory() as folder:
        rounds = asyncio.run(_append_rounds(Path(folder), effort))[1:]
    floor, store, floor_together, store_together = zip(*rounds, strict=True)
    together = f"{effort.together} at one go"
    return [
        _summarize_append("JSON Lines and `fdatasync`, one by one", floor, floor),
        _summarize_append("the store, one by one", store, floor),
        _summarize_append(
            f"JSON Lines and `fdatasync`, {together}", floor_together, floor_together
        ),
        _summarize_append(f"the store, {together}", store_together, floor_together),
    ]


def _summarize_append(
    name: str, seconds: tuple[float, ...], floor: tuple[float, ...]
) -> AppendCost:
    ratios = [own / least for own, least in zip(seconds, floor, strict=True)]
    return AppendCost(name, Spread.of(seconds), Spread.of(ratios))


async def _append_rounds(
    folder: Path, effort: StoreEffort
) -> list[tuple[float, float, float, float]]:
    """Seconds a halt point of the floor and the store, one by one, and of both at one go."""
    halt_points = HaltPointRecords()
    rounds = []
    with closing(open_store(folder)) as store, (folder / "floor").open("ab", buffering=0) as file:
        for _ in range(effort.rounds + 1):
            few, many = (
                halt_points.make_next(number) for number in (effort.one_by_one, effort.together)
            )
            rounds.append(
                (
                    await _time_each(few, lambda each: _write_to_file(file.fileno(), each)),
                    await _time_each(few, lambda each: _write_to_store(store, each)),
                    await _time_each([many], lambda each: _write_to_file(file.fileno(), *each)),
                    await _time_each([many], lambda each: _write_to_store(store, *each)),
                )
            )
    per = (effort.one_by_one, effort.one_by_one, effort.together, effort.together)
    return [tuple(s / n for s, n in zip(each, per, strict=True)) for each in rounds]  # type: ignore[misc]


async def _time_each(items: Sequence[T], write: Callable[[T], Awaitable[None]]) -> float:
    begin = time.perf_counter()
    for item in items:
        await write(item)
    return time.perf_counter() - begin


async def _write_to_file(file: int, *groups: list[Record]) -> None:
    for group in groups:
        os.write(file, _encode(group) + b"\n")
    os.fdatasync(file)


async def _write_to_store(store: SqliteStore, *groups: list[Record]) -> None:
    durable = asyncio.Event()
    for group in groups[:-1]:
        store.append(group)
    store.append(groups[-1], durable.set, durable=True)
    await durable.wait()


# ---- room, and opening --------------------------------------------------------------------------------


def _measure_disk_usage(effort: StoreEffort) -> DiskUsage:
    async def idle(folder: Path) -> DiskUsage:
        with closing(open_store(folder)) as store:
            new = await append_growing_run(store, effort.turns)
            idle_bytes = await _wait_until_idle(folder, effort.quiet_s)
            return DiskUsage(effort.turns, new, idle_bytes)

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(idle(Path(folder)))


async def _wait_until_idle(folder: Path, quiet_s: float) -> int:
    """The bytes of a folder in which nothing changes any more."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < quiet_s:
        now = folder_size_bytes(folder)
        if now != last:
            last, since = now, time.monotonic()
        await asyncio.sleep(0.1)
    return last


def _measure_opening(effort: StoreEffort) -> FolderOpening:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        records = [record for each in HaltPointRecords().make_next(STEPS) for record in each]
        asyncio.run(_fill(folder, effort.runs, fold_records(records)))
        seconds = [_time_opening(folder) for _ in range(effort.rounds + 1)][1:]
    return FolderOpening(effort.runs, Spread.of(seconds))


async def _fill(folder: Path, runs: int, history: RunHistory) -> None:
    with closing(open_store(folder)) as store:
        for number in range(runs):
            store.append([ImportedRunSaved(history=prepare_import(history, f"run{number}"))])
        await store.info()


def _time_opening(folder: Path) -> float:
    begin = time.perf_counter()
    with closing(open_store(folder)) as store:
        for _ in store.load():
            pass
        return time.perf_counter() - begin
