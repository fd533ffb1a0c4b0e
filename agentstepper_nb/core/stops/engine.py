"""What stops make of a run's breakpoints, one after the other. Pure: what was is what it remembers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...protocol.stops import Stop
from ...protocol.values import EventKind, Failure, Outcome, Side, Usage


class Point(NamedTuple):
    """A breakpoint, as stops see it: as the agent sent it, whatever edits came after.

    Args:
        data: Its JSON text, UTF-8.
    """

    kind: EventKind
    side: Side
    name: str | None
    data: bytes
    depth: int = 0
    outcome: Outcome | None = None
    failure: Failure | None = None
    usage: Usage | None = None


class Verdict(NamedTuple):
    """What stops say of a breakpoint."""

    hits: tuple[str, ...] = ()  # ids, in the order of the stops
    halts: bool = False
    error: str | None = None  # a condition failed, and how: it halts


class Stops:
    """The stops of one run, with all they remember of it.

    Args:
        program: The run's program.
        stops: In their order; those that are off or for other programs are passed over.
    """

    def __init__(self, program: str, stops: Iterable[Stop] = ()) -> None:
        self._program = program
        self.set(stops)

    def set(self, stops: Iterable[Stop]) -> None:
        """Take these in place of those before. One that is as it was goes on counting; others begin."""
        raise NotImplementedError

    @property
    def needed(self) -> bool:
        """Whether there is any stop in force: without one, nothing needs to be told but what was used."""
        raise NotImplementedError

    def touch(self, paths: Iterable[str]) -> None:
        """These files of the workspace were changed: told before the breakpoint that follows."""
        raise NotImplementedError

    def reach(self, point: Point) -> Verdict:
        """A breakpoint was reached: to be called once for each of the run, in their order."""
        raise NotImplementedError
