"""What stops make of a run's breakpoints, one after the other. Pure: what was is what it remembers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from ...protocol.stops import Reaction, Stop
from .conditions import ConditionError, condition_of
from .matching import Place, glob
from .points import Point
from .view import View
from .watches import Totals, watch_of


class Verdict(NamedTuple):
    """What stops say of a breakpoint."""

    hits: tuple[str, ...] = ()  # ids, in the order of the stops
    halts: bool = False
    error: str | None = None  # a condition failed, and how: it halts


_NOTHING: Final = Verdict()
#: Characters of a condition by which a person knows its stop.
_SHOWN: Final = 60


class Stops:
    """The stops of one run, with all they remember of it.

    Args:
        program: The run's program.
        stops: In their order; those that are off or for other programs are passed over.
    """

    def __init__(self, program: str, stops: Iterable[Stop] = ()) -> None:
        self._program = program
        self._totals = Totals()
        self._armed: list[_Armed] = []
        self.set(stops)

    def set(self, stops: Iterable[Stop]) -> None:
        """Take these in place of those before. One that is as it was goes on counting; others begin."""
        before = {armed.stop.id: armed for armed in self._armed}
        after: list[_Armed] = []
        for stop in stops:
            if stop.enabled and glob(stop.program)(self._program):
                known = before.get(stop.id)
                after.append(known if known and known.stop == stop else _Armed(stop))
        self._armed = after  # at once: what interrupts this changes nothing

    @property
    def needed(self) -> bool:
        """Whether any stop is in force: without one, nothing needs to be told but what was used."""
        return bool(self._armed)

    def touch(self, paths: Iterable[str]) -> None:
        """These files of the workspace were changed: told before the breakpoint that follows."""
        paths = tuple(paths)
        for armed in self._armed:
            if armed.watch is not None:
                armed.watch.touch(paths)

    def reach(self, point: Point) -> Verdict:
        """A breakpoint was reached: to be called once for each of the run, in their order."""
        self._totals.add(point)
        view: View | None = None
        hits: list[str] = []
        halts = False
        error: str | None = None
        for armed in self._armed:
            if not armed.concerns(point, self._totals):
                continue
            view = view or View(point, self._totals, self._program)
            try:
                if armed.hits(view):
                    hits.append(armed.stop.id)
                    halts = halts or armed.stop.then is Reaction.HALT
            except ConditionError as failed:
                error = error or _failed(armed.stop, failed)
        if not hits and error is None:
            return _NOTHING
        return Verdict(tuple(hits), halts or error is not None, error)


class _Armed:
    """A stop in force, and what it remembers."""

    __slots__ = ("_condition", "_done", "_matches", "_place", "stop", "watch")

    def __init__(self, stop: Stop) -> None:
        self.stop = stop
        self._place = Place(stop)
        self.watch = watch_of(stop, self._place)
        self._condition = None if stop.condition is None else condition_of(stop.condition)
        self._matches = 0
        self._done = False  # it hits no more

    def concerns(self, point: Point, totals: Totals) -> bool:
        """Whether all holds here but the condition, which is dear to ask."""
        watch = self.watch
        if watch is not None:
            watch.see(point, totals)
            if not watch.due:
                return False
        return not self._done and self._place.is_at(point)

    def hits(self, view: View) -> bool:
        """Whether it hits, where it concerns this breakpoint: it counts a match.

        Raises:
            ConditionError: Its condition fails.
        """
        if self._condition is not None and not self._condition(view):
            return False
        if self.watch is not None:
            self.watch.due = False
        self._matches += 1
        if self._matches < self.stop.nth:
            return False
        self._done = self.stop.once
        return True


def _failed(stop: Stop, error: ConditionError) -> str:
    text = " ".join((stop.condition or "").split())
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"Stop “{shown}”: {error}"
