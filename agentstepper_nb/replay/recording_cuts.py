"""A good run, cut after each of its outcomes, and what it costs to find the cut that decides. Pure."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict, deque
from collections.abc import Generator
from typing import Final

import msgspec

from ..core.next_actions import find_next_action
from ..protocol.data_model import EventKind
from ..protocol.field_types import ScopePath
from .event_matcher import EventMatcher, RecordedEvent, ReplayAction, ReplayMode
from .recordings import Recording

_Lane = tuple[EventKind, str | None]

_CUT: Final = "Not served: this execution tries how the agent goes on from here."


class RecordingCuts:
    """The cuts of a recording: of cut k the first k outcomes are served, and no later one.

    Args:
        recording: The good run.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        ended = [event for event in recording.events if event.refusal is None]
        #: The events whose outcomes can be served, in the order in which they ended.
        self.outcomes = sorted(ended, key=lambda event: event.end_seq or 0)

    def make_recording(self, count: int) -> Recording:
        """The recording with its first outcomes alone.

        Args:
            count: How many outcomes are served.
        """
        served = {event.id for event in self.outcomes[:count]}
        events = tuple(
            event if event.id in served else _refuse(event) for event in self._recording.events
        )
        return dataclasses.replace(self._recording, events=events)

    def count_queries(self, count: int) -> int:
        """Count the most LLM queries of an execution in which the agent then does as recorded.

        Args:
            count: The number of outcomes that are served.
        """
        events = self.make_recording(count).events
        matcher = EventMatcher(events, ReplayMode.FORK)
        live: set[ScopePath] = set()
        absent: set[str | None] = set()  # what is served, and what is inside of that
        queries = 0
        for event in events:
            if event.parent in absent:
                absent.add(event.id)
                continue
            scope = event.key.scope
            has_forked = any(scope[:depth] in live for depth in range(len(scope) + 1))
            action = matcher.decide(event.key, has_forked=has_forked).action
            if action is ReplayAction.SERVE:
                absent.add(event.id)
                continue
            queries += event.key.kind is EventKind.LLM_QUERY
            if action is ReplayAction.LIVE:
                live.add(scope)
        return queries

    def count_common(self, bad: Recording) -> int:
        """The leading outcomes that a bad run has, too: none of them can be the one that decides.

        Args:
            bad: The bad run.
        """
        theirs: defaultdict[_Lane, deque[str]] = defaultdict(deque)
        for event in sorted(bad.events, key=lambda event: event.end_seq or sys.maxsize):
            theirs[_find_lane(event)].append(_describe_outcome(event))
        for count, event in enumerate(self.outcomes):
            left = theirs[_find_lane(event)]
            if not left or left.popleft() != _describe_outcome(event):
                return count
        return len(self.outcomes)

    def count_most_queries(self, low: int, repeat: int) -> int:
        """The LLM queries that the search makes at most, where agents do as was recorded.

        Args:
            low: The cut that is known, or believed, to be bad.
            repeat: How often each cut is executed.
        """
        high = len(self.outcomes)
        total = self.count_queries(high) + self.count_queries(low)
        # An earlier cut makes more queries: the most are made where each cut in the middle is good.
        for _ in range(max(0, high - low - 1).bit_length()):
            high = max((low + high) // 2, low + 1)
            total += self.count_queries(high)
        return repeat * total


def search_cuts(low: int, high: int) -> Generator[int, bool, int]:
    """Find the first cut that is good behind a bad one; yields cuts, and is sent whether they are good.

    Args:
        low: A cut that is bad.
        high: A later one that is good.
    """
    while high - low > 1:
        middle = (low + high) // 2
        if (yield middle):
            high = middle
        else:
            low = middle
    return high


def _refuse(event: RecordedEvent) -> RecordedEvent:
    if event.refusal is not None:
        return event
    return msgspec.structs.replace(event, refusal=_CUT)


def _find_lane(event: RecordedEvent) -> _Lane:
    """Events of two runs are compared in order with those of their kind and name."""
    return event.key.kind, event.key.name


def _describe_outcome(event: RecordedEvent) -> str:
    """What makes two outcomes of two runs one: not ids, which each run has its own of."""
    if event.failure is not None:
        return f"{event.failure.type}: {event.failure.message}"
    return "" if event.result is None else find_next_action(event.result).key
