"""One open session: its state, its messages, and its listeners."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.chat import (
    ChatAgentChanged,
    ChatAgentInfo,
    ChatAgentPhase,
    ChatEvent,
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionSnapshot,
    Message,
    Role,
    TurnEnding,
)
from .backend import Backend, EventListeners, Listener
from .connector import InterpreterABC
from .limits import ChatLimits
from .memory import Memory, SessionMessages
from .message_builder import is_content_empty
from .run_recorder import RunRecorder
from .session_agents import SessionAgents, release_connector
from .session_states import AutoChat, SessionStates
from .transcripts import ChatTranscript

#: Characters of a title that is taken from the first message.
_MAX_TITLE_CHARS: Final = 60


@dataclass(frozen=True, kw_only=True)
class ChatConfig:
    """The settings that the sessions of an interpreter share; see `Interpreter`.

    Args:
        context: The context in which turns run.
        limits: The memory limits and the time-outs.
    """

    agents: tuple[InterpreterABC, ...]
    default_agent: str | None
    data_dir: Path
    workspace: Path | None
    auto_chat: bool
    auto_chat_max: int
    window: int
    debugger: bool
    step: bool
    clock: Callable[[], float]
    new_id: Callable[[], str]
    log: logging.Logger
    context: Context
    limits: ChatLimits


@dataclass(frozen=True)
class PendingConfirmation:
    """A confirmation that waits for a person's choice.

    Args:
        choices: The choices.
        end_confirmation: Ends the confirmation with the choice, or with None: withdrawn. Returns the
            message.
        answer: The future of the choice.
    """

    choices: tuple[str, ...]
    end_confirmation: Callable[[str | None], Message]
    answer: asyncio.Future[str] = field(compare=False)


class TurnHandle(Protocol):
    """A turn as its session knows it; see `turn.RunningTurn`."""

    agent: InterpreterABC
    had_confirmation: bool

    def open_output(self) -> AsyncIterator[Message]:
        """Return the turn's messages from now on."""

    async def stop(self, grace_s: float | None = None) -> None:
        """End it, and wait until it has."""


class ChatSession:
    """A session that is open in this process.

    Args:
        transcript: The session's transcript, with its stored state.
        config: The settings that sessions share.
        listed: Called after a change that lists of sessions show.
    """

    def __init__(
        self, transcript: ChatTranscript, config: ChatConfig, listed: Callable[[], None]
    ) -> None:
        summary = transcript.summary()
        self.id = summary.id
        self.title = summary.title
        self.auto_chat = summary.auto_chat
        self.config = config
        self.states = SessionStates()
        self.auto = AutoChat(summary.auto_chat_max)
        self.agents = SessionAgents(self.id, config.agents, summary.default_agent)
        self.listeners = EventListeners[ChatEvent](config.log)
        self.turn: TurnHandle | None = None
        self.last_turn: TurnHandle | None = None  # the last one that ended
        self.pending_confirmations: dict[str, PendingConfirmation] = {}
        self.is_closing = False
        self._is_reserved = False
        self._speaking: str | None = None
        self._on_list_changed = listed
        self._created_at, self._updated_at = summary.created_at, summary.updated_at
        self.recording = RunRecorder(
            self._run_name,
            workspace=config.workspace,
            debugger=config.debugger,
            step=config.step,
            notify_changed=self.notify_changed,
            log=config.log,
            limits=config.limits,
        )
        self.recording.run_id = summary.run_id
        memory = Memory(window=config.window)
        self.conversation = SessionMessages(
            memory,
            transcript,
            self.listeners.notify,
            self._report_write_failure,
            config.limits.max_cached_bytes,
        )
        for message in transcript.read_newest(memory.limit):
            memory.put(_mark_final(message))
        if len(transcript):  # a turn was had: it isn't new
            self.states.begin()
            self.states.end(summary.ending or TurnEnding.STOPPED)
        self._sent_info = self.info

    # ---- what it is ---------------------------------------------------------------------------------

    @property
    def info(self) -> ChatSessionInfo:
        """The session's state, without its messages."""
        memory = self.conversation.memory
        return ChatSessionInfo(
            id=self.id,
            title=self.title,
            state=self.states.state,
            ending=self.states.ending,
            agents=self.agents.infos(),
            default_agent=self.agents.default,
            speaking=self._speaking,
            waiting=next(iter(self.pending_confirmations), None),
            auto_chat=self.auto_chat,
            auto_turns=self.auto.turns,
            auto_chat_max=self.auto.max,
            halted=self.recording.is_halted,
            run_id=self.recording.run_id,
            no_debugger=self.recording.unavailable_reason,
            created_at=self._created_at,
            updated_at=self._updated_at,
            messages=len(self.conversation.transcript),
            messages_in_memory=len(memory),
            window_from=memory.window_from,
        )

    def attach(self, listener: Listener | Backend[object]) -> Callable[[], None]:
        """Send the present state and all later changes to a listener. Returns a detaching function."""
        return self.listeners.attach(listener, self._begin())

    def notify_changed(self) -> None:
        """Tell how it is, where that is not what was told last."""
        info = self.info
        if info == self._sent_info:
            return
        listed = _select_list_fields(info) != _select_list_fields(self._sent_info)
        self._sent_info = info
        self.listeners.notify(ChatSessionChanged(session=info))
        if listed:
            self._on_list_changed()

    # ---- turns --------------------------------------------------------------------------------------

    def begin_turn(self, *, is_reservation: bool = False) -> None:
        """A turn begins: that which was claimed, or another.

        Args:
            is_reservation: Whether its message is still to come: it begins with that.

        Raises:
            CommandError: `session_busy`.
        """
        if is_reservation or not self._is_reserved:
            self.states.begin()
            self._touch()
        self._is_reserved = is_reservation

    def release_reservation(self) -> None:
        """No message comes. Without a claim it does nothing."""
        if self._is_reserved:
            self._is_reserved = False
            self.end_turn(TurnEnding.STOPPED)

    def end_turn(self, ending: TurnEnding) -> None:
        """The turn has ended."""
        self.last_turn, self.turn = self.turn, None
        self.states.end(ending)
        self._touch()
        self.record_info()

    def set_speaking(
        self, agent: InterpreterABC, phase: ChatAgentPhase, error: str | None = None
    ) -> None:
        """An agent begins its part of a turn, or has ended it.

        Args:
            agent: The agent.
            phase: RUNNING, or ENDED.
            error: What it failed by.
        """
        self._speaking = agent.name if phase is ChatAgentPhase.RUNNING else None
        if agent in self.agents:  # it may have been removed
            self.notify_agent_changed(self.agents.phase(agent.name, phase), error)
        self.notify_changed()

    def notify_agent_changed(self, agent: ChatAgentInfo, error: str | None = None) -> None:
        """An agent is elsewhere in its session."""
        self.listeners.notify(ChatAgentChanged(session_id=self.id, agent=agent, error=error))
        self.notify_changed()

    # ---- messages -----------------------------------------------------------------------------------

    def message(self, role: Role, content: str = "", **fields: Any) -> Message:
        """Make a new message of this session, without adding the message.

        Args:
            role: The message's role.
            content: The message's content.
            fields: Other fields of `Message`.
        """
        return Message(
            id=self.config.new_id(),
            session_id=self.id,
            role=role,
            content=content,
            created_at=self.config.clock(),
            **fields,
        )

    def post(self, message: Message) -> None:
        """Add or update a message. A message that has become empty is removed."""
        if is_content_empty(message):
            self.remove([message.id])
            return
        if not self.title and message.role == "user" and message.final:
            self.title = _make_title(message.content)
        if self.conversation.add(message):
            self._touch()

    def remove(self, message_ids: Sequence[str]) -> None:
        """Remove messages, and send a new snapshot to all listeners."""
        self.conversation.remove(message_ids)
        self._updated_at = self.config.clock()
        self._sent_info = self.info
        self.listeners.notify(self._begin())

    def choose(self, message_id: str, choice: str) -> Message:
        """Answer a confirmation.

        Raises:
            CommandError: `not_waiting`, `unknown_message_id`.
        """
        asked = self.pending_confirmations.get(message_id)
        if asked is None or asked.answer.done():  # who asked may have been stopped just now
            self.conversation.find(message_id)
            raise CommandError("not_waiting", "This message no longer waits for a choice.")
        if choice not in asked.choices:
            there = ", ".join(map(repr, asked.choices))
            raise CommandError(
                "not_waiting", f"{choice[:100]!r} is not a choice of this message: choose {there}."
            )
        return self.end_confirmation(message_id, choice)

    def end_confirmation(self, message_id: str, choice: str | None) -> Message:
        """End a confirmation with a person's choice, or with None: withdrawn."""
        asked = self.pending_confirmations.pop(message_id)
        message = asked.end_confirmation(choice)
        if not asked.answer.done():
            if choice is None:
                asked.answer.cancel()
            else:
                asked.answer.set_result(choice)
        return message

    def record_info(self) -> None:
        """Store the session's state in the transcript."""
        self.conversation.write_transcript(
            lambda: self.conversation.transcript.record_info(self.info)
        )

    async def close(self) -> None:
        """Close the session: release its agents, end its run, and close its transcript."""
        try:
            self.record_info()
            for name in [agent.name for agent in self.agents]:
                self.notify_agent_changed(self.agents.phase(name, ChatAgentPhase.ENDED))
            await asyncio.gather(self.recording.close(), *map(self._release, self.agents))
        finally:
            self.conversation.transcript.close()

    async def _release(self, agent: InterpreterABC) -> None:
        what = f"Agent {agent.name} didn't release chat session {self.id} cleanly."
        release = partial(agent.on_session_closed, self.id)
        await release_connector(release, what, self.config.log, self.config.limits)

    def _touch(self) -> None:
        self._updated_at = self.config.clock()
        self.notify_changed()

    def _begin(self) -> ChatSessionSnapshot:
        return ChatSessionSnapshot(session=self.info, messages=self.conversation.messages)

    def _run_name(self) -> str:
        return f"chat {self.title or self.agents.default or self.id}"

    def _report_write_failure(self, error: OSError) -> None:
        self.config.log.error("Chat session %s can't be written: %s", self.id, error)
        text = (
            f"This conversation can no longer be written to disk: {error}. It continues, "
            "but new messages are lost when the chat ends."
        )
        self.post(self.message("system", text, format="error"))


def _mark_final(message: Message) -> Message:
    """A message that is read back: what waited when its process ended doesn't any more."""
    return message if message.final else replace(message, final=True)


def _make_title(content: str) -> str:
    line = content.strip().partition("\n")[0].strip()
    return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1]}…"


def _select_list_fields(info: ChatSessionInfo) -> ChatSessionInfo:
    """A session as a list shows it: without what changes with each message."""
    return replace(info, messages=0, messages_in_memory=0, window_from=None, updated_at=0)
