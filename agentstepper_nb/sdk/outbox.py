"""The queue of a run's messages, filled on any thread: the lease decides on halts, the link sends.

All messages of a run pass here in recorded order, so that breakpoints count the same live as in a
dry run. To evaluate breakpoints and to queue a message is one step under a lock, which is never held
while anything blocks. A signal handler may halt inside of that step, so the reading thread, which
delivers the answer, never waits for the lock. In version 1, and before the first lease, the Core
decides whether a halt point waits.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Final, Protocol

from msgspec import UNSET, Struct
from msgspec.structs import replace

from ..core.breakpoints import (
    BreakpointEngine,
    EditRuleEngine,
    EffectChecks,
    ObservedPoint,
    load_effect_checks,
)
from ..discover import CoreEndpoint
from ..protocol.agent import (
    AgentMessage,
    Bye,
    CommitMade,
    EventBegun,
    GetTimeline,
    HaltPointReached,
    LeaseMessage,
    ScopeEnded,
)
from ..protocol.answers import Answer
from ..protocol.breakpoint_rules import Price
from ..protocol.data_model import (
    PAIRED_EVENT_KINDS,
    AgentLabel,
    EventKind,
    EventSide,
    RunMode,
)
from ..protocol.field_types import ScopePath
from .connection_state import LinkLimits, RunConnectionState
from .cost_estimates import add_estimated_cost
from .live_scopes import LiveScopes
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
from .step_lease import StepLease


class RunTransport(Protocol):
    """The interface of a run's connection, as `shared_connection.SharedConnection` implements it."""

    outboxes: dict[str, Outbox]

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint, or its last one."""

    def signal(self, outbox: Outbox, is_immediate: bool) -> None:
        """Announce new messages in an outbox, which may have to be written at once."""

    def forget(self, run: str) -> None:
        """A run is over."""

    def give_up(self, outbox: Outbox) -> None:
        """Give up on a Core that is away, or doesn't let a run go."""


class Outbox:
    """The outgoing queue of a run. The methods only fill queues, and any thread may call them.

    Args:
        transport: The run's current transport.
        limits: Limits of the bytes that wait for the Core.
    """

    def __init__(self, transport: RunTransport, limits: LinkLimits) -> None:
        self._limits = limits
        self.inbox: SimpleQueue[QueueItem] = SimpleQueue()
        #: The bytes of all batches that were ever queued.
        self.queued_bytes = 0
        #: The protocol state of the run; set before the first message is queued.
        self.protocol: RunProtocol
        self.transport = transport

    @property
    def size(self) -> int:
        """The bytes that wait for the Core."""
        return self.queued_bytes - self.protocol.accepted_bytes + self.protocol.buffer.size

    @property
    def is_full(self) -> bool:
        """Whether a sender should wait for space; messages that are sent anyway are queued."""
        max_bytes = (
            self._limits.max_connected_bytes
            if self.protocol.state is RunConnectionState.OPEN
            else self._limits.max_disconnected_bytes
        )
        sharing = list(self.transport.outboxes.values())
        if self.size * len(sharing) < max_bytes:
            return False
        return sum(each.size for each in sharing) >= max_bytes

    def put(self, item: QueueItem, *, is_immediate: bool = True) -> None:
        """Queue an item. A batch's bytes are added to `queued_bytes` too, by one thread at a time.

        Args:
            item: The item.
            is_immediate: Whether the item is written at once, and not together with the next items.
        """
        self.inbox.put(item)
        self.transport.signal(self, is_immediate)

    def request(self, message: GetTimeline, id: str) -> None:
        """Send a request that is answered under an id."""
        self.put(QueuedRequest(id, message))

    def put_flush_marker(self, key: str) -> None:
        """Complete a key's future with None once all earlier items are stored, and written if possible.

        This may wait for space in the queue.
        """
        self.put(FlushMarker(key))

    def end(self, bye: Bye) -> None:
        """Send bye after all earlier items, and close once the Core has stored all of them."""
        self.put(QueueEnd(bye))

    def release_halt(self) -> None:
        """Report that a halt point no longer waits: a Core that takes one at a time may get the next."""
        self.put(HaltReleased())


#: The most halt points, and bytes of halt points, that are stored for the breakpoints of the first
#: lease.
_MAX_EARLY_POINTS: Final = 1000
MAX_EARLY_BYTES: Final = 8 * 1024 * 1024


class _ReportedEvent(Struct, frozen=True):
    """An event whose begin was sent and that hasn't ended."""

    kind: EventKind
    name: str | None
    depth: int
    label: AgentLabel | None
    parent: str | None
    scope: ScopePath


class HaltLease:
    """The lease of a run, and the halt decisions that follow from the lease.

    Args:
        program: The run's program.
        outbox: The run's outbox.
        waiting: The futures that wait for the Core.
        max_early_bytes: Bytes of halt points that are stored for the first lease's breakpoints.
        workspace: The agent's folder; "" where it has none.
        scopes: The run's scopes that haven't ended, in which steps go on.
    """

    def __init__(
        self,
        program: str,
        outbox: Outbox,
        waiting: PendingFutures,
        max_early_bytes: int = MAX_EARLY_BYTES,
        workspace: str = "",
        scopes: LiveScopes | None = None,
    ) -> None:
        self._max_early_bytes = max_early_bytes
        self._outbox = outbox
        self._waiting = waiting
        # A thread may come here again while it is here, by a finalizer or a signal's handler.
        self._lock = threading.RLock()
        self._pending_leases: deque[LeaseMessage] = deque()  # leases that aren't in force yet
        self._lease: LeaseMessage | None = None
        self._breakpoints = BreakpointEngine(program, (), workspace, self._make_checks)
        #: The edit rules in force, which edit data before it is sent, on the sender's thread.
        self.edit_rules = EditRuleEngine(program)
        self._open_events: dict[str, _ReportedEvent] = {}
        scopes = scopes or LiveScopes()
        self._step = StepLease(scopes, self._open_events.get)
        scopes.on_ended = self._end_scope
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
        if self._pending_leases or self._breakpoints.may_halt(kind, side, name):
            return True
        return bool(self.edit_rules.armed) and self.edit_rules.may_edit(kind, side, name)

    def accept_lease(self, lease: LeaseMessage) -> None:
        """Accept a lease from the Core, which decides the next halt point. Never waits."""
        self._pending_leases.append(lease)
        self.edit_rules.set(() if lease.edit_rules is UNSET else lease.edit_rules)
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
        """Send messages, with no other message between them.

        Args:
            messages: The messages to send.
            halt_point: The last message's id, where it is a halt point that may wait.
            check: Raises where the run is over, and no thread may wait.

        Returns:
            A future for the answer, or for space in the queue; None where the agent goes on.
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

    def _end_scope(self, path: ScopePath) -> None:
        """An agent, a task, a thread or a job has ended."""
        if self._pending_leases or self._step.target is not None:
            with self._lock:
                self._apply_pending_leases()
                self._report_ended_scopes()

    # ---- under the lock -----------------------------------------------------------------------------

    def _make_checks(self) -> EffectChecks:
        """The effect checks that the lease enables."""
        return EffectChecks(load_effect_checks(), self._list_disabled_checks)

    def _list_disabled_checks(self) -> tuple[str, ...]:
        disabled = UNSET if self._lease is None else self._lease.disabled_checks
        return () if disabled is UNSET else disabled

    def _report_ended_scopes(self) -> None:
        """Let the step go on around what has ended, and the Core know."""
        for path in self._step.skip_ended_scopes():
            ended = MessageBatch((ScopeEnded(scope=path),), size=0)
            self._outbox.put(ended, is_immediate=False)

    def _apply_pending_leases(self) -> None:
        """Put the leases in force that came; one stays until it is, whatever interrupts this thread."""
        while self._pending_leases:
            lease = self._lease = self._pending_leases[0]
            self._breakpoints.set(lease.breakpoints)
            self._step.accept(lease.target)
            self._report_ended_scopes()
            self._catch_up()
            # Else a finalizer did all this meanwhile.
            if self._pending_leases and self._pending_leases[0] is lease:
                self._pending_leases.popleft()

    def _decide(self, messages: tuple[AgentMessage, ...]) -> tuple[AgentMessage, ...]:
        """The messages, with the lease's decision on the halt point that ends them."""
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
                    message.parent,
                    () if message.scope is UNSET else message.scope,
                )
            elif isinstance(message, CommitMade):
                self._breakpoints.record_changes(message.changes)
        return messages

    @property
    def prices(self) -> tuple[Price, ...]:
        """The prices of models, as the Core has sent them."""
        return () if self._lease is None else self._lease.prices

    def _reach(self, message: HaltPointReached) -> HaltPointReached:
        open_event = self._open_events.get(message.event)
        if open_event is None:
            return message  # the Core refuses it
        if message.side is EventSide.END or open_event.kind not in PAIRED_EVENT_KINDS:
            del self._open_events[message.event]
        if message.usage is not None and self._lease is not None:
            usage = add_estimated_cost(message.usage, open_event.name, self.prices)
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
            message.event,
        )
        lease = self._lease
        if lease is None:
            self._record_early(point)
            return message
        hits, halts, error = self._breakpoints.evaluate(point)
        if message.waits and not message.epoch and self.edit_rules.armed:
            return message  # the first lease came meanwhile: the Core makes the edits of its rules
        error = message.breakpoint_error or error
        is_shown = message.replay is not UNSET and message.replay.halts
        must_wait = error is not None or message.approval is not None or is_shown
        steps_here = lease.mode is not RunMode.CONTINUE and (
            self._step.target is None or self._step.halts_at(message, open_event)
        )
        waits = message.waits and (halts or must_wait or steps_here)
        return replace(
            message,
            waits=waits,
            epoch=lease.epoch,
            breakpoints=hits,
            breakpoint_error=error,
            schema=message.schema if waits else UNSET,
        )

    def _record_early(self, point: ObservedPoint) -> None:
        """Store a halt point, which the Core decides on, for the first lease's breakpoints."""
        self._early.append(point)
        self._early_size += len(point.data)
        if len(self._early) >= _MAX_EARLY_POINTS or self._early_size >= self._max_early_bytes:
            self._catch_up()

    def _catch_up(self) -> None:
        while self._early:
            self._breakpoints.evaluate(self._early.popleft())
        self._early_size = 0
