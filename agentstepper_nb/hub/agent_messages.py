"""An agent's messages in the Core: sequence numbers, order, acknowledgements, and conversion.

The session of a run (`agents_v2`) has one object of each class here. The functions convert messages of
version 2 to the debugger's values, and the debugger's answers to messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import UNSET, Raw, UnsetType

from ..core import AnswerDecision, LeaseGranted
from ..core.answer_commands import DEFAULT_ERROR_TYPE
from ..errors import ProtocolError
from ..protocol import agent as v2
from ..protocol.answers import (
    Answer,
    DenyAnswer,
    RaiseAnswer,
    ResumeAnswer,
    SkipAnswer,
    StopAnswer,
)
from ..protocol.data_model import AnswerKind, Commit, Event, EventKind, HaltPoint
from ..protocol.header_limits import MAX_TRACEBACK_CHARS, truncate_text
from .limits import DEFAULT_HUB_LIMITS, HubLimits

#: An acknowledgement is due after so many messages.
MAX_UNACKNOWLEDGED_MESSAGES: Final = 64


# ---- numbers and order --------------------------------------------------------------------------------


class MessageSequence:
    """The sequence numbers of one agent's messages: each is accepted once, without gaps.

    Args:
        last_received: The number of the last accepted message.
    """

    def __init__(self, last_received: int = 0) -> None:
        self.last_received = last_received
        self._unread = 0  # messages since then whose numbers couldn't be read

    def accept(self, n: int) -> bool:
        """Accept a message if it is new. Returns whether the message is new.

        Raises:
            ProtocolError: `invalid_message`: an earlier message is missing.
        """
        if n <= self.last_received:
            return False
        if n > self.last_received + 1 + self._unread:
            raise ProtocolError(
                "invalid_message",
                f"Message {n} came after message {self.last_received}. Send the messages "
                "between them first, in order.",
            )
        self.last_received, self._unread = n, 0
        return True

    def accept_unreadable(self, n: int | None) -> bool:
        """Accept a message that can't be decoded, if it is new. Returns whether the message is new.

        Args:
            n: The message's number, if it could be read.
        """
        if n is not None and self.last_received < n <= self.last_received + 1 + self._unread:
            self.last_received, self._unread = n, 0
            return True
        self._unread += 1
        return False


class MessageQueue:
    """Processes messages in their order: at once, or after pending reads of the store.

    Args:
        refuse: Answers a message that fails: called with the error and the message.
    """

    def __init__(self, refuse: Callable[[Exception, str], None]) -> None:
        self._refuse = refuse
        self._deferred: list[tuple[str, Callable[[], None]]] | None = None

    def process(self, text: str, work: Callable[[], None]) -> None:
        """Process a message in its turn. An error becomes the answer."""
        if self._deferred is not None:
            self._deferred.append((text, work))
            return
        try:
            work()
        except Exception as error:
            self._refuse(error, text)

    def defer(self, text: str, work: Callable[[], None]) -> None:
        """Hold this work, and all later messages, until `resume`."""
        self._deferred = [(text, work)]

    def resume(self) -> None:
        """Process the held messages."""
        deferred, self._deferred = self._deferred or [], None
        for text, work in deferred:
            self.process(text, work)


class AcknowledgementTimer:
    """Acknowledges an agent's recorded messages: rarely, and always before the connection's end.

    Args:
        send: Sends an acknowledgement.
        limits: The bytes and seconds after which an acknowledgement is due.
    """

    def __init__(self, send: Callable[[int], None], limits: HubLimits = DEFAULT_HUB_LIMITS) -> None:
        self._send = send
        self._limits = limits
        self._recorded = 0
        self._acknowledged = 0
        self._messages = 0  # since the last one
        self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._is_immediate = False
        self._is_ended = False

    def acknowledge(self, n: int, size: int) -> None:
        """Note that a message is recorded durably, and acknowledge it when that is due.

        Args:
            n: The message's number.
            size: The message's size in characters.
        """
        self._recorded = max(self._recorded, n)
        self._messages += 1
        self._bytes += size
        if self._is_ended:
            return
        if (
            self._is_immediate
            or self._messages >= MAX_UNACKNOWLEDGED_MESSAGES
            or self._bytes >= self._limits.max_unacknowledged_bytes
        ):
            self.flush()
        elif self._timer is None:
            delay_s = self._limits.acknowledgement_delay_s
            self._timer = asyncio.get_running_loop().call_later(delay_s, self.flush)

    def flush(self) -> None:
        """Send the acknowledgement that is outstanding."""
        self._disarm()
        self._messages = self._bytes = 0
        if self._recorded > self._acknowledged and not self._is_ended:
            self._acknowledged = self._recorded
            self._send(self._recorded)

    def set_immediate(self) -> None:
        """Acknowledge each message at once from now on: the agent has said bye, and waits for it."""
        self._is_immediate = True

    def end(self) -> None:
        """Stop sending acknowledgements: the connection is gone."""
        self._is_ended = True
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# ---- contents -----------------------------------------------------------------------------------------


def count_content_bytes(message: object) -> int:
    """Count the bytes of a message's contents after decoding, which may be more than were sent."""
    if isinstance(message, v2.HaltPointReached) and message.data is not UNSET:
        return memoryview(message.data).nbytes
    return 0


def encode_lease(lease: LeaseGranted, epoch: int) -> v2.LeaseMessage:
    """Convert a lease to its message.

    Args:
        lease: The decisions that the agent may make by itself.
        epoch: The number of the lease on its connection.
    """
    return v2.LeaseMessage(
        epoch=epoch,
        mode=lease.mode,
        breakpoints=lease.breakpoints,
        prices=lease.prices,
        disabled_checks=lease.disabled_checks or UNSET,
        edit_rules=lease.edit_rules or UNSET,
        target=lease.target or UNSET,
    )


def decode_event(message: v2.EventBegun, run: str) -> Event:
    """Convert the message of an event's begin."""
    return Event(
        id=message.id,
        run=run,
        kind=message.kind,
        at=message.at,
        parent=message.parent,
        name=message.name,
        scope=() if message.scope is UNSET else message.scope,
        label=None if message.label is UNSET else message.label,
        content_hash=None if message.content_hash is UNSET else message.content_hash,
        data=None if message.data is UNSET else bytes(message.data).decode(),
        found_by=message.found_by,
        location=message.location,
    )


def decode_point(message: v2.HaltPointReached, run: str) -> HaltPoint:
    """Convert the message of a reached halt point; the debugger sets the event's kind."""
    return HaltPoint(
        id=message.id,
        run=run,
        event=message.event,
        seq=0,
        kind=EventKind.PROGRAM_STARTED,  # the debugger sets it from the event
        side=message.side,
        at=message.at,
        data="null" if message.data is UNSET else str(message.data, "utf-8"),
        edit=None if message.edit is UNSET else str(message.edit, "utf-8"),
        sticky=UNSET if message.edit is UNSET else _find_sticky(message),
        edit_rules=UNSET if message.edit is UNSET else message.edit_rules,
        schema=UNSET if message.schema is UNSET else str(message.schema, "utf-8"),
        result_type=message.result_type,
        signal=UNSET if message.signal is UNSET else str(message.signal, "utf-8"),
        waits=message.waits,
        summary=message.summary,
        outcome=message.outcome,
        failure=message.failure,
        replay=message.replay,
        traceback=message.traceback and truncate_text(message.traceback, MAX_TRACEBACK_CHARS),
        usage=message.usage,
        breakpoints=message.breakpoints,
        breakpoint_error=message.breakpoint_error,
        approval=message.approval,
    )


def _find_sticky(message: v2.HaltPointReached) -> bool | UnsetType:
    """Whether sticky edits made the edit with which a halt point arrived."""
    if message.replay is not UNSET:
        return UNSET  # a fork made it
    by_rules_alone = bool(message.edit_rules) and message.has_sticky_edit is not True
    return UNSET if by_rules_alone else True


def decode_decision(message: v2.DecideApproval) -> AnswerDecision:
    """Convert an approval decision that was made in the agent's own process."""
    if message.approved:
        return AnswerDecision(AnswerKind.RESUME, always=message.always)
    return AnswerDecision(AnswerKind.DENY, message.reason)


def encode_answer(halt_point: HaltPoint, answer: AnswerKind) -> Answer:
    """Convert a halt point's answer to the message for its agent."""
    if answer is AnswerKind.STOP:
        return StopAnswer()
    if answer is AnswerKind.DENY:
        return DenyAnswer(reason=halt_point.reason or "")
    if answer is AnswerKind.SKIP and halt_point.supplied is not UNSET:
        return SkipAnswer(result=Raw(halt_point.supplied.encode()))
    if answer is AnswerKind.RAISE and halt_point.raised is not UNSET:
        raised = halt_point.raised
        type = UNSET if raised.type == DEFAULT_ERROR_TYPE else raised.type
        return RaiseAnswer(message=raised.message, type=type)
    data = halt_point.edit
    was_edited = halt_point.sticky is not UNSET or halt_point.edit_rules is not UNSET
    if data is None and was_edited:
        # Without data the agent's own edit would stand, which was taken back.
        data = halt_point.data
    return ResumeAnswer(
        data=UNSET if data is None else Raw(data.encode()),
        sticky=halt_point.sticky is True,
        approved=halt_point.approval is not None,
        always=halt_point.always,
    )


def decode_commit(message: v2.CommitMade, run: str) -> Commit:
    """A commit of the workspace."""
    return Commit(
        id=message.id,
        run=run,
        at=message.at,
        title=message.title,
        description=message.description,
        event=message.event,
        snapshot=message.snapshot,
        has_rule_title=message.has_rule_title,
        changes=message.changes,
    )
