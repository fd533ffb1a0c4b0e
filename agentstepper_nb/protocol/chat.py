"""The words of the chat: messages, states, what a session tells, and what is asked of it.

Field and state names are those of the chat interpreter's guide. The wire is the line of `worker`: a
service `chat` with the methods below, asked by the view, by a terminal, and by scripts from outside.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Raw, Struct

from .field_types import Count, Id, Time

#: The service's name on a line.
SERVICE: Final = "chat"
#: Messages of a session that are held in memory; the whole transcript is in its file.
MAX_MESSAGE_LENGTH: Final = 100
#: Messages before the newest that an agent is given: the rolling window's `k`.
DEFAULT_WINDOW_MESSAGES: Final = 10
#: Turns without a user that AutoChat may take, and how many a person may let it take at most.
AUTO_CHAT_MAX: Final = 3
MAX_AUTO_TURNS: Final = 1000

Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Title = Annotated[str, Meta(max_length=200)]
#: A role of agents, a message type, an agent's name: words that may be added by extensions.
Identifier = Annotated[str, Meta(min_length=1, max_length=100)]


class State(StrEnum):
    """The state of a session: INIT, then RUNNING and STOP in turn."""

    STATE_INIT = "STATE_INIT"
    STATE_RUNNING = "STATE_RUNNING"
    STATE_STOP = "STATE_STOP"


class TurnEnding(StrEnum):
    """The outcome of a turn."""

    DONE = "done"
    ERROR = "error"
    STOPPED = "stopped"  # by a person, in the chat or in the debugger


class ChatAgentPhase(StrEnum):
    """The phase of an agent in its session."""

    CREATED = "created"
    RUNNING = "running"
    ENDED = "ended"


class MessageType(StrEnum):
    """The types of messages that every backend shows; extensions may add more."""

    MESSAGE = "MESSAGE"
    CODE = "CODE"
    CONFIRMATION = "CONFIRMATION"
    CONSOLE = "CONSOLE"
    IMAGE = "IMAGE"
    FUNCTION = "FUNCTION"


class AgentName(StrEnum):
    """The roles that an agent may have; extensions may add more."""

    AGENT_EXECUTOR = "AGENT_EXECUTOR"
    LLM_PLANNER = "LLM_PLANNER"
    SUPERVISOR = "SUPERVISOR"
    THOUGHT = "THOUGHT"
    CREW = "CREW"
    OTHER = "OTHER"


class AgentType(StrEnum):
    """An agent's way to call tools: the model's function calling, or JSON in the model's text."""

    TOOL_CALLING = "TOOL_CALLING"
    STRUCTURED_CHAT = "STRUCTURED_CHAT"


Role = Literal["user", "assistant", "system", "computer"]


class Message(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One message of a conversation. Which fields its type needs: `chat.message_types`.

    `final` is false while more of it may come: text, a call's result, a confirmation's choice. A stream
    of messages gives each new piece as a message of the same id with `final` false, whose `content` is
    the piece alone, and at last the whole with `final` true.
    """

    id: Id
    session_id: Id
    role: Role
    type: Identifier = MessageType.MESSAGE.value
    content: str = ""
    format: str | None = None  # of CODE `source` or `result`; of a MESSAGE that says one `error`
    language: str | None = None  # of CODE
    agent_name: Identifier | None = None  # who said it; of a user's message: whom it is for
    created_at: Time
    final: bool = True

    media_type: str | None = None  # of an IMAGE
    data: bytes | None = None  # an IMAGE's bytes; views ask for them by `picture`
    path: str | None = None  # of an IMAGE or CODE: a file below the allowed paths, not its bytes
    choices: tuple[str, ...] = ()  # of a CONFIRMATION
    chosen: str | None = None  # what the person chose; None and `final`: it was withdrawn
    call_id: str | None = None  # of a FUNCTION: the call
    name: str | None = None  # of a FUNCTION: what is called
    arguments: Any = None
    result: Any = None
    ok: bool | None = None  # of a FUNCTION whose result is there
    details: Any = None  # what else an extension's type has, as JSON values


class ChatAgentInfo(Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """An agent of a session."""

    name: Identifier
    role: Identifier
    type: AgentType
    phase: ChatAgentPhase = ChatAgentPhase.CREATED
    description: str = ""
    run_id: str | None = None  # a run of its own in the debugger, beside the session's
    notice: str = ""  # what a person must know of it; as `Run.notice`


class ChatSessionInfo(
    Struct,
    frozen=True,
    kw_only=True,
    repr_omit_defaults=True,
    rename={"messages_in_memory": "kept"},
):
    """A session, without its messages."""

    id: Id
    title: Title
    state: State
    ending: TurnEnding | None = None  # how the last turn ended
    agents: tuple[ChatAgentInfo, ...] = ()
    default_agent: Identifier | None = None  # whom a message without an agent's name is for
    speaking: Identifier | None = None  # the agent whose turn it is
    waiting: Id | None = None  # the CONFIRMATION that waits for a choice
    halted: bool = False  # whether the turn waits for a person in the debugger
    auto_chat: bool = False  # whether AutoChat goes on by itself
    auto_turns: Count = 0  # turns it has taken since a user said something
    auto_chat_max: Count = AUTO_CHAT_MAX
    run_id: str | None = None  # its run in the debugger
    no_debugger: str | None = None  # why there is none
    created_at: Time
    updated_at: Time
    messages: Count = 0  # in the transcript
    messages_in_memory: Count = 0  # of these in memory: the newest
    window_from: Id | None = None  # the first message that agents are given, of those in memory
    live: bool = True  # False: it is kept, and can be opened again


# ---- what a session tells ---------------------------------------------------------------------------


class ChatSessionSnapshot(Struct, frozen=True, kw_only=True, tag="begin", tag_field="event"):
    """A session's state: a stream's first event, and sent again after a client missed events."""

    session: ChatSessionInfo
    messages: tuple[Message, ...]  # those in memory, oldest first


class ChatSessionChanged(Struct, frozen=True, kw_only=True, tag="session", tag_field="event"):
    """A session's state, agents or figures are others now."""

    session: ChatSessionInfo


class ChatMessageChanged(Struct, frozen=True, kw_only=True, tag="said", tag_field="event"):
    """A message is there, or is another now: whole, as it is so far."""

    message: Message


class ChatMessageDelta(Struct, frozen=True, kw_only=True, tag="delta", tag_field="event"):
    """More of a message's content."""

    session_id: Id
    message_id: Id
    text: str


class ChatAgentChanged(Struct, frozen=True, kw_only=True, tag="agent", tag_field="event"):
    """An agent was created, begins to answer, or has ended."""

    session_id: Id
    agent: ChatAgentInfo
    error: str | None = None


class ChatSessionRemoved(Struct, frozen=True, kw_only=True, tag="removed", tag_field="event"):
    """A session and its transcript are gone."""

    session_id: Id


ChatEvent = (
    ChatSessionSnapshot
    | ChatSessionChanged
    | ChatMessageChanged
    | ChatMessageDelta
    | ChatAgentChanged
    | ChatSessionRemoved
)


class NumberedChatEvent(Struct, frozen=True, kw_only=True):
    """An item of `watch`: an event, numbered from 1 without gaps on each stream."""

    n: Count
    event: ChatEvent


class ChatSessionList(Struct, frozen=True, kw_only=True):
    """An item of `watch_sessions`: all sessions, the newest first, whenever one has changed."""

    sessions: tuple[ChatSessionInfo, ...]


# ---- what is asked: the names are the service's methods ---------------------------------------------


class ChatSessionRequest(Struct, frozen=True, kw_only=True):
    """`watch` (a stream of `NumberedChatEvent`), `open`, `stop`, `remove` a session."""

    session: Id


class SendChatMessage(Struct, frozen=True, kw_only=True):
    """`send` a user's message; answered by its `Message`."""

    session: Id
    content: Text
    agent_name: Identifier | None = None
    key: Id | None = None  # sent again by the same key, it is said once


class ChooseOption(Struct, frozen=True, kw_only=True):
    """`choose`: answer a CONFIRMATION."""

    session: Id
    message: Id
    choice: Text


class UpdateChatSession(Struct, frozen=True, kw_only=True):
    """`set` what a person may set of a session; answered by its `ChatSessionInfo`. None leaves it."""

    session: Id
    title: Title | None = None
    auto_chat: bool | None = None
    auto_chat_max: Annotated[int, Meta(ge=0, le=MAX_AUTO_TURNS)] | None = None
    default_agent: Identifier | None = None


class CreateChatSession(Struct, frozen=True, kw_only=True):
    """`create` a session; answered by its `ChatSessionInfo`."""

    title: Title = ""


class GetEarlierMessages(Struct, frozen=True, kw_only=True):
    """`earlier`: messages of the transcript before one, the newest of them."""

    session: Id
    before: Id
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ChatMessagePage(Struct, frozen=True, kw_only=True):
    """The answer to `earlier`, oldest first; and whether there are older ones."""

    messages: tuple[Message, ...]
    more: bool


class ChatMessageRequest(Struct, frozen=True, kw_only=True):
    """`picture`: the bytes of an IMAGE; `source`: the text of a CODE that names a file."""

    session: Id
    message: Id


class ChatImage(Struct, frozen=True, kw_only=True):
    """An image that may be shown: its bytes say of themselves that they are of this type."""

    media_type: str
    data: bytes


class ChatSourceText(Struct, frozen=True, kw_only=True):
    """The text of an allowed file."""

    text: str


# ---- for agents from outside ------------------------------------------------------------------------


class ServeChatAgent(Struct, frozen=True, kw_only=True):
    """`attend`: be an agent of a session, for as long as the stream of `AgentTurnRequest` is read."""

    session: Id
    role: Identifier = AgentName.AGENT_EXECUTOR.value
    type: AgentType = AgentType.TOOL_CALLING
    description: Annotated[str, Meta(max_length=1000)] = ""


class AgentTurnRequest(Struct, frozen=True, kw_only=True):
    """A message to answer, with those before it that an agent is given."""

    turn: Id
    message: Message
    window: tuple[Message, ...]
    cancelled: bool = False  # it is taken back: no answer is wanted any more


class AgentOutput(
    Struct, frozen=True, kw_only=True, repr_omit_defaults=True, rename={"is_new_block": "anew"}
):
    """Some of an answer: what an agent yields. Consecutive pieces of one kind are one message."""

    type: Identifier = MessageType.MESSAGE.value
    content: str = ""
    role: Role = "assistant"
    format: str | None = None
    language: str | None = None
    media_type: str | None = None
    data: bytes | None = None
    path: str | None = None
    choices: tuple[str, ...] = ()
    call_id: str | None = None
    name: str | None = None
    arguments: Any = None
    result: Any = None
    ok: bool | None = None
    details: Any = None
    is_new_block: bool = (
        False  # whether it begins a message of its own, whatever kind is being said
    )


class SendAgentOutput(Struct, frozen=True, kw_only=True):
    """`give` some of an answer. `OptionChosen` answers a CONFIRMATION, once the person has chosen."""

    turn: Id
    piece: AgentOutput


class OptionChosen(Struct, frozen=True, kw_only=True):
    """The option that a person chose."""

    choice: str


class AgentTurnEnded(Struct, frozen=True, kw_only=True, rename={"handoff_agent": "hand_on"}):
    """`done`: the answer is complete, has failed, or is another agent's to give."""

    turn: Id
    error: Annotated[str, Meta(max_length=10_000)] | None = None
    handoff_agent: Identifier | None = None  # the agent that goes on: of a SUPERVISOR or CREW
    text: str | None = None  # what that agent is told


# ---- from outside, through the Core -----------------------------------------------------------------


def format_remote_service(id: str) -> str:
    """The service of a worker's line by which a chat's process lets clients in.

    Args:
        id: What its address ends with.
    """
    return f"chat:{id}"


class ForwardedRequest(Struct, frozen=True, kw_only=True):
    """A client's request of any method, forwarded by the Core with the client's token."""

    token: str
    params: Raw = Raw(b"null")


class ClientAdmission(Struct, frozen=True, kw_only=True):
    """The answer to `admit`: what a client's token lets it do."""

    session: Id
    scope: tuple[str, ...]
    expires_at: Time
    agent_name: Identifier | None = None
