"""What flows are made of: the steps for a driver, and the wait at a halt point."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

from msgspec import Raw
from msgspec.structs import replace

from ..errors import (
    AgentStopped,
    ConnectionLostError,
    InjectedError,
    ProtocolError,
    ToolDeniedError,
)
from ..protocol.agent import AgentMessage, CheckEdit, EditChecked, HaltPointReached, Withdraw
from ..protocol.answers import Answer, DenyAnswer, RaiseAnswer, ResumeAnswer, StopAnswer
from ..protocol.data_model import EventKind, EventOutcome, EventSide
from ..protocol.seams import FoundBy
from .approvals import NO_APPROVER_REASON, Approval, ApprovalCall, ExternalDecision, SendMessages
from .edits import EditReader
from .payload import PayloadEncoder, RedactKind
from .run_events import OpenEvent, RunEvents, make_halt_point

T = TypeVar("T")

#: Says why an edit can't be taken; None where it can.
EditCheck = Callable[[Raw], str | None]


class SendEffect(NamedTuple):
    """Send these, and go on."""

    messages: tuple[AgentMessage, ...]


class AwaitAnswerEffect(NamedTuple):
    """Send these, and wait for the halt point's answer."""

    messages: tuple[AgentMessage, ...]
    halt_point: str
    #: Called with what sends more, once these are on their way.
    on_queued: Callable[[Callable[[tuple[AgentMessage, ...]], None]], None] | None = None
    #: Says why the agent can't take an edit, where it can't; called on a thread of its own.
    check: EditCheck | None = None


class WaitEffect(NamedTuple):
    """Wait until this is there."""

    future: Future[Any]


class FlushEffect(NamedTuple):
    """Wait until everything sent so far has left the process."""


class BlockingEffect(NamedTuple):
    """Do this, which may block, and go on when it is done."""

    function: Callable[[], None]


class CallEffect(NamedTuple):
    """Make the agent's own call; what it came to is a `CallResult`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True)
class CallResult:
    """The result of a `CallEffect`.

    An exception is a value: a generator can't be thrown StopIteration.
    """

    value: Any = None
    error: BaseException | None = None


FlowEffect = SendEffect | AwaitAnswerEffect | WaitEffect | FlushEffect | BlockingEffect | CallEffect
#: A flow that ends with a T. What is sent in is an `Answer` for `AwaitAnswerEffect`, the future's
#: result for `WaitEffect`, a `CallResult` for `CallEffect`, else None.
Flow = Generator[FlowEffect, Any, T]


class BegunEvent(NamedTuple):
    """An event that may go on: its call is to be made with `value`."""

    event: OpenEvent
    value: Any
    is_edited: bool


class BegunTool(NamedTuple):
    """A tool invocation that may go on."""

    event: OpenEvent
    tool: str
    args: Any


class EndedEvent(NamedTuple):
    """What an event's end came to."""

    value: Any
    is_edited: bool


NULL_JSON: Final = Raw(b"null")
#: What a denial says whose person gave no reason.
DENIED_MESSAGE: Final = "The person denied this call."


class HaltFlowBase:
    """Halts at halt points.

    Attributes:
        run: The run's id.
        _encoder: Makes values ready to travel.
    """

    _encoder: PayloadEncoder
    events: RunEvents
    find_hash_key: Callable[[], bytes | None]

    def give_up(self, event: OpenEvent, error: BaseException) -> Flow[None]:
        """An event ended with an exception, and nobody waits for an answer."""
        event.end()
        yield SendEffect((self._failed_point(event, error, waits=False),))

    def record_tool_call(
        self,
        name: str,
        call: Any,
        call_id: str | None,
        at: tuple[float, float] | None = None,
    ) -> Flow[OpenEvent]:
        """A tool invocation began at which nothing halts; it is no part of this context.

        Args:
            name: The tool's name.
            call: The call, `{"Tool", "Argument"}`.
            call_id: The id that the model gave it.
            at: When it began, in seconds: by the time of day, and by the agent's clock; None: now.
        """
        packed = self._encoder.encode_for_display(RedactKind.TOOL_CALL, call)
        content_hash = self._encoder.hash(RedactKind.TOOL_CALL, call, packed, self.find_hash_key)
        kind, found_by = EventKind.TOOL_INVOCATION, FoundBy.WIRE
        event, begun = self.events.begin(kind, name, content_hash, call_id, found_by, at)
        point = make_halt_point(event.id, EventSide.BEGIN, packed.raw, waits=False)
        yield SendEffect((begun, replace(point, at=begun.at, clock=begun.clock)))
        return event

    def _await_answer(
        self,
        messages: tuple[AgentMessage, ...],
        point: HaltPointReached,
        reader: EditReader | None = None,
        closing: OpenEvent | None = None,
        on_queued: Callable[[SendMessages], None] | None = None,
    ) -> Flow[Answer]:
        """Wait at a halt point, if it waits; whatever ends that before an answer withdraws it.

        Args:
            messages: What to send.
            point: The halt point, one of them.
            reader: Reads edits of it.
            closing: The event that ends with the wait.
            on_queued: Called once the messages are on their way.
        """
        try:
            check = None if reader is None else reader.find_problem
            answer: Answer = yield AwaitAnswerEffect(messages, point.id, on_queued, check)
        except (GeneratorExit, ConnectionLostError, ProtocolError):
            raise
        except BaseException as error:
            yield SendEffect((Withdraw(halt_point=point.id),))
            if closing is not None:
                yield from self.give_up(closing, error)
            raise
        return answer

    def _await_approval(
        self,
        messages: tuple[AgentMessage, ...],
        point: HaltPointReached,
        reader: EditReader,
        event: OpenEvent,
        approval: Approval,
        call: ApprovalCall,
    ) -> Flow[Answer]:
        """As `_await_answer`, where nothing goes on that nobody has approved."""
        always = False
        try:
            answer = yield from self._await_answer(
                messages, point, reader, event, approval.on_queued
            )
            if isinstance(answer, ResumeAnswer) and not answer.approved:
                answer = yield from self._await_external_decision(event, approval, call)
            always = isinstance(answer, ResumeAnswer) and answer.always
        finally:
            approval.end(always=always)
        return answer

    def _await_external_decision(
        self, event: OpenEvent, approval: Approval, call: ApprovalCall
    ) -> Flow[Answer]:
        """No Core could ask: what is said elsewhere, or no."""
        if approval.on_waiting is None and not approval.decision.done():
            approval.has_no_approver = True
            return DenyAnswer(reason=NO_APPROVER_REASON)
        try:
            approval.call_on_waiting()
            decision: ExternalDecision = yield WaitEffect(approval.decision)
            return call.answer(decision)
        except GeneratorExit:
            raise
        except BaseException as error:
            yield from self.give_up(event, error)
            raise

    def _refuse(self, event: OpenEvent, answer: Answer) -> Flow[NoReturn]:
        """The person doesn't let the call happen: the event ends, and the agent hears why."""
        try:
            raise_for_answer(answer)
        except BaseException as order:
            yield from self.give_up(event, order)
            raise
        raise AssertionError("unreachable")

    def _failed_point(
        self, event: OpenEvent, error: BaseException, waits: bool
    ) -> HaltPointReached:
        stopped = isinstance(error, AgentStopped)
        return make_halt_point(
            event.id,
            EventSide.END,
            NULL_JSON,
            waits,
            outcome=EventOutcome.ERROR if isinstance(error, Exception) else EventOutcome.STOPPED,
            failure=None if stopped else self._encoder.failure(error),
            traceback="" if stopped else self._encoder.traceback(error),
        )


def raise_for_answer(answer: Answer, cause: BaseException | None = None) -> None:
    """Raise what an answer orders to raise."""
    match answer:
        case ResumeAnswer():
            return
        case DenyAnswer(reason=reason):
            raise ToolDeniedError(reason or DENIED_MESSAGE, reason) from cause
        case RaiseAnswer(message=message):
            raise InjectedError(message) from cause
        case StopAnswer():
            raise AgentStopped("The person pressed Stop.") from cause


# ---- edits of halt points that wait ----------------------------------------------------------------


class PendingEditReaders:
    """What reads the edits of the halt points that wait.

    Args:
        send: Sends messages of the run.
    """

    def __init__(self, send: Callable[[tuple[AgentMessage, ...]], object]) -> None:
        self._send = send
        self._checks: dict[str, tuple[contextvars.Context, EditCheck]] = {}

    def register(self, halt_point: str, check: EditCheck) -> None:
        """Read edits of a halt point by this, in a copy of the context that it is called in."""
        self._checks[halt_point] = contextvars.copy_context(), check

    def unregister(self, halt_point: str) -> None:
        """A halt point waits no more."""
        self._checks.pop(halt_point, None)

    def check_edit(self, request: CheckEdit) -> None:
        """Answer a question of the Core's. Validators may take long: nobody waits for them here."""
        threading.Thread(
            target=self._answer, args=(request,), name="agentstepper-check", daemon=True
        ).start()

    def _answer(self, request: CheckEdit) -> None:
        refusal = None
        found = self._checks.get(request.halt_point)
        if found is not None:  # else it waits no more, as the Core is about to see
            context, check = found
            refusal = context.copy().run(check, request.data)
        self._send((EditChecked(check=request.check, refusal=refusal),))
