"""The one table of the runtime's methods: request, result, and the right that a method takes.

Clients, workers, the Core's service `runtime` and the way to a store elsewhere are made from it. A
stream's result is the class of its items.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from .runtime import Conversation, ConversationMessage, Cursor, Participant
from .runtime_asks import (
    ActionQuery,
    Actions,
    Adopt,
    Claim,
    Claimed,
    ConversationQuery,
    Conversations,
    Create,
    Created,
    CursorAt,
    CursorQuery,
    Enqueue,
    Leave,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Post,
    Release,
    Renew,
    Renewed,
    RuntimeStoreInfo,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
    Write,
    Written,
)
from .runtime_wire import (
    Acted,
    AskStatus,
    LeaveConversation,
    NewAction,
    NewConversation,
    NewMessage,
    NewParticipant,
    Notice,
    ReadOn,
    RuntimeStatus,
    SetConversation,
    Wake,
    Wakes,
    WatchTopic,
)

Request = TypeVar("Request", bound=Struct)
Params = TypeVar("Params", bound=Struct | None)
Result = TypeVar("Result")


class Right(IntEnum):
    """What a connection may do; each may do what those before it may."""

    WATCH = 1
    CONTROL = 2
    WORK = 3


@dataclass(frozen=True)
class Method(Generic[Params, Result]):
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
    right: Right

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        return self.right > Right.WATCH


ACTIONS: Final = Method("actions", ActionQuery, Actions, Right.WATCH)
STATES: Final = Method("states", StateQuery, States, Right.WATCH)
STEPS: Final = Method("steps", StepQuery, Steps, Right.WATCH)
SESSIONS: Final = Method("sessions", SessionsOf, Sessions, Right.WATCH)
CONVERSATIONS: Final = Method("conversations", ConversationQuery, Conversations, Right.WATCH)
PARTICIPANTS: Final = Method("participants", ParticipantQuery, Participants, Right.WATCH)
MESSAGES: Final = Method("messages", MessageQuery, Messages, Right.WATCH)
CURSOR: Final = Method("cursor", CursorQuery, CursorAt, Right.WATCH)
STATUS: Final = Method("status", AskStatus, RuntimeStatus, Right.WATCH)
ACT: Final = Method("act", NewAction, Acted, Right.CONTROL)
CREATE_CONVERSATION: Final = Method(
    "create_conversation", NewConversation, Conversation, Right.CONTROL
)
SET_CONVERSATION: Final = Method("set_conversation", SetConversation, Conversation, Right.CONTROL)
JOIN: Final = Method("join", NewParticipant, Participant, Right.CONTROL)
LEAVE: Final = Method("leave", LeaveConversation, Participant, Right.CONTROL)
SAY: Final = Method("say", NewMessage, ConversationMessage, Right.CONTROL)
READ_ON: Final = Method("read_on", ReadOn, Messages, Right.CONTROL)
ADVANCE: Final = Method("advance", Cursor, Cursor, Right.CONTROL)
CLAIM: Final = Method("claim", Claim, Claimed, Right.WORK)
RENEW: Final = Method("renew", Renew, Renewed, Right.WORK)
ADOPT: Final = Method("adopt", Adopt, States, Right.WORK)
RELEASE: Final = Method("release", Release, type(None), Right.WORK)
WRITE: Final = Method("write", Write, Written, Right.WORK)

WATCH: Final = Method("watch", WatchTopic, Notice, Right.WATCH)
WAKES: Final = Method("wakes", Wakes, Wake, Right.WORK)

# Of the store alone: the Core asks them.
CREATE: Final = Method("create", Create, Created, Right.WORK)
ENQUEUE: Final = Method("enqueue", Enqueue, Actions, Right.WORK)
SAVE_CONVERSATION: Final = Method("save_conversation", Conversation, Conversation, Right.WORK)
ADD_PARTICIPANT: Final = Method("join", Participant, Participant, Right.WORK)
END_PARTICIPANT: Final = Method("leave", Leave, Participant, Right.WORK)
POST: Final = Method("post", Post, Written, Right.WORK)
INFO: Final = Method("info", type(None), RuntimeStoreInfo, Right.WATCH)


def _by_name(*methods: Method[Any, Any]) -> dict[str, Method[Any, Any]]:
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
    STATUS,
    ACT,
    CREATE_CONVERSATION,
    SET_CONVERSATION,
    JOIN,
    LEAVE,
    SAY,
    READ_ON,
    ADVANCE,
    CLAIM,
    RENEW,
    ADOPT,
    RELEASE,
    WRITE,
)
#: The methods of the runtime's store, by name.
STORE_CALLS: Final = _by_name(
    CREATE,
    ENQUEUE,
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
    INFO,
)
#: The methods that are answered by a stream, by name.
STREAMS: Final = _by_name(WATCH, WAKES)
