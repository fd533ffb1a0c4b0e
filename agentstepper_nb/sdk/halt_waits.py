"""How flows wait at halt points: for a person, for an approval, or not, where a replay answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from ..errors import ConnectionLostError, ProtocolError
from ..protocol.agent import AgentMessage, EventBegun, HaltPointReached, Withdraw
from ..protocol.answers import Answer, DenyAnswer, ResumeAnswer
from ..protocol.replay_marks import ReplayRole
from .approvals import NO_APPROVER_REASON, Approval, ApprovalCall, ExternalDecision, SendMessages
from .edits import EditReader
from .flow_effects import AwaitAnswerEffect, Flow, HaltFlowBase, SendEffect, WaitEffect
from .payload import Payload
from .query_samples import QuerySampler
from .replay_source import ReplayedBegin
from .run_events import OpenEvent


class BegunPoint(NamedTuple):
    """An event that is about to begin, and its halt point."""

    event: OpenEvent
    begun: EventBegun
    point: HaltPointReached


class HaltWaits(HaltFlowBase):
    """The parts of flows that wait; arguments as the base's."""

    def _ask_at_begin(
        self,
        begun: BegunPoint,
        packed: Payload,
        reader: EditReader,
        approval: Approval | None,
        replayed: ReplayedBegin | None,
    ) -> Flow[tuple[Answer, EditReader]]:
        """The answer at the begin of an event, and what reads its edit.

        Args:
            begun: The event and its halt point.
            packed: Its request, as it is sent.
            reader: Reads edits of the request.
            approval: What a person is to approve first.
            replayed: How a replay lets it begin.
        """
        event, point = begun.event, begun.point
        messages = (begun.begun, point)
        if replayed is not None:
            event.is_replayed = replayed.mark.role is ReplayRole.SERVED
            event.end_mark, event.end_edit = replayed.end_mark, replayed.end_edit
        if replayed is not None and not point.waits:
            yield SendEffect(messages)
            answer = replayed.answer or ResumeAnswer()
        elif approval is None:
            answer = yield from self._await_answer(
                messages, point, reader, closing=event, sampler=event.sampler
            )
        else:
            call = ApprovalCall(point.id, event.name or "", self._encoder)
            point = replace(point, approval=approval.begin(call))
            answer = yield from self._await_approval(
                (begun.begun, point), point, reader, event, approval, call
            )
            reader = reader.for_payload(call.find_displayed_payload(answer, packed))
        if replayed is not None and replayed.error is not None and isinstance(answer, ResumeAnswer):
            yield from self.give_up(event, replayed.error)
            raise replayed.error
        return answer, reader

    def _ask_at_end(
        self, event: OpenEvent, point: HaltPointReached, reader: EditReader
    ) -> Flow[Answer]:
        """The answer at the end of an event; a fork may have made it."""
        if event.end_mark is not None:
            point = replace(point, replay=event.end_mark)
        if event.end_edit is None:
            return (yield from self._await_answer((point,), point, reader, sampler=event.sampler))
        yield SendEffect((replace(point, edit=event.end_edit, waits=False),))
        return ResumeAnswer(data=event.end_edit)

    # ---- waiting ------------------------------------------------------------------------------------

    def _await_answer(
        self,
        messages: tuple[AgentMessage, ...],
        point: HaltPointReached,
        reader: EditReader | None = None,
        closing: OpenEvent | None = None,
        on_queued: Callable[[SendMessages], None] | None = None,
        sampler: QuerySampler | None = None,
    ) -> Flow[Answer]:
        """Wait at a halt point, if it waits; whatever ends that before an answer withdraws it.

        Args:
            messages: What to send.
            point: The halt point, one of them.
            reader: Reads edits of it.
            closing: The event that ends with the wait.
            on_queued: Called once the messages are on their way.
            sampler: Asks the query again that is halted.
        """
        try:
            check = reader.find_problem if reader is not None and reader.may_refuse else None
            answer: Answer = yield AwaitAnswerEffect(messages, point.id, on_queued, check, sampler)
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
