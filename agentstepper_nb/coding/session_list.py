"""The sessions that are kept: which there are, which can be resumed, and what was said in them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage
from ..protocol import coding as wire
from .folders import Folders
from .log_reader import SessionSummary
from .results import arguments
from .session_log import is_held

#: Characters of one message, and of one call's arguments, that a list of messages has.
LONGEST: Final = 20_000


class KeptSession(Struct, frozen=True, kw_only=True):
    """A session that is kept.

    Args:
        summary: What its log says of it.
        is_open: Whether a process has it open.
        problem: Why it can't be resumed, for a person; None: it can.
    """

    summary: SessionSummary
    is_open: bool
    problem: str | None


def kept_sessions(folders: Folders, limit: int | None = None) -> list[KeptSession]:
    """The sessions that are kept, those that were used last first. Reads their logs.

    Args:
        folders: Where they are kept.
        limit: How many at most; None: all.
    """
    return [kept_session(folders, each) for each in folders.sessions(limit)]


def kept_session(folders: Folders, summary: SessionSummary) -> KeptSession:
    """Whether a session is open, or what keeps it from being resumed.

    Args:
        folders: Where it is kept.
        summary: What its log says of it.
    """
    if is_held(folders.log(summary.id)):
        return KeptSession(summary=summary, is_open=True, problem="A process has it open.")
    problem = None
    if not Path(summary.workspace).is_dir():
        problem = f"Its folder {summary.workspace} is gone; resume it with another."
    return KeptSession(summary=summary, is_open=False, problem=problem)


def kept_info(kept: KeptSession) -> wire.SessionInfo:
    """What `GET sessions` says of a session that isn't open here."""
    summary = kept.summary
    return wire.SessionInfo(
        id=summary.id,
        workspace_path=summary.workspace,
        provider=summary.provider,
        model=summary.model,
        started_at=_seconds(summary.started),
        running=False,
        messages=summary.messages,
        state="kept",
        resumable=kept.problem is None,
        problem=kept.problem,
        latest_at=_seconds(summary.latest),
        prompt=summary.prompt[: wire.LONGEST_PROMPT],
    )


def shown_messages(
    messages: Sequence[ChatMessage], last: int
) -> tuple[tuple[wire.ShownMessage, ...], int]:
    """The newest messages of a conversation, as they are shown, and how many are before these.

    Args:
        messages: The conversation.
        last: How many messages at most.
    """
    earlier = max(0, len(messages) - last)
    return tuple(_shown(each) for each in messages[earlier:]), earlier


def _shown(message: ChatMessage) -> wire.ShownMessage:
    match message:
        case AssistantMessage(content=content, tool_calls=calls):
            called = tuple(
                wire.ShownCall(call_id=each.call_id, name=each.name, args=_args(each.args_json))
                for each in calls
            )
            return wire.ShownMessage(role="assistant", content=_cut(content), tool_calls=called)
        case ToolResultMessage(call_id=call, content=content, ok=ok):
            return wire.ShownMessage(role="tool", content=_cut(content), call_id=call, ok=ok)
    return wire.ShownMessage(role="user", content=_cut(message.content))


def _args(args_json: str) -> object:
    """A call's arguments; as a text where they are no JSON, or too long."""
    if len(args_json) > LONGEST:
        return _cut(args_json)
    return arguments(args_json)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n[… {len(text):,} characters in all]"


def _seconds(timestamp: str) -> float:
    """A log's time as POSIX seconds; 0 where it is none."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0.0
