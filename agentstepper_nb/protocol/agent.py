"""Version 2 between an agent's SDK and the Core."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from . import breakpoint_rules
from .answers import Answer
from .breakpoint_rules import (
    DeleteBreakpoint,
    DryRunBreakpoint,
    Price,
    SetBreakpoint,
    SetPrices,
)
from .data_model import (
    BREAKPOINT_WIRE_NAMES,
    AgentLabel,
    ApprovalPrompt,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileChange,
    Run,
    RunEnding,
    RunMode,
    TimelineRow,
    Usage,
)
from .delta_encoding import EncodedContent
from .edit_rules import (
    EDIT_RULE_COMMANDS,
    AppliedRules,
    EditRuleCommand,
    EditRuleDefinition,
)
from .edit_rules import EditRuleExported as EditRuleExported
from .effects import CheckName
from .envelope import MessageTable
from .field_types import ContentHash, Count, HashKey, Id, Name, Positive, Reason, ScopePath, Time
from .inspection import HaltPointInspected as HaltPointInspected
from .inspection import InspectHaltPoint as InspectHaltPoint
from .inspection import SourceLocation
from .program_requests import (
    DebuggerConfig,
    DryRunResponse,
    EditRuleResponse,
    GetDebuggerConfig,
    RecordCheckRun,
    RunUploaded,
    UploadRun,
)
from .query_samples import RequestSample as RequestSample
from .query_samples import SampleMade as SampleMade
from .replay_marks import ReplayMark
from .seams import FoundBy, RunSeams
from .start_methods import ForkOrigin, StartMethod
from .step_targets import StepTarget

# ---- agent to Core ---------------------------------------------------------------------------------


class Hello(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"can_reconnect": "returns", "can_check_edits": "checks", "shares_connection": "shares"},
):
    """Opens a connection: who runs where, and which run this is."""

    version: int
    sdk: str  # the SDK's name and version, for the log and for "upgrade which side"
    program: Name
    run: Id  # a UUIDv7, made by the SDK
    secret: str  # proves later that a reconnecting agent is this run's
    pid: Count
    host: str
    boot: str  # the machine's boot id, or empty
    workspace: str | None = None
    #: The run's mode at its begin; in CONTINUE the run halts only for breakpoints and approvals.
    mode: RunMode = RunMode.STEP
    can_reconnect: bool = True  # whether it connects again by itself where the connection is lost
    can_check_edits: bool = False  # whether it answers `CheckEdit`
    can_stick_edits: bool | UnsetType = UNSET  # whether it takes `ResumeAnswer.sticky`
    inspects: bool | UnsetType = UNSET  # whether it answers `InspectHaltPoint`
    samples: bool | UnsetType = UNSET  # whether it answers `RequestSample`
    notice: Name = ""  # what a person must know of the whole run; see `Run.notice`
    shares_connection: bool | UnsetType = (
        UNSET  # further runs of the process may say hello on this connection
    )
    wants_hash_key: bool | UnsetType = UNSET  # whether it makes hashes of its events
    start: StartMethod | UnsetType = UNSET  # how it was started, where that can be repeated
    forked_from: ForkOrigin | UnsetType = UNSET
    # On a reconnect:
    sent: Count = 0  # the number of the last message sent before; above 0 it asks to go on
    acknowledged: Count = 0  # the number up to which the Core has said that it keeps them
    waiting: tuple[Id, ...] = ()  # halt points that still wait for their answers


class EventBegun(Struct, frozen=True, kw_only=True):
    """An event begins. A debug message is one that has `data` and no halt points."""

    id: Id
    kind: EventKind
    at: Time
    clock: float  # the agent's monotonic clock, seconds
    parent: Id | None = None
    name: Name | None = None  # the tool, the model, or a custom event's type
    data: Raw | UnsetType = UNSET
    scope: ScopePath | UnsetType = UNSET
    label: AgentLabel | UnsetType = UNSET
    content_hash: ContentHash | UnsetType = UNSET  # with the key of the welcome
    found_by: FoundBy | UnsetType = UNSET  # of a tool's call, where the author didn't trace it
    seams: RunSeams | UnsetType = UNSET  # where they, or the run's tools, have changed
    location: SourceLocation | UnsetType = UNSET  # of the agent's own code that began it


class HaltPointReached(Struct, frozen=True, kw_only=True, rename=BREAKPOINT_WIRE_NAMES):
    """The begin or end of an event was reached."""

    id: Id
    event: Id
    side: EventSide
    waits: bool  # whether the agent waits for an answer
    at: Time
    clock: float  # the agent's monotonic clock, seconds
    data: Raw | UnsetType = UNSET  # left out where it travels in pieces
    pieces: EncodedContent | UnsetType = UNSET  # of its JSON text
    #: Sticky edits of a prompt, and edits by edit rules, which stand unless the answer has data.
    edit: Raw | UnsetType = UNSET
    edit_rules: AppliedRules | UnsetType = UNSET  # that made the edit
    has_sticky_edit: bool | UnsetType = UNSET  # where rules made the edit: sticky edits did, too
    epoch: Count = 0  # of the lease under which the agent decided whether it waits; 0: none
    breakpoints: breakpoint_rules.Hits = ()  # that hit here
    breakpoint_error: str | None = None  # the condition of a breakpoint failed here, and how
    summary: str | None = None
    outcome: EventOutcome | None = None  # on the end: how the event ended
    failure: Failure | None = None
    replay: ReplayMark | UnsetType = UNSET  # of a run that is executed again
    traceback: str = ""  # of the failure: the agent's own frames, without the message
    usage: Usage | None = None
    approval: ApprovalPrompt | None = None  # on a tool invocation's begin, which then always waits
    schema: Raw | UnsetType = UNSET  # JSON Schema of a tool call's arguments, where it waits
    #: Of an end: the class of a result that JSON hasn't, which is shown by its form.
    result_type: Name | UnsetType = UNSET
    #: Of an end: the exception by which a framework ended the event as it should.
    signal: Raw | UnsetType = UNSET


class Withdraw(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """A halt point no longer waits: an interrupt, a cancelled task."""

    halt_point: Id


class DecideApproval(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """Somebody approved or denied elsewhere what a halt point asks: in a terminal, say.

    It does what `ApproveCall` and `DenyCall` of a view do. What is approved is `data`, or what the
    agent sent: an edit that a view has set and not approved is taken back. For a halt point that was
    answered meanwhile it is no error: messages cross, and the answer that was first holds.
    """

    halt_point: Id
    approved: bool
    reason: Reason = ""  # of a denial
    data: Raw | UnsetType = UNSET  # the call as it was edited
    always: bool = False  # approved, and from now on without being asked


class EditChecked(Struct, frozen=True, kw_only=True):
    """Answers `CheckEdit`: whether the agent can take an edit."""

    check: Id
    refusal: Reason | None = None  # why not, for a person


class CommitMade(Struct, frozen=True, kw_only=True, rename={"has_rule_title": "ruled"}):
    """A commit of the workspace."""

    id: Id
    at: Time
    title: str
    description: str = ""
    event: Id | None = None
    snapshot: bool = False  # made at a tool's end, where the agent asked for no commit
    has_rule_title: bool = False  # its title was made by rule
    changes: tuple[FileChange, ...] = ()


class GetTimeline(Struct, frozen=True, kw_only=True):
    """Answered by `Timeline`: an agent may read its own run, to keep it with its notebook."""


class UserMessageAwaited(Struct, frozen=True, kw_only=True):
    """The agent waits for the next message of a person: nothing runs until its next event."""


class ScopeEnded(Struct, frozen=True, kw_only=True):
    """The scope of the lease's target has ended: the step goes on in the scope around."""

    scope: ScopePath


class ProcessEnded(Struct, frozen=True, kw_only=True):
    """A child process of this agent ended, and how: its own run may have had no time to say so."""

    pid: Count
    code: int  # its exit code; -9: ended by signal 9


class Bye(Struct, frozen=True, kw_only=True):
    """The run ends, and how."""

    ending: RunEnding
    failure: Failure | None = None


class LeaveConnection(Struct, frozen=True, kw_only=True):
    """A run leaves the connection that others share; to the Core it is a lost connection."""


class MessagePart(Struct, frozen=True, kw_only=True):
    """A part of a message that is long, so that other runs of the connection needn't wait for all of it.

    The texts of a run's parts, joined, are the message. No other message of the run comes between them.
    """

    text: str
    last: bool


AgentMessage = (
    Hello
    | EventBegun
    | HaltPointReached
    | Withdraw
    | DecideApproval
    | EditChecked
    | HaltPointInspected
    | SampleMade
    | CommitMade
    | GetTimeline
    | UserMessageAwaited
    | ScopeEnded
    | ProcessEnded
    | UploadRun
    | GetDebuggerConfig
    | SetBreakpoint
    | DeleteBreakpoint
    | DryRunBreakpoint
    | SetPrices
    | EditRuleCommand
    | RecordCheckRun
    | LeaveConnection
    | MessagePart
    | Bye
)
from_agent = MessageTable(
    hello=Hello,
    event=EventBegun,
    breakpoint=HaltPointReached,
    withdraw=Withdraw,
    decide=DecideApproval,
    edit_checked=EditChecked,
    inspected=HaltPointInspected,
    sampled=SampleMade,
    commit=CommitMade,
    get_timeline=GetTimeline,
    message_awaited=UserMessageAwaited,
    scope_ended=ScopeEnded,
    process_ended=ProcessEnded,
    take_run=UploadRun,
    get_rules=GetDebuggerConfig,
    set_stop=SetBreakpoint,
    delete_stop=DeleteBreakpoint,
    try_stop=DryRunBreakpoint,
    set_prices=SetPrices,
    **EDIT_RULE_COMMANDS,
    check_run=RecordCheckRun,
    leave=LeaveConnection,
    part=MessagePart,
    bye=Bye,
)

# ---- Core to agent ---------------------------------------------------------------------------------


class Welcome(Struct, frozen=True, kw_only=True, rename={"shares_connection": "shares"}):
    """Answers hello."""

    version: int
    core: str  # the Core's name and version
    run: str
    received: Count = 0  # the number of the agent's last message that is kept; it sends the next
    shares_connection: bool | UnsetType = (
        UNSET  # told where hello has it: other runs may say hello here, too
    )
    #: In hex, where hello wants it: by it the agent makes the hashes of its events.
    hash_key: HashKey | UnsetType = UNSET


class LeaseMessage(Struct, frozen=True, kw_only=True, rename={"breakpoints": "stops"}):
    """The rules by which the agent decides where to halt, until the next lease: in CONTINUE at halt
    points where a breakpoint hits, in STEP also at the step's target.
    """

    epoch: Positive  # grows with each
    mode: RunMode
    breakpoints: tuple[breakpoint_rules.BreakpointRule, ...] = ()  # that are on, of this program
    prices: tuple[Price, ...] = ()
    disabled_checks: tuple[CheckName, ...] | UnsetType = UNSET  # effect checks that are off
    edit_rules: tuple[EditRuleDefinition, ...] | UnsetType = UNSET  # that are on, of this program
    target: StepTarget | UnsetType = UNSET  # in STEP; UNSET: each halt point


class MessagesAcknowledged(Struct, frozen=True, kw_only=True):
    """All of the agent's messages up to this number are kept for good: it may forget them."""

    received: Count


class RunDisconnected(Struct, frozen=True, kw_only=True):
    """The Core ends the connection for one run of those that share it; the run may say hello again."""

    code: int  # as a WebSocket's
    reason: str


class AnswerMessage(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """A halt point that waited is answered."""

    halt_point: str
    answer: Answer


class CheckEdit(Struct, frozen=True, kw_only=True, rename={"halt_point": "breakpoint"}):
    """A person is about to edit a halt point that waits: can the agent take this?

    It is asked of agents whose hello has `checks`, and answered by `EditChecked`.
    """

    check: str  # the question's id
    halt_point: str
    data: Raw  # the edit


class Timeline(Struct, frozen=True, kw_only=True):
    """Answers `GetTimeline`, under its id: the run as a view shows it, without contents."""

    run: Run
    #: By seq; of a long run its first and its last, while `run.rows` counts all.
    rows: tuple[TimelineRow, ...]
    commits: tuple[Commit, ...]  # likewise; changes without contents


class AgentError(Struct, frozen=True, kw_only=True):
    """A message of this agent was refused; the run goes on."""

    code: str
    message: str
    n: int | None = None  # the number of the refused message, where it could be read


CoreToAgent = (
    Welcome
    | LeaseMessage
    | MessagesAcknowledged
    | RunDisconnected
    | AnswerMessage
    | CheckEdit
    | InspectHaltPoint
    | RequestSample
    | Timeline
    | RunUploaded
    | DebuggerConfig
    | DryRunResponse
    | EditRuleResponse
    | EditRuleExported
    | AgentError
)
to_agent = MessageTable(
    welcome=Welcome,
    lease=LeaseMessage,
    acknowledged=MessagesAcknowledged,
    closed=RunDisconnected,
    answer=AnswerMessage,
    check_edit=CheckEdit,
    inspect=InspectHaltPoint,
    sample=RequestSample,
    timeline=Timeline,
    run_taken=RunUploaded,
    rules=DebuggerConfig,
    tried=DryRunResponse,
    edit_rule_tried=EditRuleResponse,
    edit_rule_exported=EditRuleExported,
    error=AgentError,
)
