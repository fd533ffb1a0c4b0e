"""The log of a coding session: one JSON entry per line, appended to a file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ..errors import CodingSessionError
from ..line_file import LineFile
from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolCall, UserMessage
from ..llm_wire.events import AgentEvent
from .tool_results import ToolResult

SessionMode = Literal["run", "repl", "server", "chat"]
ApprovalOutcome = Literal["approved", "denied"]

#: Characters of an event that JSON can't carry.
_MAX_DATA_CHARS: Final = 1000
#: A `TraceEvent` of this kind says that a person edited something.
EDITED_KIND: Final = "edited"


class SessionStartEntry(Struct, frozen=True, kw_only=True, tag="session_start", tag_field="type"):
    """A log entry: a process opened the session."""

    session_id: str = msgspec.field(name="sessionId")
    mode: SessionMode
    resumed: bool
    provider: str
    model: str
    workspace: str


class UserPromptEntry(Struct, frozen=True, kw_only=True, tag="user_prompt", tag_field="type"):
    """A log entry: a person's prompt."""

    content: str


class LoggedCall(Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool call of a model, as the log stores it."""

    call_id: str
    name: str
    args: Raw
    """The arguments as the model wrote them; as a JSON string where they are no object on one line."""


class MessageEntry(
    Struct, frozen=True, kw_only=True, tag="message", tag_field="type", rename="camel"
):
    """A log entry: a message of the conversation. The role decides which fields it has."""

    role: Literal["user", "assistant", "tool"]
    content: str | UnsetType = UNSET
    tool_calls: tuple[LoggedCall, ...] | UnsetType = UNSET
    call_id: str | UnsetType = UNSET
    result: ToolResult | UnsetType = UNSET


class EventEntry(Struct, frozen=True, kw_only=True, tag="event", tag_field="type"):
    """A log entry: an event, with the fields that every reader needs.

    `make_event_entry` adds the others.
    """

    event_type: str = msgspec.field(name="eventType")
    kind: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET


class ApprovalEntry(
    Struct, frozen=True, kw_only=True, tag="approval", tag_field="type", rename="camel"
):
    """The decision about a call that required approval, or that a rule or `--yes` decided.

    Args:
        call_id: The call's id.
        decision: The decision.
        reason: The person's reason; empty: none.
        why: The reason why the call required approval, or the rule that decided.
        risk: The possible harm of the call.
        by: `terminal`, `http`, `chat` or `approver` (a custom one), `debugger`; `timeout` and `nobody`,
            which deny; `rule`; `auto_approve`: `--yes`.
        always: Description of the calls that are allowed from then on.
    """

    call_id: str
    decision: ApprovalOutcome
    reason: str
    why: str | UnsetType = UNSET  # logs of before have none of these
    risk: str | UnsetType = UNSET
    by: str | UnsetType = UNSET
    always: str | UnsetType = UNSET


class SessionEndEntry(Struct, frozen=True, kw_only=True, tag="session_end", tag_field="type"):
    """A log entry: the process closed the session, which may be resumed."""

    reason: str


Entry = (
    SessionStartEntry
    | UserPromptEntry
    | MessageEntry
    | EventEntry
    | ApprovalEntry
    | SessionEndEntry
)


class LogLine(Struct, frozen=True, kw_only=True):
    """A line of the log."""

    timestamp: str  # ISO 8601, UTC
    data: Entry


class PromptEdit(
    Struct, frozen=True, kw_only=True, rename={"unchanged_count": "kept", "edited_part": "what"}
):
    """The data of a trace that says that a person edited a prompt's conversation."""

    unchanged_count: int  # messages of the conversation that stay
    messages: tuple[ChatMessage, ...]  # what follows them now
    edited_part: Literal["prompt"] = "prompt"


def make_message_entry(message: UserMessage | AssistantMessage) -> MessageEntry:
    """Make the log's entry of a message of a person or a model."""
    if isinstance(message, UserMessage):
        return MessageEntry(role="user", content=message.content)
    calls = tuple(
        LoggedCall(call_id=call.call_id, name=call.name, args=_written(call.args_json))
        for call in message.tool_calls
    )
    return MessageEntry(role="assistant", content=message.content, tool_calls=calls or UNSET)


def make_result_entry(call_id: str, result: ToolResult) -> MessageEntry:
    """Make the log's entry of a call's result."""
    return MessageEntry(role="tool", call_id=call_id, result=result)


def make_event_entry(event: AgentEvent) -> dict[str, Any]:
    """Make the log's fields of an event, besides `type` and `eventType`."""
    try:
        fields: dict[str, Any] = msgspec.to_builtins(event)
    except (TypeError, ValueError, RecursionError):  # of a provider or tool of somebody's own
        fields = {"eventType": type(event).__name__, "data": repr(event)[:_MAX_DATA_CHARS]}
    return {"type": "event", **fields}


def read_message_entry(entry: MessageEntry) -> UserMessage | AssistantMessage:
    """The message that `make_message_entry` was made of."""
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


#: The logs that this process has open.
_open_paths: Final[set[Path]] = set()


class SessionLog:
    """Appends entries to a session's log file, which belongs to one process at a time.

    ::

        with SessionLog(path) as log:
            log.append(UserPromptEntry(content="fix the tests"))

    Args:
        path: The file; it is created if it doesn't exist.
        now: Returns the current time.

    Raises:
        CodingSessionError: This or another process has the file open, or the file can't be opened.
    """

    def __init__(self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.path = path
        self._now = now
        try:
            self._file = LineFile(path, create=True)
        except BlockingIOError:
            if path.resolve() in _open_paths:
                raise CodingSessionError(
                    f"The session {path.stem} is open in this process already: close it first."
                ) from None
            raise CodingSessionError(
                f"The session {path.stem} is open in another process: close it there first."
            ) from None
        except OSError as error:
            raise CodingSessionError(
                f"The session's log {path} can't be opened: {error}."
            ) from None
        self._is_closed = False
        self._real_path = path.resolve()
        _open_paths.add(self._real_path)

    def append(self, entry: Entry | dict[str, Any]) -> None:
        """Write an entry, which is stored safely when this returns.

        Args:
            entry: The entry; a dict has the form of `make_event_entry`.

        Raises:
            OSError: The entry can't be written.
            ValueError: The entry has a value that JSON can't represent.
        """
        if self._is_closed:
            return
        line = {"timestamp": _stamp(self._now()), "data": entry}
        self._file.append(msgspec.json.encode(line) + b"\n")

    def close(self) -> None:
        """Close the file. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            _open_paths.discard(self._real_path)
            self._file.close()

    def __enter__(self) -> SessionLog:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
