"""Stops before they are set: whether they can be, and where they would have hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from ...errors import ProtocolError
from ...protocol.records import RunHistory
from ...protocol.stops import Stop, StopTrial
from ...protocol.values import Breakpoint, Commit, EventKind, FileChange
from .conditions import ConditionError, parse
from .engine import Stops, Verdict
from .points import Point

#: As many rows are named; all are counted.
_NAMED: Final = 1000
#: Rows that are no breakpoints of the agent's.
_NEVER: Final = {
    EventKind.DEBUG_MESSAGE: "a debug message",
    EventKind.PROGRAM_FINISHED: "its own end",
}


def check(stop: Stop) -> None:
    """See that a stop can be set.

    Raises:
        ProtocolError: `invalid_stop`: it could never hit, or its condition can't be read, and where.
    """
    if stop.kind in _NEVER:
        raise ProtocolError("invalid_stop", f"No agent can halt at {_NEVER[stop.kind]}.")
    if stop.condition is not None:
        try:
            parse(stop.condition)
        except ConditionError as failed:
            raise ProtocolError("invalid_stop", f"The condition can't be read: {failed}") from None


def changed_paths(changes: Iterable[FileChange]) -> Iterator[str]:
    """The paths that stops see touched by a commit: of a renamed file both names."""
    for change in changes:
        yield change.path
        if change.previous_path is not None:
            yield change.previous_path


def point_of(breakpoint: Breakpoint) -> Point:
    """A recorded breakpoint as stops saw it when it was reached."""
    return Point(
        kind=breakpoint.kind,
        side=breakpoint.side,
        name=breakpoint.name,
        data=breakpoint.data.encode("utf-8", "surrogatepass"),
        depth=breakpoint.depth,
        outcome=breakpoint.outcome,
        failure=breakpoint.failure,
        usage=breakpoint.usage,
    )


def try_stop(
    stop: Stop, history: RunHistory, go_on: Callable[[], None] = lambda: None
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
    check(stop)
    stops = Stops(history.run.program, [replace(stop, program="*", enabled=True)])
    hits: list[int] = []
    rows = total = 0
    error: str | None = None
    for breakpoint, verdict in replay(stops, history):
        rows += 1
        if verdict.halts or verdict.hits:
            total += 1
            hits += [breakpoint.seq] if total <= _NAMED else []
        if verdict.error is not None:
            error = verdict.error
            break  # it would fail wherever it is asked: the person mends it first
        go_on()
    return StopTrial(run=history.run.id, rows=rows, hits=tuple(hits), total=total, error=error)


def replay(stops: Stops, history: RunHistory) -> Iterator[tuple[Breakpoint, Verdict]]:
    """Tell stops of a recorded run, as they would have been told while it ran."""
    for step in _told(history):
        if isinstance(step, Commit):
            stops.touch(changed_paths(step.changes))
        else:
            yield step, stops.reach(point_of(step))


def _told(history: RunHistory) -> list[Breakpoint | Commit]:
    """What the agent's stops were told, in the order in which they were.

    The row at a run's end is the Core's own; debug messages are no breakpoints.
    """
    points = [each for each in history.breakpoints if each.kind is not EventKind.PROGRAM_FINISHED]
    steps: list[Breakpoint | Commit] = [*history.commits, *points]
    # A commit is numbered by the row before it. The sort is stable: it stays before its followers.
    return sorted(steps, key=_when)


def _when(step: Breakpoint | Commit) -> tuple[int, bool]:
    return (step.seq, isinstance(step, Commit))
