"""The sessions that are kept in a data folder: where, which can be resumed, what was said in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..errors import CodingSessionError
from ..line_file import is_line_file_open
from ..llm_wire.conversation import AssistantMessage, ChatMessage, ToolResultMessage
from ..protocol import coding_api as wire
from .tool_results import parse_arguments, truncate_with_note
from .transcript import CodingSessionSummary, summarize_log

_ID: Final = re.compile(r"[0-9a-zA-Z][0-9a-zA-Z_-]{0,99}")


class CodingDataPaths:
    """The coding agent's files in a data folder.

    Args:
        data_dir: The data folder.
    """

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / "coding"

    @property
    def rules(self) -> Path:
        """The file of the policy rules."""
        return self._folder / "rules.json"

    def log(self, id: str) -> Path:
        """A session's log.

        Raises:
            CodingSessionError: No session has such an id.
        """
        if not is_session_id(id):
            raise CodingSessionError(f"{id!r} isn't a valid session id.")
        return self._folder / "sessions" / f"{id}.jsonl"

    def outputs(self, id: str) -> Path:
        """The folder of what was too long for a session's model."""
        return self._folder / "outputs" / id

    @property
    def sandboxes(self) -> Path:
        """The private homes of sessions that are open; see `PrivateHome`."""
        return self._folder / "sandboxes"

    def sessions(self, limit: int | None = None) -> list[CodingSessionSummary]:
        """The sessions that are kept, those that were used last first.

        Args:
            limit: How many at most, so that no other log is read; None: all.
        """
        found = []
        paths = sorted((self._folder / "sessions").glob("*.jsonl"), key=_changed, reverse=True)
        for path in paths[:limit]:
            try:
                found.append(summarize_log(path))
            except OSError:  # deleted meanwhile
                continue
        known = [each for each in found if each is not None]
        return sorted(known, key=lambda each: (each.updated_at, each.id), reverse=True)

    def summary(self, id: str) -> CodingSessionSummary:
        """Return the summary of a stored session.

        Raises:
            CodingSessionError: There is no session of this id, or its log has no beginning.
        """
        path = self.log(id)
        try:
            found = summarize_log(path)
        except FileNotFoundError:
            raise CodingSessionError(f"There is no session {id}.") from None
        except OSError as error:
            raise CodingSessionError(
                f"The session's log {path} can't be opened: {error}."
            ) from None
        if found is None:
            raise CodingSessionError(f"The log of session {id} has no header: {path}.")
        return found

    def latest(self, workspace: Path) -> CodingSessionSummary:
        """The session that was used last in a workspace.

        Raises:
            CodingSessionError: There is none.
        """
        root = str(workspace.resolve())
        for each in self.sessions():
            if each.workspace == root:
                return each
        raise CodingSessionError(
            f"There is no session to resume in {root}: leave --resume out to begin one."
        )

    def find(self, id_prefix: str) -> CodingSessionSummary:
        """The session that a person means.

        Args:
            id_prefix: How its id alone begins.

        Raises:
            CodingSessionError: There is none, or several.
        """
        meant = [each for each in self.sessions() if each.id.startswith(id_prefix)]
        if len(meant) == 1:
            return meant[0]
        problem = "Several sessions' ids begin" if meant else "No session's id begins"
        raise CodingSessionError(
            f"{problem} with {id_prefix!r}: `agentstepper code --list` lists the ids."
        )


def _changed(path: Path) -> float:
    """When a file was last written to, in POSIX seconds; 0 where it was deleted meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def is_session_id(text: str) -> bool:
    """Whether a session may have such an id: it is a file's name."""
    return _ID.fullmatch(text) is not None


#: Characters of one message, and of one call's arguments, that a list of messages has.
MAX_SHOWN_CHARS: Final = 20_000


class StoredCodingSession(Struct, frozen=True, kw_only=True):
    """A session that is kept.

    Args:
        summary: What its log says of it.
        is_open: Whether a process has it open.
        problem: Why it can't be resumed, for a person; None: it can.
    """

    summary: CodingSessionSummary
    is_open: bool
    problem: str | None


def list_stored_sessions(
    folders: CodingDataPaths, limit: int | None = None
) -> list[StoredCodingSession]:
    """The sessions that are kept, those that were used last first. Reads their logs.

    Args:
        folders: Where they are kept.
        limit: How many at most; None: all.
    """
    return [check_stored_session(folders, each) for each in folders.sessions(limit)]


def check_stored_session(
    folders: CodingDataPaths, summary: CodingSessionSummary
) -> StoredCodingSession:
    """Whether a session is open, or what keeps it from being resumed.

    Args:
        folders: Where it is kept.
        summary: What its log says of it.
    """
    if is_line_file_open(folders.log(summary.id)):
        return StoredCodingSession(
            summary=summary, is_open=True, problem="The session is open in a process."
        )
    problem = None
    if not Path(summary.workspace).is_dir():
        problem = (
            f"The session's folder {summary.workspace} no longer exists; resume it with "
            "another folder."
        )
    return StoredCodingSession(summary=summary, is_open=False, problem=problem)


def make_stored_info(stored_session: StoredCodingSession) -> wire.CodingSessionInfo:
    """Make the entry in `GET sessions` of a session that isn't open in this process."""
    summary = stored_session.summary
    return wire.CodingSessionInfo(
        id=summary.id,
        workspace_path=summary.workspace,
        provider=summary.provider,
        model=summary.model,
        started_at=_seconds(summary.started_at),
        running=False,
        messages=summary.message_count,
        state="kept",
        resumable=stored_session.problem is None,
        problem=stored_session.problem,
        latest_at=_seconds(summary.updated_at),
        prompt=summary.first_prompt[: wire.MAX_PROMPT_CHARS],
    )


def select_shown_messages(
    messages: Sequence[ChatMessage], last: int
) -> tuple[tuple[wire.CodingMessageDetail, ...], int]:
    """The newest messages of a conversation, as they are shown, and how many are before these.

    Args:
        messages: The conversation.
        last: How many messages at most.
    """
    earlier = max(0, len(messages) - last)
    return tuple(_shown(each) for each in messages[earlier:]), earlier


def _shown(message: ChatMessage) -> wire.CodingMessageDetail:
    match message:
        case AssistantMessage(content=content, tool_calls=calls):
            called = tuple(
                wire.CodingCallDetail(
                    call_id=each.call_id, name=each.name, args=_args(each.args_json)
                )
                for each in calls
            )
            return wire.CodingMessageDetail(
                role="assistant",
                content=truncate_with_note(content, MAX_SHOWN_CHARS),
                tool_calls=called,
            )
        case ToolResultMessage(call_id=call, content=content, ok=ok):
            return wire.CodingMessageDetail(
                role="tool",
                content=truncate_with_note(content, MAX_SHOWN_CHARS),
                call_id=call,
                ok=ok,
            )
    return wire.CodingMessageDetail(
        role="user", content=truncate_with_note(message.content, MAX_SHOWN_CHARS)
    )


def _args(args_json: str) -> object:
    """A call's arguments; as a text where they are no JSON, or too long."""
    if len(args_json) > MAX_SHOWN_CHARS:
        return truncate_with_note(args_json, MAX_SHOWN_CHARS)
    return parse_arguments(args_json)


def _seconds(timestamp: str) -> float:
    """A log's time as POSIX seconds; 0 where it is none."""
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0.0
