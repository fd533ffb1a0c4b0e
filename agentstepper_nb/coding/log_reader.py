"""Reads a session's log back: the conversation, and what the session was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET, Struct

from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage
from .results import ToolResult, result_message
from .session_log import EDITED, Event, Line, Message, PromptEdit, SessionStart, UserPrompt, said

Warn = Callable[[str], None]

#: What a call came to that was asked for, and never answered: the process was ended.
LOST: Final = ToolResult.failure(
    "The session was interrupted before this call had a result: it may or may not have been carried "
    "out. Look before you call it again."
)


class SessionSummary(Struct, frozen=True, kw_only=True):
    """What a log says of its session, for lists."""

    id: str
    started: str  # ISO 8601, UTC
    latest: str  # when something was last written to it
    provider: str
    model: str
    workspace: str
    prompt: str = ""  # the first
    prompts: int = 0
    messages: int = 0  # that were written, edits of people aside


def load_messages(path: Path, on_warning: Warn = lambda warning: None) -> list[ChatMessage]:
    """Read the conversation of a log.

    What can't be read is warned of and left out: a line that was cut short, one that is garbage. A
    call without a result is closed with a failure, so that every model takes the conversation.

    Args:
        path: The log.
        on_warning: Called with what is wrong, for a person.

    Returns:
        The messages, with the edits that people made.

    Raises:
        OSError: The file can't be read.
    """
    reader = _Conversation(on_warning)
    for number, line in _lines(path, on_warning):
        reader.take(number, line)
    reader.close_calls()
    return reader.messages


def summary(path: Path) -> SessionSummary | None:
    """What a log is about; None where it doesn't say so.

    Args:
        path: The log.

    Raises:
        OSError: The file can't be read.
    """
    start: SessionStart | None = None
    began, latest, messages = "", "", 0
    prompts: list[str] = []
    for _, line in _lines(path, lambda warning: None):
        latest = line.timestamp
        if isinstance(line.data, SessionStart):
            began, start = began or line.timestamp, line.data
        elif isinstance(line.data, UserPrompt):
            prompts.append(line.data.content)
        elif isinstance(line.data, Message):
            messages += 1
    if start is None:
        return None
    return SessionSummary(
        id=path.stem,
        started=began,
        latest=latest,
        provider=start.provider,
        model=start.model,
        workspace=start.workspace,
        prompt=prompts[0] if prompts else "",
        prompts=len(prompts),
        messages=messages,
    )


class _Conversation:
    """The conversation, as the entries make it grow."""

    def __init__(self, warn: Warn) -> None:
        self.messages: list[ChatMessage] = []
        self._warn = warn

    def take(self, number: int, line: Line) -> None:
        match line.data:
            case Message(role="tool") as entry:
                self._result(number, entry)
            case Message() as entry:
                self.close_calls()
                self.messages.append(said(entry))
            case Event(event_type="TraceEvent", kind=kind, data=data) if (
                kind == EDITED and data is not UNSET
            ):
                self._edit(number, bytes(data))

    def close_calls(self) -> None:
        """Give each call that has no result the one that says so."""
        for call_id in open_calls(self.messages):
            self.messages.append(result_message(call_id, LOST))

    def _result(self, number: int, entry: Message) -> None:
        if entry.result is UNSET or entry.call_id is UNSET:
            self._warn(f"Line {number} is a result without its call or its data: it is left out.")
        elif entry.call_id not in open_calls(self.messages):
            self._warn(f"Line {number} is a result of a call that nobody made: it is left out.")
        else:
            self.messages.append(result_message(entry.call_id, entry.result))

    def _edit(self, number: int, data: bytes) -> None:
        try:
            edit = msgspec.json.decode(data, type=PromptEdit)
        except (msgspec.MsgspecError, RecursionError):
            return  # of a call's arguments or an answer, which the messages have in force
        if edit.kept > len(self.messages):
            self._warn(f"Line {number} edits messages that are missing.")
        self.messages[edit.kept :] = edit.messages


def open_calls(messages: list[ChatMessage]) -> list[str]:
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


def complaint(messages: Iterable[ChatMessage]) -> str | None:
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


def _lines(path: Path, warn: Warn) -> Iterator[tuple[int, Line]]:
    decoder = msgspec.json.Decoder(Line)
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if not text.strip():
                continue
            try:
                line = decoder.decode(text)
            except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
                torn = "" if text.endswith(b"\n") else " (it was cut short)"
                warn(f"Line {number} can't be read{torn}, and is left out: {error}.")
            else:
                yield number, line
