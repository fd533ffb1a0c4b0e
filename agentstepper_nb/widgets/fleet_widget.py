"""`FleetWidget`: an overview of all agents of a Core under a notebook cell."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

from .. import discover
from ..protocol.fleet import ErrorGroup, FleetStatus, FleetSummary, HaltedRun
from ..runtime.client import Agents
from ..static_files import STATIC_FOLDER
from .debugger_widget import HEIGHT_PX, NOT_BUILT_MODULE
from .plain_text import to_one_line
from .relayed_widget import RelayedWidget

_BUNDLE = STATIC_FOLDER / "fleet.js"

#: Halted runs, and errors, that are listed where no front end shows the view, and letters of each.
_MAX_LISTED: Final = 10
_MAX_TEXT_CHARS: Final = 80


class FleetWidget(RelayedWidget):
    """Shows all agents of a Core under a cell: counts, errors, sessions, and the halted runs.

    ::

        FleetWidget()

    `RelayedWidget` describes how the view reaches the Core.

    Args:
        url: The Core's URL for agents. None: the running Core is discovered.
        token: The control token. None: the token is looked up.
        height: The view's height in pixels.
    """

    _esm = _BUNDLE if _BUNDLE.is_file() else NOT_BUILT_MODULE

    title = "AgentStepper: the fleet."

    def __init__(
        self, url: str | None = None, token: str | None = None, height: int = HEIGHT_PX
    ) -> None:
        super().__init__(partial(discover.find_runtime_endpoint, url, token), height)

    def list_lines(self, agents: Agents) -> list[str]:
        """List the sessions' counts by status, the runs that halted longest ago, and the errors."""
        fleet = agents.fleet()
        report = fleet.report
        return [
            _describe_counts(fleet),
            *_list_part("Halted", fleet.halted, [_describe_halted(run) for run in fleet.inbox]),
            *_list_errors("Errors", report.errors),
            *_list_errors("Failed actions", report.failed_actions),
        ]


def _describe_counts(fleet: FleetSummary) -> str:
    counts: Counter[FleetStatus] = Counter()
    for each in fleet.report.counts:
        counts[each.status] += each.count
    stand = ", ".join(f"{counts[status]:,} {status}" for status in FleetStatus if counts[status])
    return f"{counts.total():,} sessions{f': {stand}' if stand else ''}."


def _describe_halted(run: HaltedRun) -> str:
    who = run.agent_id or run.name
    asks = "asks for an approval at" if run.is_approval else "halted at"
    return to_one_line(f"{who} {asks} {run.where}", _MAX_TEXT_CHARS)


def _list_errors(title: str, groups: tuple[ErrorGroup, ...]) -> list[str]:
    lines = [to_one_line(f"{each.count:,} × {each.message}", _MAX_TEXT_CHARS) for each in groups]
    return _list_part(title, len(groups), lines)


def _list_part(title: str, count: int, lines: list[str]) -> list[str]:
    """Format a heading and the first of some lines; empty if there are no lines."""
    if not count:
        return []
    shown = [f"  {line}" for line in lines[:_MAX_LISTED]]
    more = count - len(shown)
    return [f"{title} ({count:,}):", *shown, *([f"  and {more:,} more"] if more > 0 else [])]
