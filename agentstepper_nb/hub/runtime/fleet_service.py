"""The state of all agents of a Core: the store's counts, and the debugger's runs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from msgspec.structs import replace

from ...protocol.data_model import Usage
from ...protocol.fleet import (
    MAX_FLEET_ROWS,
    ContinueRuns,
    FleetQuery,
    FleetSession,
    FleetSummary,
    HaltedRun,
    HaltRuns,
    RunsChanged,
)
from ...store.runtime.base import RuntimeStore

_MINUTE_S: Final = 60


class FleetRuns(Protocol):
    """The operations of a fleet on a Core's runs; `hub.fleet_runs` implements them."""

    def list_halted(self) -> tuple[str, ...]:
        """The ids of the live runs that wait for a person, the one that waits longest first."""

    def describe_halted(self, runs: tuple[str, ...]) -> tuple[HaltedRun, ...]:
        """Describe the pending halt points of runs. Runs that have resumed are left out."""

    def count_going(self) -> int:
        """Count the live runs that only a breakpoint would halt."""

    def sum_usage(self) -> Usage:
        """The tokens and the cost of all runs together."""

    def halt_all(self) -> int:
        """Make each of these runs halt at its next halt point. Returns the number of runs."""

    def continue_halted(self, request: ContinueRuns) -> RunsChanged:
        """Resume halted runs. Halt points that need an approval stay pending."""


class NoRuns:
    """The runs of a Core without a debugger: none."""

    def list_halted(self) -> tuple[str, ...]:
        """None."""
        return ()

    def describe_halted(self, runs: tuple[str, ...]) -> tuple[HaltedRun, ...]:
        """None."""
        return ()

    def count_going(self) -> int:
        """None."""
        return 0

    def sum_usage(self) -> Usage:
        """Nothing."""
        return Usage()

    def halt_all(self) -> int:
        """None."""
        return 0

    def continue_halted(self, request: ContinueRuns) -> RunsChanged:
        """None."""
        return RunsChanged(changed=0)


class StepRate:
    """Counts the steps of the last minute, by whole seconds.

    Args:
        clock: Returns POSIX seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._counts: deque[tuple[int, int]] = deque()  # second and steps, oldest first

    def add(self, steps: int) -> None:
        """Count steps that were written now."""
        second = math.floor(self._clock())
        before = self._counts.pop()[1] if self._counts and self._counts[-1][0] == second else 0
        self._counts.append((second, before + steps))
        self._forget(second)

    def read(self) -> int:
        """The steps of the last minute."""
        self._forget(math.floor(self._clock()))
        return sum(count for _, count in self._counts)

    def _forget(self, second: int) -> None:
        while self._counts and self._counts[0][0] <= second - _MINUTE_S:
            self._counts.popleft()


class FleetService:
    """Reports the state of all agents, and halts and continues all of them.

    Args:
        store: Counts the sessions.
        clock: Returns POSIX seconds.
        rate: Counts the steps.
        get_runs: Returns the runs of the Core.
        count_workers: Returns the number of connected workers.
    """

    def __init__(
        self,
        store: RuntimeStore,
        clock: Callable[[], float],
        rate: StepRate,
        get_runs: Callable[[], FleetRuns],
        count_workers: Callable[[], int],
    ) -> None:
        self._store = store
        self._clock = clock
        self._rate = rate
        self._get_runs = get_runs
        self._count_workers = count_workers

    async def fleet(self, request: FleetQuery) -> FleetSummary:
        """Summarise the state of all agents, with the requested page of sessions."""
        runs = self._get_runs()
        halted = runs.list_halted()
        report = await self._store.fleet(replace(request, halted_runs=halted))
        sessions = {session.run_id: session for session in report.halted}
        inbox = runs.describe_halted(halted[:MAX_FLEET_ROWS])
        return FleetSummary(
            at=self._clock(),
            report=replace(report, halted=()),
            inbox=tuple(_add_session(run, sessions.get(run.run_id)) for run in inbox),
            halted=len(halted),
            going=runs.count_going(),
            steps_per_minute=self._rate.read(),
            usage=runs.sum_usage(),
            workers=self._count_workers(),
        )

    async def halt_runs(self, request: HaltRuns) -> RunsChanged:
        """Halt each live run at its next halt point."""
        return RunsChanged(changed=self._get_runs().halt_all())

    async def continue_runs(self, request: ContinueRuns) -> RunsChanged:
        """Resume halted runs; see `ContinueRuns`."""
        return self._get_runs().continue_halted(request)


def _add_session(run: HaltedRun, session: FleetSession | None) -> HaltedRun:
    if session is None:
        return run
    return replace(run, agent_id=session.agent_id, session_id=session.session_id)
