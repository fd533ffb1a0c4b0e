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

from ..protocol.agent import CommitMade
from ..protocol.answers import Answer, ResumeAnswer, SkipAnswer
from ..protocol.data_model import Commit, EventKind, EventOutcome, EventSide, Usage
from ..protocol.seams import FoundBy
from .approvals import Approval, ApprovalCall
from .argument_checks import check_text
from .edits import EditConverter, EditReader
from .flow_effects import (
    NULL_JSON,
    BegunEvent,
    BegunTool,
    BlockingEffect,
    EndedEvent,
    Flow,
    FlushEffect,
    HaltFlowBase,
    SendEffect,
    raise_for_answer,
)
from .framework_signals import is_framework_signal
from .payload import (
    Payload,
    PayloadEncoder,
    RedactKind,
    find_model,
    find_usage,
    read_tool_call,
)
from .run_events import OpenEvent, RunEvents, find_innermost_event, find_parent, make_halt_point
from .scopes import set_scope
from .sticky_edits import StickyPrompt
from .tool_begin_callbacks import notify_tool_begun
from .value_encoder import EncodedValue

log = logging.getLogger("agentstepper_nb.sdk")

NOT_BEGUN: Final = "Can't end breakpoint, breakpoint hasn't begun!"


class HaltFlow(HaltFlowBase):
    """The flows of one run.

    Args:
        run: The run's id.
        program: The program's name.
        encoder: Makes values ready to travel.
        events: Makes the run's events.
    """

    def __init__(
        self,
        run: str,
        program: str,
        encoder: PayloadEncoder,
        events: RunEvents | None = None,
    ) -> None:
        self.run = run
        self.events = events or RunEvents(run)
        #: Called with an event's id when a tool, or whatever isn't an LLM query, has run, to send what
        #: it changed in the workspace. It may block, and doesn't raise.
        self.take_snapshot: Callable[[str], None] | None = None
        #: Gives the key of the hashes of its events; None where no Core has sent one.
        self.find_hash_key: Callable[[], bytes | None] = lambda: None
        self._program = program
        self._encoder = encoder

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

    def post_debug_message(self, message: str) -> Flow[None]:
        """A message for whoever is watching."""
        yield self._message(message)
        yield FlushEffect()

    def _message(self, message: str) -> SendEffect:
        data = self._encoder.encode_for_display(RedactKind.DEBUG_MESSAGE, message).raw
        return SendEffect((self.events.make_instant_event(EventKind.DEBUG_MESSAGE, data),))

    def commit(self, commit: Commit) -> Flow[None]:
        """A commit of the workspace."""
        yield SendEffect((self._commit_made(commit, find_parent(self.run)),))
        yield FlushEffect()

    def snapshot(self, commit: Commit, event: str) -> Flow[None]:
        """What a tool changed in the workspace; `event` is its event."""
        yield SendEffect((self._commit_made(commit, event),))
        yield FlushEffect()

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
        if name is None and kind is EventKind.LLM_QUERY:
            name = find_model(packed.encoded.json)
        original = value if original is UNSET else original
        content_hash = self._encoder.hash(redact_kind, original, packed, self.find_hash_key)
        event, begun = self.events.begin(kind, name, content_hash, call_id, found_by)
        if kind is EventKind.TOOL_INVOCATION:
            notify_tool_begun(self.run, name, packed.encoded.json)
        point = make_halt_point(event.id, EventSide.BEGIN, packed.raw, waits=True)
        prompt = None
        if kind is EventKind.LLM_QUERY:
            prompt = StickyPrompt(self.run, packed.raw, reader.find_problem)
            point = replace(point, edit=prompt.edit)
        if approval is None:
            answer = yield from self._await_answer((begun, point), point, reader, closing=event)
        else:
            call = ApprovalCall(point.id, name or "", self._encoder)
            point = replace(point, approval=approval.begin(call))
            answer = yield from self._await_approval(
                (begun, point), point, reader, event, approval, call
            )
            reader = reader.for_payload(call.find_displayed_payload(answer, packed))
        answer = answer if prompt is None else prompt.accept(answer)
        if isinstance(answer, SkipAnswer):
            event.skipped = True
            event.result = packed.restore_secrets(answer.result)
            answer = ResumeAnswer()
        elif not isinstance(answer, ResumeAnswer):
            yield from self._refuse(event, answer)
        try:
            ended = _read_edit(answer, value, reader)
        except Exception as error:
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
        reader = EditReader(self._encoder, Payload(NULL_JSON, {}, EncodedValue(None)), convert_edit)
        answer = yield from self._await_answer((point,), point, reader)
        raise_for_answer(answer, cause=error)
        ended = yield from self._apply_answer(answer, None, reader)
        return ended if ended.is_edited else None

    # ---- parts --------------------------------------------------------------------------------------

    def _encode(self, kind: str, value: Any) -> Flow[Payload]:
        """Pack a value, and show the person what the agent's own hook raised for it."""
        packed = self._encoder.encode_for_display(kind, value)
        if packed.encoded.hook_failures:
            for failure in self._encoder.take_hook_failures(packed):
                yield self._message(failure)
        return packed

    def _snapshot_after_call(self, event: OpenEvent) -> Flow[None]:
        """The call of an event was made: before its end is told, what it changed is."""
        if (
            self.take_snapshot is None or event.kind is EventKind.LLM_QUERY
        ):  # a model changes no files
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

    def _commit_made(self, commit: Commit, event: str | None) -> CommitMade:
        packed = self._encoder.commit(commit)
        return CommitMade(
            id=packed.id,
            at=packed.at,
            title=packed.title,
            description=packed.description,
            event=event,
            snapshot=commit.snapshot,  # also where `redact` left it out
            has_rule_title=commit.has_rule_title,
            changes=packed.changes,
        )


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
