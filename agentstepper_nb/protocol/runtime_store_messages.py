"""Requests and answers of the runtime's store: each method takes and returns one message."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from .field_types import Count, Id, Time
from .routes import RouteCount, WorkerOffer
from .runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentSessionInfo,
    AgentState,
    AgentStep,
    Conversation,
    ConversationCursor,
    ConversationMessage,
    ConversationStatus,
    NonEmptyName,
    Participant,
    SessionStatus,
)

#: Rows that a list gives at most.
Limit = Annotated[int, Meta(ge=1, le=1000)]
MAX_LIMIT: Final = 1000
DEFAULT_LIMIT: Final = 100


class CreateAgentSession(Struct, frozen=True, kw_only=True):
    """`create` a session: its snapshot, its first action, its place in a conversation."""

    state: AgentState
    action: Action
    participant: Participant | None = None
    message: ConversationMessage | None = None  # that it joined


class AgentSessionCreated(Struct, frozen=True, kw_only=True, rename={"is_new": "fresh"}):
    """The session; where there was one of this id, that one, and nothing was written."""

    state: AgentState
    action: Action  # the one that creates it
    is_new: bool


class EnqueueActions(Struct, frozen=True, kw_only=True):
    """`enqueue` actions for sessions that exist."""

    actions: tuple[Action, ...]


class ActionList(Struct, frozen=True, kw_only=True):
    """Actions, in the order asked for."""

    actions: tuple[Action, ...]
    more: bool = False  # whether there are more: beyond the limit, or than a message holds


class ClaimAction(Struct, frozen=True, kw_only=True):
    """`claim` the next action: one of this owner's that it doesn't hold, else the next that is ready."""

    owner: NonEmptyName
    now: Time
    lease_until: Time
    held: tuple[Id, ...] = ()  # what the owner is at: an answer that got lost is given again
    offer: WorkerOffer | None = None  # what the owner takes; None: everything
    halted_runs: tuple[Id, ...] = ()  # runs that a person halted: the Core fills this in
    present_owners: tuple[NonEmptyName, ...] = ()  # workers that are connected: likewise


class ClaimedAction(Struct, frozen=True, kw_only=True):
    """The action and its session, which is the owner's from now on; None where nothing is ready."""

    action: Action | None = None
    state: AgentState | None = None


class RenewLeases(Struct, frozen=True, kw_only=True):
    """`renew` the leases of what an owner has. A session that it was given, and whose answer got lost,
    it doesn't name: that one's lease ends, and it can be adopted.
    """

    owner: NonEmptyName
    now: Time
    lease_until: Time
    sessions: tuple[Id, ...] | None = None  # those that live there; None: all that it was given


class LeasedSession(Struct, frozen=True, kw_only=True):
    """A session that an owner has."""

    session_id: Id
    epoch: Count


class RenewedLeases(Struct, frozen=True, kw_only=True):
    """Sessions and actions whose leases the owner still has; the owner drops all others."""

    sessions: tuple[LeasedSession, ...]
    actions: tuple[Id, ...]
    hand_over: tuple[RouteCount, ...] = ()  # what it has above its share: the Core fills this in


class AdoptSessions(Struct, frozen=True, kw_only=True):
    """`adopt` sessions that are live, were begun, and have no owner any more."""

    owner: NonEmptyName
    now: Time
    lease_until: Time
    limit: Limit = DEFAULT_LIMIT
    offer: WorkerOffer | None = None  # what the owner takes; None: everything
    # Only those whose lease was over by then. The Core fills this in for a worker that has its share.
    over_by: Time | None = None
    halted_runs: tuple[Id, ...] = ()  # runs that a person halted: the Core fills this in
    present_owners: tuple[NonEmptyName, ...] = ()  # workers that are connected: likewise


class AdoptedSessions(Struct, frozen=True, kw_only=True):
    """Snapshots of the sessions that were taken, and of those that ended instead: see `adopt`."""

    states: tuple[AgentState, ...]
    ended: tuple[AgentState, ...] = ()


class AgentStateList(Struct, frozen=True, kw_only=True):
    """Snapshots."""

    states: tuple[AgentState, ...]
    more: bool = False


class ReleaseLeases(Struct, frozen=True, kw_only=True):
    """`release` an owner's leases: none lasts longer than `until`."""

    owner: NonEmptyName
    until: Time
    ending: str | None = None  # how the owner ended, where that is known
    is_handover: bool = False  # the owner broke off its steps itself: they count as never begun
    sessions: tuple[Id, ...] | None = None  # only those, and their actions; None: all


class RetrySession(Struct, frozen=True, kw_only=True):
    """`retry` a session that ended as an error: it goes on with the step that failed."""

    session_id: Id
    now: Time


class RetryAction(Struct, frozen=True, kw_only=True):
    """`retry_action`: enqueue a failed action's payload again, for the same session."""

    id: Id  # the failed one's
    new_id: Id
    now: Time


class DiscardAction(Struct, frozen=True, kw_only=True):
    """`discard_action`: a failed action is no dead letter any more; a delayed one is cancelled, and a
    periodic one, named by any of its occurrences, comes no more.
    """

    id: Id
    now: Time | None = None  # the Core fills this in


class ActionCompletion(Struct, frozen=True, kw_only=True):
    """An action is over."""

    id: Id
    owner: NonEmptyName
    status: ActionStatus  # done or failed
    error: str | None = None
    processed_at: Time


class SessionWrite(Struct, frozen=True, kw_only=True):
    """`write` what became of a session: all of it or nothing, and nothing of an older epoch's.

    Writing the same again changes nothing, so that who lost the answer writes again.
    """

    session_id: Id
    epoch: Count
    owner: NonEmptyName
    state: AgentState | None = None  # without `owner` and `lease_until`, which stay
    steps: tuple[AgentStep, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    finished: tuple[ActionCompletion, ...] = ()
    actions: tuple[Action, ...] = ()  # for sessions that hear the messages: the Core fills this in
    now: Time | None = None  # the Core fills this in: from when periodic actions are due next
    cursors: tuple[ConversationCursor, ...] = ()  # how far its steps have read in conversations


class SessionWriteResult(Struct, frozen=True, kw_only=True):
    """The new rows of a `write`: a repeated `write` has none, so that none is announced twice."""

    state: AgentState | None = None
    steps: tuple[AgentStep, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    actions: tuple[Action, ...] = ()  # those that ended, and the next occurrences of periodic ones
    created: tuple[CreateAgentSession, ...] = ()  # sessions of periodic creations


class ActionQuery(Struct, frozen=True, kw_only=True):
    """`actions`, the oldest first."""

    id: Id | None = None
    idem_key: Id | None = None
    session_id: Id | None = None
    agent_id: NonEmptyName | None = None
    kind: ActionKind | None = None
    status: ActionStatus | None = None
    limit: Limit = DEFAULT_LIMIT
    offset: Count = 0
    series_id: Id | None = None


class StateQuery(Struct, frozen=True, kw_only=True):
    """`states`, the newest first."""

    session_id: Id | None = None
    agent_id: NonEmptyName | None = None
    status: tuple[SessionStatus, ...] = ()  # any of them; none: all
    limit: Limit = DEFAULT_LIMIT
    offset: Count = 0


class StepQuery(Struct, frozen=True, kw_only=True):
    """`steps`, by iteration and seq; of several sessions, one session after the other by their ids."""

    session_id: Id | None = None
    agent_id: NonEmptyName | None = None
    min_iteration: Count | None = None
    max_iteration: Count | None = None
    after_iteration: Count | None = None
    since: Time | None = None  # created at or after
    status: str | None = None
    latest: bool = False  # only the last of each session
    limit: Limit = DEFAULT_LIMIT
    offset: Count = 0


class AgentStepList(Struct, frozen=True, kw_only=True):
    """Steps."""

    steps: tuple[AgentStep, ...]
    more: bool = False


class AgentSessionQuery(Struct, frozen=True, kw_only=True):
    """`sessions` of an agent, the newest first."""

    agent_id: NonEmptyName
    limit: Limit = MAX_LIMIT


class AgentSessionList(Struct, frozen=True, kw_only=True):
    """Sessions of an agent."""

    sessions: tuple[AgentSessionInfo, ...]


class ConversationQuery(Struct, frozen=True, kw_only=True):
    """`conversations`, the newest first."""

    conversation_id: Id | None = None
    status: ConversationStatus | None = None
    tag: NonEmptyName | None = None
    limit: Limit = DEFAULT_LIMIT
    offset: Count = 0


class ConversationList(Struct, frozen=True, kw_only=True):
    """Conversations."""

    conversations: tuple[Conversation, ...]
    more: bool = False


class EndParticipation(Struct, frozen=True, kw_only=True):
    """`leave`: a participant leaves; one that has left stays so."""

    participant_id: Id
    at: Time


class ParticipantQuery(Struct, frozen=True, kw_only=True, rename={"is_present": "here"}):
    """`participants`, in the order in which they joined; of a conversation or, in the store, of all."""

    conversation_id: Id | None = None
    is_present: bool = False  # only those that haven't left
    session_id: Id | None = None


class ParticipantList(Struct, frozen=True, kw_only=True):
    """Participants."""

    participants: tuple[Participant, ...]


class PostMessage(Struct, frozen=True, kw_only=True):
    """`post` a message, and tell those it is for."""

    message: ConversationMessage
    actions: tuple[Action, ...] = ()


class MessageQuery(Struct, frozen=True, kw_only=True):
    """`messages`, the oldest first; with `last`, the last `limit` of them."""

    conversation_id: Id
    message_id: Id | None = None
    after: Id | None = None  # those after this message
    last: bool = False
    limit: Limit = DEFAULT_LIMIT


class ConversationMessageList(Struct, frozen=True, kw_only=True):
    """Messages."""

    messages: tuple[ConversationMessage, ...]
    more: bool = False


class CursorQuery(Struct, frozen=True, kw_only=True):
    """`cursor`: how far a session has read."""

    session_id: Id
    conversation_id: Id


class CursorResult(Struct, frozen=True, kw_only=True):
    """The answer to `CursorQuery`; None: the session has read nothing yet."""

    cursor: ConversationCursor | None


class ChangeQuery(Struct, frozen=True, kw_only=True):
    """`changes`: rows that changed after a number, each as it stands now."""

    after: Count = 0
    limit: Limit = MAX_LIMIT


class ChangedRows(Struct, frozen=True, kw_only=True):
    """Rows that changed, in no order among them; a row that changed twice is there once."""

    last: Count  # where the next query goes on
    states: tuple[AgentState, ...] = ()
    steps: tuple[AgentStep, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    participants: tuple[Participant, ...] = ()
    conversations: tuple[Conversation, ...] = ()


class PruneRows(Struct, frozen=True, kw_only=True):
    """`prune` sessions that have ended, and conversations that no session is left of."""

    before: Time | None = None  # those go that ended, or in which the last was said, earlier
    keep: Count | None = None  # of each, no more than so many stay, the newest
    limit: Annotated[int, Meta(ge=1, le=10_000)] = 500  # rows that are deleted at one go


class PrunedRows(Struct, frozen=True, kw_only=True):
    """The numbers of deleted rows."""

    sessions: Count = 0
    actions: Count = 0
    steps: Count = 0
    conversations: Count = 0
    messages: Count = 0
    has_more: bool = False  # whether the limit was reached, so that more may be left


class RuntimeStoreInfo(Struct, frozen=True, kw_only=True):
    """`info`: the place and the size of a store."""

    kind: str  # "sqlite", "memory"
    place: str
    live: Count  # sessions that need a worker
    open: Count  # actions that are queued or claimed
    size: Count | None = None  # bytes
    delayed: Count = 0  # of the open actions, those whose time hasn't come
    next_due: Time | None = None  # when the first of them is due
    waits_since: Time | None = None  # since when the oldest waits that is due and not claimed
    waiting: Count = 0  # sessions whose creation is one of them: they need no worker yet
