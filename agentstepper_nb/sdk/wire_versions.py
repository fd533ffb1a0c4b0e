"""The two versions of the wire, as the SDK speaks them: typed messages to text, and back."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from msgspec import UNSET, Struct

from ..errors import ProtocolError
from ..protocol.agent import (
    AgentError,
    AgentMessage,
    AnswerMessage,
    CheckEdit,
    CommitMade,
    EventBegun,
    HaltPointReached,
    LeaseMessage,
    MessagesAcknowledged,
    Timeline,
    Withdraw,
    from_agent,
    to_agent,
)
from ..protocol.answers import Answer, ResumeAnswer
from ..protocol.data_model import Commit, EventKind, EventSide
from ..protocol.delta_encoding import DELTA_SIZES
from ..protocol.envelope import MAX_MESSAGE_BYTES, Envelope
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample
from ..protocol.v1 import agent as v1
from ..protocol.v1.commits import dump_commit
from .delta_messages import DeltaMessage, split_message
from .send_queue import MessageBatch, PendingFutures, QueueItem, waits_for_answer

_TOO_LARGE: Final = (
    "This message has {:.1f} MiB, and a Core of version 1 closes the connection above 1 MiB. Pass "
    "redact= to AgentStepper to shorten it."
)

log = logging.getLogger("agentstepper_nb.sdk")


class AnswerReceived(NamedTuple):
    """The outcome of a halt point or a request: the answer, or the Core's refusal."""

    key: str | None  # the halt point's or request's id; None: the refused message is unknown
    answer: Answer | Timeline | ProtocolError


#: A message that a run receives from its Core after the welcome.
CoreReply = (
    AnswerReceived
    | MessagesAcknowledged
    | LeaseMessage
    | CheckEdit
    | InspectHaltPoint
    | RequestSample
)


#: Messages that the run receives unchanged.
_PASSED_ON: Final = (
    MessagesAcknowledged,
    LeaseMessage,
    CheckEdit,
    InspectHaltPoint,
    RequestSample,
)


class WireVersion(Protocol):
    """One version of the wire. `encode` is called from one thread, `decode` from another."""

    #: Whether the version has a message for snapshots of the workspace.
    has_snapshots: bool
    #: Whether a run outlives its connection: messages are numbered and acknowledged.
    can_resume: bool
    #: The bytes of the largest message that the Core accepts.
    max_message_bytes: int

    def encode(
        self, message: AgentMessage, number: int, id: str | None = None
    ) -> DeltaMessage | bytes | None:
        """Encode a message as text or in pieces; None where this version has no such message.

        Args:
            message: The message.
            number: The message's number in the run.
            id: The id of the answer, where the message is a request.
        """

    def decode(self, text: str) -> CoreReply | None:
        """Decode a message of the Core; None: the run needs no such message."""

    def is_waiting(self, halt_point: str, last: int) -> bool:
        """Whether a halt point without an answer is among the messages up to a number."""

    def encode_batch(
        self, messages: Sequence[AgentMessage], number: int
    ) -> list[DeltaMessage | bytes]:
        """Give what `encode` does for messages that belong together, without those that have no word.

        Args:
            messages: The messages.
            number: The first one's number in the run.

        Raises:
            ProtocolError: `too_large`: the Core would close the connection.
        """
        texts = [self.encode(each, number + at) for at, each in enumerate(messages)]
        return [text for text in texts if text is not None]


class WireVersion2(WireVersion):
    """Our own wire. One serves all connections of a run."""

    has_snapshots = True
    can_resume = True
    max_message_bytes = MAX_MESSAGE_BYTES

    def __init__(self) -> None:
        # The numbers of halt points and requests that wait, so that a refused one doesn't for ever.
        self._numbers: dict[str, int] = {}

    def encode(
        self, message: AgentMessage, number: int, id: str | None = None
    ) -> DeltaMessage | bytes:
        """Give a message's text or its pieces, and keep in mind who waits at it."""
        if id is not None:
            self._numbers[id] = number
        if isinstance(message, HaltPointReached):
            if message.waits:
                self._numbers[message.id] = number
            if message.data is not UNSET and len(message.data) in DELTA_SIZES:
                return split_message(message, message.data)
        elif isinstance(message, Withdraw):
            self._numbers.pop(message.halt_point, None)
        return from_agent.encode(message, number, id).encode()

    def is_waiting(self, halt_point: str, last: int) -> bool:
        """Whether a halt point without an answer is among the messages up to a number."""
        return self._numbers.get(halt_point, last + 1) <= last

    def decode(self, text: str) -> CoreReply | None:
        """Decode a message of the Core."""
        return self.read(*to_agent.decode(text))

    def read(self, envelope: Envelope, message: Struct) -> CoreReply | None:
        """Convert a decoded message of the Core to a reply."""
        if isinstance(message, _PASSED_ON):
            return message
        if isinstance(message, AnswerMessage):
            self._numbers.pop(message.halt_point, None)
            return AnswerReceived(message.halt_point, message.answer)
        if isinstance(message, Timeline) and envelope.id is not UNSET:
            self._numbers.pop(envelope.id, None)
            return AnswerReceived(envelope.id, message)
        if isinstance(message, AgentError):
            return self._find_refused(ProtocolError(message.code, message.message), message.n)
        return None

    def _find_refused(self, error: ProtocolError, number: int | None) -> AnswerReceived | None:
        log.warning("The Core refused message %s: %s (%s)", number, error.message, error.code)
        if number is None:
            return AnswerReceived(None, error)
        for key, sent_as in list(self._numbers.items()):
            if sent_as == number:
                self._numbers.pop(key, None)
                return AnswerReceived(key, error)
        return None


class WireVersion1(WireVersion):
    """The wire of version 1, AgentStepper's own, which has no hello, withdraw, snapshots and bye.

    Every halt point of version 1 waits, so only the program's start is sent without a waiting agent.

    Args:
        program: The program's name.
    """

    has_snapshots = False
    can_resume = False
    max_message_bytes = 1024 * 1024

    def __init__(self, program: str) -> None:
        self._program = program

    def encode_batch(
        self, messages: Sequence[AgentMessage], number: int
    ) -> list[DeltaMessage | bytes]:
        """Encode a batch and check its size: version 2 checks sizes before, when it packs messages."""
        texts = super().encode_batch(messages, number)
        size = max(map(len, texts), default=0)
        if size > self.max_message_bytes:
            raise ProtocolError("too_large", _TOO_LARGE.format(size / self.max_message_bytes))
        return texts

    def is_waiting(self, halt_point: str, last: int) -> bool:
        """A lost connection is the run's end, so no Core asks for halt points that wait."""
        return False

    def encode(self, message: AgentMessage, number: int = 0, id: str | None = None) -> bytes | None:
        """Give a message's text, or None where this version has no word for it."""
        converted = self._convert(message)
        return None if converted is None else v1.encode_message(converted).encode()

    def _convert(self, message: AgentMessage) -> v1.V1Event | v1.V1Breakpoint | v1.V1Commit | None:
        match message:
            case EventBegun():
                own = v1.JSON_NULL if message.data is UNSET else message.data
                type, data = v1.dump_kind(EventKind(message.kind), message.name, own)
                return v1.V1Event(uuid=message.id, type=type, time=message.at, data=data)
            case HaltPointReached() if message.waits or message.side is EventSide.BEGIN:
                return self._halt_point(message)
            case CommitMade(snapshot=False):
                commit = Commit(
                    id=message.id, at=message.at, title=message.title, changes=message.changes
                )
                return dump_commit(commit)
        return None

    def decode(self, text: str) -> AnswerReceived | None:
        """Decode a message of the Core."""
        message = v1.decode_message(text)
        if isinstance(message, v1.V1Error):
            log.warning("The Core refused a message: %s (%s)", message.message, message.code)
            return None
        if not isinstance(message, v1.V1Breakpoint):
            return None
        edit = bytes(message.modified_data)
        edited = edit != b"null" and edit != bytes(message.original_data)
        return AnswerReceived(
            message.uuid, ResumeAnswer(data=message.modified_data if edited else UNSET)
        )

    def _halt_point(self, message: HaltPointReached) -> v1.V1Breakpoint:
        summary = message.summary
        if message.failure is not None:
            summary = v1.format_failure(message.failure)
        return v1.V1Breakpoint(
            uuid=message.id,
            agent="" if message.summary else self._program,
            event_id=message.event,
            time=message.at,
            original_data=v1.JSON_NULL if message.data is UNSET else message.data,
            summary=summary,
        )


class HaltQueue:
    """Sends one halt point at a time, for a Core that knows no more: the others wait in their order.

    Args:
        waiting: The futures that wait for the Core.
        release: Called, on any thread, where `next` must be called: a halt point no longer waits, and
            others are queued here.
    """

    def __init__(self, waiting: PendingFutures, release: Callable[[], None]) -> None:
        self._waiting = waiting
        self._release = release
        self._current: str | None = None  # the halt point that was asked last
        self._queue: deque[MessageBatch] = deque()

    def can_send(self, item: QueueItem) -> bool:
        """Whether an item may be sent now; a batch that mayn't is queued until `next` returns it.

        After a False, call `next` once: the answer may have come just before.
        """
        if not isinstance(item, MessageBatch):
            return True
        if not waits_for_answer(item.messages[-1]):
            return True
        if self._queue or self._is_waiting_for_answer():
            self._queue.append(item)
            return False
        self._current = item.halt_point
        return True

    def on_answered(self) -> None:
        """Handle that a halt point no longer waits. On any thread."""
        if self._queue:  # else the thread that writes would be woken for nothing at each answer
            self._release()

    def next(self) -> MessageBatch | None:
        """The next batch to send; None while a halt point waits, or where no batch is queued."""
        if not self._queue or self._is_waiting_for_answer():
            return None
        batch = self._queue.popleft()
        self._current = batch.halt_point
        return batch

    def _is_waiting_for_answer(self) -> bool:
        return self._current is not None and self._waiting.has(self._current)
