"""The inputs and filters of breakpoints, and watches, which observe a whole run.

A watch sees all halt points and becomes *due* at one of them, until its breakpoint matches.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import translate
from hashlib import blake2b
from typing import NamedTuple, assert_never

import msgspec
from msgspec import UNSET

from ...protocol.breakpoint_rules import BreakpointRule, CostBudget, Repeated, TokenBudget, Touched
from ...protocol.data_model import AgentLabel, EventKind, EventOutcome, EventSide, Failure, Usage


class ObservedPoint(NamedTuple):
    """A halt point, as breakpoints see it: the data that the agent sent, without later edits.

    Args:
        data: The halt point's JSON text, UTF-8.
    """

    kind: EventKind
    side: EventSide
    name: str | None
    data: bytes
    depth: int = 0
    outcome: EventOutcome | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    label: AgentLabel | None = None
    event: str = ""  # its event's id
    seq: int = 0  # its row's number, where that is known
    marks: tuple[str, ...] | None = None  # the effect checks that mark it, where that is known


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """A test for texts by a pattern as shells have it: `*`, `?` and `[...]`, with case, of the whole.

    A `/` is a character like others: `src/*` is all that is below `src`.
    """
    if not any(mark in pattern for mark in "*?["):
        return pattern.__eq__
    fits = re.compile(translate(pattern)).match
    return lambda text: fits(text) is not None


class PointFilter:
    """The filter of the halt points that a breakpoint concerns."""

    __slots__ = ("_fits", "_fits_agent", "_kind", "_on_error", "_side")

    def __init__(self, breakpoint: BreakpointRule) -> None:
        self._kind = breakpoint.kind
        self._side = breakpoint.side
        self._fits = None if breakpoint.name is None else compile_glob(breakpoint.name)
        agent = breakpoint.agent
        self._fits_agent = None if agent is UNSET else compile_glob(agent)
        self._on_error = breakpoint.on_error

    def matches_event(self, point: ObservedPoint) -> bool:
        """Whether the breakpoint is about this event, be it its begin or its end."""
        fits = self._fits_agent
        is_agents = fits is None or (point.label is not None and fits(point.label.name))
        return is_agents and self._is_named(point.kind, point.name)

    def may_match(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether the breakpoint may be about such a halt point, whatever its outcome and agent are."""
        return (self._side is None or self._side is side) and self._is_named(kind, name)

    def _is_named(self, kind: EventKind, name: str | None) -> bool:
        fits = self._fits
        return (self._kind is None or self._kind is kind) and (fits is None or fits(name or ""))

    def matches(self, point: ObservedPoint) -> bool:
        """Whether the breakpoint is about this halt point."""
        side = self._side
        return (
            (side is None or side is point.side)
            and (not self._on_error or point.outcome is EventOutcome.ERROR)
            and self.matches_event(point)
        )


@dataclass(slots=True)
class UsageTotals:
    """The total usage of a run so far; `BreakpointEngine.evaluate` adds a halt point."""

    tokens: int = 0
    cost: float = 0.0  # US dollars
    events: int = 0  # that began


class WatchState:
    """A watch that never comes true by itself."""

    __slots__ = ("due",)

    def __init__(self) -> None:
        #: Whether the watch came true, and its breakpoint has not matched since.
        self.due = False

    def observe(self, point: ObservedPoint, totals: UsageTotals) -> None:
        """A halt point was reached; the totals include it."""

    def record_changed_paths(self, paths: Iterable[str]) -> None:
        """Files of the workspace were changed."""


class _Budget(WatchState):
    """Comes true once, when more was used than the limit."""

    __slots__ = ("_limit", "_passed")

    def __init__(self, limit: float) -> None:
        super().__init__()
        self._limit = limit
        self._passed = False

    def _compare(self, used: float) -> None:
        if used > self._limit and not self._passed:
            self._passed = self.due = True


class _Tokens(_Budget):
    __slots__ = ()

    def observe(self, point: ObservedPoint, totals: UsageTotals) -> None:
        self._compare(totals.tokens)


class _Cost(_Budget):
    __slots__ = ()

    def observe(self, point: ObservedPoint, totals: UsageTotals) -> None:
        self._compare(totals.cost)


class _Repeated(WatchState):
    """Comes true when so many of the events that its breakpoint is about began alike, and again after
    as many.

    Events of each kind are compared with each other; others between them don't count.
    """

    __slots__ = ("_filter", "_last", "_times")

    def __init__(self, times: int, point_filter: PointFilter) -> None:
        super().__init__()
        self._times = times
        self._filter = point_filter
        self._last: dict[EventKind, tuple[str | None, bytes, int]] = {}

    def observe(self, point: ObservedPoint, totals: UsageTotals) -> None:
        if point.side is not EventSide.BEGIN or not self._filter.matches_event(point):
            return
        name, data, count = self._last.get(point.kind, (None, b"", 0))
        alike = name == point.name and is_same_json(data, point.data)
        count = count + 1 if alike else 1
        self._last[point.kind] = (point.name, point.data, count)
        if count % self._times == 0:
            self.due = True


class _Recurring(WatchState):
    """Comes true when so many events that its breakpoint is about began alike, wherever in the run."""

    __slots__ = ("_counts", "_filter", "_times")

    def __init__(self, times: int, point_filter: PointFilter) -> None:
        super().__init__()
        self._times = times
        self._filter = point_filter
        self._counts: dict[bytes, int] = {}

    def observe(self, point: ObservedPoint, totals: UsageTotals) -> None:
        if point.side is not EventSide.BEGIN or not self._filter.matches_event(point):
            return
        beginning = _digest(point)
        count = self._counts[beginning] = self._counts.get(beginning, 0) + 1
        if count % self._times == 0:
            self.due = True


class _Touched(WatchState):
    """Comes true when a file of such a path was changed."""

    __slots__ = ("_fits",)

    def __init__(self, pattern: str) -> None:
        super().__init__()
        self._fits = compile_glob(pattern)

    def record_changed_paths(self, paths: Iterable[str]) -> None:
        self.due = self.due or any(map(self._fits, paths))


def make_watch(breakpoint: BreakpointRule, point_filter: PointFilter) -> WatchState | None:
    """A breakpoint's watch, at the begin of all; None where it has none."""
    match breakpoint.watch:
        case None:
            return None
        case TokenBudget(limit=limit):
            return _Tokens(limit)
        case CostBudget(limit=limit):
            return _Cost(limit)
        case Repeated(times=times, in_a_row=True):
            return _Repeated(times, point_filter)
        case Repeated(times=times):
            return _Recurring(times, point_filter)
        case Touched(path=path):
            return _Touched(path)
        case other:
            assert_never(other)


def is_same_json(left: bytes, right: bytes) -> bool:
    """Whether two JSON texts have equal values; the order of an object's keys doesn't count."""
    # Texts of one writer that differ in the order of keys alone are equally long.
    return left == right or (len(left) == len(right) and _sorted(left) == _sorted(right))


def _digest(point: ObservedPoint) -> bytes:
    """Sixteen bytes that two events share where they began alike."""
    parts = (point.kind.value, point.name, _sorted(point.data))
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _sorted(text: bytes) -> bytes:
    try:
        return msgspec.json.encode(msgspec.json.decode(text), order="deterministic")
    except (ValueError, RecursionError):  # text that only a lenient parser takes
        return text
