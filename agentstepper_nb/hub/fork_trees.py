"""The tree of a run's forks, with the outcome of each, as a view shows it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import UNSET

from ..core.fork_trees import describe_fork_edit, is_fork_point, select_tree
from ..core.run_overview import OverviewFold
from ..core.timeline_rows import name_row
from ..errors import CommandError, StoreError
from ..protocol.data_model import Event, HaltPoint, Run
from ..protocol.fork_trees import ForkNode, ForkTree, ListForks
from ..protocol.header_limits import truncate_header
from ..protocol.overview import GetOverview, RunOverview
from . import pagination
from .overviews import read_overview
from .run_service import RunService
from .workspace_restores import list_restored

#: Runs of a tree that are listed.
MAX_NODES: Final = 100
#: The number of runs whose outcomes are cached.
_MAX_KNOWN: Final = 1000
#: Rows that are looked at at a time for the one that a run was forked at.
_PAGE_ROWS: Final = 500


class _ForkFacts(NamedTuple):
    """The facts of a run in a fork tree, besides its header."""

    version: tuple[object, ...]  # of the run that they are made of
    overview: RunOverview
    point: str
    edit: str


_Known = OrderedDict[str, _ForkFacts]
_KNOWN: Final[WeakKeyDictionary[RunService, _Known]] = WeakKeyDictionary()


async def list_forks(hub: RunService, command: ListForks) -> ForkTree:
    """The tree that a run belongs to.

    Raises:
        CommandError: `unknown_run`.
    """
    hub.run(command.run)
    await hub.wait_store_settled()
    runs, more = select_tree(hub.runs(), command.run, MAX_NODES)
    nodes = [node for run in runs if (node := await _make_node(hub, run)) is not None]
    restored = await list_restored(hub, runs)
    return ForkTree(nodes=tuple(nodes), more=more, restored=restored)


async def _make_node(hub: RunService, run: Run) -> ForkNode | None:
    """Make a run's node of the tree; None if the run was deleted meanwhile."""
    known = _KNOWN.setdefault(hub, OrderedDict())
    facts = known.get(run.id)
    if facts is None or facts.version != _get_version(run):
        try:
            facts = await _read_facts(hub, run)
        except CommandError:
            return None
        known[run.id] = facts
    known.move_to_end(run.id)
    while len(known) > _MAX_KNOWN:
        known.popitem(last=False)
    overview = facts.overview
    return ForkNode(
        run=truncate_header(run),
        point=facts.point,
        edit=facts.edit,
        outcome=overview.outcome,
        reason=overview.reason,
        changed_files=_count_changed_files(overview),
    )


def _count_changed_files(overview: RunOverview) -> int:
    """Count the changed files. The overview lists changed files first, and its list may be cut."""
    changed = sum(file.changes > 0 for file in overview.files)
    return changed + overview.more_files if changed == len(overview.files) else changed


def _get_version(run: Run) -> tuple[object, ...]:
    return (run.rows, run.state, run.pending, run.ending, run.commits, len(run.checks or ()))


async def _read_facts(hub: RunService, run: Run) -> _ForkFacts:
    version = _get_version(run)
    try:
        overview = await read_overview(hub, GetOverview(run=run.id))
        point = await _find_fork_point(hub, run)
    except StoreError:  # the others are listed all the same
        overview, point = OverviewFold().make(run), None
    named = point or await _find_parent_point(hub, run)
    return _ForkFacts(
        version,
        overview,
        "" if named is None else name_row(named),
        "" if point is None else describe_fork_edit(point),
    )


async def _find_fork_point(hub: RunService, run: Run) -> HaltPoint | None:
    """Find a fork's own halt point at which it was forked; None if it has none, or none yet."""
    if not run.forked_from or run.forked_from.row is UNSET:
        return None
    found: list[HaltPoint] = []

    def look_at(row: HaltPoint | Event) -> None:
        if isinstance(row, HaltPoint) and is_fork_point(row):
            found.append(row)

    for first in range(1, run.rows + 1, _PAGE_ROWS):
        last = first + _PAGE_ROWS - 1
        rows = hub.store.visit_rows(run.id, first, last, look_at, is_fork_point)
        await pagination.read_run(hub, run.id, rows)
        if found:
            return min(found, key=lambda point: point.seq)
    return None


async def _find_parent_point(hub: RunService, run: Run) -> HaltPoint | None:
    """Find the parent's row at which a run is forked; None if it isn't in this Core."""
    origin = run.forked_from
    if not origin or origin.row is UNSET or hub.find(origin.run) is None:
        return None
    try:
        reading = hub.store.page(origin.run, origin.row, origin.row)
        page = await pagination.read_run(hub, origin.run, reading)
    except (CommandError, StoreError):  # it was deleted meanwhile, or can't be read
        return None
    return next((row for row in page.rows if isinstance(row, HaltPoint)), None)
