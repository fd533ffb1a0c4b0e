"""Finds for each event of a run that is executed again the outcome that was recorded. Pure.

docs/design/0026-replay.md has the rules. The caller passes events in the order in which they begin in
their scopes; nothing here waits, and no clock is read.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from msgspec import Struct

from ..protocol.data_model import EventKind, Failure
from ..protocol.field_types import ScopePath


class EventKey(NamedTuple):
    """The properties that an event shares with the same event of another execution."""

    scope: ScopePath
    kind: EventKind
    name: str | None
    content_hash: str  # of the original request


class RecordedEvent(Struct, frozen=True, kw_only=True):
    """An event of a recording."""

    id: str
    seq: int  # the number of the row at which it begins
    end_seq: int | None = None  # of the row at which it ends
    at: float = 0.0  # when it began: POSIX seconds, the agent's clock
    key: EventKey
    request: str  # JSON text, as it was recorded
    parent: str | None = None
    result: str | None = None  # JSON text, as it was delivered; None: it has none
    failure: Failure | None = None  # the exception that ended it
    signal: str | None = None  # JSON text: the framework's exception by which it ended as it should
    refusal: str | None = None  # why its outcome can't be served, for a person; None: it can


class ReplayMode(Enum):
    """The reaction to an event without a recorded outcome."""

    STRICT = auto()  # the run diverges
    FORK = auto()  # its call is made, and its scope is live from then on


class ReplayDepth(Enum):
    """The events that are served if a recorded event contains other recorded events."""

    WHOLE = auto()  # the outer one
    LEAVES = auto()  # the inner ones: a person may halt there


class ReplayAction(Enum):
    """The handling of an event that begins."""

    SERVE = auto()  # take the recorded outcome in the place of its call
    ENTER = auto()  # make its call, in which recorded events are served
    FORK = auto()  # the event that the run is forked at
    LIVE = auto()  # make its call
    DIVERGE = auto()  # refuse


class ReplayDecision(NamedTuple):
    """The handling of an event that begins, with the reason."""

    action: ReplayAction
    recorded: RecordedEvent | None = None  # the one it is, or that was expected in its place
    is_relocated: bool = False  # recorded in another scope
    is_unserved: bool = False  # it is the recorded one, whose outcome can't be served
    reason: str = ""  # for a person


class EventMatcher:
    """Matches the events of one execution with those of a recording. Not thread-safe.

    Args:
        events: The recording's events, ordered by seq.
        mode: What to do at an event that has no recorded outcome.
        depth: Which events are served if recorded events contain others.
        fork_at: The id of the event at which the run is forked; None: the run is not forked.
    """

    def __init__(
        self,
        events: Iterable[RecordedEvent],
        mode: ReplayMode = ReplayMode.STRICT,
        depth: ReplayDepth = ReplayDepth.WHOLE,
        fork_at: str | None = None,
    ) -> None:
        self._mode = mode
        self._depth = depth
        self._fork_at = fork_at
        self._events = {event.id: event for event in events}
        self._open = dict(self._events)  # by id, in order: those that no event was matched with yet
        self._by_key: dict[EventKey, deque[RecordedEvent]] = defaultdict(deque)
        self._by_content: dict[EventKey, deque[RecordedEvent]] = defaultdict(deque)
        for event in self._events.values():
            self._by_key[event.key].append(event)
            self._by_content[_without_scope(event.key)].append(event)
        self._served: set[str] = set()
        self._outer = {event.parent for event in self._events.values()} - {None}
        self._around_fork = self._list_ancestors(fork_at)

    def decide(self, key: EventKey, *, has_forked: bool = False) -> ReplayDecision:
        """Decide what to do with an event that begins.

        Args:
            key: The properties by which the event is matched.
            has_forked: Whether the event's scope is live, because one of its events differed from
                the recording.
        """
        if has_forked:
            return ReplayDecision(ReplayAction.LIVE)
        recorded, is_relocated = self._match(key)
        if recorded is None:
            expected = self._find_expected(key)
            reason = "The recording has no such event." if expected else _NOTHING_LEFT
            return self._decide_unmatched(
                ReplayDecision(ReplayAction.LIVE, expected, reason=reason)
            )
        self._take(recorded)
        if recorded.id == self._fork_at:
            return ReplayDecision(ReplayAction.FORK, recorded, is_relocated)
        if self._is_entered(recorded):
            return ReplayDecision(ReplayAction.ENTER, recorded, is_relocated)
        if recorded.refusal is not None:
            return self._decide_unserved(recorded, is_relocated)
        self._served.add(recorded.id)
        return ReplayDecision(ReplayAction.SERVE, recorded, is_relocated)

    def find_missing(self) -> RecordedEvent | None:
        """Return the first recorded event that a strict replay lacks at its end; None: none.

        Events inside of an event that was served don't count.
        """
        gone = set(self._served)
        for event in self._events.values():  # what is around an event comes before it
            if event.id in self._open and event.parent not in gone:
                return event
            if event.parent in gone:
                gone.add(event.id)
        return None

    def list_unmatched(self) -> tuple[RecordedEvent, ...]:
        """Return the recorded events that are not matched yet, ordered by seq."""
        return tuple(self._open.values())

    # ---- parts --------------------------------------------------------------------------------------

    def _match(self, key: EventKey) -> tuple[RecordedEvent | None, bool]:
        """The first recorded event of a key that is still there; else the same in another scope."""
        own = self._next(self._by_key.get(key))
        if own is not None:
            return own, False
        other = self._next(self._by_content.get(_without_scope(key)))
        return other, other is not None

    def _next(self, queue: deque[RecordedEvent] | None) -> RecordedEvent | None:
        while queue and queue[0].id not in self._open:
            queue.popleft()
        return queue[0] if queue else None

    def _take(self, recorded: RecordedEvent) -> None:
        del self._open[recorded.id]

    def _is_entered(self, recorded: RecordedEvent) -> bool:
        if recorded.id in self._around_fork:
            return True
        return self._depth is ReplayDepth.LEAVES and recorded.id in self._outer

    def _decide_unserved(self, recorded: RecordedEvent, is_relocated: bool) -> ReplayDecision:
        """A recorded event whose outcome can't be served: its call is made, or refused."""
        # What is inside of it may be served; and what a framework goes on by is made again by design.
        if recorded.id in self._outer or recorded.signal is not None:
            return ReplayDecision(
                ReplayAction.ENTER, recorded, is_relocated, reason=recorded.refusal or ""
            )
        decision = ReplayDecision(
            ReplayAction.LIVE,
            recorded,
            is_relocated,
            is_unserved=True,
            reason=recorded.refusal or "",
        )
        return self._decide_unmatched(decision)

    def _decide_unmatched(self, decision: ReplayDecision) -> ReplayDecision:
        if self._mode is ReplayMode.STRICT:
            return decision._replace(action=ReplayAction.DIVERGE)
        return decision

    def _find_expected(self, key: EventKey) -> RecordedEvent | None:
        """What stood in an event's place: the next of its scope, of the same kind if there is one."""
        left = [event for event in self._open.values() if event.key.scope == key.scope]
        alike = [event for event in left if (event.key.kind, event.key.name) == key[1:3]]
        return next(iter([*alike, *left, *self._open.values()]), None)

    def _list_ancestors(self, event_id: str | None) -> frozenset[str]:
        found: set[str] = set()
        event = self._events.get(event_id or "")
        while event is not None and event.parent is not None and event.parent not in found:
            found.add(event.parent)
            event = self._events.get(event.parent)
        return frozenset(found)


_NOTHING_LEFT = "All events of the recording have happened already."


def _without_scope(key: EventKey) -> EventKey:
    return key._replace(scope=())
