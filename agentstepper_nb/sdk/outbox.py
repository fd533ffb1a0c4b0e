"""What a run's agent sends, on whatever thread: decided by the lease, and put for the link to send.

All that a run sends passes here, in the order in which it is recorded: what breakpoints count live is
what they would count on the recorded run. Telling them of messages and queueing these is one step under
a lock, which is never held while anything blocks: but a signal's handler may halt inside it, so that the
reading thread, which brings the answer, never waits for it. In version 1, and before the first lease,
the Core decides whether a halt point waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from fnmatch import fnmatchcase
from queue import SimpleQueue
from typing import Final, Protocol

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..core.breakpoints import BreakpointEngine, ObservedPoint
from ..core.breakpoints.engine import list_changed_paths
from ..discover import CoreEndpoint
from ..protocol.agent import (
    AgentMessage,
    Bye,
    CommitMade,
    EventBegun,
    GetTimeline,
    HaltPointReached,
    LeaseMessage,
)
from ..protocol.answers import Answer
from ..protocol.breakpoint_rules import Price
from ..protocol.data_model import (
    PAIRED_EVENT_KINDS,
    AgentLabel,
    EventKind,
    EventSide,
    RunMode,
    Usage,
)
from .connection_state import RunConnectionState
from .run_protocol import RunProtocol
from .send_queue import (
    FlushMarker,
    FutureKind,
    HaltReleased,
    MessageBatch,
    PendingFutures,
    QueuedRequest,
    QueueEnd,
    QueueItem,
    estimate_bytes,
)

#: Bytes that may wait for the Core, while it is there and while it is away; then the agent waits. All
#: runs that share a connection have them together, and each of these may have its share.
MAX_CONNECTED_BYTES: Final = 8 * 1024 * 1024
MAX_DISCONNECTED_BYTES: Final = 64 * 1024 * 1024


class RunTransport(Protocol):
    """What carries a run: `shared_connection.SharedConnection`."""

    outboxes: dict[str, Outbox]

    @property
    def endpoint(self) -> CoreEndpoint:
        """Where the Core is, or was last."""

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Something was put into an outbox, perhaps to be written at once."""

    def forget(self, run: str) -> None:
        """A run is over."""

    def give_up(self, outbox: Outbox) -> None:
        """Give up on a Core that is away, or doesn't let a run go."""


class NoTransport(RunTransport):
    """What stands in a carrier's place until a run is opened.

    Args:
        endpoint: Where the Core is.
    """

    def __init__(self, endpoint: CoreEndpoint) -> None:
        self.outboxes: dict[str, Outbox] = {}
        self._endpoint = endpoint

    @property
    def endpoint(self) -> CoreEndpoint:
        """Where the Core is."""
        return self._endpoint

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Nothing yet: who takes it on looks at what was put before."""

    def forget(self, run: str) -> None:
        """Nothing is known of it here."""

    def give_up(self, outbox: Outbox) -> None:
        """There is nothing to give up on."""


class Outbox:
    """The way out of a run. Its methods only put into queues, and may be called from anywhere.

    Args:
        endpoint: Where the Core is.
    """

    def __init__(self, endpoint: CoreEndpoint) -> None:
        self.inbox: SimpleQueue[QueueItem] = SimpleQueue()
        #: Bytes, of all batches that were ever put.
        self.queued_bytes = 0
        #: What is known of the run; set before anything is put.
        self.protocol: RunProtocol
        #: What carries it just now.
        self.transport: RunTransport = NoTransport(endpoint)

    @property
    def size(self) -> int:
        """Bytes that wait for the Core."""
        return self.queued_bytes - self.protocol.accepted_bytes + self.protocol.buffer.size

    @property
    def is_full(self) -> bool:
        """Whether who sends should wait for room; what is put all the same is kept."""
        max_bytes = (
            MAX_CONNECTED_BYTES
            if self.protocol.state is RunConnectionState.OPEN
            else MAX_DISCONNECTED_BYTES
        )
        sharing = list(self.transport.outboxes.values())
        if self.size * len(sharing) < max_bytes:
            return False
        return sum(each.size for each in sharing) >= max_bytes

    def put(self, item: QueueItem, *, is_immediate: bool = True) -> None:
        """Put an item. What a batch takes is added to `queued_bytes` with it, by one thread at a time.

        Args:
            item: The item.
            is_immediate: Whether it is to be written now, and not with what comes in the next moment.
        """
        self.inbox.put(item)
        self.transport.signal(self, is_immediate)

    def request(self, message: GetTimeline, id: str) -> None:
        """Send what is answered under an id."""
        self.put(QueuedRequest(id, message))

    def put_flush_marker(self, key: str) -> None:
        """Give None under a key once all that was put before is kept, and written if it can be.

        That may be when there is room again.
        """
        self.put(FlushMarker(key))

    def end(self, bye: Bye) -> None:
        """Say bye after all that was put before, and close once the Core keeps all of it."""
        self.put(QueueEnd(bye))

    def release_halt(self) -> None:
        """A halt point waits no more: the next may be asked, where one is asked at a time."""
        self.put(HaltReleased())


#: So many halt points, and bytes of them, are kept for the breakpoints that may come with the first
#: lease.
_MAX_EARLY_POINTS: Final = 1000
_MAX_EARLY_BYTES: Final = MAX_CONNECTED_BYTES
#: Prices are for so many tokens.
_TOKENS_PER_PRICE: Final = 1_000_000


class _ReportedEvent(Struct, frozen=True):
    """An event that was told and hasn't ended."""

    kind: EventKind
    name: str | None
    depth: int
    label: AgentLabel | None


class HaltLease:
    """One run's lease, and what it comes to.

    Args:
        program: The run's program.
        outbox: Where messages go.
        waiting: Who waits for what.
    """

    def __init__(self, program: str, outbox: Outbox, waiting: PendingFutures) -> None:
        self._outbox = outbox
        self._waiting = waiting
        # A thread may come here again while it is here, by a finalizer or a signal's handler.
        self._lock = threading.RLock()
        self._pending_leases: deque[LeaseMessage] = deque()  # leases that aren't in force yet
        self._lease: LeaseMessage | None = None
        self._breakpoints = BreakpointEngine(program)
        self._open_events: dict[str, _ReportedEvent] = {}
        self._early: deque[ObservedPoint] = deque()  # reached before the first lease
        self._early_size = 0  # bytes
        self._is_lease_expected = True  # whether there may be one

    @property
    def is_in_continue_mode(self) -> bool:
        """Whether the run continues, without a Core too, wherever no breakpoint halts it."""
        return self._lease is not None and self._lease.mode is RunMode.CONTINUE

    def may_halt(self, kind: EventKind, side: EventSide, name: str | None) -> bool:
        """Whether the agent may have to wait at such a halt point, as the lease is now."""
        lease = self._pending_leases[-1] if self._pending_leases else self._lease
        if not self._is_lease_expected or lease is None or lease.mode is not RunMode.CONTINUE:
            return True
        return bool(self._pending_leases) or self._breakpoints.may_halt(kind, side, name)

    def accept_lease(self, lease: LeaseMessage) -> None:
        """The Core pushed a lease: the next halt point is decided by it. Waits for nobody."""
        self._pending_leases.append(lease)
        if self._lock.acquire(blocking=False):  # else who has it, or comes next, takes it up
            try:
                self._apply_pending_leases()
            finally:
                self._lock.release()

    def expect_no_lease(self) -> None:
        """There will be no lease: the Core is of version 1."""
        self._is_lease_expected = False

    def send(
        self,
        messages: tuple[AgentMessage, ...],
        halt_point: str | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Future[Answer] | None:
        """Send messages, with no other between them.

        Args:
            messages: What to send.
            halt_point: The last one's id, where it is a halt point that may wait.
            check: Raises where the run is over, and nothing may wait.

        Returns:
            A future for the answer, or for when there is room again; None where the agent goes on.
        """
        size, decided = estimate_bytes(messages), messages
        future: Future[Answer] | None = None
        key: str | None = None
        with self._lock:
            try:
                decided = self._decide(messages)
                last = decided[-1]
                waits = isinstance(last, HaltPointReached) and last.waits
                if halt_point is not None and (waits or self._outbox.is_full):
                    kind: FutureKind = "halt_point" if waits else "room"
                    future = self._waiting.expect(halt_point, kind, check)
                    key = halt_point
            finally:  # what interrupts this thread here doesn't keep back what was counted
                self._outbox.queued_bytes += size
                last = decided[-1]
                # An exception may be the last that this process has to tell.
                failed = isinstance(last, HaltPointReached) and last.failure is not None
                self._outbox.put(
                    MessageBatch(decided, size, key), is_immediate=failed or future is not None
                )
        return future

    # ---- under the lock -----------------------------------------------------------------------------

    def _apply_pending_leases(self) -> None:
        """Put the leases in force that came; one stays until it is, whatever interrupts this thread."""
        while self._pending_leases:
            lease = self._lease = self._pending_leases[0]
            self._breakpoints.set(lease.breakpoints)
            self._catch_up()
            # Else a finalizer did all this meanwhile.
            if self._pending_leases and self._pending_leases[0] is lease:
                self._pending_leases.popleft()

    def _decide(self, messages: tuple[AgentMessage, ...]) -> tuple[AgentMessage, ...]:
        """The messages, with what was decided of the halt point that ends them."""
        if not self._is_lease_expected:
            return messages
        if self._pending_leases:
            self._apply_pending_leases()
        for message in messages:
            if isinstance(message, HaltPointReached):
                decided = self._reach(message)
                return messages if decided is message else (*messages[:-1], decided)
            if isinstance(message, EventBegun):
                if message.kind is EventKind.DEBUG_MESSAGE:
                    continue
                # As the Core has it, an event is nested in one that hasn't ended when it is told.
                around = self._open_events.get(message.parent or "")
                self._open_events[message.id] = _ReportedEvent(
                    message.kind,
                    message.name,
                    0 if around is None else around.depth + 1,
                    None if message.label is UNSET else message.label,
                )
            elif isinstance(message, CommitMade):
                self._breakpoints.record_changed_paths(list_changed_paths(message.changes))
        return messages

    def _reach(self, message: HaltPointReached) -> HaltPointReached:
        open_event = self._open_events.get(message.event)
        if open_event is None:
            return message  # the Core refuses it
        if message.side is EventSide.END or open_event.kind not in PAIRED_EVENT_KINDS:
            del self._open_events[message.event]
        if message.usage is not None and self._lease is not None:
            usage = add_estimated_cost(message.usage, open_event.name, self._lease.prices)
            message = message if usage is message.usage else replace(message, usage=usage)
        point = ObservedPoint(
            open_event.kind,
            message.side,
            open_event.name,
            b"null" if message.data is UNSET else bytes(message.data),
            open_event.depth,
            message.outcome,
            message.failure,
            message.usage,
            open_event.label,
        )
        lease = self._lease
        if lease is None:
            self._record_early(point)
            return message
        hits, halts, error = self._breakpoints.evaluate(point)
        asks_approval = message.approval is not None
        waits = message.waits and (halts or asks_approval or lease.mode is not RunMode.CONTINUE)
        return replace(
            message, waits=waits, epoch=lease.epoch, breakpoints=hits, breakpoint_error=error
        )

    def _record_early(self, point: ObservedPoint) -> None:
        """Keep a halt point for the first lease's breakpoints; what it does here, the Core's own
        decide.
        """
        self._early.append(point)
        self._early_size += len(point.data)
        if len(self._early) >= _MAX_EARLY_POINTS or self._early_size >= _MAX_EARLY_BYTES:
            self._catch_up()

    def _catch_up(self) -> None:
        while self._early:
            self._breakpoints.evaluate(self._early.popleft())
        self._early_size = 0


def add_estimated_cost(
    usage: Usage | None, model: str | None, prices: Iterable[Price]
) -> Usage | None:
    """A query's usage, its cost estimated where nobody told it and a price fits.

    Args:
        usage: What is known; without both counts of tokens nothing is estimated.
        model: The model that was asked.
        prices: The first whose pattern fits the model is its price.
    """
    if usage is None or usage.cost is not None:
        return usage
    input_tokens, output_tokens = usage.input_tokens, usage.output_tokens
    if input_tokens is None or output_tokens is None:
        return usage
    for price in prices:
        if fnmatchcase(model or "", price.model):
            cost = (input_tokens * price.input + output_tokens * price.output) / _TOKENS_PER_PRICE
            return replace(usage, cost=cost, estimated=True)
    return usage
