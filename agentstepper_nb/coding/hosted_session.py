"""One coding session behind HTTP: answers one message at a time, and writes events to its feed."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from ..errors import AgentStopped, CommandError
from ..llm_wire.conversation import UserMessage
from ..llm_wire.events import AgentEvent, TextDelta, ToolCallReady, ToolResultEvent, TraceEvent
from ..protocol import coding_api as wire
from .approvals import Approver, HttpApprover
from .event_feed import SessionEventFeed
from .tool_results import normalize_result, parse_arguments

if TYPE_CHECKING:
    from .session import CodingSession


class SessionOpening(Struct, frozen=True, kw_only=True):
    """The arguments with which a session is opened.

    Args:
        request: The client's request.
        approver: The approver besides the debugger's view.
        listener: Receives the session's events.
    """

    request: wire.CreateCodingSession
    approver: Approver
    listener: Callable[[AgentEvent], None]


#: Opens a session: a new one, or the one of an id that was kept.
SessionOpener = Callable[[SessionOpening, str | None], Awaitable["CodingSession"]]


class HostedCodingSession:
    """One open session.

    Args:
        request: The request that opened the session.
        log: The log of failures.
    """

    def __init__(self, request: wire.CreateCodingSession, log: logging.Logger) -> None:
        self.feed = SessionEventFeed()
        self.approver = HttpApprover(self.feed.add)
        self._request = request
        self._log = log
        self._started_at = time.time()
        self._conversation: CodingSession | None = None
        self._answer_task: asyncio.Task[None] | None = None
        self._is_cancelled = False  # the answer, maybe before its task began

    async def open(self, opener: SessionOpener, stored_id: str | None) -> str:
        """Open it.

        Args:
            opener: Opens it.
            stored_id: The id of the session to resume; None opens a new one.

        Returns:
            Its id.
        """
        opening = SessionOpening(
            request=self._request, approver=self.approver, listener=self._on_event
        )
        self._conversation = await opener(opening, stored_id)
        return self._conversation.id

    @property
    def conversation(self) -> CodingSession:
        """The coding session, once it is open."""
        assert self._conversation is not None
        return self._conversation

    @property
    def running(self) -> bool:
        """Whether it answers a message."""
        return self._answer_task is not None and not self._answer_task.done()

    def info(self) -> wire.CodingSessionInfo:
        """The session's entry in `GET sessions`."""
        return wire.CodingSessionInfo(
            id=self.conversation.id,
            workspace_path=self._request.workspace_path,
            provider=self._request.provider,
            model=self._request.model,
            started_at=self._started_at,
            running=self.running,
            waiting=self.approver.pending_call_ids,
            run=self.conversation.run_id,
            messages=len(self.conversation.messages),
            sandbox=self.conversation.sandbox,
            prompt=self._prompt(),
        )

    def _prompt(self) -> str:
        """The beginning of the first prompt."""
        user_messages = (
            each for each in self.conversation.messages if isinstance(each, UserMessage)
        )
        first = next(user_messages, None)
        return "" if first is None else first.content[: wire.MAX_PROMPT_CHARS]

    def chat(self, message: str) -> None:
        """Begin to answer a message.

        Raises:
            CommandError: `session_busy`.
        """
        if self.running:
            raise CommandError(
                "session_busy",
                "The session is answering a message: wait for `completed`, or cancel the answer.",
            )
        self._is_cancelled = False
        self._answer_task = asyncio.create_task(self._answer(message))

    async def cancel(self) -> None:
        """Break the answer off, where there is one."""
        if self.running:
            self._is_cancelled = True
            await self.conversation.cancel()

    async def close(self) -> None:
        """End it."""
        try:
            await self.conversation.close()
        finally:
            if self._answer_task is not None:
                self._answer_task.cancel()
                await asyncio.wait((self._answer_task,))
            self.feed.close()

    async def _answer(self, message: str) -> None:
        usage = None
        try:
            if self._is_cancelled:
                raise asyncio.CancelledError
            outcome = await self.conversation.run(message)
            reason, usage = outcome.reason, outcome.usage
        except (AgentStopped, asyncio.CancelledError):
            reason = "cancelled"
        except Exception as error:
            self._log.exception("session %s failed", self.conversation.id)
            self.feed.add(
                wire.CodingTurnFailed(code="internal", message=f"The session failed: {error}")
            )
            reason = "error"
        self.feed.add(wire.CodingTurnCompleted(reason=reason, usage=usage))

    def _on_event(self, event: AgentEvent) -> None:
        server_event = make_server_event(event)
        if server_event is not None:
            self.feed.add(server_event)


def make_server_event(event: AgentEvent) -> wire.ServerEvent | None:
    """Convert an event for clients; None: another event has the same information."""
    match event:
        case TextDelta(text=text):
            return wire.CodingTextDelta(text=text)
        case ToolCallReady(call_id=call, name=name, args_json=args):
            return wire.ToolCalled(call_id=call, name=name, args=parse_arguments(args))
        case ToolResultEvent(call_id=call, result=result):
            normalized = normalize_result(result)
            return wire.ToolReturned(
                call_id=call, ok=normalized.ok, data=normalized.data, error=normalized.error
            )
        case TraceEvent(kind="error", data=data):
            return _failure(data)
        case TraceEvent(kind=kind, data=data):
            return wire.CodingTrace(kind=kind, data=_to_plain_data(data))
    return None


def _failure(data: Any) -> wire.CodingTurnFailed:
    server_event: Mapping[str, Any] = data if isinstance(data, Mapping) else {"message": data}
    return wire.CodingTurnFailed(
        code=str(server_event.get("kind", "error")), message=str(server_event.get("message", ""))
    )


def _to_plain_data(data: Any) -> Any:
    """What a trace holds, as far as JSON carries it."""
    try:
        return msgspec.to_builtins(data, str_keys=True)
    except (TypeError, ValueError, RecursionError):
        return repr(data)[:1000]
