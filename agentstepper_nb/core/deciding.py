"""Who decides where a run halts by itself: its agent, which has a lease, or else its stops, here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ..protocol.records import RunHistory
from ..protocol.stops import Reaction
from ..protocol.values import Breakpoint, Commit, Run
from .moves import Leased, Moves, Output
from .states import Signal
from .stops import Stops, changed_paths, point_of, replay
from .vocabulary import PLAIN, Vocabulary

#: Characters of what a condition failed with.
_ERROR: Final = 1000


class Deciding(Moves):
    """What leases say, and what stops make of the breakpoints of agents that have none."""

    def __init__(self, vocabulary: Vocabulary = PLAIN) -> None:
        super().__init__(vocabulary)
        #: Of each live run that is known since it began; None where its agent decides.
        self._engines: dict[str, Stops | None] = {}

    def lease(self, run_id: str) -> Leased:
        """What a run's agent may decide by itself, as things stand.

        Raises:
            CommandError: `unknown_run`.
        """
        return self._lease(self._status(run_id).run)

    def lacks_memory(self, run_id: str) -> bool:
        """Whether nobody here knows what a run's stops remember: it lives, and began under another Core.

        It matters where the agent has no lease; then `remember` comes before its next breakpoint.
        """
        return run_id in self._runs.live and run_id not in self._engines

    def remember(self, run_id: str, history: RunHistory | None) -> None:
        """Let a live run's stops know what came before.

        Args:
            run_id: The run; where it has ended meanwhile, nothing is done.
            history: All of it; None where that can't be read, so that they begin anew.
        """
        if not self.lacks_memory(run_id):
            return
        self._begin_deciding(self._runs.status[run_id].run)
        engine = self._engines[run_id]
        if history is not None and engine is not None:
            for _ in replay(engine, history):
                pass  # what they say of it was said when it was reached

    def _begin_deciding(self, run: Run) -> None:
        self._engines[run.id] = Stops(run.program, self._runs.stops.values())

    def _end_deciding(self, run_id: str) -> None:
        self._engines.pop(run_id, None)

    def _judged(self, run: Run, breakpoint: Breakpoint, *, leased: bool) -> Breakpoint:
        """A breakpoint with the stops that hit there."""
        if leased:
            self._engines[run.id] = None
            return _short(breakpoint)
        engine = self._engines.get(run.id)
        if engine is None:
            engine = self._engines[run.id] = Stops(run.program, self._runs.stops.values())
        verdict = engine.reach(point_of(breakpoint))
        return replace(breakpoint, stops=verdict.hits, stop_error=verdict.error)

    def _signal(self, run: Run, breakpoint: Breakpoint) -> Signal:
        """What a breakpoint is to its run. What doesn't wait can't halt, and Stop answers the rest."""
        if not breakpoint.waits or run.stopping:
            return Signal.BREAKPOINT
        if self._halts(breakpoint):
            return Signal.HIT
        return Signal.BREAKPOINT if breakpoint.approval is None else Signal.ASKED

    def _halts(self, breakpoint: Breakpoint) -> bool:
        """Whether a stop halts here that still does: it may have been changed since it hit."""
        if breakpoint.stop_error is not None:
            return True
        hit = (self._runs.stops.get(id) for id in breakpoint.stops)
        return any(stop and stop.enabled and stop.then is Reaction.HALT for stop in hit)

    def _touch(self, commit: Commit) -> None:
        engine = self._engines.get(commit.run)
        if engine is not None:
            engine.touch(changed_paths(commit.changes))

    def _relet(self, before: Iterable[Leased]) -> list[Output]:
        """Give the leases that have changed.

        Args:
            before: Those of all live runs, as they were.
        """
        for engine in self._engines.values():
            if engine is not None:
                engine.set(self._runs.stops.values())
        for old in before:
            new = self.lease(old.run)
            if new != old:
                self._outputs.append(new)
        return self._drain()

    def _leases(self) -> list[Leased]:
        return [self.lease(run_id) for run_id in self._runs.live]


def _short(breakpoint: Breakpoint) -> Breakpoint:
    """A breakpoint whose error isn't longer than an agent's stops make it: it stands in its row."""
    if breakpoint.stop_error is None or len(breakpoint.stop_error) <= _ERROR:
        return breakpoint
    return replace(breakpoint, stop_error=breakpoint.stop_error[: _ERROR - 1] + "…")
