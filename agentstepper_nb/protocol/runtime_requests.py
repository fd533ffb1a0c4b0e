"""What the runtime's clients and workers ask the Core's service `runtime`, and what it tells them.

It travels on the line of `protocol.worker`: requests both ways, streams with credit. A line has a right:
to watch, to control, or to work. Names of methods are those of `store.runtime.base` where they are a
store's, else of the classes here.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from .field_types import Count, Id, Time
from .routes import SessionRoute, WorkerOffer
from .runtime import (
    Action,
    ActionKind,
    AgentLimits,
    AgentState,
    AgentStep,
    Conversation,
    ConversationMessage,
    CronExpression,
    Delivery,
    Hearing,
    Json,
    Labels,
    NonEmptyName,
    Participant,
    ParticipantKind,
    ParticipantRole,
    Period,
    Text,
    Title,
    Urgency,
)
from .runtime_store_messages import RuntimeStoreInfo

#: The service's name, in the Core and of the workers that have a dispatcher.
SERVICE: Final = "runtime"
#: The service of a worker that projects the store.
PROJECTION_SERVICE: Final = "projection"


class CreateAgentPayload(Struct, frozen=True, kw_only=True):
    """The payload of `agent_create`."""

    moniker: NonEmptyName
    moniker_version: NonEmptyName | None = None  # that its worker has to have; None: any
    requires: Labels = ()  # labels that its worker has to have
    config: Json = None
    conversation_id: Id | None = None
    delivery: Delivery = Delivery.PUSH
    hears: Hearing = Hearing.USERS
    limits: AgentLimits = AgentLimits()
    step: bool = False  # whether its run begins stepping


class InterruptPayload(Struct, frozen=True, kw_only=True):
    """The payload of `agent_interrupt`: takes the place of what the next frame was to be told."""

    guidance: Annotated[str, Meta(min_length=1, max_length=100_000)]


class InputPayload(Struct, frozen=True, kw_only=True):
    """The payload of `agent_input`: told to the next frame after what it is told already."""

    text: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    message_id: Id | None = None  # where it was said in a conversation


class DestroyPayload(Struct, frozen=True, kw_only=True):
    """The payload of `agent_destroy`."""

    timeout_s: Annotated[float, Meta(ge=0, le=3600)] = 10.0  # until it is cancelled


class NewAction(Struct, frozen=True, kw_only=True):
    """`POST actions`, and `act`: by `session_id`, or by `agent_id`, which means its latest session.

    `agent_create` needs `agent_id`; a `session_id` of the client's makes it idempotent.

    `not_before` delays it; `every` or `cron` makes it periodic: the first occurrence is at `not_before`,
    or at once with `every`, and each further one is enqueued where the one before ends. A periodic
    `agent_create` makes a session each time. Times are UTC.
    """

    kind: ActionKind
    agent_id: NonEmptyName | None = None
    session_id: Id | None = None
    urgency: Urgency = 0
    payload: Json = None
    metadata: Json = None
    idem_key: Id | None = None
    not_before: Time | None = None
    every: Period | None = None
    cron: CronExpression | None = None


class ActionEnqueued(Struct, frozen=True, kw_only=True, rename={"is_new": "fresh"}):
    """The action that was enqueued; `is_new` is false where it was one that had been."""

    action: Action
    session_id: Id
    is_new: bool


class RetryAgentSession(Struct, frozen=True, kw_only=True):
    """`POST agent-state/ID/retry`, and `retry`: a session that ended as an error goes on."""

    session_id: Id


class RetryFailedAction(Struct, frozen=True, kw_only=True):
    """`POST actions/ID/retry`, and `retry_action`: what an action asked for is asked for again."""

    id: Id


class NewConversation(Struct, frozen=True, kw_only=True):
    """`POST conversations`, and `create_conversation`."""

    title: Title = ""
    created_by: NonEmptyName = "user"
    tags: Annotated[tuple[NonEmptyName, ...], Meta(max_length=100)] = ()
    conversation_id: Id | None = None  # the client's makes it idempotent


class SetConversation(Struct, frozen=True, kw_only=True):
    """`PATCH conversations/ID`, and `set_conversation`: closes it, say."""

    conversation_id: Id
    status: Literal["open", "closed"] | None = None
    title: Title | None = None
    tags: Annotated[tuple[NonEmptyName, ...], Meta(max_length=100)] | None = None


class NewParticipant(Struct, frozen=True, kw_only=True):
    """`POST conversations/ID/participants`, and `join`."""

    conversation_id: Id = "-"  # in the path, over HTTP
    kind: ParticipantKind
    user_id: NonEmptyName | None = None
    agent_id: NonEmptyName | None = None
    session_id: Id | None = None
    role: ParticipantRole = ParticipantRole.MEMBER
    delivery: Delivery = Delivery.PUSH
    hears: Hearing = Hearing.USERS


class LeaveConversation(Struct, frozen=True, kw_only=True):
    """`DELETE conversations/ID/participants/PID`, and `leave`: they stay listed, with when they left."""

    conversation_id: Id
    participant_id: Id


class NewMessage(Struct, frozen=True, kw_only=True):
    """`POST conversations/ID/messages`, and `say`: a user posts."""

    conversation_id: Id = "-"  # in the path, over HTTP
    user_id: NonEmptyName = "user"
    text: Text = ""
    data: Json = None
    idem_key: Id | None = None  # of two posts to a conversation with the same one, the first counts


class AdvanceCursor(Struct, frozen=True, kw_only=True):
    """`read_on`: what a session that pulls hasn't read; it has, then."""

    session_id: Id
    conversation_id: Id
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class GetRuntimeStatus(Struct, frozen=True, kw_only=True):
    """`status`: how it stands with all of them."""


class WaitingSessions(Struct, frozen=True, kw_only=True):
    """Sessions that need the same, and wait because no worker that is connected has it."""

    route: SessionRoute
    sessions: Count
    reason: str  # what no worker has, for a person


class RuntimeStatus(Struct, frozen=True, kw_only=True):
    """The runtime's store, its number of dispatchers, and the sessions that no worker can run."""

    dispatchers: Count
    store: RuntimeStoreInfo | None = None  # None: of an earlier version, whose worker had the rows
    waiting: tuple[WaitingSessions, ...] = ()


# ---- search -----------------------------------------------------------------------------------------


class AgentSearch(Struct, frozen=True, kw_only=True):
    """`GET agent-search`, and `search`: steps and messages by their texts, where a projection runs."""

    text: Annotated[str, Meta(min_length=1, max_length=10_000)]
    session_id: Id | None = None
    agent_id: NonEmptyName | None = None
    conversation_id: Id | None = None  # messages alone
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


class AgentSearchHit(Struct, frozen=True, kw_only=True):
    """A step or a message that was found."""

    score: float  # higher is better; of use within one answer
    step: AgentStep | None = None
    message: ConversationMessage | None = None


class AgentSearchResult(Struct, frozen=True, kw_only=True):
    """The hits of a search, the best first."""

    hits: tuple[AgentSearchHit, ...]


class TakeModelCredit(Struct, frozen=True, kw_only=True):
    """`take_model_credit`: a worker asks whether it may call a model, where that has a limit."""

    model: Annotated[str, Meta(max_length=1000)]
    wanted: Annotated[int, Meta(ge=0, le=1000)] = 1  # calls that wait; 0 only says what was used
    settled: Count = 0  # calls that ended since the worker asked last
    used_tokens: Count = 0  # what these took, prompts and answers together


class ModelCredit(Struct, frozen=True, kw_only=True):
    """The number of calls that the worker may make now; with 0 the worker asks again after a wait."""

    is_limited: bool = False
    calls: Count = 0
    wait_s: float = 0.0


# ---- streams ----------------------------------------------------------------------------------------

#: `session:ID`, `conversation:ID`; `sessions` and `conversations` tell of all of them.
Topic = Annotated[str, Meta(min_length=1, max_length=300)]


class WatchTopic(Struct, frozen=True, kw_only=True):
    """`watch` a topic: a stream of `TopicEvent`, whose first is a `begin`."""

    topic: Topic


class TopicEvent(Struct, frozen=True, kw_only=True):
    """Something that happened, with a number that grows by one in its topic.

    `begin` comes first, and again where the reader fell behind: it has the last known rows and the
    number of the last notice before it. What is in between can be asked for: `steps` after an iteration,
    `messages` after a message. What happened while the rows were read may be told after them again.

    `sessions` and `conversations` begin with the newest rows; `sessions` has states without their
    `state` and `context`.
    """

    topic: Topic
    n: Count
    event: Literal["begin", "state", "step", "action", "message", "participant", "conversation"]
    states: tuple[AgentState, ...] = ()
    steps: tuple[AgentStep, ...] = ()
    actions: tuple[Action, ...] = ()
    messages: tuple[ConversationMessage, ...] = ()
    participants: tuple[Participant, ...] = ()
    conversations: tuple[Conversation, ...] = ()


class DispatcherWake(Struct, frozen=True, kw_only=True):
    """`wakes`: what a dispatcher is sent where something may be ready for it. A worker that reads this
    stream is one that dispatches: it says who it is by its `owner`.
    """

    n: Count


class SubscribeWakes(Struct, frozen=True, kw_only=True):
    """Asks for the stream of `DispatcherWake`."""

    owner: NonEmptyName
    offer: WorkerOffer | None = None  # what the worker takes; None: everything
