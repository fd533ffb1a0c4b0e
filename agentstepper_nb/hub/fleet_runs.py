"""The runs of a Core, for programs that watch and control all runs at once."""

from __future__ import annotations

import math
from typing import Final

from ..core import Output
from ..core.summaries import summarize
from ..core.timeline_rows import describe_row
from ..protocol.data_model import HaltPoint, Run, RunMode, RunState, Usage
from ..protocol.fleet import ContinueRuns, HaltedRun, RunsChanged
from .run_service import RunService

#: Characters of the summary of a halted run.
_MAX_SUMMARY_CHARS: Final = 300


class HubFleetRuns:
    """The runs of a service; see `hub.runtime.fleet_service.FleetRuns`.

    Args:
        service: Has the runs.
    """

    def __init__(self, service: RunService) -> None:
        self._service = service
        self._debugger = service.debugger

    def list_halted(self) -> tuple[str, ...]:
        """The ids of the live runs that wait for a person, the one that waits longest first."""
        halted = [self._debugger.run(run_id) for run_id in self._debugger.halted_runs]
        halted.sort(key=_get_halted_at)
        return tuple(run.id for run in halted)

    def describe_halted(self, runs: tuple[str, ...]) -> tuple[HaltedRun, ...]:
        """Describe the pending halt points of runs, except runs that have resumed or are deleted."""
        found = [(self._service.find(run_id), run_id) for run_id in runs]
        return tuple(
            self._describe(run, pending)
            for run, run_id in found
            if run is not None and (pending := self._debugger.pending(run_id))
        )

    def count_going(self) -> int:
        """Count the live runs that only a breakpoint would halt."""
        return sum(_is_going(run) for run in self._debugger.runs)

    def sum_usage(self) -> Usage:
        """Sum the tokens and the cost of all runs; None if no run reported any."""
        told = [run.usage for run in self._debugger.runs if run.usage is not None]
        costs = [usage.cost for usage in told if usage.cost is not None]
        return Usage(
            input_tokens=sum(usage.input_tokens or 0 for usage in told) if told else None,
            output_tokens=sum(usage.output_tokens or 0 for usage in told) if told else None,
            cost=sum(costs) if costs else None,
            estimated=any(usage.estimated for usage in told),
        )

    def halt_all(self) -> int:
        """Make each live run that continues halt at its next halt point. Returns the number of runs."""
        going = [run for run in self._debugger.runs if _is_going(run)]
        outputs: list[Output] = []
        for run in going:
            outputs += self._service.commands.halt(run.id)
        self._service.perform(outputs)
        return len(going)

    def continue_halted(self, request: ContinueRuns) -> RunsChanged:
        """Resume halted runs. Halt points that need an approval stay pending.

        A run all of whose pending halt points need an approval keeps its mode, too.
        """
        outputs: list[Output] = []
        changed = approvals = 0
        for run_id in self._debugger.halted_runs:
            if not self._is_meant(self._debugger.run(run_id), request):
                continue
            if all(point.approval is not None for point in self._debugger.pending(run_id)):
                approvals += 1
                continue
            outputs += self._service.commands.resume(run_id, self._service.clock())
            changed += 1
        self._service.perform(outputs)
        return RunsChanged(changed=changed, approvals=approvals)

    def _is_meant(self, run: Run, request: ContinueRuns) -> bool:
        if run.id in request.but or (request.runs is not None and run.id not in request.runs):
            return False
        return request.halted_until is None or (run.halted_at or 0.0) <= request.halted_until

    def _describe(self, run: Run, pending: list[HaltPoint]) -> HaltedRun:
        first = pending[0]
        line = summarize(first, self._service.event_registry.summarize)
        return HaltedRun(
            run_id=run.id,
            name=run.name,
            program=run.program,
            halted_at=run.halted_at,
            kind=first.kind,
            side=first.side,
            where=describe_row(first),
            summary=line[:_MAX_SUMMARY_CHARS],
            pending=len(pending),
            is_approval=all(point.approval is not None for point in pending),
            breakpoints=len(first.breakpoints),
        )


def _get_halted_at(run: Run) -> float:
    return math.inf if run.halted_at is None else run.halted_at


def _is_going(run: Run) -> bool:
    # Of thousands, most have ended: told without a call each.
    return run.state is not RunState.IDLE and not run.pending and run.mode is RunMode.CONTINUE
