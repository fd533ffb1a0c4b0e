"""What stands in an outbox's queue, and who waits for what comes of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, Literal

from msgspec import UNSET, Struct

from ..protocol.agent import (
    AgentMessage,
    BreakpointReached,
    Bye,
    EventBegun,
    GetTimeline,
)

#: What somebody waits for: an answer, or that what was sent has its place (`room`, `mark`).
Kind = Literal["breakpoint", "request", "room", "mark"]


class Waiting:
    """The futures of one link, by key. Whoever takes one completes it.

    Without a lock, by single operations on a dict: a signal's handler, or a finalizer in whatever
    thread collects garbage, may come here while somebody is here.

    Attributes:
        on_breakpoints: Called, on any thread, where a breakpoint begins to wait or waits no more.
        on_answered: Called, on any thread, where a breakpoint waits no more.
    """

    def __init__(self) -> None:
        self.on_breakpoints: Callable[[], None] = lambda: None
        self.on_answered: Callable[[], None] = lambda: None
        self._futures: dict[str, tuple[Kind, Future[Any]]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def expect(self, key: str, kind: Kind, check: Callable[[], None]) -> Future[Any]:
        """A future for what comes under a key.

        Args:
            key: A new one.
            kind: What it is.
            check: Raises where nothing will come any more; called so that no end falls between.
        """
        check()
        future = new_future()
        self._futures[key] = (kind, future)
        try:
            check()  # an end from here on finds it
        except BaseException:
            self.forget(key)
            raise
        if kind == "breakpoint":
            self.on_breakpoints()
        return future

    def has(self, key: str) -> bool:
        """Whether somebody waits for this."""
        return key in self._futures

    def forget(self, key: str) -> None:
        """Nobody waits for this any more."""
        self._pop(key)

    def give(self, key: str | None, value: Any) -> None:
        """Give a value, or raise an exception, to whoever waits for a key.

        Args:
            key: The key. None is an answer to a message that can't be told: if only one waits, it was
                that one's.
            value: The value, or the exception.
        """
        future = self._only() if key is None else self._pop(key)
        if future is None:
            return  # withdrawn, or nobody waited
        if isinstance(value, BaseException):
            future.set_exception(value)
        else:
            future.set_result(value)

    def breakpoints(self) -> list[str]:
        """The breakpoints that wait for their answers."""
        return [key for key, (kind, _) in self._futures.copy().items() if kind == "breakpoint"]

    def end(self, over: Callable[[], None]) -> list[Future[Any]]:
        """Give up all that wait: they are the caller's to complete.

        Args:
            over: Lets the checks of `expect` raise from now on.
        """
        over()
        left = map(self._pop, list(self._futures))
        return [future for future in left if future is not None]

    def _only(self) -> Future[Any] | None:
        """The one that waits for an answer; None where several do."""
        waiting = self._futures.copy().items()
        asking = [key for key, (kind, _) in waiting if kind in ("breakpoint", "request")]
        return self._pop(asking[0]) if len(asking) == 1 else None

    def _pop(self, key: str) -> Future[Any] | None:
        kind, future = self._futures.pop(key, (None, None))
        if kind == "breakpoint":
            self.on_breakpoints()
            self.on_answered()
        return future


def new_future() -> Future[Any]:
    """A future that can't be cancelled: an awaiting task that gives up must not break its giver."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


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
