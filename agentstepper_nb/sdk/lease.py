"""What an agent decides by itself: whether a breakpoint waits, as its lease and its stops say.

All that a run sends passes here, in the order in which it is recorded: what stops count live is what
they would count on the recorded run. Telling them of messages and queueing these is one step under a
lock, which is never held while anything blocks: but a signal's handler may halt inside it, so that the
reading thread, which brings the answer, never waits for it. In version 1, and before the first lease,
the Core decides.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from fnmatch import fnmatchcase
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..core.stops import Point, Stops
from ..core.stops.engine import changed_paths
from ..protocol.agent import (
    AgentMessage,
    Answer,
    BreakpointReached,
    CommitMade,
    EventBegun,
    Lease,
)
from ..protocol.stops import Price
from ..protocol.values import PAIRED, EventKind, Mode, Side, Usage
from .items import Batch, size_of
from .outbox import MOST_CONNECTED, Outbox
from .waiting import Kind, Waiting

#: So many breakpoints, and bytes of them, are kept for the stops that may come with the first lease.
_MOST_EARLY: Final = 1000
_MOST_EARLY_BYTES: Final = MOST_CONNECTED
#: Prices are for so many tokens.
_TOKENS: Final = 1_000_000


class _Told(Struct, frozen=True):
    """An event that was told and hasn't ended."""

    kind: EventKind
    name: str | None
    depth: int


class Leasehold:
    """One run's lease, and what it comes to.

    Args:
        program: The run's program.
        outbox: Where messages go.
        waiting: Who waits for what.
    """

    def __init__(self, program: str, outbox: Outbox, waiting: Waiting) -> None:
        self._outbox = outbox
        self._waiting = waiting
        # A thread may come here again while it is here, by a finalizer or a signal's handler.
        self._lock = threading.RLock()
        self._came: deque[Lease] = deque()  # leases that aren't in force yet
        self._lease: Lease | None = None
        self._stops = Stops(program)
        self._told: dict[str, _Told] = {}
        self._early: deque[Point] = deque()  # reached before the first lease
        self._early_size = 0  # bytes
        self._expects = True  # whether there may be one

    @property
    def goes_on(self) -> bool:
        """Whether the run continues, without a Core too, wherever no stop halts it."""
        return self._lease is not None and self._lease.mode is Mode.CONTINUE

    def take(self, lease: Lease) -> None:
        """The Core pushed a lease: the next breakpoint is decided by it. Waits for nobody."""
        self._came.append(lease)
        if self._lock.acquire(blocking=False):  # else who has it, or comes next, takes it up
            try:
                self._take_up()
            finally:
                self._lock.release()

    def forgo(self) -> None:
        """There will be no lease: the Core is of version 1."""
        self._expects = False

    def send(self, messages: tuple[AgentMessage, ...]) -> None:
        """Send messages that nobody waits at, with no other between them."""
        size, decided = size_of(messages), messages
        with self._lock:
            try:
                decided = self._decided(messages)
            finally:  # what interrupts this thread here doesn't keep back what was counted
                self._outbox.queued += size
                self._outbox.put(Batch(decided, size))
        if _failed(decided[-1]):
            self._outbox.hurry()

    def ask(
        self, messages: tuple[AgentMessage, ...], breakpoint: str, check: Callable[[], None]
    ) -> Future[Answer] | None:
        """Send messages, the last of which is a breakpoint that may wait.

        Args:
            messages: What to send, with no other between them.
            breakpoint: The breakpoint's id.
            check: Raises where the run is over.

        Returns:
            A future for its answer, or for when there is room again; None where the agent goes on.
        """
        size, decided = size_of(messages), messages
        future: Future[Answer] | None = None
        key: str | None = None
        with self._lock:
            try:
                decided = self._decided(messages)
                waits = _waits(decided[-1])
                if waits or self._outbox.full:
                    kind: Kind = "breakpoint" if waits else "room"
                    future = self._waiting.expect(breakpoint, kind, check)
                    key = breakpoint
            finally:
                self._outbox.queued += size
                self._outbox.put(Batch(decided, size, key))
        if future is not None or _failed(decided[-1]):
            self._outbox.hurry()
        return future

    # ---- under the lock -----------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Put the leases in force that came; one stays until it is, whatever interrupts this thread."""
        while self._came:
            lease = self._lease = self._came[0]
            self._stops.set(lease.stops)
            self._catch_up()
            if self._came and self._came[0] is lease:  # else a finalizer did all this meanwhile
                self._came.popleft()

    def _decided(self, messages: tuple[AgentMessage, ...]) -> tuple[AgentMessage, ...]:
        """The messages, with what was decided of the breakpoint that ends them."""
        if not self._expects:
            return messages
        self._take_up()
        for message in messages:
            if isinstance(message, BreakpointReached):
                decided = self._reach(message)
                return messages if decided is message else (*messages[:-1], decided)
            if isinstance(message, EventBegun):
                self._begin(message)
            elif isinstance(message, CommitMade):
                self._stops.touch(changed_paths(message.changes))
        return messages

    def _begin(self, event: EventBegun) -> None:
        """As the Core has it, an event is nested in one that hasn't ended when it is told."""
        if event.kind is EventKind.DEBUG_MESSAGE:
            return
        around = self._told.get(event.parent) if event.parent else None
        depth = 0 if around is None else around.depth + 1
        self._told[event.id] = _Told(event.kind, event.name, depth)

    def _reach(self, message: BreakpointReached) -> BreakpointReached:
        told = self._told.get(message.event)
        if told is None:
            return message  # the Core refuses it
        if message.side is Side.END or told.kind not in PAIRED:
            del self._told[message.event]
        if message.usage is not None and self._lease is not None:
            usage = with_cost(message.usage, told.name, self._lease.prices)
            message = message if usage is message.usage else replace(message, usage=usage)
        point = Point(
            told.kind,
            message.side,
            told.name,
            b"null" if message.data is UNSET else bytes(message.data),
            told.depth,
            message.outcome,
            message.failure,
            message.usage,
        )
        lease = self._lease
        if lease is None:
            self._keep(point)
            return message
        hits, halts, error = self._stops.reach(point)
        asks = message.approval is not None
        waits = message.waits and (halts or asks or lease.mode is not Mode.CONTINUE)
        return replace(message, waits=waits, epoch=lease.epoch, stops=hits, stop_error=error)

    def _keep(self, point: Point) -> None:
        """Keep a breakpoint for the first lease's stops; what it does here, the Core's own decide."""
        self._early.append(point)
        self._early_size += len(point.data)
        if len(self._early) >= _MOST_EARLY or self._early_size >= _MOST_EARLY_BYTES:
            self._catch_up()

    def _catch_up(self) -> None:
        while self._early:
            self._stops.reach(self._early.popleft())
        self._early_size = 0


def _waits(message: AgentMessage) -> bool:
    return isinstance(message, BreakpointReached) and message.waits


def _failed(message: AgentMessage) -> bool:
    """Whether it tells of an exception, which may be the last that this process has to tell."""
    return isinstance(message, BreakpointReached) and message.failure is not None


def with_cost(usage: Usage | None, model: str | None, prices: Iterable[Price]) -> Usage | None:
    """A query's usage, its cost estimated where nobody told it and a price fits.

    Args:
        usage: What is known; without both counts of tokens nothing is estimated.
        model: The model that was asked.
        prices: The first whose pattern fits the model is its price.
    """
    if usage is None or usage.cost is not None:
        return usage
    asked, said = usage.input_tokens, usage.output_tokens
    if asked is None or said is None:
        return usage
    for price in prices:
        if fnmatchcase(model or "", price.model):
            cost = (asked * price.input + said * price.output) / _TOKENS
            return replace(usage, cost=cost, estimated=True)
    return usage
