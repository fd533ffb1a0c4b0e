"""What breakpoints make of a run's halt points, one after the other, while it runs or once it is
recorded.

Pure: what was is what a breakpoint remembers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ...errors import ProtocolError
from ...protocol.breakpoint_rules import BreakpointRule, DryRunOutcome, Reaction
from ...protocol.data_model import Commit, EventKind, EventSide, FileChange, HaltPoint
from ...protocol.records import RunHistory
from ..effects import EffectChecks
from .condition_variables import ConditionVariables
from .conditions import load_condition, parse_condition
from .effect_marks import LazyEffects
from .evaluation import ConditionError
from .watches import ObservedPoint, PointFilter, UsageTotals, compile_glob, make_watch


class BreakpointResult(NamedTuple):
    """What breakpoints say of a halt point."""

    hits: tuple[str, ...] = ()  # ids, in the order of the breakpoints
    halts: bool = False
    error: str | None = None  # a condition failed, and how: it halts


_NOTHING: Final = BreakpointResult()
#: Characters of a condition by which a person knows its breakpoint.
_SHOWN: Final = 60


class BreakpointEngine:
    """The breakpoints of one run, with all they remember of it.

    Args:
        program: The run's program.
        breakpoints: In their order; those that are off or for other programs are passed over.
        workspace: The agent's folder; "" where it has none.
        make_checks: Makes the effect checks, once a breakpoint asks for them; None: halt points come
            with their marks.
    """

    def __init__(
        self,
        program: str,
        breakpoints: Iterable[BreakpointRule] = (),
        workspace: str = "",
        make_checks: Callable[[], EffectChecks] | None = None,
    ) -> None:
        self._program = program
        self._effects = LazyEffects(workspace, make_checks)
        self._totals = UsageTotals()
        self._armed: list[_Armed] = []
        self.set(breakpoints)

    def set(self, breakpoints: Iterable[BreakpointRule]) -> None:
        """Take these in place of those before. One that is as it was goes on counting; others begin."""
        before = {armed.breakpoint.id: armed for armed in self._armed}
        after: list[_Armed] = []
        for breakpoint in breakpoints:
            if breakpoint.enabled and compile_glob(breakpoint.program)(self._program):
                known = before.get(breakpoint.id)
                after.append(
                    known if known and known.breakpoint == breakpoint else _Armed(breakpoint)
                )
        self._armed = after  # at once: what interrupts this changes nothing
        self._effects.enable(each.breakpoint.condition for each in after)

    @property
    def has_breakpoints(self) -> bool:
        """Whether any breakpoint is in force: without one, nothing needs to be told but what was
        used.
        """
        return bool(self._armed)

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether any breakpoint in force may halt at such a halt point, whatever its data is.

        Args:
            kind: The event's kind.
            side: Its begin or its end.
            name: The tool, the model or the custom event's type.
        """
        return any(armed.may_halt(kind, side, name) for armed in self._armed)

    def record_changed_paths(self, paths: Iterable[str]) -> None:
        """These files of the workspace were changed: told before the halt point that follows."""
        paths = tuple(paths)
        for armed in self._armed:
            if armed.watch is not None:
                armed.watch.record_changed_paths(paths)

    def record_changes(self, changes: tuple[FileChange, ...]) -> None:
        """As `record_changed_paths`, with what became of the files."""
        self.record_changed_paths(list_changed_paths(changes))
        self._effects.record_changes(changes)

    def evaluate(self, point: ObservedPoint) -> BreakpointResult:
        """A halt point was reached: to be called once for each of the run, in their order."""
        totals = self._totals  # which watches and conditions read
        if point.side is EventSide.BEGIN:
            totals.events += 1
        if point.usage is not None:
            totals.tokens += (point.usage.input_tokens or 0) + (point.usage.output_tokens or 0)
            totals.cost += point.usage.cost or 0.0
        is_tool = point.kind is EventKind.TOOL_INVOCATION
        marks = self._effects.evaluate(point) if is_tool else ()
        variables: ConditionVariables | None = None
        hits: list[str] = []
        halts = False
        error: str | None = None
        for armed in self._armed:
            if not armed.concerns(point, totals):
                continue
            variables = variables or ConditionVariables(point, totals, self._program, marks)
            try:
                if armed.hits(variables):
                    hits.append(armed.breakpoint.id)
                    halts = halts or armed.breakpoint.reaction is Reaction.HALT
            except ConditionError as failed:
                error = error or _failed(armed.breakpoint, failed)
        if not hits and error is None:
            return _NOTHING
        return BreakpointResult(tuple(hits), halts or error is not None, error)


class _Armed:
    """A breakpoint in force, and what it remembers."""

    __slots__ = ("_condition", "_done", "_filter", "_matches", "breakpoint", "watch")

    def __init__(self, breakpoint: BreakpointRule) -> None:
        self.breakpoint = breakpoint
        self._filter = PointFilter(breakpoint)
        self.watch = make_watch(breakpoint, self._filter)
        self._condition = (
            None if breakpoint.condition is None else load_condition(breakpoint.condition)
        )
        self._matches = 0
        self._done = False  # it hits no more

    def concerns(self, point: ObservedPoint, totals: UsageTotals) -> bool:
        """Whether all holds here but the condition, which is dear to ask."""
        watch = self.watch
        if watch is not None:
            watch.observe(point, totals)
            if not watch.due:
                return False
        return not self._done and self._filter.matches(point)

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether it may halt at such a halt point, whatever its data is."""
        return (
            not self._done
            and self.breakpoint.reaction is Reaction.HALT
            and self._filter.may_match(kind, side, name)
        )

    def hits(self, variables: ConditionVariables) -> bool:
        """Whether it hits, where it concerns this halt point: it counts a match.

        Raises:
            ConditionError: Its condition fails.
        """
        if self._condition is not None and not self._condition(variables):
            return False
        if self.watch is not None:
            self.watch.due = False
        self._matches += 1
        if self._matches < self.breakpoint.hit_count:
            return False
        self._done = self.breakpoint.once
        return True


def _failed(breakpoint: BreakpointRule, error: ConditionError) -> str:
    text = " ".join((breakpoint.condition or "").split())
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return f"Breakpoint “{shown}”: {error}"


#: As many rows are named; all are counted.
_NAMED: Final = 1000
#: Rows that are no halt points of the agent's.
_NEVER: Final = {
    EventKind.DEBUG_MESSAGE: "a debug message",
    EventKind.PROGRAM_FINISHED: "its own end",
}


def check_breakpoint(breakpoint: BreakpointRule) -> None:
    """See that a breakpoint can be set.

    Raises:
        ProtocolError: `invalid_stop`: it could never hit, or its condition can't be read, and where.
    """
    if breakpoint.kind in _NEVER:
        raise ProtocolError("invalid_stop", f"No agent can halt at {_NEVER[breakpoint.kind]}.")
    if breakpoint.condition is not None:
        try:
            parse_condition(breakpoint.condition)
        except ConditionError as failed:
            raise ProtocolError("invalid_stop", f"The condition can't be read: {failed}") from None


def list_changed_paths(changes: Iterable[FileChange]) -> Iterator[str]:
    """The paths that breakpoints see touched by a commit: of a renamed file both names."""
    for change in changes:
        yield change.path
        if change.previous_path is not None:
            yield change.previous_path


def observe_halt_point(halt_point: HaltPoint) -> ObservedPoint:
    """A recorded halt point as breakpoints saw it when it was reached."""
    return ObservedPoint(
        kind=halt_point.kind,
        side=halt_point.side,
        name=halt_point.name,
        data=halt_point.data.encode("utf-8", "surrogatepass"),
        depth=halt_point.depth,
        outcome=halt_point.outcome,
        failure=halt_point.failure,
        usage=halt_point.usage,
        label=halt_point.label,
        event=halt_point.event,
        seq=halt_point.seq,
        marks=None
        if halt_point.effects is UNSET
        else tuple(mark.check for mark in halt_point.effects.marks),
    )


def dry_run(
    breakpoint: BreakpointRule, history: RunHistory, check_limit: Callable[[], None] = lambda: None
) -> DryRunOutcome:
    """Where a breakpoint would have hit in a run that is recorded, whatever its program.

    Where its condition fails, the dry run ends: the row is the last of the hits.

    Args:
        breakpoint: The breakpoint.
        history: The run.
        check_limit: Called after each row; what it raises ends the dry run.

    Raises:
        ProtocolError: As `check`.
    """
    check_breakpoint(breakpoint)
    breakpoints = BreakpointEngine(
        history.run.program,
        [replace(breakpoint, program="*", enabled=True)],
        history.run.workspace or "",
        EffectChecks,  # an older Core made no marks
    )
    hits: list[int] = []
    rows = total = 0
    error: str | None = None
    for halt_point, result in evaluate_history(breakpoints, history):
        rows += 1
        if result.halts or result.hits:
            total += 1
            hits += [halt_point.seq] if total <= _NAMED else []
        if result.error is not None:
            error = result.error
            break  # it would fail wherever it is asked: the person mends it first
        check_limit()
    return DryRunOutcome(run=history.run.id, rows=rows, hits=tuple(hits), total=total, error=error)


def evaluate_history(
    breakpoints: BreakpointEngine, history: RunHistory
) -> Iterator[tuple[HaltPoint, BreakpointResult]]:
    """Tell breakpoints of a recorded run, as they would have been told while it ran."""
    for step in _order_history(history):
        if isinstance(step, Commit):
            breakpoints.record_changes(step.changes)
        else:
            yield step, breakpoints.evaluate(observe_halt_point(step))


def _order_history(history: RunHistory) -> list[HaltPoint | Commit]:
    """What the agent's breakpoints were told, in the order in which they were.

    The row at a run's end is the Core's own; debug messages are no halt points.
    """
    points = [each for each in history.halt_points if each.kind is not EventKind.PROGRAM_FINISHED]
    steps: list[HaltPoint | Commit] = [*history.commits, *points]
    # A commit is numbered by the row before it. The sort is stable: it stays before its followers.
    return sorted(steps, key=_when)


def _when(step: HaltPoint | Commit) -> tuple[int, bool]:
    return (step.seq, isinstance(step, Commit))
