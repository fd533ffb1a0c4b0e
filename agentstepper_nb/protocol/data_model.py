"""The nouns of the debugger, as frozen values: run, event, halt point, commit.

Contents (prompts, answers, arguments, results) are held as the JSON text that the agent sent. Nothing
between agent and editor re-encodes them, so that large integers, `1.0` and the order of keys survive.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from .effects import CheckRun, EffectCounts, EffectReport
from .event_kinds import PAIRED_EVENT_KINDS as PAIRED_EVENT_KINDS
from .event_kinds import EventKind as EventKind
from .event_kinds import EventSide as EventSide
from .field_types import ContentHash, Name, ScopePath
from .inspection import SourceLocation
from .replay_marks import ReplayMark
from .seams import FoundBy, RunSeams
from .start_methods import ForkOrigin
from .step_targets import StepTarget

#: Names on the wire and in stored data of the fields about breakpoints that hit.
BREAKPOINT_WIRE_NAMES: Final = {"breakpoints": "stops", "breakpoint_error": "stop_error"}


class RunMode(StrEnum):
    """A run's behaviour at its next halt point: halt (step) or go on (continue)."""

    STEP = "step"
    CONTINUE = "continue"


class RunState(StrEnum):
    """A run's state, as views show it."""

    IDLE = "idle"
    HALTED = "halted"
    STEP = "step"
    CONTINUE = "continue"
    DETACHED = "detached"  # its agent is away and may come back


class AgentActivity(StrEnum):
    """The current activity of an agent."""

    RUNNING = "running"
    LLM_THINKING = "llm_thinking"
    TOOL_EXECUTING = "tool_executing"
    HALTED = "halted"
    HALTING = "halting"
    WAITING = "waiting"  # for the next message of a person: nothing runs until then
    FINISHED = "finished"


class RunEnding(StrEnum):
    """The way in which a run ended."""

    FINISHED = "finished"
    STOPPED = "stopped"
    CRASHED = "crashed"
    LOST = "lost"


class EventOutcome(StrEnum):
    """The outcome of an event."""

    OK = "ok"
    ERROR = "error"
    STOPPED = "stopped"


class Actor(StrEnum):
    """A sender or receiver of data in the timeline."""

    AGENT = "agent"
    LLM = "llm"
    TOOLS = "tools"
    SYSTEM = "system"


class AnswerKind(StrEnum):
    """The kind of answer to a halt point."""

    RESUME = "resume"
    SKIP = "skip"
    DENY = "deny"
    RAISE = "raise"
    STOP = "stop"
    WITHDRAWN = "withdrawn"


class Risk(StrEnum):
    """The damage that a tool call can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ChangeKind(StrEnum):
    """The kind of change to a file between two commits."""

    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"
    RENAMED = "renamed"


class AgentLabel(Struct, frozen=True, kw_only=True):
    """The agent of a program that an event belongs to."""

    name: Name
    node: Name | None = None  # the step of a graph that it is at
    parent: Name | None = None  # the agent that runs it


class Failure(Struct, frozen=True, kw_only=True):
    """An exception, as far as it travels."""

    type: str  # the class's qualified name
    message: str


class ApprovalPrompt(Struct, frozen=True, kw_only=True):
    """A request for a person's approval of a tool call: its halt point waits in every mode."""

    risk: Risk
    why: Annotated[str, Meta(max_length=1000)]  # the rule that asks, in words
    rule: Name | None = None  # what "always allow this here" would allow, in words; None: nothing


#: The type of the failure of a run whose last changes the store has lost. An agent that comes back sends
#: them again, since it wasn't told that they are kept for good.
CHANGES_LOST: Final = "ChangesLost"


class Usage(Struct, frozen=True, kw_only=True):
    """The tokens and the cost of a query."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None  # US dollars
    estimated: bool = False  # whether the cost is made of tokens and prices that a person set


class SampleTotals(Struct, frozen=True, kw_only=True):
    """The number and usage of a run's resampled queries; `Run.usage` includes this usage."""

    count: int
    usage: Usage | None = None


class BreakpointHits(Struct, frozen=True, kw_only=True, rename={"breakpoint": "stop"}):
    """The number of a breakpoint's hits in a run, and the row of the last hit."""

    breakpoint: str
    count: int
    last: int  # the seq of the row


class Run(Struct, frozen=True, kw_only=True):
    """The header of one execution of an agent program."""

    id: str
    name: str
    program: str
    started_at: float  # POSIX seconds; the Core's clock, in version 1 the agent's
    ended_at: float | None = None
    state: RunState = RunState.STEP
    agent_state: AgentActivity = AgentActivity.RUNNING
    mode: RunMode = RunMode.STEP
    pending: tuple[str, ...] = ()  # halt points that wait for a person, oldest first
    ending: RunEnding | None = None  # None while it lives, and for imported runs
    failure: Failure | None = None  # what ended it, where an exception did
    can_stop: bool = True  # agents of version 1 can't be stopped
    can_stick_edits: bool | UnsetType = UNSET  # a prompt's edit may stay in force for later prompts
    stopping: bool = False  # Stop was pressed; the next waiting halt point is answered with it
    rows: int = 0
    #: As a list of changes shows them: commits that the agent asked for, and the snapshots after the
    #: last of these. A snapshot is counted no longer once such a commit has its changes. Not counted
    #: is what is committed before anything has changed: the state that changes are compared with.
    commits: int = 0
    workspace: str | None = None  # the folder the agent works on
    pid: int | None = None
    host: str | None = None
    tags: tuple[str, ...] = ()  # a person's words to find it by, in their order
    usage: Usage | None = None  # of all its queries together, where any told it
    samples: SampleTotals | UnsetType = UNSET  # of its queries that were asked again
    query_bytes: int = 0  # of the contents of its queries and their answers together
    halted_at: float | None = None  # since when it waits for a person; POSIX seconds, Core's clock
    halted_s: float | None = None  # seconds that it waited for one before; None: not known
    detached_at: float | None = None  # since when its agent is away; POSIX seconds, Core's clock
    exit_code: int | None = None  # of its process, where its parent told it; -9: ended by signal 9
    last_event: str | None = None  # of a run that broke off: what it did last, in words
    hits: tuple[BreakpointHits, ...] = ()
    #: A warning about the whole run, as "No sandbox: approvals …". Views show the text before the first
    #: colon, and the whole text as the explanation. "": no warning.
    notice: str = ""
    seams: RunSeams | UnsetType = UNSET  # where its calls halt, where its agent said so
    effects: EffectCounts | UnsetType = UNSET  # its marked rows, where it has any
    checks: tuple[CheckRun, ...] | UnsetType = UNSET  # that a person ran on it, oldest first
    step: StepTarget | UnsetType = UNSET  # where it halts in STEP; UNSET: at each halt point
    forked_from: ForkOrigin | UnsetType = UNSET  # the run that it is a fork or a replay of

    @property
    def live(self) -> bool:
        """Whether the run's agent may still send messages."""
        return self.state is not RunState.IDLE

    @property
    def is_version_1(self) -> bool:
        """Whether a version 1 agent of this Core made the run: imports lack an ending, or can stop."""
        return not self.can_stop and (self.live or self.ending is not None)


class Event(Struct, frozen=True, kw_only=True):
    """An action of an agent: an LLM query, a tool call, a message or a custom event."""

    id: str
    run: str
    kind: EventKind
    at: float  # POSIX seconds; the agent's clock
    parent: str | None = None  # the event it happened inside
    depth: int = 0  # how many events it is inside of
    name: str | None = None  # the tool, the model or the custom event's type, where known
    scope: ScopePath = ()
    label: AgentLabel | None = None
    content_hash: ContentHash | None = None  # of its original value, keyed
    seq: int = 0  # the number of its row; only debug messages are rows themselves
    data: str | None = None  # JSON text: a program's name, a debug message
    outcome: EventOutcome | None = None
    ended_at: float | None = None
    found_by: FoundBy | UnsetType = UNSET  # of a tool's call, where the author didn't trace it
    location: SourceLocation | UnsetType = UNSET  # of the agent's own code that began it


class HaltPoint(
    Struct,
    frozen=True,
    kw_only=True,
    rename={**BREAKPOINT_WIRE_NAMES, "is_strict_json": "strict", "model_summary": "sentence"},
):
    """The begin or the end of an event, where the run can halt and data can be edited."""

    id: str
    run: str
    event: str
    around: str | UnsetType = UNSET  # on an end: the event that its event happened inside of
    seq: int  # its row's number in the run, from 1
    side: EventSide
    kind: EventKind  # of its event
    name: str | None = None  # of its event
    depth: int = 0  # of its event
    scope: ScopePath = ()  # of its event
    label: AgentLabel | None = None  # of its event
    location: SourceLocation | UnsetType = UNSET  # of its event
    at: float  # POSIX seconds; the agent's clock
    data: str  # JSON text as the agent sent it
    waits: bool = True  # whether the agent waits for an answer
    is_strict_json: bool = True  # False: only a lenient parser takes `data` (NaN, from version 1)
    agent: str = ""  # the agent's name, as version 1 sends it
    summary: str | None = None  # the agent's own; None: made by rule when shown
    outcome: EventOutcome | None = None  # of the event, on its end
    failure: Failure | None = None
    traceback: str = ""  # of the failure: the agent's own frames, as Python prints them
    usage: Usage | None = None
    duration: float | None = None  # seconds between the begin's answer and the end, Core's clock
    revision: int = 1  # grows with every edit
    edit: str | None = None  # JSON text; None is no edit, "null" is an edit to null
    #: Of a prompt: whether the edit is made again in later ones; UNSET where nobody said so. At revision
    #: 1 the agent has made the edit, since an earlier one was sticky.
    sticky: bool | UnsetType = UNSET
    model_summary: str | None = None  # what a model made of it in one sentence
    answer: AnswerKind | None = None  # None while it is pending
    answered_at: float | None = None  # POSIX seconds, the Core's clock
    breakpoints: tuple[str, ...] = ()  # that hit here, by their ids
    breakpoint_error: str | None = None  # the condition of a breakpoint failed here, and how
    replay: ReplayMark | UnsetType = UNSET  # of a run that is executed again
    approval: ApprovalPrompt | None = None  # on the begin of a tool invocation that asks for one
    reason: str | None = None  # why it was denied
    always: bool = False  # approved, and from now on without being asked
    effects: EffectReport | UnsetType = UNSET  # on a tool's end: what effect checks say of it
    supplied: str | UnsetType = UNSET  # JSON text of the result that a person gave for the call
    raised: Failure | UnsetType = UNSET  # the exception that a person let the agent's code see
    guides: tuple[str, ...] | UnsetType = UNSET  # messages that a person added to the prompt
    #: Edit rules that made the edit, in order; (): a person has since edited, or taken it back.
    edit_rules: tuple[str, ...] | UnsetType = UNSET
    schema: str | UnsetType = UNSET  # JSON Schema of a tool call's arguments, where they are typed
    result_type: str | UnsetType = UNSET  # class of a result that JSON hasn't: shown by its form
    #: JSON text of the exception by which a framework ended the event, which is no failure: its class,
    #: and what it is made of where JSON has that.
    signal: str | UnsetType = UNSET

    @property
    def current(self) -> str:
        """The JSON text in force: the edit where there is one."""
        return self.data if self.edit is None else self.edit

    @property
    def is_replaced(self) -> bool:
        """Whether a person's edit stands in the place of the exception that ended the event."""
        holds = self.answer in (None, AnswerKind.RESUME)
        return self.failure is not None and self.edit is not None and holds


class FileBody(Struct, frozen=True, kw_only=True):
    """The contents of a changed text file."""

    diff: str = ""
    content: str = ""
    previous_content: str = ""


class FileChange(Struct, frozen=True, kw_only=True):
    """One file of a commit."""

    path: str
    kind: ChangeKind
    previous_path: str | None = None  # of a renamed file
    added: int = 0  # lines
    removed: int = 0  # lines
    binary: bool = False
    size: int | None = None  # bytes, of files whose contents don't travel
    digest: str | None = None  # of such files
    body: FileBody | None = None  # None: binary or too large


class Commit(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"has_rule_title": "ruled", "model_summary": "sentence"},
):
    """A snapshot or commit of an agent's workspace, with the files that changed."""

    id: str  # git's hash
    run: str = ""
    at: float  # POSIX seconds
    title: str
    description: str = ""
    event: str | None = None  # the event that made it
    seq: int = 0  # the number of the run's last row before it
    snapshot: bool = False  # made at a tool's end by the SDK, where the agent asked for no commit
    has_rule_title: bool = False  # its title was made by rule
    model_summary: str | None = None  # what a model made of it in one sentence
    changes: tuple[FileChange, ...] = ()


class TimelineRow(Struct, frozen=True, kw_only=True, rename=BREAKPOINT_WIRE_NAMES):
    """One line of the timeline: a halt point or a debug message, without its contents."""

    id: str  # of the halt point, or of the debug message's event
    seq: int
    event: str
    kind: EventKind
    side: EventSide | None  # None for a debug message
    source: Actor
    target: Actor
    summary: str
    at: float
    size: int  # of the contents, in bytes
    name: str | None = None
    depth: int = 0
    scope: ScopePath | UnsetType = UNSET
    label: AgentLabel | UnsetType = UNSET
    location: SourceLocation | UnsetType = UNSET
    pending: bool = False
    revision: int = 1
    edited: bool = False
    answer: AnswerKind | None = None
    outcome: EventOutcome | None = None
    failure: Failure | None = None
    usage: Usage | None = None
    duration: float | None = None
    breakpoints: tuple[str, ...] = ()
    breakpoint_error: str | None = None
    approval: bool = False  # whether it asks, or asked, for an approval
    replay: ReplayMark | UnsetType = UNSET
    reason: str | None = None  # why it was denied, in one line
    effects: EffectReport | UnsetType = UNSET  # on a tool's end: what effect checks say of it
    said: str | UnsetType = UNSET  # at a query's end: one line of what stood beside the calls
    guided: bool | UnsetType = UNSET  # whether a person added messages to the prompt
    edit_rules: tuple[str, ...] | UnsetType = UNSET  # as `HaltPoint.edit_rules`


class RowNote(Struct, frozen=True, kw_only=True):
    """A person's note on a row."""

    run: str
    message: str  # the row's id
    text: str  # "" where it was taken back
    at: float  # POSIX seconds, the Core's clock
