"""The messages under `/agentstepper/api/coding/`: request bodies, answers, and events of the stream.

Field names are those of the guide, in camel case.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Raw, Struct, field

from .coding_settings import CamelSettings
from .data_model import Usage

Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
CodingSessionFilter = Literal["all", "open", "kept"]
Limit = Annotated[int, Meta(ge=1, le=1000)]
#: Characters of a session's first prompt in a list.
MAX_PROMPT_CHARS: Final = 1000
ShortText = Annotated[str, Meta(min_length=1, max_length=1000)]


class CreateCodingSession(CamelSettings, frozen=True, kw_only=True, rename="camel"):
    """`POST sessions`, and `POST sessions/ID/resume`: who works where, and the settings."""

    workspace_path: ShortText
    provider: ShortText
    model: ShortText


class SandboxReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The sandbox that confines a session's commands.

    Args:
        mode: The session's mode.
        name: The sandbox; `none` where there is none.
        network: Whether commands may use the network without an approval.
        missing_protections: Protections that the sandbox lacks on this machine, each a sentence.
        limits: The limits in force and what enforces them, each a sentence.
        unavailable_reasons: Why better sandboxes don't work on this machine, each a sentence.
        warning: A warning for a person where no sandbox confines commands; the text before the first
            colon is its shortest form. Empty where a sandbox confines commands.
    """

    mode: str
    name: str
    network: bool = False
    missing_protections: tuple[str, ...] = field(default=(), name="gaps")
    limits: tuple[str, ...] = ()
    unavailable_reasons: tuple[str, ...] = field(default=(), name="whyNot")
    warning: str = ""


class CodingSessionCreated(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to a session's creation, with status 201."""

    id: str
    sandbox: SandboxReport | None = None


class CodingSessionInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session in the answer to `GET sessions`."""

    id: str
    workspace_path: str
    provider: str
    model: str
    started_at: float  # POSIX seconds
    running: bool  # whether it answers a message now
    waiting: tuple[str, ...] = ()  # calls that wait for an approval
    run: str | None = None  # its run in the debugger
    messages: int = 0
    sandbox: SandboxReport | None = None
    state: Literal["open", "kept"] = "open"  # kept: in its log, and not open here
    resumable: bool = False  # whether `POST sessions/ID/resume` can open it
    problem: str | None = None  # why a kept one can't be resumed, for a person
    latest_at: float | None = None  # POSIX seconds: when its log was last written to
    prompt: str = ""  # the first, or its beginning


class CodingCallDetail(Struct, frozen=True, kw_only=True, rename="camel"):
    """A call that the model asked for."""

    call_id: str
    name: str
    args: Any  # as a text where they are no JSON, or too long


class CodingMessageDetail(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message of a session's conversation; a text that is too long is cut, which it says."""

    role: Literal["user", "assistant", "tool"]
    content: str
    tool_calls: tuple[CodingCallDetail, ...] = ()
    call_id: str | None = None  # of the call that a tool answered
    ok: bool | None = None  # whether that did what it should


class CodingSessionDetail(Struct, frozen=True, kw_only=True, rename="camel"):
    """The answer to `GET sessions/ID`."""

    session: CodingSessionInfo
    messages: tuple[CodingMessageDetail, ...]  # the newest, oldest first
    earlier: int  # messages before these


class CodingChatBody(Struct, frozen=True, kw_only=True, rename="camel"):
    """`POST sessions/ID/chat`."""

    message: Text


class CodingApprovalBody(
    Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """`POST sessions/ID/approvals/CALL`. Nothing in it approves by accident: `approved` has to be there,
    and a field of another name or type is refused.
    """

    approved: bool
    confirmed: bool = False  # the person said so twice, by two gestures: high risk needs that
    edited_args: Raw = Raw(b"null")  # null: as they were
    reason: Annotated[str, Meta(max_length=10_000)] = ""
    always: bool = False


# ---- what the Core asks the coding service; the names are its methods' --------------------------------

#: The service's name.
SERVICE = "coding"


class CodingSessionRequest(Struct, frozen=True, kw_only=True):
    """`cancel` what a session is at, or `close` it."""

    session: str


class ResumeCodingSession(Struct, frozen=True, kw_only=True, rename={"settings": "how"}):
    """`resume` a session from its log; `create` takes a `CreateCodingSession` alone."""

    session: str
    settings: CreateCodingSession


class SendCodingMessage(Struct, frozen=True, kw_only=True):
    """`chat`: begin to answer a message."""

    session: str
    message: Text


class AnswerCodingApproval(Struct, frozen=True, kw_only=True):
    """`approve`: answer a call that waits for an approval."""

    session: str
    call: str
    answer: CodingApprovalBody


class WatchCodingSession(Struct, frozen=True, kw_only=True):
    """`events`: a stream of `NumberedCodingEvent`.

    Without `last` it begins with the oldest event that is kept.
    """

    session: str
    last: str | None = None  # the id of the last event that came to the one who asks


class ListCodingSessions(Struct, frozen=True, kw_only=True):
    """`list`: the sessions that are open, and those that are kept, which were used last."""

    state: CodingSessionFilter = "all"
    limit: Limit = 100  # of those that are kept


class GetCodingSession(Struct, frozen=True, kw_only=True):
    """`show`: a session, open or kept, and its newest messages."""

    session: str
    messages: Limit = 100


class CodingSessionList(Struct, frozen=True, kw_only=True):
    """The answer to `list`, and `GET sessions`."""

    sessions: tuple[CodingSessionInfo, ...]


# ---- events of the stream: the tag is SSE's `event`, the rest its `data` ------------------------------


class CodingTextDelta(Struct, frozen=True, kw_only=True, tag="text_delta", rename="camel"):
    """Some of the model's text."""

    text: str


class ToolCalled(Struct, frozen=True, kw_only=True, tag="tool_call", rename="camel"):
    """A tool is called: said once its arguments are whole."""

    call_id: str
    name: str
    args: Any


class ToolReturned(Struct, frozen=True, kw_only=True, tag="tool_result", rename="camel"):
    """The result or the error of a tool call."""

    call_id: str
    ok: bool
    data: Any = None
    error: str | None = None


class ApprovalRequired(Struct, frozen=True, kw_only=True, tag="approval_required", rename="camel"):
    """A call waits for a person."""

    call_id: str
    name: str
    args: Any
    risk: str
    why: str


class CodingTurnCompleted(Struct, frozen=True, kw_only=True, tag="completed", rename="camel"):
    """The agent has done with a message."""

    reason: str
    usage: Usage | None = None


class CodingTurnFailed(Struct, frozen=True, kw_only=True, tag="error", rename="camel"):
    """Something went wrong; `completed` follows, save where the stream itself breaks off by it."""

    code: str
    message: str


class CodingTrace(Struct, frozen=True, kw_only=True, tag="trace", rename="camel"):
    """For who debugs."""

    kind: str
    data: Any = None


ServerEvent = (
    CodingTextDelta
    | ToolCalled
    | ToolReturned
    | ApprovalRequired
    | CodingTurnCompleted
    | CodingTurnFailed
    | CodingTrace
)


class NumberedCodingEvent(Struct, frozen=True, kw_only=True, rename={"stream_id": "life"}):
    """An event of a session and its number there, from 1. The first of a stream has none, and no event:
    it says where the stream begins.
    """

    stream_id: (
        str  # a mark of the time since the session was created or resumed: numbers begin anew then
    )
    n: int
    event: ServerEvent | None = None

    @property
    def id(self) -> str:
        """SSE's `id`."""
        return f"{self.stream_id}-{self.n}"
