"""Evaluates breakpoints at a run's halt points, one after the other, live or on a recorded run.

Pure: the state of a breakpoint holds all that it needs of earlier halt points.
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
    """The outcome of breakpoints at a halt point."""

    hits: tuple[str, ...] = ()  # ids, in the order of the breakpoints
    halts: bool = False
    error: str | None = None  # the error of a condition that failed: the run halts


_NOTHING: Final = BreakpointResult()
#: Characters of a condition by which a person knows its breakpoint.
_SHOWN: Final = 60


class BreakpointEngine:
    """The breakpoints of one run, with their state.

    Args:
        program: The run's program.
        breakpoints: In their order; disabled ones and those of other programs are ignored.
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
        """Replace the breakpoints in force. An unchanged breakpoint keeps its counts; others don't."""
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
        """Whether any breakpoint is in force: without one, the engine needs only the usage."""
        return bool(self._armed)

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether any breakpoint in force may halt at such a halt point, for any data.

        Args:
            kind: The event's kind.
            side: The begin or the end of the event.
            name: The tool, the model or the custom event's type.
        """
        return any(armed.may_halt(kind, side, name) for armed in self._armed)

    def record_changed_paths(self, paths: Iterable[str]) -> None:
        """Record that files of the workspace changed: call this before the halt point that follows."""
        paths = tuple(paths)
        for armed in self._armed:
            if armed.watch is not None:
                armed.watch.record_changed_paths(paths)

    def record_changes(self, changes: tuple[FileChange, ...]) -> None:
        """Record changes as `record_changed_paths` does, with each file's kind of change."""
        self.record_changed_paths(list_changed_paths(changes))
        self._effects.record_changes(changes)

    def evaluate(self, point: ObservedPoint) -> BreakpointResult:
        """Evaluate the breakpoints at a halt point: call this once for each halt point, in order."""
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
    """A breakpoint in force, and its state."""

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
        """Whether all parts of the breakpoint match but the condition, which is costly to evaluate."""
        watch = self.watch
        if watch is not None:
            watch.observe(point, totals)
            if not watch.due:
                return False
        return not self._done and self._filter.matches(point)

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether the breakpoint may halt at such a halt point, for any data."""
        return (
            not self._done
            and self.breakpoint.reaction is Reaction.HALT
            and self._filter.may_match(kind, side, name)
        )

    def hits(self, variables: ConditionVariables) -> bool:
        """Whether the breakpoint hits at a halt point that it concerns; counts a match.

        Raises:
            ConditionError: The breakpoint's condition fails.
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


#: The most rows that are named; all hits are counted.
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
    """The rows of a recorded run, of any program, at which a breakpoint would have hit.

    If the condition fails, the dry run ends: the failing row is the last of the hits.

    Args:
        breakpoint: The breakpoint.
        history: The run.
        check_limit: Called after each row; an error that it raises ends the dry run.

    Raises:
        ProtocolError: The breakpoint is invalid, as for `check_breakpoint`.
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
    """Evaluate breakpoints on a recorded run, in the same way as while it ran."""
    for step in _order_history(history):
        if isinstance(step, Commit):
            breakpoints.record_changes(step.changes)
        else:
            yield step, breakpoints.evaluate(observe_halt_point(step))


def _order_history(history: RunHistory) -> list[HaltPoint | Commit]:
    """The records that the agent's breakpoints evaluate, in their live order.

    The row at a run's end is the Core's own; debug messages are no halt points.
    """
    points = [each for each in history.halt_points if each.kind is not EventKind.PROGRAM_FINISHED]
    steps: list[HaltPoint | Commit] = [*history.commits, *points]
    # A commit is numbered by the row before it. The sort is stable: it stays before its followers.
    return sorted(steps, key=_when)


def _when(step: HaltPoint | Commit) -> tuple[int, bool]:
    return (step.seq, isinstance(step, Commit))
