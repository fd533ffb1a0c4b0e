"""Pages of the list of runs, and of each run's rows and commits (0013)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec

from ..core import make_debug_row, make_row
from ..errors import CommandError, ProtocolError
from ..protocol import ui as v2
from ..protocol.data_model import Commit, Event, HaltPoint, Run, TimelineRow
from ..store.base import ContentPredicate
from .run_service import RunService

#: Rows of a run's last page, and the most bytes of their messages, commits included.
PAGE_ROWS: Final = 200
PAGE_BYTES: Final = 256 * 1024
#: Rows of one request at most.
MAX_RANGE_ROWS: Final = 500
#: Runs that hello has, besides those that live.
MAX_LISTED_RUNS: Final = 200

T = TypeVar("T")
_encode: Final = msgspec.json.Encoder().encode


# ---- the list of runs -------------------------------------------------------------------------------


def list_last_runs(runs: Sequence[Run]) -> tuple[tuple[Run, ...], int]:
    """The last runs and all that live, and how many older ones aren't among them.

    Args:
        runs: All, oldest first.
    """
    end = max(0, len(runs) - MAX_LISTED_RUNS)
    live = [run for run in runs[:end] if run.live]
    return (*live, *runs[end:]), end - len(live)


def list_runs_before(runs: Sequence[Run], before: str | None, limit: int) -> v2.RunsListed:
    """List the runs before a given run, or the newest runs.

    Args:
        runs: All runs, oldest first.
        before: The id of a run; None: list the newest runs.
        limit: The most runs to list.

    Raises:
        CommandError: `unknown_run`.
    """
    end = len(runs)
    if before is not None:
        end = next((at for at, run in enumerate(runs) if run.id == before), -1)
    if end < 0:
        raise CommandError(
            "unknown_run",
            f"There is no run {(before or '')[:80]}: it may have been deleted. Request "
            "the list again.",
            before,
        )
    first = max(0, end - limit)
    return v2.RunsListed(runs=tuple(runs[first:end]), more=first)


# ---- a run ------------------------------------------------------------------------------------------


class ViewPage(NamedTuple):
    """A page as a view shows it."""

    rows: tuple[TimelineRow, ...]
    commits: tuple[Commit, ...]


async def read_opened_run(hub: RunService, run: str) -> v2.RunOpened:
    """Read a run with its last page.

    Raises:
        CommandError: `unknown_run`.
        DamagedRunError: The stored page is damaged.
    """
    last = hub.run(run).rows
    shown = await _page(hub, run, last - PAGE_ROWS + 1, last)
    shown = await asyncio.to_thread(fit_page, shown)
    notes = await read_run(hub, run, hub.store.notes(run))
    header = hub.run(run)
    await hub.wait_store_settled()  # what it says may be newer than what was read
    return v2.RunOpened(run=header, rows=shown.rows, commits=shown.commits, notes=notes)


async def read_page(hub: RunService, command: v2.GetRows) -> v2.RowsPage:
    """Read the requested rows.

    Raises:
        CommandError: `unknown_run`, or `unknown_content`: the row to center on doesn't exist.
        ProtocolError: `invalid_message`: too many rows.
        DamagedRunError: The stored rows are damaged.
    """
    first, last = command.first, command.last
    if last - first >= MAX_RANGE_ROWS:
        raise ProtocolError(
            "invalid_message",
            f"The request asks for too many rows. Request at most {MAX_RANGE_ROWS} rows at once.",
        )
    hub.run(command.run)
    if command.around is not None:
        first, last = await _around(hub, command.run, command.around, max(1, last - first + 1))
    shown = await _page(hub, command.run, first, last)
    return v2.RowsPage(run=command.run, rows=shown.rows, commits=shown.commits)


async def read_commits(hub: RunService, command: v2.GetCommits) -> v2.CommitsPage:
    """A page of commits. Errors as `opened`."""
    hub.run(command.run)
    awaitable = hub.store.commits(command.run, command.before, command.limit)
    found = await read_run(hub, command.run, awaitable)
    return v2.CommitsPage(run=command.run, commits=found.commits, before=found.before)


async def _around(hub: RunService, run: str, message: str, number: int) -> tuple[int, int]:
    """The first and the last of some rows around one of them."""
    seq = await read_run(hub, run, hub.store.find_seq(run, message))
    if seq is None:
        raise CommandError(
            "unknown_content", "This run has no such message. Open the run again.", run
        )
    last = min(seq + number // 2, hub.run(run).rows)
    first = max(1, last - number + 1)
    return first, first + number - 1


async def _page(hub: RunService, run: str, first: int, last: int) -> ViewPage:
    # What was committed before the first row stands there as well.
    return await iterate_rows(hub, run, first if first > 1 else 0, last)


async def iterate_rows(
    hub: RunService,
    run: str,
    first: int,
    last: int,
    is_needed: ContentPredicate = lambda point: True,
    on_row: Callable[[HaltPoint], None] = lambda point: None,
) -> ViewPage:
    """Make a page of rows for views. Each row is made as it is read, so that few contents are in memory.

    Args:
        hub: The Core's service.
        run: The run's id.
        first: The number of the first row; with 0, commits from before the first row are included.
        last: The number of the last row.
        is_needed: Whether a halt point's contents are needed to make its row, besides their size.
        on_row: Called with each halt point, on any thread. Its contents may be "" if they aren't
            needed.

    Raises:
        CommandError: `unknown_run`: the run was deleted meanwhile.
        DamagedRunError: The stored rows are damaged.
    """
    made: list[TimelineRow] = []
    event_registry = hub.event_registry

    def add_row(item: HaltPoint | Event) -> None:
        if isinstance(item, Event):
            made.append(make_debug_row(item))
        else:
            on_row(item)
            made.append(make_row(item, event_registry))

    commits = await read_run(hub, run, hub.store.visit_rows(run, first, last, add_row, is_needed))
    return ViewPage(tuple(sorted(made, key=lambda each: each.seq)), commits)


async def read_run(hub: RunService, run: str, awaitable: Awaitable[T]) -> T:
    """Await a read of a run's data, and raise `unknown_run` if the run was deleted meanwhile.

    Args:
        hub: The Core's service.
        run: The run's id.
        awaitable: The read.

    Raises:
        CommandError: `unknown_run`: the run was deleted meanwhile.
        DamagedRunError: The stored data is damaged.
    """
    try:
        return await awaitable
    except Exception:
        hub.run(run)  # deleted meanwhile
        raise


def fit_page(page: ViewPage, max_bytes: int = PAGE_BYTES) -> ViewPage:
    """Cut a page to its end that fits a size, but to one row at least.

    Args:
        page: The page.
        max_bytes: The size in bytes, as the page is sent.
    """
    if not page.rows:
        return page
    commits_at = _group_commits(page)
    first = len(page.rows)
    while first > 0:
        max_bytes -= sum(map(_count_bytes, (page.rows[first - 1], *commits_at.get(first - 1, ()))))
        if max_bytes < 0 and first < len(page.rows):
            break
        first -= 1
    commit_ids = {
        commit.id for at in range(first, len(page.rows)) for commit in commits_at.get(at, ())
    }
    return ViewPage(
        page.rows[first:], tuple(each for each in page.commits if each.id in commit_ids)
    )


def _group_commits(page: ViewPage) -> dict[int, list[Commit]]:
    """The commits at each row, by its place in the page: the last one of their event, else by number."""
    of_event = {row.event: at for at, row in enumerate(page.rows)}
    of_seq = {row.seq: at for at, row in enumerate(page.rows)}
    found: dict[int, list[Commit]] = {}
    for commit in page.commits:
        at = of_event.get(commit.event or "", of_seq.get(commit.seq, 0))
        found.setdefault(at, []).append(commit)
    return found


def _count_bytes(value: TimelineRow | Commit) -> int:
    return len(_encode(value)) + 1
