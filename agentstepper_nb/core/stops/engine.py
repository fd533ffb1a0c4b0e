"""What stops make of a run's halt points, one after the other, while it runs or once it is recorded.

Pure: what was is what a stop remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from ...errors import ProtocolError
from ...protocol.records import RunHistory
from ...protocol.stops import BreakpointRule, Reaction, StopTrial
from ...protocol.values import Commit, EventKind, EventSide, FileChange, HaltPoint
from .condition_view import ConditionView
from .conditions import load_condition, parse_condition
from .evaluation import ConditionError
from .watches import ObservedPoint, PointFilter, UsageTotals, compile_glob, make_watch


class RuleVerdict(NamedTuple):
    """What stops say of a halt point."""

    hits: tuple[str, ...] = ()  # ids, in the order of the stops
    halts: bool = False
    error: str | None = None  # a condition failed, and how: it halts


_NOTHING: Final = RuleVerdict()
#: Characters of a condition by which a person knows its stop.
_SHOWN: Final = 60


class BreakpointEngine:
    """The stops of one run, with all they remember of it.

    Args:
        program: The run's program.
        stops: In their order; those that are off or for other programs are passed over.
    """

    def __init__(self, program: str, stops: Iterable[BreakpointRule] = ()) -> None:
        self._program = program
        self._totals = UsageTotals()
        self._armed: list[_Armed] = []
        self.set(stops)

    def set(self, stops: Iterable[BreakpointRule]) -> None:
        """Take these in place of those before. One that is as it was goes on counting; others begin."""
        before = {armed.stop.id: armed for armed in self._armed}
        after: list[_Armed] = []
        for stop in stops:
            if stop.enabled and compile_glob(stop.program)(self._program):
                known = before.get(stop.id)
                after.append(known if known and known.stop == stop else _Armed(stop))
        self._armed = after  # at once: what interrupts this changes nothing

    @property
    def needed(self) -> bool:
        """Whether any stop is in force: without one, nothing needs to be told but what was used."""
        return bool(self._armed)

    def touch(self, paths: Iterable[str]) -> None:
        """These files of the workspace were changed: told before the halt point that follows."""
        paths = tuple(paths)
        for armed in self._armed:
            if armed.watch is not None:
                armed.watch.touch(paths)

    def reach(self, point: ObservedPoint) -> RuleVerdict:
        """A halt point was reached: to be called once for each of the run, in their order."""
        count(self._totals, point)
        view: ConditionView | None = None
        hits: list[str] = []
        halts = False
        error: str | None = None
        for armed in self._armed:
            if not armed.concerns(point, self._totals):
                continue
            view = view or ConditionView(point, self._totals, self._program)
            try:
                if armed.hits(view):
                    hits.append(armed.stop.id)
                    halts = halts or armed.stop.then is Reaction.HALT
            except ConditionError as failed:
                error = error or _failed(armed.stop, failed)
        if not hits and error is None:
            return _NOTHING
        return RuleVerdict(tuple(hits), halts or error is not None, error)


def count(totals: UsageTotals, point: ObservedPoint) -> None:
    """Count a halt point in a run's totals, which watches and conditions read."""
    if point.side is EventSide.BEGIN:
        totals.events += 1
    usage = point.usage
    if usage is not None:
        totals.tokens += (usage.input_tokens or 0) + (usage.output_tokens or 0)
        totals.cost += usage.cost or 0.0


class _Armed:
    """A stop in force, and what it remembers."""

    __slots__ = ("_condition", "_done", "_matches", "_place", "stop", "watch")

    def __init__(self, stop: BreakpointRule) -> None:
        self.stop = stop
        self._place = PointFilter(stop)
        self.watch = make_watch(stop, self._place)
        self._condition = None if stop.condition is None else load_condition(stop.condition)
        self._matches = 0
        self._done = False  # it hits no more

    def concerns(self, point: ObservedPoint, totals: UsageTotals) -> bool:
        """Whether all holds here but the condition, which is dear to ask."""
        watch = self.watch
        if watch is not None:
            watch.see(point, totals)
            if not watch.due:
                return False
        return not self._done and self._place.is_at(point)

    def hits(self, view: ConditionView) -> bool:
        """Whether it hits, where it concerns this halt point: it counts a match.

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


def _failed(stop: BreakpointRule, error: ConditionError) -> str:
    text = " ".join((stop.condition or "").split())
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"Stop “{shown}”: {error}"


#: As many rows are named; all are counted.
_NAMED: Final = 1000
#: Rows that are no halt points of the agent's.
_NEVER: Final = {
    EventKind.DEBUG_MESSAGE: "a debug message",
    EventKind.PROGRAM_FINISHED: "its own end",
}


def check_rule(stop: BreakpointRule) -> None:
    """See that a stop can be set.

    Raises:
        ProtocolError: `invalid_stop`: it could never hit, or its condition can't be read, and where.
    """
    if stop.kind in _NEVER:
        raise ProtocolError("invalid_stop", f"No agent can halt at {_NEVER[stop.kind]}.")
    if stop.condition is not None:
        try:
            parse_condition(stop.condition)
        except ConditionError as failed:
            raise ProtocolError("invalid_stop", f"The condition can't be read: {failed}") from None


def list_changed_paths(changes: Iterable[FileChange]) -> Iterator[str]:
    """The paths that stops see touched by a commit: of a renamed file both names."""
    for change in changes:
        yield change.path
        if change.previous_path is not None:
            yield change.previous_path


def make_point(halt_point: HaltPoint) -> ObservedPoint:
    """A recorded halt point as stops saw it when it was reached."""
    return ObservedPoint(
        kind=halt_point.kind,
        side=halt_point.side,
        name=halt_point.name,
        data=halt_point.data.encode("utf-8", "surrogatepass"),
        depth=halt_point.depth,
        outcome=halt_point.outcome,
        failure=halt_point.failure,
        usage=halt_point.usage,
    )


def try_stop(
    stop: BreakpointRule, history: RunHistory, go_on: Callable[[], None] = lambda: None
) -> StopTrial:
    """Where a stop would have hit in a run that is recorded, whatever its program.

    Where its condition fails, the trial ends: the row is the last of the hits.

    Args:
        stop: The stop.
        history: The run.
        go_on: Called after each row; what it raises ends the trial.

    Raises:
        ProtocolError: As `check`.
    """
    check_rule(stop)
    stops = BreakpointEngine(history.run.program, [replace(stop, program="*", enabled=True)])
    hits: list[int] = []
    rows = total = 0
    error: str | None = None
    for halt_point, verdict in replay_run(stops, history):
        rows += 1
        if verdict.halts or verdict.hits:
            total += 1
            hits += [halt_point.seq] if total <= _NAMED else []
        if verdict.error is not None:
            error = verdict.error
            break  # it would fail wherever it is asked: the person mends it first
        go_on()
    return StopTrial(run=history.run.id, rows=rows, hits=tuple(hits), total=total, error=error)


def replay_run(
    stops: BreakpointEngine, history: RunHistory
) -> Iterator[tuple[HaltPoint, RuleVerdict]]:
    """Tell stops of a recorded run, as they would have been told while it ran."""
    for step in _told(history):
        if isinstance(step, Commit):
            stops.touch(list_changed_paths(step.changes))
        else:
            yield step, stops.reach(make_point(step))


def _told(history: RunHistory) -> list[HaltPoint | Commit]:
    """What the agent's stops were told, in the order in which they were.

    The row at a run's end is the Core's own; debug messages are no halt points.
    """
    points = [each for each in history.halt_points if each.kind is not EventKind.PROGRAM_FINISHED]
    steps: list[HaltPoint | Commit] = [*history.commits, *points]
    # A commit is numbered by the row before it. The sort is stable: it stays before its followers.
    return sorted(steps, key=_when)


def _when(step: HaltPoint | Commit) -> tuple[int, bool]:
    return (step.seq, isinstance(step, Commit))
