"""Waiting at a breakpoint, and what its answer orders: what all the flows of a run stand on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NoReturn

import uuid_utils
from msgspec import Raw

from ..errors import (
    AgentStopped,
    ConnectionLostError,
    InjectedError,
    ProtocolError,
    ToolDeniedError,
)
from ..protocol.agent import (
    AgentMessage,
    Answer,
    BreakpointReached,
    Deny,
    Raise,
    Resume,
    Stop,
    Withdraw,
)
from ..protocol.values import Failure, Outcome, Side, Usage
from . import open_events
from .approvals import NOBODY, Approval, AskedCall, Said, Sender
from .edits import EditReader
from .open_events import OpenEvent
from .packing import Packer
from .steps import Ask, Send, Steps, Until

#: The agent's clock, in seconds.
clock = time.monotonic
NULL: Final = Raw(b"null")
#: What a denial says whose person gave no reason.
DENIED: Final = "The person denied this call."


class Asking:
    """Halts at breakpoints.

    Args:
        packer: Makes values ready to travel.
    """

    def __init__(self, packer: Packer) -> None:
        self._packer = packer

    def give_up(self, event: OpenEvent, error: BaseException) -> Steps[None]:
        """An event ended with an exception, and nobody waits for an answer."""
        open_events.remove(event)
        yield Send((self._failed_point(event, error, waits=False),))

    def _ask(
        self,
        messages: tuple[AgentMessage, ...],
        point: BreakpointReached,
        reader: EditReader | None = None,
        closing: OpenEvent | None = None,
        queued: Callable[[Sender], None] | None = None,
    ) -> Steps[Answer]:
        """Wait at a breakpoint, if it waits; whatever ends that before an answer withdraws it.

        Args:
            messages: What to send.
            point: The breakpoint, one of them.
            reader: Reads edits of it.
            closing: The event that ends with the wait.
            queued: Called once the messages are on their way.
        """
        try:
            check = None if reader is None else reader.problem
            answer: Answer = yield Ask(messages, point.id, queued, check)
        except (GeneratorExit, ConnectionLostError, ProtocolError):
            raise
        except BaseException as error:
            yield Send((Withdraw(breakpoint=point.id),))
            if closing is not None:
                yield from self.give_up(closing, error)
            raise
        return answer

    def _approved(
        self,
        messages: tuple[AgentMessage, ...],
        point: BreakpointReached,
        reader: EditReader,
        event: OpenEvent,
        approval: Approval,
        asked: AskedCall,
    ) -> Steps[Answer]:
        """As `_ask`, where nothing goes on that nobody has approved."""
        always = False
        try:
            answer = yield from self._ask(messages, point, reader, event, approval.queued)
            if isinstance(answer, Resume) and not answer.approved:
                answer = yield from self._asked_elsewhere(event, approval, asked)
            always = isinstance(answer, Resume) and answer.always
        finally:
            approval.end(always=always)
        return answer

    def _asked_elsewhere(
        self, event: OpenEvent, approval: Approval, asked: AskedCall
    ) -> Steps[Answer]:
        """No Core could ask: what is said elsewhere, or no."""
        if approval.on_waiting is None and not approval.said.done():
            approval.is_unasked = True
            return Deny(reason=NOBODY)
        try:
            approval.ask_elsewhere()
            said: Said = yield Until(approval.said)
            return asked.answer(said)
        except GeneratorExit:
            raise
        except BaseException as error:
            yield from self.give_up(event, error)
            raise

    def _refuse(self, event: OpenEvent, answer: Answer) -> Steps[NoReturn]:
        """The person doesn't let the call happen: the event ends, and the agent hears why."""
        try:
            obey(answer)
        except BaseException as order:
            yield from self.give_up(event, order)
            raise
        raise AssertionError("unreachable")

    def _failed_point(
        self, event: OpenEvent, error: BaseException, waits: bool
    ) -> BreakpointReached:
        stopped = isinstance(error, AgentStopped)
        return new_point(
            event.id,
            Side.END,
            NULL,
            waits,
            outcome=Outcome.ERROR if isinstance(error, Exception) else Outcome.STOPPED,
            failure=None if stopped else self._packer.failure(error),
            traceback="" if stopped else self._packer.traceback(error),
        )


def new_id() -> str:
    """A UUIDv7."""
    return str(uuid_utils.uuid7())


def obey(answer: Answer, cause: BaseException | None = None) -> None:
    """Raise what an answer orders to raise."""
    match answer:
        case Resume():
            return
        case Deny(reason=reason):
            raise ToolDeniedError(reason or DENIED, reason) from cause
        case Raise(message=message):
            raise InjectedError(message) from cause
        case Stop():
            raise AgentStopped("The person pressed Stop.") from cause


def new_point(
    event: str,
    side: Side,
    data: Raw,
    waits: bool,
    *,
    summary: str | None = None,
    outcome: Outcome | None = None,
    failure: Failure | None = None,
    traceback: str = "",
    usage: Usage | None = None,
) -> BreakpointReached:
    """A breakpoint that is reached now."""
    return BreakpointReached(
        id=new_id(),
        event=event,
        side=side,
        waits=waits,
        at=time.time(),
        clock=clock(),
        data=data,
        summary=summary,
        outcome=outcome,
        failure=failure,
        traceback=traceback,
        usage=usage,
    )
