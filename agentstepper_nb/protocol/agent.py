"""Version 2 between an agent's SDK and the Core."""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType

from .frame import Table
from .values import (
    Commit,
    Count,
    Ending,
    EventKind,
    Failure,
    FileChange,
    Id,
    Name,
    Outcome,
    Row,
    Run,
    Side,
    Time,
    Usage,
)

# ---- agent to Core ---------------------------------------------------------------------------------


class Hello(Struct, frozen=True, kw_only=True):
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
    sent: Count = 0  # number of the last message sent before, on a reconnect
    received: Count = 0  # number of the last message received before, on a reconnect


class EventBegun(Struct, frozen=True, kw_only=True):
    """An event begins. A debug message is one that has `data` and no breakpoints."""

    id: Id
    kind: EventKind
    at: Time
    clock: float  # the agent's monotonic clock, seconds
    parent: Id | None = None
    name: Name | None = None  # the tool, the model, or a custom event's type
    data: Raw | UnsetType = UNSET


class BreakpointReached(Struct, frozen=True, kw_only=True):
    """The begin or end of an event was reached."""

    id: Id
    event: Id
    side: Side
    waits: bool  # whether the agent waits for an answer
    at: Time
    clock: float  # the agent's monotonic clock, seconds
    data: Raw
    summary: str | None = None
    outcome: Outcome | None = None  # on the end: how the event ended
    failure: Failure | None = None
    usage: Usage | None = None


class Withdraw(Struct, frozen=True, kw_only=True):
    """A breakpoint no longer waits: an interrupt, a cancelled task."""

    breakpoint: Id


class CommitMade(Struct, frozen=True, kw_only=True):
    """A commit of the workspace."""

    id: Id
    at: Time
    title: str
    description: str = ""
    event: Id | None = None
    snapshot: bool = False  # made at a tool's end, where the agent asked for no commit
    changes: tuple[FileChange, ...] = ()


class GetTimeline(Struct, frozen=True, kw_only=True):
    """Answered by `Timeline`: an agent may read its own run, to keep it with its notebook."""


class Bye(Struct, frozen=True, kw_only=True):
    """The run ends, and how."""

    ending: Ending
    failure: Failure | None = None


AgentMessage = Hello | EventBegun | BreakpointReached | Withdraw | CommitMade | GetTimeline | Bye
from_agent = Table(
    hello=Hello,
    event=EventBegun,
    breakpoint=BreakpointReached,
    withdraw=Withdraw,
    commit=CommitMade,
    get_timeline=GetTimeline,
    bye=Bye,
)

# ---- Core to agent ---------------------------------------------------------------------------------


class Welcome(Struct, frozen=True, kw_only=True):
    """Answers hello."""

    version: int
    core: str  # the Core's name and version
    run: str


class Resume(Struct, frozen=True, kw_only=True, tag="resume", tag_field="kind"):
    """Go on, with `data` where it was edited; an edit to null is told apart from none."""

    data: Raw | UnsetType = UNSET


class Skip(Struct, frozen=True, kw_only=True, tag="skip", tag_field="kind"):
    """Don't make the call; take this as its result."""

    result: Raw


class Deny(Struct, frozen=True, kw_only=True, tag="deny", tag_field="kind"):
    """Don't make the call; tell the agent why."""

    reason: str


class Raise(Struct, frozen=True, kw_only=True, tag="raise", tag_field="kind"):
    """Let the call fail with this message."""

    message: str


class Stop(Struct, frozen=True, kw_only=True, tag="stop", tag_field="kind"):
    """End the agent."""


Answer = Resume | Skip | Deny | Raise | Stop


class Answered(Struct, frozen=True, kw_only=True):
    """A breakpoint that waited is answered."""

    breakpoint: str
    answer: Answer


class Timeline(Struct, frozen=True, kw_only=True):
    """Answers `GetTimeline`, under its id: the run as a view shows it, without contents."""

    run: Run
    rows: tuple[Row, ...]  # by seq; of a long run its first and its last, `run.rows` counts all
    commits: tuple[Commit, ...]  # likewise; changes without contents


class AgentError(Struct, frozen=True, kw_only=True):
    """A message of this agent was refused; the run goes on."""

    code: str
    message: str
    n: int | None = None  # the number of the refused message, where it could be read


CoreToAgent = Welcome | Answered | Timeline | AgentError
to_agent = Table(welcome=Welcome, answer=Answered, timeline=Timeline, error=AgentError)
