"""The path of one halt point, written once: generators that yield steps for a driver.

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
from ..protocol.agent import AgentMessage, EventBegun, HaltPointReached, Withdraw
from ..protocol.answers import Answer, ResumeAnswer, SkipAnswer
from ..protocol.data_model import Commit, EventKind, EventOutcome, EventSide, Usage
from ..protocol.replay_marks import ReplayRole
from ..protocol.seams import FoundBy
from .approvals import Approval, ApprovalCall, SendMessages
from .argument_checks import check_text
from .cost_estimates import find_usage
from .edits import EditConverter, EditReader
from .flow_effects import (
    NULL_JSON,
    REDACT_KINDS,
    AwaitAnswerEffect,
    BegunEvent,
    BegunTool,
    EndedEvent,
    Flow,
    HaltFlowBase,
    SendEffect,
    raise_for_answer,
)
from .framework_signals import is_framework_signal
from .payload import Payload, RedactKind, find_foreign_type, find_model, read_tool_call
from .query_samples import Ask, QuerySampler
from .replay_source import ReplayedBegin, apply_to_point
from .rule_edits import accept_rule_edit, apply_edit_rules
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
        """Send the start of the program, and halt there if asked to.

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
        schema: Raw | UnsetType = UNSET,
        ask: Ask | None = None,
    ) -> Flow[BegunEvent]:
        """Begin an event, and wait for the answer at its begin.

        Args:
            kind: An LLM query, a tool invocation or a custom event.
            value: The prompt, the `{"Tool", "Argument"}`, or the data of the custom event.
            name: The tool, the model or the custom event's type; None: the model that the prompt names.
            approval: The approval that a tool invocation needs first.
            convert_edit: Converts an edited value to the caller's type, or raises.
            call_id: The id that the model gave a tool call.
            found_by: The method that found the tool, of a tool invocation.
            original: The agent's request, where `value` is an edit of the request: a replay recognizes
                the event by it.
            schema: JSON Schema of a tool's arguments, where they are typed.
            ask: Repeats the call of a query, with the value or with an edit of the value.

        Raises:
            ProtocolError: The edit can't become the value, and the Core couldn't check it before.
            ToolDeniedError: The person denied the call, or nobody could be asked to approve it.
            InjectedError: The person lets the call fail.
            AgentStopped: The person pressed Stop.
        """
        redact_kind = REDACT_KINDS[kind, EventSide.BEGIN]
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
        event.sampler = (
            None if ask is None else QuerySampler(ask, value, reader.read, name, self._encoder)
        )
        if kind is EventKind.TOOL_INVOCATION:
            notify_tool_begun(self.run, name, packed.encoded.json)
        side, rules = EventSide.BEGIN, self.edit_rules
        point = make_halt_point(
            event.id, side, packed.raw, waits=True, edit=edit, epoch=rules.revision, schema=schema
        )
        point = apply_edit_rules(rules, event, point, reader) if rules.armed else point
        replayed: ReplayedBegin | None = None
        if self.replay is not None:
            replayed = self._consult_replay(event, begun, redact_kind, original, packed)
            point = point if replayed is None else apply_to_point(point, replayed)
        answer, reader = yield from self._ask_at_begin(
            event, begun, point, packed, reader, approval, replayed
        )
        if isinstance(answer, ResumeAnswer) and (answer.sticky or point.edit is not UNSET):
            answer = (
                sticky.accept(answer, packed.raw, point.edit)
                if is_query
                else accept_rule_edit(answer, point)
            )
        if isinstance(answer, SkipAnswer):
            self._skip(event, answer, packed)
            answer = ResumeAnswer()
        try:
            if not isinstance(answer, ResumeAnswer):
                raise_for_answer(answer)
            ended = _read_edit(answer, value, reader)
            event.set_request(ended.value)
        except BaseException as error:
            yield from self.give_up(event, error)
            raise
        event.push()
        return BegunEvent(event, ended.value, ended.is_edited)

    def begin_tool(self, tool: str, args: Any, approval: Approval | None = None) -> Flow[BegunTool]:
        """Begin a tool invocation; raises as `begin`, and ProtocolError where the edit is no call.

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
        """End an event with its response or result.

        Args:
            kind: The event's kind.
            value: The event's response or result.
            usage: The event's usage.
            event: The event; None: the innermost event of this context.
            convert_edit: Converts an edited value to the caller's type, or raises.
            waits: Whether the event may halt at its end; False where the agent has the value already.

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
        packed = yield from self._encode(REDACT_KINDS[kind, EventSide.END], value)
        waits = waits and (not event.is_replayed or event.end_mark is not None)
        if event.is_replayed or event.is_sample:
            usage = None  # it was counted when it was recorded, or came
        elif usage is None and kind is EventKind.LLM_QUERY:
            usage = find_usage(packed.encoded.json)
        point = make_halt_point(
            event.id,
            EventSide.END,
            packed.raw,
            waits,
            outcome=EventOutcome.OK,
            usage=usage,
            epoch=self.edit_rules.revision,
            result_type=UNSET if event.skipped else find_foreign_type(packed),
        )
        reader = EditReader(self._encoder, packed, convert_edit)
        if waits and self.edit_rules.armed:
            point = apply_edit_rules(self.edit_rules, event, point, reader)
        event.end()
        answer = yield from self._ask_at_end(event, point, reader)
        raise_for_answer(answer)
        return (yield from self._apply_answer(accept_rule_edit(answer, point), value, reader))

    def fail(
        self, event: OpenEvent, error: BaseException, convert_edit: EditConverter | None = None
    ) -> Flow[EndedEvent | None]:
        """End an event with an exception, which the caller then raises.

        An `Exception` halts at the event's end, so that the person sees it; an order to end
        (KeyboardInterrupt, a cancelled task, AgentStopped) doesn't. A framework's signal is no failure,
        and doesn't halt.

        Args:
            event: The event.
            error: The exception.
            convert_edit: Converts an edited value to the caller's type, or raises.

        Returns:
            The result that the person gave in the exception's place, or None.
        """
        if is_framework_signal(error):
            yield from self._snapshot_after_call(event)
            yield from self.give_up(event, error)
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
        answer = yield from self._await_answer((point,), point, reader, sampler=event.sampler)
        raise_for_answer(answer, cause=error)
        ended = yield from self._apply_answer(answer, None, reader)
        return ended if ended.is_edited else None

    # ---- waiting ------------------------------------------------------------------------------------

    def _ask_at_begin(
        self,
        event: OpenEvent,
        begun: EventBegun,
        point: HaltPointReached,
        packed: Payload,
        reader: EditReader,
        approval: Approval | None,
        replayed: ReplayedBegin | None,
    ) -> Flow[tuple[Answer, EditReader]]:
        """Wait for the answer at an event's begin; returns the answer and the reader of its edit.

        Args:
            event: The event.
            begun: The event's begin, as it is sent.
            point: The event's begin halt point.
            packed: The event's request, as it is sent.
            reader: Reads edits of the request.
            approval: The approval that the call needs first.
            replayed: The replay's decision on the event's begin.
        """
        if replayed is not None:
            event.is_replayed = replayed.mark.role is ReplayRole.SERVED
            event.end_mark, event.end_edit = replayed.end_mark, replayed.end_edit
        if replayed is not None and not point.waits:
            yield SendEffect((begun, point))
            answer = replayed.answer or ResumeAnswer()
        elif approval is None:
            answer = yield from self._await_answer(
                (begun, point), point, reader, closing=event, sampler=event.sampler
            )
        else:
            call = ApprovalCall(point.id, event.name or "", self._encoder)
            point = replace(point, approval=approval.begin(call))
            asking = self._await_answer((begun, point), point, reader, event, approval.on_queued)
            answer = yield from approval.await_answer(asking, call, partial(self.give_up, event))
            reader = reader.for_payload(call.find_displayed_payload(answer, packed))
        if replayed is not None and replayed.error is not None and isinstance(answer, ResumeAnswer):
            yield from self.give_up(event, replayed.error)
            raise replayed.error
        return answer, reader

    def _ask_at_end(
        self, event: OpenEvent, point: HaltPointReached, reader: EditReader
    ) -> Flow[Answer]:
        """Wait for the answer at an event's end; in a fork, the answer may be the fork's edit."""
        if event.end_mark is not None:
            point = replace(point, replay=event.end_mark)
        if event.end_edit is None:
            return (yield from self._await_answer((point,), point, reader, sampler=event.sampler))
        yield SendEffect((replace(point, edit=event.end_edit, waits=False),))
        return ResumeAnswer(data=event.end_edit)

    def _await_answer(
        self,
        messages: tuple[AgentMessage, ...],
        point: HaltPointReached,
        reader: EditReader | None = None,
        closing: OpenEvent | None = None,
        on_queued: Callable[[SendMessages], None] | None = None,
        sampler: QuerySampler | None = None,
    ) -> Flow[Answer]:
        """Wait at a halt point, if it waits; an exception before the answer withdraws the halt point.

        Args:
            messages: The messages to send.
            point: The halt point, which is one of the messages.
            reader: Reads edits of the halt point's data.
            closing: The event that ends with the wait.
            on_queued: Called once the messages are queued.
            sampler: Resamples the halted query.
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

    # ---- parts --------------------------------------------------------------------------------------

    def _skip(self, event: OpenEvent, answer: SkipAnswer, packed: Payload) -> None:
        """Replace the call of an event by a result: one that a person wrote, or a sample."""
        event.skipped = True
        sampled = UNSET if event.sampler is None else event.sampler.find_answer(answer.result)
        event.is_sample = sampled is not UNSET
        event.result = packed.restore_secrets(answer.result) if sampled is UNSET else sampled

    def _encode(self, kind: str, value: Any) -> Flow[Payload]:
        """Encode a value, and send the person any error that the agent's own hook raised."""
        packed = self._encoder.encode_for_display(kind, value)
        if packed.encoded.hook_failures:
            for failure in self._encoder.pop_new_hook_failures(packed):
                yield self._message(failure)
        return packed

    def _apply_answer(self, answer: Answer, value: Any, reader: EditReader) -> Flow[EndedEvent]:
        """Read the edit; an invalid edit that no Core could check is reported and not applied."""
        try:
            return _read_edit(answer, value, reader)
        except Exception as error:
            why = reader.describe_error(error)
            refusal = f"Your edit was refused, and the agent continues without it: {why}"
        log.warning("%s", refusal)
        yield self._message(refusal)
        return EndedEvent(value, False)


def _read_edit(answer: Answer, value: Any, reader: EditReader) -> EndedEvent:
    """The edited value if the answer has an edit; else the value itself, as the same object."""
    data = answer.data if isinstance(answer, ResumeAnswer) else UNSET
    if isinstance(answer, SkipAnswer):
        data = answer.result
    return EndedEvent(value, False) if data is UNSET else EndedEvent(reader.read(data), True)
