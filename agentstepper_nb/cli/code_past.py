"""What was said in a session that is resumed, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage, UserMessage
from .code_lines import Line, cut, written_call_line
from .text import inert

#: Messages that are shown, and lines of each text.
MESSAGES: Final = 20
_LINES: Final = 20


def past_lines(messages: Sequence[ChatMessage]) -> Iterator[Line]:
    """The newest messages of a conversation; first how many there are before these.

    Args:
        messages: The conversation.
    """
    earlier = max(0, len(messages) - MESSAGES)
    if earlier:
        yield f"… {earlier} earlier {'message' if earlier == 1 else 'messages'}", "dim"
    for message in messages[earlier:]:
        yield from _lines(message)


def _lines(message: ChatMessage) -> Iterator[Line]:
    match message:
        case UserMessage(content=content):
            yield from _text(content, "> ", "bold")
        case AssistantMessage(content=content, tool_calls=calls):
            yield from _text(content, "", "")
            for call in calls:
                yield inert(f"→ {written_call_line(call.name, call.args_json)}"), "cyan"
        case ToolResultMessage(content=content, ok=ok):
            yield inert(f"  {'✓' if ok else '✗'} {cut(content)}"), "dim" if ok else "red"


def _text(text: str, begin: str, style: str) -> Iterator[Line]:
    lines = text.splitlines()
    for line in lines[:_LINES]:
        yield inert(f"{begin}{line}"), style
    if len(lines) > _LINES:
        yield f"… {len(lines) - _LINES} more lines", "dim"
