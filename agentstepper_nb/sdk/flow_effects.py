"""The steps of flows, which a driver executes, and the flows that wait for no answer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Raw
from msgspec.structs import replace

from ..core.breakpoints import EditRuleEngine
from ..errors import AgentStopped, ToolDeniedError
from ..protocol.agent import AgentMessage, CommitMade, EventBegun, HaltPointReached
from ..protocol.answers import Answer, DenyAnswer, RaiseAnswer, ResumeAnswer, StopAnswer
from ..protocol.data_model import Commit, EventKind, EventOutcome, EventSide
from ..protocol.seams import FoundBy
from .framework_signals import is_framework_signal
from .payload import Payload, PayloadEncoder, RedactKind, hash_content
from .query_samples import QuerySampler
from .raised_errors import describe_signal, make_error
from .record_payloads import pack_commit, pack_failure, pack_traceback
from .replay_source import EventRequest, ReplayedBegin, ReplaySource
from .run_events import OpenEvent, RunEvents, find_innermost_event, make_halt_point
from .scopes import find_scope

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
    #: Asks the query again that is halted.
    sampler: QuerySampler | None = None


class WaitEffect(NamedTuple):
    """Wait until a future is done."""

    future: Future[Any]


class FlushEffect(NamedTuple):
    """Wait until everything sent so far has left the process."""


class BlockingEffect(NamedTuple):
    """Do this, which may block, and go on when it is done."""

    function: Callable[[], None]


class CallEffect(NamedTuple):
    """Make the agent's own call; the step's outcome is a `CallResult`."""

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
    """An ended event's value, and whether the value was edited."""

    value: Any
    is_edited: bool


#: The kind that `redact=` receives for an event's begin and end.
REDACT_KINDS: Final = {
    (EventKind.LLM_QUERY, EventSide.BEGIN): RedactKind.PROMPT,
    (EventKind.LLM_QUERY, EventSide.END): RedactKind.RESPONSE,
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN): RedactKind.TOOL_CALL,
    (EventKind.TOOL_INVOCATION, EventSide.END): RedactKind.TOOL_RESULT,
    (EventKind.CUSTOM, EventSide.BEGIN): RedactKind.EVENT,
    (EventKind.CUSTOM, EventSide.END): RedactKind.EVENT_RESULT,
}
NULL_JSON: Final = Raw(b"null")
#: The message of a denial without a person's reason.
DENIED_MESSAGE: Final = "The person denied this call."


class HaltFlowBase:
    """Flows that send a run's records to the Core and wait for no answer.

    Args:
        run: The run's id.
        program: The program's name.
        encoder: Encodes values for sending.
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
        #: Answers events in the place of their calls, where the run is executed again.
        self.replay: ReplaySource | None = None
        #: The edit rules in force, which the lease has.
        self.edit_rules = EditRuleEngine(program)
        self._program = program
        self._encoder = encoder

    def post_debug_message(self, message: str) -> Flow[None]:
        """Send a message to everybody who watches the run."""
        yield self._message(message)
        yield FlushEffect()

    def _message(self, message: str) -> SendEffect:
        data = self._encoder.encode_for_display(RedactKind.DEBUG_MESSAGE, message).raw
        return SendEffect((self.events.make_instant_event(EventKind.DEBUG_MESSAGE, data),))

    def commit(self, commit: Commit) -> Flow[None]:
        """A commit of the workspace."""
        parent = find_innermost_event(self.run)
        event = None if parent is None else parent.id
        yield SendEffect((self._commit_made(commit, event),))
        yield FlushEffect()

    def snapshot(self, commit: Commit, event: str) -> Flow[None]:
        """Send the workspace changes of a tool call; `event` is the call's event."""
        yield SendEffect((self._commit_made(commit, event),))
        yield FlushEffect()

    def give_up(self, event: OpenEvent, error: BaseException) -> Flow[None]:
        """End an event with an exception, without a wait for an answer."""
        event.end()
        if is_framework_signal(error):
            yield SendEffect((self._signal_point(event, error),))
        else:
            yield SendEffect((self._failed_point(event, error, waits=False),))

    def _snapshot_after_call(self, event: OpenEvent) -> Flow[None]:
        """Send the workspace changes of an event's call, before the event's end is sent."""
        # A model changes no files.
        if self.take_snapshot is None or event.is_replayed or event.kind is EventKind.LLM_QUERY:
            return
        try:
            yield BlockingEffect(partial(self.take_snapshot, event.id))
        except GeneratorExit:
            raise
        except BaseException as order:  # an interrupt, a cancelled task
            yield from self.give_up(event, order)
            raise

    def record_tool_call(
        self,
        name: str,
        call: Any,
        call_id: str | None,
        at: tuple[float, float] | None = None,
    ) -> Flow[OpenEvent]:
        """Record a tool invocation that never halts at its begin, outside of this context's events.

        Args:
            name: The tool's name.
            call: The call, `{"Tool", "Argument"}`.
            call_id: The id that the model gave the call.
            at: The begin in seconds, by the time of day and by the agent's clock; None: now.
        """
        packed = self._encoder.encode_for_display(RedactKind.TOOL_CALL, call)
        content_hash = self._encoder.hash(RedactKind.TOOL_CALL, call, packed, self.find_hash_key)
        kind, found_by = EventKind.TOOL_INVOCATION, FoundBy.WIRE
        event, begun = self.events.begin(kind, name, content_hash, call_id, found_by, at)
        point = make_halt_point(event.id, EventSide.BEGIN, packed.raw, waits=False)
        replayed = self._consult_replay(
            event, begun, RedactKind.TOOL_CALL, call, packed, is_made=True
        )
        if replayed is not None:
            point = replace(point, replay=replayed.mark)
        yield SendEffect((begun, replace(point, at=begun.at, clock=begun.clock)))
        if replayed is not None and replayed.error is not None:
            yield from self.give_up(event, replayed.error)
            raise replayed.error
        return event

    def _consult_replay(
        self,
        event: OpenEvent,
        begun: EventBegun,
        kind: str,
        original: Any,
        packed: Payload,
        *,
        is_made: bool = False,
    ) -> ReplayedBegin | None:
        """Ask a run's replay how an event begins; None where the run is no replay."""
        if self.replay is None:
            return None
        make_hash = partial(self._hash_with_key, kind, original, packed)
        scope = find_scope(self.events.root)
        return self.replay.begin(EventRequest(event, begun, packed.raw, scope, make_hash, is_made))

    def _hash_with_key(self, kind: str, original: Any, packed: Payload, key: bytes) -> str:
        """The hash of an event's original request with a key that isn't the run's."""
        made = self._encoder.hash(kind, original, packed, lambda: key)
        return hash_content(packed.raw, key) if made is None else made

    def _signal_point(self, event: OpenEvent, error: BaseException) -> HaltPointReached:
        """The end of an event by an exception with which its framework goes on: no failure."""
        kind = REDACT_KINDS[event.kind, EventSide.END]
        encode = self._encoder.encode_for_display
        return make_halt_point(
            event.id,
            EventSide.END,
            encode(kind, repr(error)).raw,
            waits=False,
            outcome=EventOutcome.OK,
            signal=encode(kind, describe_signal(error)).raw,
        )

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
            failure=None if stopped else pack_failure(self._encoder, error),
            traceback="" if stopped else pack_traceback(self._encoder, error),
        )

    def _commit_made(self, commit: Commit, event: str | None) -> CommitMade:
        packed = pack_commit(self._encoder, commit)
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


def raise_for_answer(answer: Answer, cause: BaseException | None = None) -> None:
    """Raise what an answer orders to raise."""
    match answer:
        case ResumeAnswer():
            return
        case DenyAnswer(reason=reason):
            raise ToolDeniedError(reason or DENIED_MESSAGE, reason) from cause
        case RaiseAnswer():
            raise make_error(answer) from cause
        case StopAnswer():
            raise AgentStopped("The person pressed Stop.") from cause
