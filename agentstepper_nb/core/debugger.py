"""The debugger's rules, without I/O: feed inputs in, drain outputs out.

Every input is one method call with the time passed in. It consults `states.RULES`, moves the state and
returns what to do, in order: `Saved` records, to store and then to tell the UIs, and `Reply`s to the
agent. `inputs` has the agents' half, `commands` the people's, `approvals` what either may decide.

The state itself is `fold.Runs`, which only the records move. An input that is refused raises, and
nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..protocol.records import Proof, Record
from ..protocol.stops import Price, Stop
from ..protocol.values import Breakpoint, Run, Side
from .approvals import Approvals


class Debugger(Approvals):
    """All runs, and what may happen to them."""

    @property
    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first."""
        return [status.run for status in self._runs.status.values()]

    @property
    def active(self) -> Run | None:
        """The live run that halted or started last."""
        run_id = self._runs.active
        return None if run_id is None else self._runs.status[run_id].run

    @property
    def stops(self) -> tuple[Stop, ...]:
        """All stops, in the order in which they were made."""
        return tuple(self._runs.stops.values())

    @property
    def prices(self) -> tuple[Price, ...]:
        """What models cost."""
        return self._runs.prices

    def run(self, run_id: str) -> Run:
        """One run's header.

        Raises:
            CommandError: `unknown_run`.
        """
        return self._status(run_id).run

    def pending(self, run_id: str) -> list[Breakpoint]:
        """A run's pending breakpoints, oldest first."""
        return list(self._status(run_id).pending.values())

    def proof(self, run_id: str) -> Proof | None:
        """By what a live run's agent is known; None where it can't come back, or the run has ended."""
        return self._status(run_id).proof

    def heard(self, run_id: str) -> int:
        """The number of the last message that was taken of a live run's agent."""
        return self._status(run_id).heard

    def next_side(self, run_id: str, event_id: str) -> Side:
        """The side of an event's next breakpoint, for version 1, which doesn't say it."""
        opened = self._status(run_id).open.get(event_id)
        return Side.END if opened and opened.begun else Side.BEGIN

    def replay(self, records: Iterable[Record]) -> None:
        """Rebuild the state from stored records, in their order."""
        self._runs.replay(records)
