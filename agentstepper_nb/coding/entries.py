"""The entries of a session's log: one a line, as `{"timestamp": …, "data": {"type": …}}`."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolCall, UserMessage
from ..llm_wire.events import AgentEvent
from .tool import ToolResult

Mode = Literal["run", "repl", "server", "chat"]
ApprovalWord = Literal["approved", "denied"]

#: Characters of an event that JSON can't carry.
_SHOWN: Final = 1000
#: A `TraceEvent` of this kind says that a person edited something.
EDITED: Final = "edited"


class SessionStart(Struct, frozen=True, kw_only=True, tag="session_start", tag_field="type"):
    """A process opened the session."""

    session_id: str = msgspec.field(name="sessionId")
    mode: Mode
    resumed: bool
    provider: str
    model: str
    workspace: str


class UserPrompt(Struct, frozen=True, kw_only=True, tag="user_prompt", tag_field="type"):
    """A person asks for something."""

    content: str


class LoggedCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A call that a model asks for."""

    call_id: str
    name: str
    args: Raw
    """The arguments as the model wrote them; as a JSON string where they are no object on one line."""


class Message(Struct, frozen=True, kw_only=True, tag="message", tag_field="type", rename="camel"):
    """A message of the conversation. Which fields it has is a matter of its role."""

    role: Literal["user", "assistant", "tool"]
    content: str | UnsetType = UNSET
    tool_calls: tuple[LoggedCall, ...] | UnsetType = UNSET
    call_id: str | UnsetType = UNSET
    result: ToolResult | UnsetType = UNSET


class Event(Struct, frozen=True, kw_only=True, tag="event", tag_field="type"):
    """What happened, as far as a reader needs it; `event_entry` writes all of it."""

    event_type: str = msgspec.field(name="eventType")
    kind: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET


class Approval(Struct, frozen=True, kw_only=True, tag="approval", tag_field="type", rename="camel"):
    """What was decided about a call that had to be asked for, or that a rule or `--yes` decided.

    Args:
        call_id: The call.
        decision: What was decided.
        reason: What the person said to it; empty: nothing.
        why: Why the call was asked for, or the rule that decided.
        risk: How much harm the call may do.
        by: `terminal`, `http`, `chat` or `approver` (one of somebody's own), `debugger`; `timeout` and
            `nobody`, which deny; `rule`; `auto_approve`, which is `--yes`.
        always: What was allowed from then on, in words.
    """

    call_id: str
    decision: ApprovalWord
    reason: str
    why: str | UnsetType = UNSET  # logs of before have none of these
    risk: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    always: str | UnsetType = UNSET


class SessionEnd(Struct, frozen=True, kw_only=True, tag="session_end", tag_field="type"):
    """The process closed the session; it may be resumed."""

    reason: str


Entry = SessionStart | UserPrompt | Message | Event | Approval | SessionEnd


class Line(Struct, frozen=True, kw_only=True):
    """A line of the log."""

    timestamp: str  # ISO 8601, UTC
    data: Entry


class PromptEdit(Struct, frozen=True, kw_only=True):
    """The data of a trace that says that a person edited a prompt's conversation."""

    kept: int  # messages of the conversation that stay
    messages: tuple[ChatMessage, ...]  # what follows them now
    what: Literal["prompt"] = "prompt"


def message_entry(message: UserMessage | AssistantMessage) -> Message:
    """What is logged of something that a person or a model said."""
    if isinstance(message, UserMessage):
        return Message(role="user", content=message.content)
    calls = tuple(
        LoggedCall(call_id=call.call_id, name=call.name, args=_written(call.args_json))
        for call in message.tool_calls
    )
    return Message(role="assistant", content=message.content, tool_calls=calls or UNSET)


def result_entry(call_id: str, result: ToolResult) -> Message:
    """What is logged of a call's result."""
    return Message(role="tool", call_id=call_id, result=result)


def event_entry(event: AgentEvent) -> dict[str, Any]:
    """What is logged of an event: its fields beside `type` and `eventType`."""
    try:
        fields: dict[str, Any] = msgspec.to_builtins(event)
    except (TypeError, ValueError, RecursionError):  # of a provider or tool of somebody's own
        fields = {"eventType": type(event).__name__, "data": repr(event)[:_SHOWN]}
    return {"type": "event", **fields}


def said(entry: Message) -> UserMessage | AssistantMessage:
    """The message that `message_entry` was made of."""
    content = entry.content or ""
    if entry.role == "user":
        return UserMessage(content=content)
    calls = tuple(
        ToolCall(call_id=call.call_id, name=call.name, args_json=_read(call.args))
        for call in entry.tool_calls or ()
    )
    return AssistantMessage(content=content, tool_calls=calls)


def _written(args_json: str) -> Raw:
    """Arguments as JSON within a line, from which `_read` gives the same text again."""
    if args_json[:1] == "{" and args_json[-1:] == "}" and not {"\n", "\r"} & set(args_json):
        try:
            msgspec.json.decode(args_json)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            pass  # the model made a mistake: its text is kept as a text
        else:
            return Raw(args_json.encode())
    return Raw(msgspec.json.encode(args_json))


def _read(args: Raw) -> str:
    text = bytes(args)
    return msgspec.json.decode(text, type=str) if text[:1] == b'"' else text.decode()
