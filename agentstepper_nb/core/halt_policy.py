"""Where a run halts by itself: an agent that has a lease decides, or else the run's stops do, here."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..protocol.records import RunHistory
from ..protocol.stops import Reaction
from ..protocol.values import Breakpoint, Commit, Run
from .fold import Runs
from .states import Signal
from .stops import Stops, changed_paths, point_of, replay

#: Characters of what a condition failed with.
_ERROR: Final = 1000


class HaltPolicy:
    """What stops make of the breakpoints of agents that have no lease.

    Args:
        runs: The state of all runs.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        #: Of each live run that is known since it began; None where its agent decides.
        self._engines: dict[str, Stops | None] = {}

    def begin(self, run: Run) -> None:
        """A run begins."""
        self._engines[run.id] = Stops(run.program, self._runs.stops.values())

    def end(self, run_id: str) -> None:
        """A run has ended."""
        self._engines.pop(run_id, None)

    def set_stops(self) -> None:
        """The stops are others now."""
        for engine in self._engines.values():
            if engine is not None:
                engine.set(self._runs.stops.values())

    def touch(self, commit: Commit) -> None:
        """Files of a run's workspace were changed."""
        engine = self._engines.get(commit.run)
        if engine is not None:
            engine.touch(changed_paths(commit.changes))

    def judge(self, run: Run, breakpoint: Breakpoint, *, leased: bool) -> Breakpoint:
        """A breakpoint with the stops that hit there.

        Args:
            run: The run.
            breakpoint: The breakpoint, which was just reached.
            leased: Whether the agent decided which stops hit.
        """
        if leased:
            self._engines[run.id] = None
            return _short(breakpoint)
        if self._engines.get(run.id) is None:
            self.begin(run)
        engine = self._engines[run.id]
        assert engine is not None
        verdict = engine.reach(point_of(breakpoint))
        return replace(breakpoint, stops=verdict.hits, stop_error=verdict.error)

    def signal(self, run: Run, breakpoint: Breakpoint) -> Signal:
        """What a breakpoint is to its run. What doesn't wait can't halt, and Stop answers the rest."""
        if not breakpoint.waits or run.stopping:
            return Signal.BREAKPOINT
        # A stop that hit may have been changed since.
        hit = (self._runs.stops.get(id) for id in breakpoint.stops)
        halts = any(stop and stop.enabled and stop.then is Reaction.HALT for stop in hit)
        if halts or breakpoint.stop_error is not None:
            return Signal.HIT
        return Signal.BREAKPOINT if breakpoint.approval is None else Signal.ASKED

    def lacks_memory(self, run_id: str) -> bool:
        """Whether nobody here knows what a run's stops remember: the run lives, and began under another
        Core.
        """
        return run_id in self._runs.live and run_id not in self._engines

    def remember(self, run_id: str, history: RunHistory | None) -> None:
        """Let a live run's stops know what came before.

        Args:
            run_id: The run; where the run has ended meanwhile, nothing is done.
            history: All of the run; None where it can't be read, so that the stops begin anew.
        """
        if not self.lacks_memory(run_id):
            return
        run = self._runs.status[run_id].run
        engine = self._engines[run_id] = Stops(run.program, self._runs.stops.values())
        if history is not None:
            for _ in replay(engine, history):
                pass  # what the stops say of a row was said when the row was reached


def _short(breakpoint: Breakpoint) -> Breakpoint:
    """A breakpoint whose error isn't longer than an agent's stops make it: it stands in its row."""
    if breakpoint.stop_error is None or len(breakpoint.stop_error) <= _ERROR:
        return breakpoint
    return replace(breakpoint, stop_error=breakpoint.stop_error[: _ERROR - 1] + "…")
