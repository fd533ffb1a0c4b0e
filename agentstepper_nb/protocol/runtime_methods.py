"""The one table of the runtime's methods: request, result, and the right that a method takes.

Clients, workers, the Core's service `runtime` and the way to a store elsewhere are made from it. A
stream's result is the class of its items.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from .fleet import ContinueRuns, FleetQuery, FleetReport, FleetSummary, HaltRuns, RunsChanged
from .routes import LoadQuery, RouteLoads
from .runtime import AgentState, Conversation, ConversationCursor, ConversationMessage, Participant
from .runtime_requests import (
    ActionEnqueued,
    AdvanceCursor,
    AgentSearch,
    AgentSearchResult,
    DispatcherWake,
    GetRuntimeStatus,
    LeaveConversation,
    ModelCredit,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    RetryAgentSession,
    RetryFailedAction,
    RuntimeStatus,
    SetConversation,
    SubscribeWakes,
    TakeModelCredit,
    TopicEvent,
    WatchTopic,
)
from .runtime_store_messages import (
    ActionList,
    ActionQuery,
    AdoptedSessions,
    AdoptSessions,
    AgentSessionCreated,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ChangedRows,
    ChangeQuery,
    ClaimAction,
    ClaimedAction,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CreateAgentSession,
    CursorQuery,
    CursorResult,
    DiscardAction,
    EndParticipation,
    EnqueueActions,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    PostMessage,
    PrunedRows,
    PruneRows,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    RetryAction,
    RetrySession,
    RuntimeStoreInfo,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
    StepQuery,
)

Request = TypeVar("Request", bound=Struct)
Params = TypeVar("Params", bound=Struct | None)
Result = TypeVar("Result")


class MethodRight(IntEnum):
    """The right of a connection; each right includes the rights before it."""

    WATCH = 1
    CONTROL = 2
    WORK = 3


@dataclass(frozen=True)
class RuntimeMethod(Generic[Params, Result]):
    """A method of the service `runtime`, of the runtime's store, or of both.

    Args:
        name: Its name on the wire, and of the method of `hub.runtime.Runtime` and of
            `store.runtime.RuntimeStore` that answers it.
        request: The class of its parameters; NoneType: it takes none.
        result: The class of its result, or of a stream's items; NoneType: it gives none.
        right: The right that a connection needs to call it.
    """

    name: str
    request: type[Params]
    result: type[Result]
    right: MethodRight

    @property
    def writes(self) -> bool:
        """Whether the method changes anything."""
        return self.right > MethodRight.WATCH


ACTIONS: Final = RuntimeMethod("actions", ActionQuery, ActionList, MethodRight.WATCH)
STATES: Final = RuntimeMethod("states", StateQuery, AgentStateList, MethodRight.WATCH)
STEPS: Final = RuntimeMethod("steps", StepQuery, AgentStepList, MethodRight.WATCH)
SESSIONS: Final = RuntimeMethod("sessions", AgentSessionQuery, AgentSessionList, MethodRight.WATCH)
CONVERSATIONS: Final = RuntimeMethod(
    "conversations", ConversationQuery, ConversationList, MethodRight.WATCH
)
PARTICIPANTS: Final = RuntimeMethod(
    "participants", ParticipantQuery, ParticipantList, MethodRight.WATCH
)
MESSAGES: Final = RuntimeMethod(
    "messages", MessageQuery, ConversationMessageList, MethodRight.WATCH
)
CURSOR: Final = RuntimeMethod("cursor", CursorQuery, CursorResult, MethodRight.WATCH)
CHANGES: Final = RuntimeMethod("changes", ChangeQuery, ChangedRows, MethodRight.WATCH)
SEARCH: Final = RuntimeMethod("search", AgentSearch, AgentSearchResult, MethodRight.WATCH)
STATUS: Final = RuntimeMethod("status", GetRuntimeStatus, RuntimeStatus, MethodRight.WATCH)
FLEET: Final = RuntimeMethod("fleet", FleetQuery, FleetSummary, MethodRight.WATCH)
ENQUEUE_ACTION: Final = RuntimeMethod("act", NewAction, ActionEnqueued, MethodRight.CONTROL)
CREATE_CONVERSATION: Final = RuntimeMethod(
    "create_conversation", NewConversation, Conversation, MethodRight.CONTROL
)
SET_CONVERSATION: Final = RuntimeMethod(
    "set_conversation", SetConversation, Conversation, MethodRight.CONTROL
)
JOIN: Final = RuntimeMethod("join", NewParticipant, Participant, MethodRight.CONTROL)
LEAVE: Final = RuntimeMethod("leave", LeaveConversation, Participant, MethodRight.CONTROL)
POST_MESSAGE: Final = RuntimeMethod("say", NewMessage, ConversationMessage, MethodRight.CONTROL)
READ_NEXT_MESSAGES: Final = RuntimeMethod(
    "read_on", AdvanceCursor, ConversationMessageList, MethodRight.CONTROL
)
ADVANCE: Final = RuntimeMethod(
    "advance", ConversationCursor, ConversationCursor, MethodRight.CONTROL
)
RETRY: Final = RuntimeMethod("retry", RetryAgentSession, AgentState, MethodRight.CONTROL)
RETRY_ACTION: Final = RuntimeMethod(
    "retry_action", RetryFailedAction, ActionList, MethodRight.CONTROL
)
DISCARD_ACTION: Final = RuntimeMethod(
    "discard_action", DiscardAction, ActionList, MethodRight.CONTROL
)
HALT_RUNS: Final = RuntimeMethod("halt_runs", HaltRuns, RunsChanged, MethodRight.CONTROL)
CONTINUE_RUNS: Final = RuntimeMethod(
    "continue_runs", ContinueRuns, RunsChanged, MethodRight.CONTROL
)
CLAIM: Final = RuntimeMethod("claim", ClaimAction, ClaimedAction, MethodRight.WORK)
RENEW: Final = RuntimeMethod("renew", RenewLeases, RenewedLeases, MethodRight.WORK)
ADOPT: Final = RuntimeMethod("adopt", AdoptSessions, AdoptedSessions, MethodRight.WORK)
RELEASE: Final = RuntimeMethod("release", ReleaseLeases, type(None), MethodRight.WORK)
WRITE: Final = RuntimeMethod("write", SessionWrite, SessionWriteResult, MethodRight.WORK)
TAKE_MODEL_CREDIT: Final = RuntimeMethod(
    "take_model_credit", TakeModelCredit, ModelCredit, MethodRight.WORK
)

WATCH: Final = RuntimeMethod("watch", WatchTopic, TopicEvent, MethodRight.WATCH)
WATCH_WAKES: Final = RuntimeMethod("wakes", SubscribeWakes, DispatcherWake, MethodRight.WORK)

# Of the store alone: the Core asks them.
CREATE: Final = RuntimeMethod("create", CreateAgentSession, AgentSessionCreated, MethodRight.WORK)
ENQUEUE: Final = RuntimeMethod("enqueue", EnqueueActions, ActionList, MethodRight.WORK)
SAVE_CONVERSATION: Final = RuntimeMethod(
    "save_conversation", Conversation, Conversation, MethodRight.WORK
)
ADD_PARTICIPANT: Final = RuntimeMethod("join", Participant, Participant, MethodRight.WORK)
END_PARTICIPANT: Final = RuntimeMethod("leave", EndParticipation, Participant, MethodRight.WORK)
POST: Final = RuntimeMethod("post", PostMessage, SessionWriteResult, MethodRight.WORK)
STORE_RETRY: Final = RuntimeMethod("retry", RetrySession, AgentState, MethodRight.WORK)
STORE_RETRY_ACTION: Final = RuntimeMethod("retry_action", RetryAction, ActionList, MethodRight.WORK)
LOADS: Final = RuntimeMethod("loads", LoadQuery, RouteLoads, MethodRight.WATCH)
STORE_FLEET: Final = RuntimeMethod("fleet", FleetQuery, FleetReport, MethodRight.WATCH)
PRUNE: Final = RuntimeMethod("prune", PruneRows, PrunedRows, MethodRight.WORK)
INFO: Final = RuntimeMethod("info", type(None), RuntimeStoreInfo, MethodRight.WATCH)


def _by_name(*methods: RuntimeMethod[Any, Any]) -> dict[str, RuntimeMethod[Any, Any]]:
    return {method.name: method for method in methods}


#: The methods that are answered once, by name.
CALLS: Final = _by_name(
    ACTIONS,
    STATES,
    STEPS,
    SESSIONS,
    CONVERSATIONS,
    PARTICIPANTS,
    MESSAGES,
    CURSOR,
    CHANGES,
    SEARCH,
    STATUS,
    FLEET,
    HALT_RUNS,
    CONTINUE_RUNS,
    ENQUEUE_ACTION,
    RETRY,
    RETRY_ACTION,
    DISCARD_ACTION,
    CREATE_CONVERSATION,
    SET_CONVERSATION,
    JOIN,
    LEAVE,
    POST_MESSAGE,
    READ_NEXT_MESSAGES,
    ADVANCE,
    CLAIM,
    RENEW,
    ADOPT,
    RELEASE,
    WRITE,
    TAKE_MODEL_CREDIT,
)
#: The methods of the runtime's store, by name.
STORE_CALLS: Final = _by_name(
    CREATE,
    ENQUEUE,
    STORE_RETRY,
    STORE_RETRY_ACTION,
    DISCARD_ACTION,
    CLAIM,
    RENEW,
    ADOPT,
    RELEASE,
    WRITE,
    SAVE_CONVERSATION,
    ADD_PARTICIPANT,
    END_PARTICIPANT,
    POST,
    ADVANCE,
    ACTIONS,
    STATES,
    STEPS,
    SESSIONS,
    CONVERSATIONS,
    PARTICIPANTS,
    MESSAGES,
    CURSOR,
    CHANGES,
    LOADS,
    STORE_FLEET,
    PRUNE,
    INFO,
)
#: The methods that are answered by a stream, by name.
STREAMS: Final = _by_name(WATCH, WATCH_WAKES)
