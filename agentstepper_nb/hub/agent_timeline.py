"""A run's timeline for its own agent: without contents, and small however long the run is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from ..core import EventTypeRegistry, make_debug_row, make_row
from ..protocol.agent import Timeline
from ..protocol.breakpoint_rules import MAX_BREAKPOINTS
from ..protocol.data_model import (
    Commit,
    Event,
    Failure,
    FileChange,
    HaltPoint,
    Run,
    TimelineRow,
)
from ..store.base import RowPage
from . import pagination
from .run_service import RunService

#: The rows and commits sent from the run's start, and from its end; those between are left out.
MAX_END_ROWS: Final = 250
#: Files of all commits together.
_MAX_FILES: Final = 2000
#: Breakpoints that hit at one row.
_MAX_BREAKPOINTS: Final = 10
#: Characters of a text that an agent may have made as long as it liked.
_MAX_TEXT_CHARS: Final = 1000

Item = TypeVar("Item")


async def make_timeline(hub: RunService, run: str) -> Timeline:
    """Make the timeline of what is recorded so far. Raises as `pagination.read_opened_run`.

    Args:
        hub: The Core's service.
        run: The run's id.
    """
    last = hub.run(run).rows
    spans = (
        [(0, last)]
        if last <= 2 * MAX_END_ROWS
        else [(0, MAX_END_ROWS), (last - MAX_END_ROWS + 1, last)]
    )
    pages = [await pagination.read_run(hub, run, hub.store.page(run, *span)) for span in spans]
    header = hub.run(run)
    await hub.wait_store_settled()  # what it says may be newer than what was read
    # On a thread: to sum up long contents takes a while, in which others would wait.
    return await asyncio.to_thread(_build_timeline, header, pages, hub.event_registry)


def _build_timeline(
    run: Run, pages: Sequence[RowPage], event_registry: EventTypeRegistry
) -> Timeline:
    commits = {commit.id: commit for page in pages for commit in page.commits}
    return Timeline(
        run=_short_run(run),
        rows=tuple(_row(each, event_registry) for page in pages for each in page.rows),
        commits=_short_commits(_both_ends(list(commits.values()))),
    )


def _both_ends(items: Sequence[Item]) -> list[Item]:
    if len(items) <= 2 * MAX_END_ROWS:
        return list(items)
    return [*items[:MAX_END_ROWS], *items[-MAX_END_ROWS:]]


def _row(item: HaltPoint | Event, event_registry: EventTypeRegistry) -> TimelineRow:
    if isinstance(item, Event):
        return make_debug_row(item)
    row = make_row(item, event_registry)
    return replace(
        row, failure=_short_failure(row.failure), breakpoints=row.breakpoints[:_MAX_BREAKPOINTS]
    )


def _short_run(run: Run) -> Run:
    return replace(
        run,
        name=_cut(run.name),
        workspace=None if run.workspace is None else _cut(run.workspace),
        notice=_cut(run.notice),
        failure=_short_failure(run.failure),
        hits=run.hits[:MAX_BREAKPOINTS],
    )


def _short_failure(failure: Failure | None) -> Failure | None:
    if failure is None:
        return None
    return Failure(type=_cut(failure.type), message=_cut(failure.message))


def _short_commits(commits: Sequence[Commit]) -> tuple[Commit, ...]:
    remaining_files = _MAX_FILES
    short = []
    for commit in commits:
        changes = commit.changes[:remaining_files]
        remaining_files -= len(changes)
        short.append(
            replace(
                commit,
                title=_cut(commit.title),
                description=_cut(commit.description),
                changes=tuple(_short_change(change) for change in changes),
            )
        )
    return tuple(short)


def _short_change(change: FileChange) -> FileChange:
    previous = change.previous_path
    return replace(
        change,
        path=_cut(change.path),
        previous_path=None if previous is None else _cut(previous),
        body=None,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_CHARS else text[: _MAX_TEXT_CHARS - 1] + "…"
