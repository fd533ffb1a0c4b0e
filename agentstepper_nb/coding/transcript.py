"""The transcript of a coding session: adds entries, notifies listeners, and loads a session's log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, Struct

from .. import typed_json
from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage, UserMessage
from ..llm_wire.events import AgentEvent, ToolResultEvent, TraceEvent
from .session_log import (
    EDITED_KIND,
    ApprovalEntry,
    Entry,
    EventEntry,
    LogLine,
    MessageEntry,
    PromptEdit,
    SessionLog,
    SessionStartEntry,
    UserPromptEntry,
    make_event_entry,
    make_message_entry,
    make_result_entry,
    read_message_entry,
)
from .tool_results import ToolResult, make_result_message

WarningHandler = Callable[[str], None]

#: The result of a call that had none when the process ended.
INTERRUPTED_RESULT: Final = ToolResult.failure(
    "The session was interrupted before this call had a result: it may or may not have been carried "
    "out. Look before you call it again."
)


class CodingSessionSummary(Struct, frozen=True, kw_only=True):
    """The summary of a session's log, for lists."""

    id: str
    started_at: str  # ISO 8601, UTC
    updated_at: str  # when something was last written to it
    provider: str
    model: str
    workspace: str
    first_prompt: str = ""  # the first
    prompt_count: int = 0
    message_count: int = 0  # that were written, edits of people aside


def load_messages(
    path: Path, on_warning: WarningHandler = lambda warning: None
) -> list[ChatMessage]:
    """Read the conversation of a log.

    Unreadable lines, such as an incomplete line, are skipped with a warning. A call without a result
    gets a failure as its result, so that every model accepts the conversation.

    Args:
        path: The log.
        on_warning: Called with each warning, for a person.

    Returns:
        The messages, with the edits that people made.

    Raises:
        OSError: The file can't be read.
    """
    reader = _ConversationReader(on_warning)
    for number, line in _lines(path, on_warning):
        reader.add_line(number, line)
    reader.close_calls()
    return reader.messages


def summarize_log(path: Path) -> CodingSessionSummary | None:
    """Summarize a log; None: the log has no header.

    Args:
        path: The log.

    Raises:
        OSError: The file can't be read.
    """
    start: SessionStartEntry | None = None
    began, latest, messages = "", "", 0
    prompts: list[str] = []
    for _, line in _lines(path, lambda warning: None):
        latest = line.timestamp
        if isinstance(line.data, SessionStartEntry):
            began, start = began or line.timestamp, line.data
        elif isinstance(line.data, UserPromptEntry):
            prompts.append(line.data.content)
        elif isinstance(line.data, MessageEntry):
            messages += 1
    if start is None:
        return None
    return CodingSessionSummary(
        id=path.stem,
        started_at=began,
        updated_at=latest,
        provider=start.provider,
        model=start.model,
        workspace=start.workspace,
        first_prompt=prompts[0] if prompts else "",
        prompt_count=len(prompts),
        message_count=messages,
    )


class _ConversationReader:
    """The conversation, as the entries make it grow."""

    def __init__(self, warn: WarningHandler) -> None:
        self.messages: list[ChatMessage] = []
        self._warn = warn

    def add_line(self, number: int, line: LogLine) -> None:
        match line.data:
            case MessageEntry(role="tool") as entry:
                self._result(number, entry)
            case MessageEntry() as entry:
                self.close_calls()
                self.messages.append(read_message_entry(entry))
            case EventEntry(event_type="TraceEvent", kind=kind, data=data) if (
                kind == EDITED_KIND and data is not UNSET
            ):
                self._edit(number, bytes(data))

    def close_calls(self) -> None:
        """Add a failure as the result of each call that has no result."""
        for call_id in find_open_calls(self.messages):
            self.messages.append(make_result_message(call_id, INTERRUPTED_RESULT))

    def _result(self, number: int, entry: MessageEntry) -> None:
        if entry.result is UNSET or entry.call_id is UNSET:
            self._warn(f"Line {number} is left out: it is a result without its call or its data.")
        elif entry.call_id not in find_open_calls(self.messages):
            self._warn(f"Line {number} is left out: it is a result of an unknown call.")
        else:
            self.messages.append(make_result_message(entry.call_id, entry.result))

    def _edit(self, number: int, data: bytes) -> None:
        try:
            edit = typed_json.decode(data, PromptEdit)
        except (msgspec.MsgspecError, RecursionError):
            return  # of a call's arguments or an answer, which the messages have in force
        if edit.unchanged_count > len(self.messages):
            self._warn(f"Line {number} edits messages that are missing.")
        self.messages[edit.unchanged_count :] = edit.messages


def find_open_calls(messages: list[ChatMessage]) -> list[str]:
    """The ids of the newest answer's calls that have no result yet, in their order."""
    answered: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, ToolResultMessage):
            answered.add(message.call_id)
        elif isinstance(message, AssistantMessage):
            return [call.call_id for call in message.tool_calls if call.call_id not in answered]
        else:
            break
    return []


def find_conversation_problem(messages: Iterable[ChatMessage]) -> str | None:
    """Why no model takes a conversation, for a person: a call without its result, or the reverse."""
    waiting: list[str] = []
    for message in (*messages, None):
        if isinstance(message, ToolResultMessage):
            if message.call_id not in waiting:
                return f"the result of {message.call_id!r} has no call before it; leave out both."
            waiting.remove(message.call_id)
        elif waiting:
            return f"the call {waiting[0]!r} has no result after it; leave out both."
        elif isinstance(message, AssistantMessage):
            waiting = [call.call_id for call in message.tool_calls]
    return None


def _lines(path: Path, warn: WarningHandler) -> Iterator[tuple[int, LogLine]]:
    decoder = typed_json.get_decoder(LogLine)
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                line = decoder.decode(text)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                cut_note = "" if text.endswith(b"\n") else " (it was cut short)"
                warn(f"Line {number} is left out, because it can't be read{cut_note}: {error}.")
            else:
                yield number, line


log = logging.getLogger("agentstepper_nb.coding")

Listener = Callable[[AgentEvent], None]


class Transcript:
    """The transcript of a session. Each entry is written to the log before listeners are notified.

    Args:
        messages: The conversation so far.
        session_log: The session's log; None: nothing is stored.
        listeners: Called with each event. Exceptions of listeners are logged and suppressed.
    """

    def __init__(
        self,
        messages: Iterable[ChatMessage] = (),
        session_log: SessionLog | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.messages = list(messages)
        self._log = session_log
        self._listeners = listeners
        self._log_failed = False
        self._failed: list[Listener] = []  # listeners that have

    @property
    def open_calls(self) -> list[str]:
        """The ids of the calls that have no result yet."""
        return find_open_calls(self.messages)

    def add_prompt(self, text: str) -> None:
        """A person asks for something."""
        message = UserMessage(content=text)
        self._write_entry(UserPromptEntry(content=text))
        self._write_entry(make_message_entry(message))
        self.messages.append(message)

    def add_answer(self, message: AssistantMessage) -> None:
        """The model has answered; with a person's edit, if there was one."""
        self._write_entry(make_message_entry(message))
        self.messages.append(message)

    def add_result(self, call_id: str, result: ToolResult) -> None:
        """A call has a result."""
        self.messages.append(make_result_message(call_id, result))
        self._write_entry(make_result_entry(call_id, result))
        self.record_event(ToolResultEvent(call_id, result))

    def add_approval(self, approval: ApprovalEntry) -> None:
        """Add the decision about a call that required approval."""
        self._write_entry(approval)
        fields = {name: getattr(approval, name) for name in approval.__struct_fields__}
        data = {name: value for name, value in fields.items() if value is not UNSET}
        self._notify_listeners(TraceEvent("approval", data))

    def replace_messages(self, messages: Sequence[ChatMessage]) -> None:
        """A person has edited the conversation in a prompt: it goes on as it is there."""
        unchanged_count = 0
        for own, edited in zip(self.messages, messages, strict=False):
            if own != edited:
                break
            unchanged_count += 1
        if unchanged_count == len(self.messages) == len(messages):
            return
        edit = PromptEdit(
            unchanged_count=unchanged_count, messages=tuple(messages[unchanged_count:])
        )
        self.messages[unchanged_count:] = edit.messages
        self.record_event(TraceEvent(EDITED_KIND, msgspec.to_builtins(edit)))

    def record_event(self, event: AgentEvent) -> None:
        """Add an event."""
        self._write_entry(make_event_entry(event))
        self._notify_listeners(event)

    def _notify_listeners(self, event: AgentEvent) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                self._log_listener_failure(listener, event)

    def _log_listener_failure(self, listener: Listener, event: AgentEvent) -> None:
        """Say that a listener failed: once, since one that fails mostly goes on so."""
        if listener not in self._failed:
            self._failed.append(listener)
            log.exception("A listener failed at %s.", type(event).__name__)

    def _write_entry(self, entry: Entry | dict[str, object]) -> None:
        if self._log is None:
            return
        try:
            self._log.append(entry)
        except (OSError, ValueError) as error:  # a full disk: the work is worth more than its log
            if not self._log_failed:
                self._log_failed = True
                text = (
                    "The session's log can't be written, so that the session can't be resumed "
                    f"later: {error}."
                )
                self._notify_listeners(TraceEvent("error", {"kind": "log", "message": text}))
