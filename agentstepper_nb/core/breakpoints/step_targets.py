"""Rules for where a step halts, shared by the agent's SDK, the Core, and recorded runs.

A target changes with each halt point: `advance_step` returns the next target. None in place of a
target is a step that halts at each halt point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from ...protocol.data_model import PAIRED_EVENT_KINDS, EventKind, EventSide, HaltPoint
from ...protocol.field_types import ScopePath
from ...protocol.step_targets import StepKind, StepTarget

#: A part of a path that is known to end. An agent that only a framework's label names has no number.
_STEP_PART: Final = re.compile(r"(?:(?:task|thread|pool)|agent:.*):[0-9]+", re.DOTALL)


class SteppableEvent(Protocol):
    """An event that hasn't ended."""

    @property
    def kind(self) -> EventKind:
        """The kind of the event."""

    @property
    def name(self) -> str | None:
        """The tool, the model or the custom event's type."""

    @property
    def parent(self) -> str | None:
        """The event that contains the event."""

    @property
    def scope(self) -> ScopePath:
        """The path of the event's scope."""

    @property
    def depth(self) -> int:
        """The number of open events that the event began inside of."""


#: Finds an open event by its id; None where it has ended, or never began.
FindOpenEvent = Callable[[str], SteppableEvent | None]


class StepPoint(NamedTuple):
    """A halt point, as steps see it."""

    event: str
    side: EventSide
    kind: EventKind
    name: str | None
    depth: int
    scope: ScopePath
    waits: bool  # whether its agent would wait there


class StepResult(NamedTuple):
    """The effect of a halt point on a step."""

    halts: bool
    target: StepTarget | None  # the target from then on


def find_step_scope(path: ScopePath) -> ScopePath:
    """The scope in which a step from an event goes on.

    Args:
        path: The event's path.

    Returns:
        The path up to its innermost agent, task, thread or job of a pool; () is the whole run.
    """
    for end in range(len(path), 0, -1):
        if _STEP_PART.fullmatch(path[end - 1]):
            return path[:end]
    return ()


def make_step_target(
    request: StepTarget,
    point: HaltPoint | None,
    find_open: FindOpenEvent,
    current: StepTarget | None = None,
) -> StepTarget | None:
    """The target of a step that begins.

    Args:
        request: The target that a person requests.
        point: The halt point that the run resumes from; None where the run isn't halted.
        find_open: Finds the run's open events.
        current: The target before the step.
    """
    scope = () if point is None else find_step_scope(point.scope)
    kind = request.kind
    if kind is StepKind.TO and request.scope is not UNSET:
        scope = request.scope
    target = StepTarget(
        kind=StepKind.INTO,
        scope=scope,
        freeze_others=request.freeze_others,
        point=None if point is None else point.id,
    )
    if kind is StepKind.TO:
        return replace(
            target,
            kind=kind,
            event_kind=request.event_kind,
            side=request.side,
            name=request.name,
        )
    if point is None or kind is StepKind.INTO:
        is_same = current is not None and replace(target, point=current.point) == current
        return current if is_same else _go_into(target, scope)
    if kind is StepKind.OUT:
        return _step_out(target, point, find_open)
    if point.side is EventSide.BEGIN and point.kind in PAIRED_EVENT_KINDS:
        return _end_at(replace(target, kind=kind), point.event, point.kind, point.name)
    return replace(target, kind=kind, depth=point.depth)


def _step_out(target: StepTarget, point: HaltPoint, find_open: FindOpenEvent) -> StepTarget:
    target = replace(target, kind=StepKind.OUT)
    around: str | UnsetType | None = point.around
    if around is UNSET:
        event = find_open(point.event)
        around = None if event is None else event.parent
    opened = None if around is None else find_open(around)
    if around is None or opened is None:
        return target
    return _end_at(target, around, opened.kind, opened.name)


def _end_at(target: StepTarget, event: str, kind: EventKind, name: str | None) -> StepTarget:
    return replace(target, event=event, event_kind=kind, name=name)


def advance_step(
    target: StepTarget | None, point: StepPoint, find_open: FindOpenEvent
) -> StepResult:
    """Whether a step halts at a halt point: to be called once for each of the run, in their order.

    Args:
        target: The target before; None: each halt point.
        point: The halt point.
        find_open: Finds the run's open events; the halt point's own may have ended.
    """
    if target is None:
        return StepResult(point.waits, None)
    scope = () if target.scope is UNSET else target.scope
    is_inside = point.scope[: len(scope)] == scope
    has_ended = _ends_target(target, point, find_open)
    if has_ended or (is_inside and point.waits and _matches(target, point, find_open)):
        after = scope if is_inside else find_step_scope(point.scope)
        return StepResult(point.waits, _go_into(target, after))
    return StepResult(point.waits and target.freeze_others and not is_inside, target)


def _ends_target(target: StepTarget, point: StepPoint, find_open: FindOpenEvent) -> bool:
    """Whether a halt point ends the event that the step halts at the end of, or one around it."""
    if target.event is None or point.side is not EventSide.END:
        return False
    return point.event == target.event or point.event in _list_ancestors(target.event, find_open)


def _list_ancestors(event: str, find_open: FindOpenEvent) -> Iterator[str]:
    found = find_open(event)
    while found is not None and found.parent is not None:
        yield found.parent
        found = find_open(found.parent)


def _matches(target: StepTarget, point: StepPoint, find_open: FindOpenEvent) -> bool:
    """Whether the step halts at a halt point of its scope."""
    if target.event is not None:
        event = find_open(target.event)
        return event is None or _goes_past(event, point)  # else it would go on for ever
    match target.kind:
        case StepKind.OVER:
            return target.depth is None or point.depth <= target.depth
        case StepKind.OUT:
            return False
        case StepKind.TO:
            return (
                target.event_kind in (None, point.kind)
                and target.side in (None, point.side)
                and target.name in (None, point.name)
            )
    return True


def _goes_past(event: SteppableEvent, point: StepPoint) -> bool:
    """Whether code goes on after an event that hasn't ended: it was left open, or is a stream."""
    is_begin = point.side is EventSide.BEGIN
    return is_begin and point.scope == event.scope and point.depth <= event.depth


def _go_into(target: StepTarget, scope: ScopePath) -> StepTarget | None:
    """The target of a step that goes on to the next halt point of a scope."""
    if not scope:
        return None
    return StepTarget(
        kind=StepKind.INTO,
        scope=scope,
        freeze_others=target.freeze_others,
        point=target.point,
    )


def end_step_scope(
    target: StepTarget | None, ended: ScopePath, find_open: FindOpenEvent
) -> StepTarget | None:
    """A target after a scope has ended: where that was its own, it goes on in the scope around.

    Args:
        target: The target before.
        ended: The scope that has ended.
        find_open: Finds the run's open events.
    """
    if target is None or not ended or target.scope != ended:
        return target
    around = find_step_scope(ended[:-1])
    if target.event is not None:
        event = find_open(target.event)
        is_lost = event is None or event.scope[: len(ended)] == ended
    else:
        is_lost = target.kind is StepKind.OUT
    if is_lost or target.kind is StepKind.INTO:
        return _go_into(target, around)
    return replace(target, scope=around)


def choose_later_target(ours: StepTarget | None, theirs: StepTarget | None) -> StepTarget | None:
    """The later of two targets of one step: the Core and the agent may have seen different halt points.

    Args:
        ours: The target on this side.
        theirs: The target on the other side.
    """
    if ours is None or theirs is None:
        return None
    return max(ours, theirs, key=_get_progress)


def _get_progress(target: StepTarget) -> tuple[bool, int]:
    scope = () if target.scope is UNSET else target.scope
    return target.kind is StepKind.INTO, -len(scope)
