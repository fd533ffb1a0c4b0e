"""What stands in an outbox's queue, and the turns of breakpoints."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

from msgspec import UNSET, Struct

from ..protocol.agent import (
    AgentMessage,
    BreakpointReached,
    Bye,
    EventBegun,
    GetTimeline,
)
from .waiting import Waiting

#: What a message takes beside its contents, about.
FRAME: Final = 512


class Batch(Struct, frozen=True):
    """Messages that are sent with no other between them."""

    messages: tuple[AgentMessage, ...]
    size: int  # about, in bytes
    breakpoint: str | None = None  # that somebody waits at: for its answer, or for room


@dataclass(frozen=True)
class Request:
    """What is answered under an id."""

    id: str
    message: GetTimeline


@dataclass(frozen=True)
class Mark:
    """A place in the queue that somebody waits for."""

    key: str


@dataclass(frozen=True)
class End:
    """The run's goodbye."""

    bye: Bye


@dataclass(frozen=True)
class Freed:
    """A breakpoint waits no more: the next may be asked, where one is asked at a time."""


Item = Batch | Request | Mark | End | Freed


def count_of(item: Item) -> int:
    """How many messages an item is."""
    match item:
        case Batch(messages=messages):
            return len(messages)
        case Request() | End():
            return 1
    return 0


def size_of(messages: tuple[AgentMessage, ...]) -> int:
    """What messages take, about, in bytes. What is waited for until it is written needs no more care."""
    size = FRAME * len(messages)
    last = messages[-1]
    if isinstance(last, BreakpointReached | EventBegun) and last.data is not UNSET:
        size += memoryview(last.data).nbytes
    return size


class Turns:
    """One breakpoint at a time, for a Core that knows no more: the others wait here, in their order.

    Args:
        waiting: Who waits for what.
    """

    def __init__(self, waiting: Waiting) -> None:
        self._waiting = waiting
        self._asked: str | None = None  # the breakpoint that was asked last
        self._kept: deque[Batch] = deque()

    def may(self, batch: Batch) -> bool:
        """Whether a batch may be sent now; one that mayn't is kept until `next` gives it."""
        last = batch.messages[-1]
        if not (isinstance(last, BreakpointReached) and last.waits):
            return True
        if self._kept or self._is_asked():
            self._kept.append(batch)
            return False
        self._asked = batch.breakpoint
        return True

    def next(self) -> Batch | None:
        """The batch whose turn it is now; None while a breakpoint waits, or where none is kept."""
        if not self._kept or self._is_asked():
            return None
        batch = self._kept.popleft()
        self._asked = batch.breakpoint
        return batch

    def _is_asked(self) -> bool:
        return self._asked is not None and self._waiting.has(self._asked)
