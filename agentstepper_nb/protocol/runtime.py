"""The runtime's words: actions, sessions, steps and conversations, as they are kept and as they travel.

Fields and their words are those of the guide to queue-driven agents. A field that holds JSON holds it as
a value. Times are the Core's.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from .field_types import Count, Id, Time

#: A JSON value.
Json = Any
#: The name of an agent, moniker or participant, as a person or a program gives it.
NonEmptyName = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(max_length=1_000_000)]
Title = Annotated[str, Meta(max_length=1000)]
Urgency = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
Seconds = Annotated[float, Meta(ge=0, le=10 * 366 * 86_400)]
#: A label that a worker has and a session can require: "gpu", "region=eu".
Label = Annotated[str, Meta(min_length=1, max_length=200)]
Labels = Annotated[tuple[Label, ...], Meta(max_length=100)]
#: Seconds between two occurrences of a periodic action.
Period = Annotated[float, Meta(ge=1, le=10 * 366 * 86_400)]
#: Times of a periodic action as cron writes them: five fields, or six with seconds last. In UTC.
CronExpression = Annotated[str, Meta(min_length=1, max_length=200)]


# ---- actions ----------------------------------------------------------------------------------------


class ActionKind(StrEnum):
    """The kind of an action."""

    CREATE = "agent_create"
    PAUSE = "agent_pause"
    RESUME = "agent_resume"
    INTERRUPT = "agent_interrupt"
    INPUT = "agent_input"
    DESTROY = "agent_destroy"


#: Kinds whose actions overtake the session's others once the session is created. An interrupt doesn't
#: overtake: it replaces the inputs queued before it, and later inputs follow it.
CONTROL_ACTIONS: Final = frozenset({ActionKind.PAUSE, ActionKind.RESUME, ActionKind.DESTROY})


class ActionStatus(StrEnum):
    """The state of an action. A failed action is a dead letter until a person retries or discards it."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    DONE = "done"
    FAILED = "failed"
    RETRIED = "retried"  # it failed, and another took its place: the one whose `retry_of` names it
    # It failed, and a person wants no other; or it was delayed or periodic, and was cancelled.
    DISCARDED = "discarded"


class Action(Struct, frozen=True, kw_only=True):
    """A row of the queue."""

    id: Id
    created_at: Time
    kind: ActionKind
    agent_id: NonEmptyName
    session_id: Id
    urgency: Urgency = 0  # higher first
    payload: Json = None
    metadata: Json = None
    status: ActionStatus = ActionStatus.QUEUED
    owner: str | None = None  # the dispatcher that claimed it
    lease_until: Time | None = None
    attempts: Count = 0
    idem_key: Id | None = None  # of two actions with the same one, the first counts
    error: str | None = None
    processed_at: Time | None = None
    retry_of: Id | None = None  # the failed action that it repeats
    not_before: Time | None = None  # no dispatcher claims it earlier
    every: Period | None = None  # when it ends, it is enqueued again for this much later
    cron: CronExpression | None = None  # the same, for the next time that this names
    series_id: Id | None = None  # the first of the periodic actions that it is one of


# ---- sessions ---------------------------------------------------------------------------------------


class SessionStatus(StrEnum):
    """The status of a session."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    STOPPED = "stopped"
    DONE = "done"
    ERROR = "error"


#: Sessions that a worker has to have: those that lost theirs come back in another.
LIVE_STATUSES: Final = frozenset(
    {
        SessionStatus.CREATED,
        SessionStatus.RUNNING,
        SessionStatus.PAUSED,
        SessionStatus.STOPPING,
    }
)


class AgentLimits(Struct, frozen=True, kw_only=True):
    """The limits that end a session, and the number of tries of a step."""

    stop_on_done: bool | None = None  # None: as its moniker declares
    max_steps: Annotated[int, Meta(ge=1)] | None = None
    max_runtime_s: Annotated[float, Meta(gt=0, le=10 * 366 * 86_400)] | None = None
    retries: Annotated[int, Meta(ge=0, le=100)] = 0  # tries after the first, before a step is kept
    backoff_s: Seconds = 1.0  # before the first of them; each doubles it
    # How often a step is begun that ends its worker, before its session ends as an error.
    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    # A try of a step is cancelled after so long; the time for which a person halts it isn't counted.
    step_timeout_s: Annotated[float, Meta(gt=0, le=366 * 86_400)] | None = None


class StepLoss(Struct, frozen=True, kw_only=True):
    """A step was begun and never ended, because its worker did."""

    worker: str
    at: Time  # when the loss was found
    ending: str | None = None  # how the worker ended, where that is known
    is_shared: bool = (
        False  # whether other sessions' steps ran in the same process: one of them may be why
    )


class AgentState(Struct, frozen=True, kw_only=True):
    """The snapshot of a session, one row a (agent_id, session_id).

    `owner` and `lease_until` are the store's alone; all else is written by the owner, whose epoch is the
    row's.
    """

    agent_id: NonEmptyName
    session_id: Id
    status: SessionStatus = SessionStatus.CREATED
    iteration: Count = 0  # of the next step, from 0
    step_token: str | None = None  # of the last step
    next_step_token: str | None = None
    state: Json = None
    result: Json = None  # what the last step gave: `{"text", "data", "done"}`
    context: Json = None  # what the runner keeps for itself
    guidance: Json = None  # for exactly one frame: the next
    last_error: str | None = None
    moniker: NonEmptyName
    moniker_version: NonEmptyName | None = None  # that its worker has to have; None: any
    requires: Labels = ()  # labels that its worker has to have
    config: Json = None
    limits: AgentLimits = AgentLimits()
    conversation_id: Id | None = None
    run_id: Id | None = None  # its run in the debugger: the newest one
    step: bool = False  # whether its runs begin stepping
    ran_s: float = 0.0  # seconds that it has run, in all its activations
    epoch: Count = 0  # grows each time that somebody takes it over
    attempt: Count = 0  # which try of its next step is the next, from 0
    next_try_at: Time | None = None  # until when it waits; None: it doesn't
    losses: tuple[StepLoss, ...] = ()  # of its next step
    is_sharing: bool = False  # whether its steps share a process with those of other sessions
    is_pausing: bool = False  # it runs, and is `paused` once the step that is under way has ended
    owner: str | None = None  # the worker that has it
    lease_until: Time | None = None
    created_at: Time
    updated_at: Time


class AgentStep(Struct, frozen=True, kw_only=True):
    """One iteration of a session, or a part of it; append-only: a row per (session, iteration, seq)."""

    id: Id
    created_at: Time
    agent_id: NonEmptyName
    session_id: Id
    iteration: Count
    event_seq: Count = 0  # 0 is the iteration's own
    step_token: str
    next_step_token: str | None = None
    status: str  # the session's, after it; "error" where the step failed
    text: str | None = None
    data: Json = None
    state: Json = None
    guidance: Json = None  # what this frame was given
    notes: str | None = None
    latency_ms: float | None = None
    error: str | None = None


class AgentSessionInfo(Struct, frozen=True, kw_only=True):
    """A session of an agent: its snapshot or, where that is gone, what its steps tell."""

    agent_id: NonEmptyName
    session_id: Id
    status: str
    iteration: Count  # of the next step, as in a snapshot
    first_at: Time
    last_at: Time
    state: AgentState | None = None


# ---- conversations ----------------------------------------------------------------------------------


class ConversationStatus(StrEnum):
    """The status of a conversation: only an open conversation accepts posts."""

    OPEN = "open"
    CLOSED = "closed"


class Conversation(Struct, frozen=True, kw_only=True):
    """A thread that users and sessions share."""

    conversation_id: Id
    title: Title = ""
    created_by: NonEmptyName = "user"
    status: ConversationStatus = ConversationStatus.OPEN
    tags: tuple[NonEmptyName, ...] = ()
    created_at: Time


class ParticipantKind(StrEnum):
    """The kind of a conversation's participant."""

    USER = "user"
    SESSION = "session"


class ParticipantRole(StrEnum):
    """The role of a participant: observers never post."""

    OWNER = "owner"
    MEMBER = "member"
    OBSERVER = "observer"


class Delivery(StrEnum):
    """The way posts reach a session: an `agent_input` for each, or reads from the session's cursor."""

    PUSH = "push"
    PULL = "pull"


class Hearing(StrEnum):
    """The posts that a session receives: people's only, or the other sessions' too."""

    USERS = "users"
    ALL = "all"


class Participant(Struct, frozen=True, kw_only=True):
    """Somebody in a conversation."""

    participant_id: Id
    conversation_id: Id
    kind: ParticipantKind
    user_id: NonEmptyName | None = None
    agent_id: NonEmptyName | None = None
    session_id: Id | None = None
    role: ParticipantRole = ParticipantRole.MEMBER
    delivery: Delivery = Delivery.PUSH
    hears: Hearing = Hearing.USERS
    joined_at: Time
    left_at: Time | None = None


class SenderType(StrEnum):
    """The kind of a message's sender."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class ConversationMessage(Struct, frozen=True, kw_only=True):
    """A message of a conversation; append-only."""

    message_id: Id
    conversation_id: Id
    created_at: Time
    sender_type: SenderType
    user_id: NonEmptyName | None = None
    agent_id: NonEmptyName | None = None
    session_id: Id | None = None
    text: Text = ""
    data: Json = None
    status: str | None = None
    event_type: str | None = None  # "message" of people, "step" of agents, "joined", "left", …
    iteration: Count | None = None
    step_token: str | None = None
    next_step_token: str | None = None
    notes: str | None = None


class ConversationCursor(Struct, frozen=True, kw_only=True):
    """The last message of a conversation that a session has read."""

    session_id: Id
    conversation_id: Id
    last_message_id: Id
