"""Overviews of runs. Each run is read once; later reads add only what is new."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final
from weakref import WeakKeyDictionary

from ..core.run_overview import OverviewFold, needs_content
from ..protocol.data_model import Commit, Event, HaltPoint
from ..protocol.overview import GetOverview, RunOverview
from . import pagination
from .run_service import RunService

#: The number of runs whose overviews are cached.
_MAX_RUNS: Final = 20
#: Rows that are read at a time.
_PAGE_ROWS: Final = 500


@dataclass
class _Known:
    fold: OverviewFold = field(default_factory=OverviewFold)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class _Overviews:
    """The runs of one Core."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def get(self, run: str) -> _Known:
        """Return what is already read of a run, at first nothing."""
        known = self._known.setdefault(run, _Known())
        self._known.move_to_end(run)
        while len(self._known) > _MAX_RUNS:
            self._known.popitem(last=False)
        return known


_OVERVIEWS: Final[WeakKeyDictionary[RunService, _Overviews]] = WeakKeyDictionary()


async def read_overview(hub: RunService, command: GetOverview) -> RunOverview:
    """Read a run's overview.

    Raises:
        CommandError: `unknown_run`.
        DamagedRunError: The stored run is damaged.
    """
    hub.run(command.run)
    await hub.wait_store_settled()
    known = _OVERVIEWS.setdefault(hub, _Overviews()).get(command.run)
    async with known.lock:  # who asks at the same time gets the same
        while await _read_on(hub, command.run, known.fold):
            pass
    checks = hub.event_registry.effect_checks.describe()
    return await asyncio.to_thread(known.fold.make, hub.run(command.run), checks)


async def _read_on(hub: RunService, run: str, fold: OverviewFold) -> bool:
    """Read the next rows; whether there may be more. A row that waits may still change."""
    first = fold.rows  # which is read again: commits after it may have come since
    last = min(hub.run(run).rows, first + _PAGE_ROWS)
    if last <= first:
        return False
    rows: list[HaltPoint | Event] = []
    reading = hub.store.visit_rows(run, first, last, rows.append, needs_content)
    commits = await pagination.read_run(hub, run, reading)
    return await asyncio.to_thread(_fold, fold, rows, commits)


def _fold(fold: OverviewFold, rows: list[HaltPoint | Event], commits: tuple[Commit, ...]) -> bool:
    """Add the rows and commits after the last added row. Returns whether there were any."""
    before = fold.rows
    waiting = deque(sorted((each for each in commits if each.seq >= before), key=_get_seq))
    for row in sorted((each for each in rows if each.seq > before), key=_get_seq):
        if isinstance(row, HaltPoint) and row.answer is None:
            break
        while waiting and waiting[0].seq < row.seq:
            fold.add_commit(waiting.popleft())
        fold.add_row(row)
    return fold.rows > before


_get_seq: Final = attrgetter("seq")
