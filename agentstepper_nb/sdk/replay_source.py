"""The source that answers a run's events in place of their calls when the run is executed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from msgspec import Raw
from msgspec.structs import replace

from ..protocol.agent import EventBegun, HaltPointReached
from ..protocol.answers import Answer
from ..protocol.replay_marks import ReplayMark
from ..protocol.start_methods import ForkOrigin
from .run_events import OpenEvent
from .scopes import Scope


class EventRequest(NamedTuple):
    """An event that is about to begin, as a replay knows it."""

    event: OpenEvent
    begun: EventBegun
    data: Raw  # the request as it is sent: with masks
    scope: Scope
    #: Makes the hash of the original request with a key of the recording's.
    hash_with_key: Callable[[bytes], str]
    #: Whether its call was made already: the agent's own code made it, and the event is known by its
    #: result alone.
    is_made: bool = False


class ReplayedBegin(NamedTuple):
    """The decision of a replay on the begin of an event."""

    mark: ReplayMark
    answer: Answer | None = None  # instead of a person's answer; None: the person is asked
    error: BaseException | None = None  # the exception to raise instead
    edit: Raw | None = None  # the edit of the request that the fork makes
    end_mark: ReplayMark | None = None  # the mark at the end, where the run is forked
    end_edit: Raw | None = None  # the edit of the result that the fork makes


class ReplaySource(Protocol):
    """Decides how the events of one run begin. Called on any thread, and never blocks."""

    @property
    def origin(self) -> ForkOrigin:
        """The recorded run, and the row that it is forked at."""

    def begin(self, request: EventRequest) -> ReplayedBegin:
        """Decide how an event begins."""


def apply_to_point(point: HaltPointReached, begin: ReplayedBegin) -> HaltPointReached:
    """The begin of an event with a replay's decision.

    Args:
        point: The halt point without a replay.
        begin: The replay's decision.
    """
    waits = begin.mark.halts or (begin.answer is None and begin.error is None)
    if begin.edit is not None:
        point = replace(point, edit=begin.edit)
    return replace(point, waits=waits, replay=begin.mark)
