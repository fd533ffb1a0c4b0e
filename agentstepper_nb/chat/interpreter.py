"""The interpreter: holds chat sessions and passes their messages to agents, turn by turn."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from ..errors import CommandError
from ..llm_wire.answer_builder import replace_surrogates
from ..protocol.chat import (
    AUTO_CHAT_MAX,
    DEFAULT_WINDOW_MESSAGES,
    ChatImage,
    ChatMessagePage,
    ChatSessionInfo,
    ChatSourceText,
    Message,
)
from .allowed_paths import AllowedPaths, read_message_image, read_message_source
from .backend import Backend, Listener, UserInput
from .connector import InterpreterABC
from .limits import DEFAULT_CHAT_LIMITS, ChatLimits
from .memory import Memory
from .session import ChatConfig, ChatSession, TurnHandle
from .session_agents import check_agents
from .sessions import MAX_TITLE_CHARS, ChatSessions, SessionId
from .streams import StreamWrapper
from .turn import (
    RunningTurn,
    find_continuation_refusal,
    find_next_agent,
    make_continuation,
    make_user_message,
)

_log: Final = logging.getLogger("agentstepper_nb.chat")


class Interpreter(ChatSessions):
    """Routes messages between people and agents. All methods are used on one event loop.

    Errors are `CommandError`s. Every method that takes a session may raise `unknown_session`.

    Args:
        agents: The agents that each session begins with.
        default_agent: The agent that gets messages which name no agent; None: the first agent.
        data_dir: This installation's data folder; transcripts are in its `chats/`.
        workspace: The agents' working folder, if there is one.
        allowed: The files that may be shown.
        auto_chat: Whether agents in new sessions continue without a user's message.
        auto_chat_max: The most continuations of an agent until a user sends a message.
        window: The most earlier messages that an agent gets with the message that it answers.
        debugger: Whether the debugger records turns.
        step: Whether runs in the debugger begin by stepping.
        store: Whether transcripts are stored on disk; otherwise they are lost with the process.
        clock: Returns the time in POSIX seconds.
        new_id: Returns a new message id.
        log: The log for failures.
        limits: How much is queued in memory, and how long a session waits.

    Raises:
        ProtocolError: An agent has no name, the name of another agent, or an unknown role.
        ValueError: `window` is out of range.
        CommandError: `unknown_agent`: no agent has the name `default_agent`.
    """

    def __init__(
        self,
        agents: Sequence[InterpreterABC],
        *,
        default_agent: str | None = None,
        data_dir: Path,
        workspace: Path | None = None,
        allowed: AllowedPaths,
        auto_chat: bool = False,
        auto_chat_max: int = AUTO_CHAT_MAX,
        window: int = DEFAULT_WINDOW_MESSAGES,
        debugger: bool = True,
        step: bool = False,
        store: bool = True,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: str(uuid4()),
        log: logging.Logger = _log,
        limits: ChatLimits = DEFAULT_CHAT_LIMITS,
    ) -> None:
        check_agents(agents, default_agent)
        Memory(window=window)  # raises where there can't be one
        config = ChatConfig(
            agents=tuple(agents),
            default_agent=default_agent,
            data_dir=data_dir,
            workspace=workspace,
            auto_chat=auto_chat,
            auto_chat_max=auto_chat_max,
            window=window,
            debugger=debugger,
            step=step,
            clock=clock,
            new_id=new_id,
            log=log,
            context=contextvars.copy_context(),
            limits=limits,
        )
        super().__init__(config, data_dir / "chats" if store else None)
        self._allowed = allowed
        self._loop = asyncio.get_running_loop()

    def update_session(
        self,
        session: SessionId,
        *,
        title: str | None = None,
        auto_chat: bool | None = None,
        auto_chat_max: int | None = None,
        default_agent: str | None = None,
    ) -> ChatSessionInfo:
        """Change the settings that a person may change; None leaves a setting as it is.

        If AutoChat may go on now, it does.

        Raises:
            CommandError: `unknown_agent`.
        """
        found = self.find(session)
        if default_agent is not None:
            found.agents.find_agent(default_agent)  # what is refused sets nothing
        if auto_chat_max is not None:
            found.auto.max = auto_chat_max
        if default_agent is not None:
            found.agents.default = default_agent
        if title is not None:
            found.title = replace_surrogates(title)[:MAX_TITLE_CHARS]
        if auto_chat is not None:
            found.auto_chat = auto_chat
        found.notify_changed()
        found.record_info()
        if auto_chat or auto_chat_max is not None:
            self._go_on(found)
        return found.info

    # ---- talking ------------------------------------------------------------------------------------

    def change_state_running(self, session: SessionId | None = None) -> None:
        """Claim a session for the turn of its next message, so that no other turn begins meanwhile.

        `process_message` claims the session itself. `stop` releases a claim that isn't used.

        Args:
            session: The session; None: the newest.

        Raises:
            CommandError: `session_busy`: a turn is in progress, or the session is claimed.
        """
        self.find(session).begin_turn(is_reservation=True)

    def process_message(
        self, session: SessionId, message: str | UserInput | Message
    ) -> StreamWrapper[Message]:
        """Send a user's message, or the choice that a pending confirmation waits for.

        The session is claimed at once, and the agent begins without further calls. The returned
        stream has the messages of the turn as they come; closing it ends the turn.

        Args:
            session: The session.
            message: A text, with or without the agent's name; or a message of any type.

        Raises:
            CommandError: `session_busy`: a turn is in progress; `unknown_agent`; `not_waiting`: the
                choice isn't offered, or no confirmation is pending.
            ProtocolError: `invalid_message`: the argument is no message.
        """
        self.post(session, message)
        return self._stream(self.find(session).turn)

    def post(self, session: SessionId, message: str | UserInput | Message) -> Message:
        """As `process_message`, for callers that don't read the turn's messages here.

        Returns:
            The message as it was posted; for a choice, the CONFIRMATION.
        """
        found = self.find(session)
        if isinstance(message, UserInput) and message.confirmation_id is not None:
            return found.choose(message.confirmation_id, message.content)
        said = make_user_message(message, found)
        agent = found.agents.find_agent(said.agent_name)
        found.begin_turn()
        found.auto.reset()
        self._begin(found, said, agent)
        return said

    def auto_chat(self, session: SessionId) -> StreamWrapper[Message]:
        """Continue the agent without a user's message: in STATE_STOP only, and within AutoChat's limit.

        Raises:
            CommandError: `auto_chat_refused`; the message has the reason.
        """
        found = self.find(session)
        why = find_continuation_refusal(found)
        if why is not None:
            raise CommandError("auto_chat_refused", f"AutoChat can't continue: {why}.")
        return self._stream(self._continue(found))

    async def stop(self, session: SessionId) -> None:
        """Stop the turn, and wait for its end; its messages stay. Does nothing without a turn."""
        found = self.find(session)
        if found.turn is not None:
            await found.turn.stop()
        else:
            found.release_reservation()

    def choose(self, session: SessionId, message_id: str, choice: str) -> Message:
        """Answer a CONFIRMATION.

        Returns:
            The CONFIRMATION with the choice.

        Raises:
            CommandError: `not_waiting`, `unknown_message_id`.
        """
        return self.find(session).choose(message_id, choice)

    # ---- what was said ------------------------------------------------------------------------------

    def messages(self, session: SessionId) -> tuple[Message, ...]:
        """Return the messages in memory, oldest first, in their present state."""
        return self.find(session).conversation.messages

    def message(self, session: SessionId, message_id: str) -> Message:
        """Return a message in its present state, from memory or from the transcript.

        Raises:
            CommandError: `unknown_message_id`.
        """
        return self.find(session).conversation.find(message_id)

    def read_earlier_messages(
        self, session: SessionId, before: str, limit: int = 50
    ) -> ChatMessagePage:
        """Read the transcript's newest messages before a message.

        Raises:
            CommandError: `unknown_message_id`.
        """
        return self.find(session).conversation.transcript.read_before(before, limit)

    async def read_image(self, session: SessionId, message: str) -> ChatImage:
        """Read the bytes of an IMAGE message.

        Raises:
            CommandError: `not_allowed`, `unknown_message_id`.
        """
        return await read_message_image(self.message(session, message), self._allowed)

    async def read_source(self, session: SessionId, message: str) -> ChatSourceText:
        """Read the text of the file that a CODE message names.

        Raises:
            CommandError: `not_allowed`, `unknown_message_id`.
        """
        return await read_message_source(self.message(session, message), self._allowed)

    # ---- who listens, and who answers ---------------------------------------------------------------

    def attach(self, session: SessionId, listener: Listener | Backend[Any]) -> Callable[[], None]:
        """Send a session's events to a backend or a function: first a `ChatSessionSnapshot`.

        The snapshot is sent at once.

        Returns:
            A function that detaches the receiver. Idempotent.
        """
        return self.find(session).attach(listener)

    def add_agent(self, session: SessionId, agent: InterpreterABC) -> None:
        """Add an agent to a session.

        Raises:
            ProtocolError: `invalid_message`: the agent has no name, the name of another agent, or
                an unknown role.
        """
        found = self.find(session)
        found.notify_agent_changed(found.agents.add(agent))

    def remove_agent(self, session: SessionId, name: str) -> None:
        """Remove an agent from a session; a turn in which it answers goes on to its end.

        Raises:
            CommandError: `unknown_agent`.
        """
        found = self.find(session)
        found.notify_agent_changed(found.agents.remove(name))

    # ---- parts --------------------------------------------------------------------------------------

    def _begin(
        self,
        session: ChatSession,
        message: Message,
        agent: InterpreterABC,
        *,
        is_continuation: bool = False,
    ) -> RunningTurn:
        turn = RunningTurn(session, message, agent, self._ended, is_continuation=is_continuation)
        session.turn = turn
        turn.post(message)
        return turn

    def _stream(self, turn: TurnHandle | None) -> StreamWrapper[Message]:
        assert turn is not None
        return StreamWrapper(turn.open_output(), loop=self._loop)

    def _continue(self, session: ChatSession) -> RunningTurn:
        agent = find_next_agent(session)
        prompt = make_continuation(agent, session)
        session.begin_turn()
        session.auto.count_turn()
        return self._begin(session, prompt, agent, is_continuation=True)

    def _ended(self, turn: RunningTurn) -> None:
        self._go_on(turn.session)

    def _go_on(self, session: ChatSession) -> None:
        if (
            session.auto_chat
            and not session.is_closing
            and find_continuation_refusal(session) is None
        ):
            self._continue(session)
