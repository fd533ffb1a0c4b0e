"""The walk of one halt point, written once: generators that yield what is to be done.

Nothing here touches a socket or waits. A driver (`drivers.run_flow`, `drivers.run_flow_async`) executes
each step and sends its outcome back in, or throws what went wrong: a lost connection, an interrupt, a
cancelled task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ..errors import ConnectionLostError, ProtocolError
from ..protocol.agent import AgentMessage, HaltPointReached, Withdraw
from ..protocol.answers import Answer, DenyAnswer, ResumeAnswer, SkipAnswer
from ..protocol.data_model import Commit, EventKind, EventOutcome, EventSide, Usage
from ..protocol.seams import FoundBy
from .approvals import NO_APPROVER_REASON, Approval, ApprovalCall, ExternalDecision, SendMessages
from .argument_checks import check_text
from .edits import EditConverter, EditReader
from .flow_effects import (
    NULL_JSON,
    AwaitAnswerEffect,
    BegunEvent,
    BegunTool,
    BlockingEffect,
    EndedEvent,
    Flow,
    HaltFlowBase,
    SendEffect,
    WaitEffect,
    raise_for_answer,
)
from .framework_signals import is_framework_signal
from .payload import (
    Payload,
    RedactKind,
    find_model,
    find_usage,
    read_tool_call,
)
from .run_events import OpenEvent, find_innermost_event, make_halt_point
from .scopes import set_scope
from .tool_begin_callbacks import notify_tool_begun
from .value_encoder import EncodedValue

log = logging.getLogger("agentstepper_nb.sdk")

NOT_BEGUN: Final = "Can't end breakpoint, breakpoint hasn't begun!"


class HaltFlow(HaltFlowBase):
    """The flows of one run, those that wait at halt points included; arguments as the base's."""

    # ---- the run ------------------------------------------------------------------------------------

    def start(self, waits: bool, commit: Commit | None = None) -> Flow[None]:
        """The program started.

        Args:
            waits: Whether to halt there.
            commit: The workspace's first commit.
        """
        set_scope(self.events.root)
        data = self._encoder.encode_for_display(RedactKind.PROGRAM, self._program).raw
        event = self.events.make_instant_event(EventKind.PROGRAM_STARTED, data)
        commits = () if commit is None else (self._commit_made(commit, None),)
        point = make_halt_point(
            event.id, EventSide.BEGIN, data, waits, summary="Agent program started."
        )
        messages = (event, *commits, point)
        if not waits:
            yield SendEffect(messages)
            return
        answer = yield from self._await_answer(messages, point)
        if isinstance(answer, ResumeAnswer) and answer.data is not UNSET:
            log.info("The program's name was edited at its start; the agent ignores this edit.")
        raise_for_answer(answer)

    # ---- an event -----------------------------------------------------------------------------------

    def begin(
        self,
        kind: EventKind,
        value: Any,
        name: str | None = None,
        approval: Approval | None = None,
        convert_edit: EditConverter | None = None,
        call_id: str | None = None,
        found_by: FoundBy = FoundBy.HAND,
        original: Any = UNSET,
    ) -> Flow[BegunEvent]:
        """An event begins.

        Args:
            kind: An LLM query, a tool invocation or a custom event.
            value: Its prompt, its `{"Tool", "Argument"}`, or what the custom event begins with.
            name: The tool, the model or the custom event's type; a model's is the prompt's own where
                none is given.
            approval: What a person is to approve first, of a tool invocation.
            convert_edit: Makes of an edited value what the caller takes, or raises.
            call_id: The id that the model gave a tool call.
            found_by: The method that found the tool, of a tool invocation.
            original: What the agent asked, where `value` is an edit of that: by it the event is known
                when the run is replayed.

        Raises:
            ProtocolError: The edit can't become the value, and the Core couldn't ask before.
            ToolDeniedError: The person denied the call, or nobody could be asked to approve it.
            InjectedError: The person lets the call fail.
            AgentStopped: The person pressed Stop.
        """
        redact_kind = _REDACT_KINDS[kind, EventSide.BEGIN]
        packed = yield from self._encode(redact_kind, value)
        reader = EditReader(self._encoder, packed, convert_edit)
        original = value if original is UNSET else original
        content_hash = self._encoder.hash(redact_kind, original, packed, self.find_hash_key)
        edit: Raw | UnsetType = UNSET
        is_query, sticky = kind is EventKind.LLM_QUERY, self.events.sticky_edits
        if is_query:
            name = find_model(packed.encoded.json) if name is None else name
            edit = sticky.apply(packed.raw, reader.find_problem) if sticky.replacements else UNSET
        event, begun = self.events.begin(kind, name, content_hash, call_id, found_by)
        if kind is EventKind.TOOL_INVOCATION:
            notify_tool_begun(self.run, name, packed.encoded.json)
        point = make_halt_point(event.id, EventSide.BEGIN, packed.raw, waits=True, edit=edit)
        if approval is None:
            answer = yield from self._await_answer((begun, point), point, reader, closing=event)
        else:
            call = ApprovalCall(point.id, name or "", self._encoder)
            point = replace(point, approval=approval.begin(call))
            answer = yield from self._await_approval(
                (begun, point), point, reader, event, approval, call
            )
            reader = reader.for_payload(call.find_displayed_payload(answer, packed))
        if is_query and isinstance(answer, ResumeAnswer) and (answer.sticky or edit is not UNSET):
            answer = sticky.accept(answer, packed.raw, edit)
        if isinstance(answer, SkipAnswer):
            event.skipped = True
            event.result = packed.restore_secrets(answer.result)
            answer = ResumeAnswer()
        try:
            if not isinstance(answer, ResumeAnswer):
                raise_for_answer(answer)
            ended = _read_edit(answer, value, reader)
        except BaseException as error:
            yield from self.give_up(event, error)
            raise
        event.push()
        return BegunEvent(event, ended.value, ended.is_edited)

    def begin_tool(self, tool: str, args: Any, approval: Approval | None = None) -> Flow[BegunTool]:
        """A tool invocation begins; raises as `begin`, and ProtocolError where the edit is no call.

        A part of the call that wasn't edited stays the same object.
        """
        check_text("The tool's name", tool)
        call = {"Tool": tool, "Argument": args}
        begun = yield from self.begin(
            EventKind.TOOL_INVOCATION, call, tool, approval, read_tool_call
        )
        if begun.is_edited:
            tool, args = begun.value
        return BegunTool(begun.event, tool, args)

    def end(
        self,
        kind: EventKind,
        value: Any,
        usage: Usage | None = None,
        event: OpenEvent | None = None,
        convert_edit: EditConverter | None = None,
        waits: bool = True,
    ) -> Flow[EndedEvent]:
        """An event ended as it should.

        Args:
            kind: What it is.
            value: Its response or result.
            usage: What it cost.
            event: The event; the innermost of this context where none is given.
            convert_edit: Makes of an edited value what the caller takes, or raises.
            waits: Whether it may halt there; not where the agent has the value already.

        Raises:
            RuntimeError: The innermost event isn't of this kind, or there is none.
        """
        if event is None:
            event = find_innermost_event(self.run)
            if event is None or event.kind is not kind:
                raise RuntimeError(NOT_BEGUN)
        if event.skipped:
            if value is not None:
                log.info("A person set the result of a call; the result of the program is ignored.")
            value = event.result
        yield from self._snapshot_after_call(event)
        packed = yield from self._encode(_REDACT_KINDS[kind, EventSide.END], value)
        if usage is None and kind is EventKind.LLM_QUERY:
            usage = find_usage(packed.encoded.json)
        point = make_halt_point(
            event.id, EventSide.END, packed.raw, waits, outcome=EventOutcome.OK, usage=usage
        )
        event.end()
        reader = EditReader(self._encoder, packed, convert_edit)
        answer = yield from self._await_answer((point,), point, reader)
        raise_for_answer(answer)
        return (yield from self._apply_answer(answer, value, reader))

    def fail(
        self, event: OpenEvent, error: BaseException, convert_edit: EditConverter | None = None
    ) -> Flow[EndedEvent | None]:
        """An event ended with an exception, which the caller raises on.

        An `Exception` halts there, so that the person sees it; an order to end (KeyboardInterrupt, a
        cancelled task, AgentStopped) doesn't. A signal of a framework is no failure, and halts nobody.

        Args:
            event: The event.
            error: The exception.
            convert_edit: As for `end`.

        Returns:
            The result that the person gave in the exception's place, or None.
        """
        if is_framework_signal(error):
            yield from self.end(event.kind, repr(error), event=event, waits=False)
            return None
        # A generator that is being closed can't wait for anything.
        if not isinstance(error, GeneratorExit):
            yield from self._snapshot_after_call(event)
        if not isinstance(error, Exception):
            yield from self.give_up(event, error)
            return None
        event.end()
        point = self._failed_point(event, error, waits=True)
        reader = EditReader(
            self._encoder, Payload(NULL_JSON, {}, EncodedValue(None), is_plain=True), convert_edit
        )
        answer = yield from self._await_answer((point,), point, reader)
        raise_for_answer(answer, cause=error)
        ended = yield from self._apply_answer(answer, None, reader)
        return ended if ended.is_edited else None

    # ---- waiting ------------------------------------------------------------------------------------

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
            check = reader.find_problem if reader is not None and reader.may_refuse else None
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

    # ---- parts --------------------------------------------------------------------------------------

    def _encode(self, kind: str, value: Any) -> Flow[Payload]:
        """Pack a value, and show the person what the agent's own hook raised for it."""
        packed = self._encoder.encode_for_display(kind, value)
        if packed.encoded.hook_failures:
            for failure in self._encoder.pop_new_hook_failures(packed):
                yield self._message(failure)
        return packed

    def _snapshot_after_call(self, event: OpenEvent) -> Flow[None]:
        """The call of an event was made: before its end is told, what it changed is."""
        # A model changes no files.
        if self.take_snapshot is None or event.kind is EventKind.LLM_QUERY:
            return
        try:
            yield BlockingEffect(partial(self.take_snapshot, event.id))
        except GeneratorExit:
            raise
        except BaseException as order:  # an interrupt, a cancelled task
            yield from self.give_up(event, order)
            raise

    def _apply_answer(self, answer: Answer, value: Any, reader: EditReader) -> Flow[EndedEvent]:
        """As `_read_edit`; where the Core couldn't ask before, an edit that can't be made isn't."""
        try:
            return _read_edit(answer, value, reader)
        except Exception as error:
            why = reader.describe_error(error)
            refusal = f"Your edit was refused, and the agent continues without it: {why}"
        log.warning("%s", refusal)
        yield self._message(refusal)
        return EndedEvent(value, False)


def _read_edit(answer: Answer, value: Any, reader: EditReader) -> EndedEvent:
    """The edit where there is one, else the value itself: the same object."""
    data: Raw | UnsetType = UNSET
    if isinstance(answer, ResumeAnswer):
        data = answer.data
    elif isinstance(answer, SkipAnswer):
        data = answer.result
    return EndedEvent(value, False) if data is UNSET else EndedEvent(reader.read(data), True)


_REDACT_KINDS: Final = {
    (EventKind.LLM_QUERY, EventSide.BEGIN): RedactKind.PROMPT,
    (EventKind.LLM_QUERY, EventSide.END): RedactKind.RESPONSE,
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): RedactKind.TOOL_CALL,
    (EventKind.TOOL_INVOCATION, EventSide.END): RedactKind.TOOL_RESULT,
    (EventKind.CUSTOM, EventSide.BEGIN): RedactKind.EVENT,
    (EventKind.CUSTOM, EventSide.END): RedactKind.EVENT_RESULT,
}
