"""The one table of the methods of the Core's service `runtime`: request, result, and the right it takes.

Clients, workers and the service are made from it. A stream's result is the class of its items.
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
    CursorAt,
    CursorQuery,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    Release,
    Renew,
    Renewed,
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
Result = TypeVar("Result")


class Right(IntEnum):
    """What a connection may do; each may do what those before it may."""

    WATCH = 1
    CONTROL = 2
    WORK = 3


@dataclass(frozen=True)
class Method(Generic[Request, Result]):
    """A method of the service `runtime`.

    Args:
        name: Its name on the wire, and of the method of `hub.runtime.Runtime` that answers it.
        request: The class of its parameters.
        result: The class of its result, or of a stream's items.
        right: The right that a connection needs to call it.
    """

    name: str
    request: type[Request]
    result: type[Result]
    right: Right


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
#: The methods that are answered by a stream, by name.
STREAMS: Final = _by_name(WATCH, WAKES)
