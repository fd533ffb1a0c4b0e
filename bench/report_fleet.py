"""The section of the page about a fleet of many sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from .report_texts import FLEET_TEXT, make_table

if TYPE_CHECKING:
    from .fleet import FleetRun

_NAMES: Final = {"process": "isolated", "none": "cooperative"}
#: Rows of the table: what was measured, and how that is said of a fleet.
_ROWS: Final[dict[str, Callable[[FleetRun], str]]] = {
    "steps a second": lambda run: f"{run.steps_per_s:,.0f}",
    "steps that are stored": lambda run: f"{run.steps:,}",
    "until the last session has ended": lambda run: f"{run.wall_s:,.0f} s",
    "workers that ended, and were started again": lambda run: f"{run.restarts}",
    "descriptors of the Core, at most": lambda run: f"{run.core.descriptors:,}",
    "descriptors of a worker, at most": lambda run: f"{run.worker.descriptors:,}",
    "memory of the Core, at most": lambda run: _format_megabytes(run.core.bytes),
    "memory of a worker, at most": lambda run: _format_megabytes(run.worker.bytes),
    "the same, with its step processes": lambda run: _format_megabytes(run.worker.tree_bytes),
    "processes of a worker, at most": lambda run: f"{run.worker.processes}",
    "bytes a step, of sessions": lambda run: f"{run.sessions_bytes / run.steps:,.0f}",
    "bytes a step, of runs and their index": lambda run: f"{run.runs_bytes / run.steps:,.0f}",
    "the machine's load at its end": lambda run: f"{run.load:.1f}",
}


def make_fleet_section(runs: Sequence[FleetRun]) -> list[str]:
    """The section about fleets of one size, beside each other; empty where none was measured."""
    if not runs:
        return []
    effort = runs[0].effort
    text = FLEET_TEXT.format(
        sessions=effort.sessions,
        steps=effort.steps,
        workers=effort.workers,
        harm_every=effort.harm_every,
    )
    rows = [(name, *map(measured, runs), "") for name, measured in _ROWS.items()]
    faults = tuple(str(len(run.faults)) for run in runs)
    verdict = "0: MISSED" if any(run.faults for run in runs) else "0: held"
    rows.insert(0, ("sessions that aren't where they should be", *faults, verdict))
    head = ("", *(_NAMES[run.effort.isolation] for run in runs), "goal")
    return [text, *make_table(head, rows)]


def _format_megabytes(number: int) -> str:
    return f"{number / 1e6:,.0f} MB"
