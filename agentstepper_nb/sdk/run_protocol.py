"""The protocol of one run with its Core, without I/O: state, messages and acknowledgements.

No thread, clock or socket is used here: times are arguments, and `effects` collects the actions that
the caller executes once it holds no lock. `agent_protocol.AgentProtocol` handles the connection.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from ..errors import ConnectionLostError, ProtocolError
from ..protocol.agent import (
    AgentMessage,
    CheckEdit,
    Hello,
    LeaseMessage,
    MessagesAcknowledged,
    Welcome,
    Withdraw,
)
from ..protocol.answers import ResumeAnswer
from ..protocol.delta_encoding import DeltaEncoder
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample
from ..rpc.backoff import Backoff
from .connection_state import (
    TRANSITIONS,
    LinkLimits,
    OnDisconnect,
    RunConnectionEvent,
    RunConnectionListener,
    RunConnectionState,
)
from .delta_messages import DeltaMessage
from .run_events import add_content_hash
from .send_queue import (
    FlushMarker,
    HaltReleased,
    MessageBatch,
    PendingFutures,
    QueuedRequest,
    QueueEnd,
    QueueItem,
    ResendBuffer,
    count_messages,
    drop_wait,
    waits_for_answer,
)
from .wire_versions import (
    AnswerReceived,
    CoreReply,
    HaltQueue,
    WireVersion,
    WireVersion1,
    WireVersion2,
)

log = logging.getLogger("agentstepper_nb.sdk")


class RunProtocol:
    """The state and the messages of a run on its connection to the Core.

    Args:
        hello: Introduces the agent.
        on_disconnect: The agent's behaviour where the Core goes away.
        is_open_deferred: Whether the Core may be away from the start, and is known to speak version 2.
        waiting: The futures that wait for the Core.
        listener: Receives the run's callbacks.
        is_full: Says whether a sender should wait for space.
        release_halt: Called, on any thread, where halt points are queued and the next may be sent.
        limits: Limits of the unacknowledged bytes, and of the goodbye's time.
    """

    def __init__(
        self,
        hello: Hello,
        on_disconnect: OnDisconnect,
        is_open_deferred: bool,
        waiting: PendingFutures,
        listener: RunConnectionListener,
        is_full: Callable[[], bool],
        release_halt: Callable[[], None],
        limits: LinkLimits,
    ) -> None:
        self.id = hello.run
        self.state = (
            RunConnectionState.DISCONNECTED if is_open_deferred else RunConnectionState.OPENING
        )
        self.on_disconnect: OnDisconnect = on_disconnect
        self.listener = listener
        #: Actions for the caller, in this order; the list of the connection, where the run has one.
        self.effects: list[Callable[[], object]] = []
        #: The reason why no Core has the undelivered messages, for a person.
        self.unreachable_reason = ""
        #: Whether unacknowledged messages need no warning.
        self.is_settled = False
        #: Whether the run has sent its goodbye.
        self.is_closing = False
        #: The time at which the goodbye times out; None before the goodbye.
        self.close_deadline: float | None = None
        #: The earliest time of the next hello on an open connection.
        self.retry_at = 0.0
        #: The time of the first hello on an open connection.
        self.greeted_at: float | None = None
        #: Texts to send before all others: parts of a message, or the run's leave of the connection.
        self.outgoing: deque[bytes] = deque()
        #: The ids of senders that wait for space, and the answer that each of them gets.
        self.waiting_for_space: deque[tuple[str, ResumeAnswer | None]] = deque()
        #: The address of the run in its messages on the connection; None: messages have no address.
        self.address: str | None = None
        self.accepted_bytes = 0  # bytes, of all batches that were taken in
        self.buffer = ResendBuffer()
        self._hello = hello
        self._limits = limits
        self._waiting = waiting
        self._is_full = is_full
        self._release_halt = release_halt
        self.wire_version: WireVersion = WireVersion2()
        self._is_wire_version_known = is_open_deferred
        self.has_sent_hello = False  # whether a Core may have heard hello
        self.hash_key: bytes | None = None  # as the Core has it
        self._is_back_after_bye = False
        self._backoff = Backoff(is_immediate=True)
        self._has_received = False  # whether the Core said anything since the last wait
        self._unencoded_items: deque[QueueItem] = deque()
        self._turns: HaltQueue | None = None  # where one halt point is asked at a time
        self._requests: dict[str, tuple[int, QueuedRequest]] = {}  # without an answer
        self._encoder = DeltaEncoder()
        #: The number of the text that `next_text` gave last on this connection.
        self.written_number = 1
        self._is_full_reported = False

    # ---- what it is ---------------------------------------------------------------------------------

    @property
    def can_resume(self) -> bool:
        """Whether the run outlives its connections."""
        return self.on_disconnect != "raise" and self.wire_version.can_resume

    @property
    def has_snapshots(self) -> bool:
        """Whether the Core, once it is open, has a word for snapshots of the workspace."""
        return self._is_wire_version_known and self.wire_version.has_snapshots

    @property
    def max_message_bytes(self) -> int:
        """Bytes of the largest message that the Core, once it is open, takes."""
        return self.wire_version.max_message_bytes

    @property
    def is_disconnected(self) -> bool:
        """Whether no Core is connected, or one has been connected only since the goodbye."""
        return self.state is not RunConnectionState.OPEN or self._is_back_after_bye

    @property
    def undelivered_count(self) -> int:
        """The number of messages that no Core is known to have stored."""
        return len(self.buffer) + sum(map(count_messages, tuple(self._unencoded_items)))

    def apply_event(self, event: RunConnectionEvent) -> None:
        """Go where an event leads."""
        self.state = TRANSITIONS[self.state][event]

    def is_all_recorded(self) -> bool:
        """Whether the Core has stored all messages, or no Core ever will."""
        return not self.buffer and not self._unencoded_items and not self.outgoing

    def make_hello(self) -> Hello:
        """The hello to say next."""
        if not self.has_sent_hello:
            return self._hello
        sent = self.buffer.last
        asked = (id for id in self._waiting.halt_points() if self.wire_version.is_waiting(id, sent))
        acknowledged = self.buffer.acknowledged
        return replace(self._hello, sent=sent, acknowledged=acknowledged, waiting=tuple(asked))

    def prepare_restart(self, code: str) -> bool:
        """Whether the run can be sent again from its begin to a Core that doesn't know it."""
        can_restart = code == "unknown_run" and self.buffer.acknowledged == 0
        self.has_sent_hello = self.has_sent_hello and not can_restart
        return can_restart

    # ---- what the agent sends -----------------------------------------------------------------------

    def accept_item(self, item: QueueItem, now: float) -> None:
        """Accept an item that the agent has queued."""
        if self.state is RunConnectionState.ENDED:
            return
        if isinstance(item, QueueEnd):
            self.is_closing, self.close_deadline = True, now + self._limits.bye_timeout_s
        if not self._is_wire_version_known:  # what the Core speaks: nothing has a form before
            self._unencoded_items.append(item)
        elif self._turns is None or self._turns.can_send(item):
            ITEM_HANDLERS[type(item)](self, item)
        else:
            self._process_halt_queue(HaltReleased())  # the answer may have come meanwhile

    def _process_marker(self, marker: FlushMarker) -> None:
        self.waiting_for_space.append((marker.key, None))

    def _process_end(self, end: QueueEnd) -> None:
        self._add(end.bye)

    def _process_halt_queue(self, _: HaltReleased) -> None:
        while self._turns is not None and (batch := self._turns.next()) is not None:
            if batch.halt_point is not None and self._waiting.has(batch.halt_point):
                self._process_batch(batch)
            else:  # an interrupt ended the wait, and no Core has heard of it
                self.accepted_bytes += batch.size

    def _process_batch(self, batch: MessageBatch) -> None:
        self.accepted_bytes += batch.size
        is_away = self.on_disconnect == "continue" and self.state is not RunConnectionState.OPEN
        messages = add_content_hash(batch.messages, self.hash_key)
        if is_away or self.state is RunConnectionState.ABANDONED:
            messages = tuple(map(drop_wait, messages))
        try:
            if self.state is not RunConnectionState.ABANDONED:
                for text in self.wire_version.encode_batch(messages, self.buffer.last + 1):
                    self.buffer.add(text)
        except ProtocolError as refusal:
            log.warning("%s", refusal)
            if batch.halt_point is not None:
                self._complete(batch.halt_point, refusal)
            return
        if batch.halt_point is not None and not any(map(waits_for_answer, messages)):
            self.waiting_for_space.append((batch.halt_point, ResumeAnswer()))

    def _process_request(self, request: QueuedRequest) -> None:
        id, message = request.id, request.message
        if self.state is RunConnectionState.ABANDONED or not self._add(message, id):
            self._complete(id, None)  # nobody will answer it
            return
        waited = {id: asked for id, asked in self._requests.items() if self._waiting.has(id)}
        self._requests = waited | {id: (self.buffer.last, request)}

    def _add(self, message: AgentMessage, id: str | None = None) -> bool:
        """Number a message and keep it; False where the Core's version has no word for it."""
        if self.state is RunConnectionState.ABANDONED:
            return True
        form = self.wire_version.encode(message, self.buffer.last + 1, id)
        if form is not None:
            self.buffer.add(form)
        return form is not None

    def _complete(self, key: str | None, value: object) -> None:
        self.effects.append(partial(self._waiting.complete, key, value))

    def release_waiting(self) -> None:
        """Release the senders that wait for space, as far as there is space."""
        while self.waiting_for_space and not self._is_full():
            self._complete(*self.waiting_for_space.popleft())
        is_away = self.state is not RunConnectionState.OPEN
        if self.waiting_for_space and is_away and not self._is_full_reported:
            self._is_full_reported = True
            said = (
                "%d messages wait for the Core, which is still away. The agent now waits for "
                "the Core, too."
            )
            self.effects.append(partial(log.warning, said, len(self.buffer)))

    # ---- what is written ----------------------------------------------------------------------------

    def next_text(self) -> bytes | None:
        """The next text to write on the connection; None while there is none, or it has to wait."""
        if not self.wire_version.can_resume:
            self.buffer.acknowledge(self.written_number)  # nothing is ever sent again
        # Few bytes may tell much: the Core says when it has room for more.
        found = self.buffer.next_after(self.written_number, self._limits.window_bytes)
        if found is None:
            return None
        self.written_number, message = found
        if isinstance(message, DeltaMessage):
            return message.encode(self.written_number, self._encoder)
        return message

    # ---- what the Core says -------------------------------------------------------------------------

    def receive_welcome(self, welcome: Welcome | None, now: float) -> None:
        """Handle a Core's welcome to a new or resumed run; None: the Core is of version 1."""
        first = self.state is RunConnectionState.OPENING
        received = 0 if welcome is None else welcome.received
        if received < self.buffer.acknowledged:
            said = "The Core lost messages %d to %d of this run, which it had acknowledged."
            log.warning(said, received + 1, self.buffer.acknowledged)
        self.apply_event(RunConnectionEvent.WELCOMED)
        self.has_sent_hello = True
        if welcome is not None and welcome.hash_key is not UNSET:
            self.hash_key = bytes.fromhex(welcome.hash_key)
        if welcome is None:
            self.wire_version = WireVersion1(self._hello.program)
            # The original overwrites the halt point that waits, whose agent then hangs.
            self._turns = HaltQueue(self._waiting, self._release_halt)
            self._waiting.on_answered = self._turns.on_answered
            self.effects.append(self.listener.on_lease_absent)
        self._is_wire_version_known = True
        self._is_back_after_bye = self.is_closing
        self._encoder = DeltaEncoder()  # the Core knows no piece yet
        self._is_full_reported = False
        self.buffer.acknowledge(max(received, self.buffer.acknowledged))
        self.written_number = self.buffer.last - len(self.buffer)
        for id, (number, request) in self._requests.items():
            if number <= self.written_number and self._waiting.has(id):
                self._process_request(request)  # its answer went astray
        while self._unencoded_items:
            self.accept_item(self._unencoded_items.popleft(), now)
        if first:
            self.effects.append(partial(self.listener.on_opened, None))
        self.effects.append(self.listener.on_disconnected_changed)

    def receive(self, reply: CoreReply | None, now: float) -> bool:
        """Handle a message for this run that isn't about its hello.

        Args:
            reply: The message, as `wire_version` decoded it.
            now: The time.

        Returns:
            Whether messages may have to be written now, or senders be released.
        """
        self._has_received |= reply is not None
        match reply:
            case MessagesAcknowledged(received=number):
                self.buffer.acknowledge(number)
                if self.is_closing:
                    self.close_deadline = now + self._limits.bye_timeout_s
            case LeaseMessage():
                self.effects.append(partial(self.listener.on_lease, reply))
            case CheckEdit():
                self.effects.append(partial(self.listener.on_edit_check, reply))
            case InspectHaltPoint() | RequestSample():
                self.effects.append(partial(self.listener.on_inspection, reply))
            case AnswerReceived(key, answer):
                self._complete(key, answer)
        has_text = bool(self.outgoing) or self.buffer.last > self.written_number
        return has_text or bool(self.waiting_for_space) or self.is_closing

    def connection_lost(self) -> None:
        """The connection is gone: pass the halt points that wait, if they aren't to wait for a Core."""
        self.apply_event(RunConnectionEvent.LOST)
        self.greeted_at = None
        self.outgoing.clear()
        self.effects.append(self.listener.on_disconnected_changed)
        if self.on_disconnect != "continue":
            return
        for key in self._waiting.halt_points():
            if self.wire_version.is_waiting(key, self.buffer.last):
                self._add(Withdraw(halt_point=key))
                self._complete(key, ResumeAnswer())

    def schedule_retry(self, now: float) -> None:
        """Schedule the next hello, after a Core refused to resume the run for now."""
        if self._has_received:
            self._has_received = False
            self._backoff.reset()
        self.retry_at = now + self._backoff.next_delay_s()

    def opening_failed(self, error: BaseException) -> None:
        """End the run, since no Core has accepted it, and none will."""
        self.apply_event(RunConnectionEvent.ENDED)
        self.effects.append(partial(self.listener.on_opened, error))
        self.effects.append(partial(self.listener.on_ended, None))

    def end(self, error: ConnectionLostError | None, *, is_unrecoverable: bool = False) -> None:
        """End the run, since no Core resumes it; an agent that may go on without a Core goes on.

        Args:
            error: The reason; None where this side has ended the run.
            is_unrecoverable: Whether the failure is one that the run can't survive.
        """
        outlives_core = self.on_disconnect == "continue" and self.can_resume
        may = outlives_core and self.state is RunConnectionState.DISCONNECTED
        if error is not None and may and not (self.is_closing or is_unrecoverable):
            said = "%s The agent continues without the Core, without edits."
            self.effects.append(partial(log.warning, said, error))
            self.is_settled = True
            self.apply_event(RunConnectionEvent.ABANDONED)
            self.buffer.clear()
            return
        self.apply_event(RunConnectionEvent.ENDED)
        self.waiting_for_space.clear()  # `on_ended` says so to all who wait
        self.effects.append(partial(self.listener.on_ended, None if self.is_closing else error))


#: The method that processes each type of queue item.
ITEM_HANDLERS: Final[dict[type[QueueItem], Callable[[RunProtocol, Any], None]]] = {
    MessageBatch: RunProtocol._process_batch,
    QueuedRequest: RunProtocol._process_request,
    FlushMarker: RunProtocol._process_marker,
    QueueEnd: RunProtocol._process_end,
    HaltReleased: RunProtocol._process_halt_queue,
}
