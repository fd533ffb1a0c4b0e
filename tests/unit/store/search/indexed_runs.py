"""Runs for an index, and a store that it reads them from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from agentstepper_nb.protocol.data_model import EventKind, EventSide, HaltPoint, Run
from agentstepper_nb.protocol.records import (
    HaltPointSaved,
    RunHistory,
    RunStarted,
)
from agentstepper_nb.store.search import SearchService
from agentstepper_nb.store.search.service import SEARCH_TIMEOUT_S

Open = Callable[..., SearchService]


def history(run: str, text: str = "needle") -> RunHistory:
    header = Run(id=run, name=f"Run {run}", program="P", started_at=1.0)
    point = HaltPoint(
        id=f"b-{run}",
        run=run,
        event="e",
        seq=1,
        side=EventSide.BEGIN,
        kind=EventKind.LLM_QUERY,
        at=1.0,
        data=f'"{text} of {run}"',
    )
    return RunHistory(run=header, halt_points=(point,))


def records(run: str, text: str = "needle") -> list[Any]:
    whole = history(run, text)
    return [RunStarted(run=whole.run), HaltPointSaved(halt_point=whole.halt_points[0])]


def search_ids(
    index: SearchService,
    query: str = "needle",
    run: str | None = None,
    timeout_s: float = SEARCH_TIMEOUT_S,
) -> list[str]:
    return [hit.run for hit in asyncio.run(index.search(query, run, timeout_s=timeout_s))]


class RunSource:
    """A store that is read, and what was read of it."""

    def __init__(self, *runs: str) -> None:
        self.runs = {run: history(run) for run in runs}
        self.read: list[str] = []

    def __call__(self, run: str) -> RunHistory:
        self.read.append(run)
        return self.runs[run]
