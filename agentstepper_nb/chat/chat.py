"""`Chat`: conversations with agents for notebooks and programs without an event loop."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

from ..discover import data_dir as default_data_dir
from ..errors import CommandError
from ..protocol.chat import (
    AUTO_CHAT_MAX,
    DEFAULT_WINDOW_MESSAGES,
    ChatEvent,
    ChatSessionInfo,
    Message,
    State,
)
from .allowed_paths import AllowedPaths
from .backend import Backend, UserInput
from .chat_thread import (
    DEFAULT_CHAT_THREAD_LIMITS,
    AnswerCollector,
    ChatThread,
    SessionMirror,
    is_awaiting_user,
)
from .connector import InterpreterABC
from .event_feed import EventFeed, Listener
from .service import ChatRight, ChatService, MessageDeduplicator

#: What answers in a chat: a connector, the name of an installed one, or a function.
Agent = InterpreterABC | Callable[..., Any] | str


class Chat:
    """A chat with agents, which any thread may use, also where an event loop runs.

    ::

        chat = Chat(lambda message: f"You said: {message}")
        chat.send("Hello!")

    The chat has a thread of its own, which ends with `close`, with the last reference to the chat,
    or with the process. `ChatWidget(chat)` shows the messages as they come. If a debugger is found,
    the debugger records each turn.

    Args:
        agents: The agents that answer: functions, connectors, or names of installed connectors, as
            `"coding"`. For a named connector, the environment variables `AGENTSTEPPER_MODEL` and
            `AGENTSTEPPER_PROVIDER` choose the model.
        default_agent: The agent that gets messages which name no agent; None: the first agent.
        title: The conversation's title; "": the first message becomes the title.
        workspace: The agents' working folder. Its images and files may be shown.
        allowed_paths: Further folders whose images and files may be shown.
        auto_chat: Whether the agent goes on by itself after an answer.
        auto_chat_max: The most turns that the agent goes on by itself until somebody writes.
        window: How many earlier messages an agent gets beside the one that it answers.
        debugger: Whether to look for a debugger.
        step: Whether the run in the debugger begins by stepping.
        data_dir: The folder that stores conversations; None: this installation's data folder.
        store: Whether conversations are stored on disk.

    Raises:
        CommandError: One of `agents` is no agent, or no agent has the name `default_agent`.
        ProtocolError: Two agents have the same name, or an agent has an unknown role.
    """

    _thread_limits = DEFAULT_CHAT_THREAD_LIMITS

    def __init__(
        self,
        *agents: Agent,
        default_agent: str | None = None,
        title: str = "",
        workspace: str | Path | None = None,
        allowed_paths: Iterable[str | Path] = (),
        auto_chat: bool = False,
        auto_chat_max: int = AUTO_CHAT_MAX,
        window: int = DEFAULT_WINDOW_MESSAGES,
        debugger: bool = True,
        step: bool = False,
        data_dir: str | Path | None = None,
        store: bool = True,
    ) -> None:
        from .connectors.registry import make_chat_agent
        from .interpreter import Interpreter

        connectors = [make_chat_agent(agent) for agent in agents]
        roots = [] if workspace is None else [Path(workspace).expanduser().resolve()]
        folder = default_data_dir() if data_dir is None else Path(data_dir).expanduser()
        make = partial(
            Interpreter,
            connectors,
            default_agent=default_agent,
            data_dir=folder,
            workspace=roots[0] if roots else None,
            allowed=AllowedPaths([*roots, *allowed_paths]),
            auto_chat=auto_chat,
            auto_chat_max=auto_chat_max,
            window=window,
            debugger=debugger,
            step=step,
            store=store,
        )
        self._thread = ChatThread(make, folder, self._thread_limits)
        self._interpreter = self._thread.interpreter
        self._deduplicator = MessageDeduplicator()
        self._end = weakref.finalize(self, self._thread.close)
        self._mirror = self._thread.call(lambda: self._begin(title))

    # ---- the conversation ---------------------------------------------------------------------------

    def send(self, text: str, *, agent: str | None = None, wait: bool = True) -> list[Message]:
        """Send a message, and wait until the person may answer.

        The wait ends when no agent answers any more, or when a confirmation is pending. An
        interrupt stops the turn.

        Args:
            text: The message.
            agent: The name of the agent that the message is for; None: the default agent.
            wait: Whether to wait. Otherwise the agent answers while the program goes on.

        Returns:
            The messages of the answer; an empty list without waiting.

        Raises:
            CommandError: `session_busy`: an agent is answering; `unknown_agent`.
        """
        session, given = self.session_id, UserInput(content=text, agent_name=agent)
        return self._wait_for(session, lambda: self._interpreter.post(session, given), wait)

    def choose(
        self, choice: str, message: str | None = None, *, wait: bool = True
    ) -> list[Message]:
        """Answer the pending confirmation, and wait as `send` does.

        Args:
            choice: One of the confirmation's choices.
            message: The id of the confirmation; None: the pending one.
            wait: Whether to wait.

        Returns:
            The messages that followed.

        Raises:
            CommandError: `not_waiting`: no such confirmation is pending, or it has no such choice.
        """
        info = self.info
        session, id = info.id, message or info.waiting
        if id is None:
            raise CommandError("not_waiting", "No confirmation waits for a choice.")
        return self._wait_for(session, lambda: self._interpreter.choose(session, id, choice), wait)

    def stop(self, *, wait: bool = True) -> None:
        """Stop the turn in progress; its messages stay. Does nothing if no turn is in progress.

        Args:
            wait: Whether to wait until the agent has stopped.
        """
        stop = partial(self._interpreter.stop, self.session_id)
        if wait:
            self._thread.wait(stop)
        else:
            self._thread.schedule(stop)

    @property
    def auto_chat(self) -> bool:
        """Whether the agent goes on by itself after an answer. May be set."""
        return self.info.auto_chat

    @auto_chat.setter
    def auto_chat(self, on: bool) -> None:
        self._thread.call(partial(self._interpreter.update_session, self.session_id, auto_chat=on))

    @property
    def auto_chat_max(self) -> int:
        """The most turns that the agent goes on by itself until somebody writes. May be set."""
        return self.info.auto_chat_max

    @auto_chat_max.setter
    def auto_chat_max(self, turns: int) -> None:
        self._thread.call(
            partial(self._interpreter.update_session, self.session_id, auto_chat_max=turns)
        )

    # ---- how it is ----------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The conversation's id."""
        return self.info.id

    @property
    def info(self) -> ChatSessionInfo:
        """The conversation's data, without the messages."""
        return self._mirror.info

    @property
    def state(self) -> State:
        """The conversation's state: whether an agent answers."""
        return self.info.state

    @property
    def is_awaiting_user(self) -> bool:
        """Whether the person may answer: no agent is active, or a confirmation is pending."""
        return self._thread.call(lambda: is_awaiting_user(self._interpreter, self.session_id))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The newest messages, oldest first."""
        return self._thread.call(lambda: self._interpreter.messages(self.session_id))

    @property
    def pending_confirmation(self) -> Message | None:
        """The confirmation that waits for a choice; None if there is none."""
        id = self.info.waiting
        return next((message for message in self.messages if message.id == id), None)

    def watch(self) -> Iterator[ChatEvent]:
        """Iterate over the conversation's changes as they happen: first a `ChatSessionSnapshot`.

        Closing the iterator ends the watch. A reader that is too slow gets a new snapshot in place
        of the changes that it missed.
        """
        session = self.session_id
        attach = partial(self._interpreter.attach, session)
        events = self._thread.call(lambda: EventFeed(session, attach)).read()
        try:
            while (event := self._thread.wait(lambda: anext(events, None))) is not None:
                yield event
        finally:
            if self._thread.can_wait:  # else a garbage collection there: its loop closes the stream
                self._thread.wait(events.aclose)

    # ---- conversations ------------------------------------------------------------------------------

    def new_session(self, title: str = "") -> str:
        """Begin another conversation, and switch this chat to it. The previous one goes on.

        Args:
            title: The title; "": the first message becomes the title.

        Returns:
            The new conversation's id.
        """
        self._turn_to(self._thread.call(lambda: self._begin(title)))
        return self.session_id

    def open(self, session_id: str) -> ChatSessionInfo:
        """Switch this chat to another conversation, and resume that one.

        Args:
            session_id: The conversation's id, as `sessions` lists it.

        Raises:
            CommandError: `unknown_session`.
        """
        open = partial(self._interpreter.open, session_id)
        self._turn_to(self._thread.call(lambda: SessionMirror(self._interpreter, open().id)))
        return self.info

    def sessions(self) -> list[ChatSessionInfo]:
        """List all conversations with these agents, including the stored ones, newest first."""
        return self._thread.call(self._interpreter.sessions)

    # ---- for views ----------------------------------------------------------------------------------

    def attach(self, backend: Backend[Any] | Listener) -> Callable[[], None]:
        """Show this conversation in a backend; see `Backend.receive`.

        Args:
            backend: A backend, or a function that is called with each event, on the chat's loop.

        Returns:
            A function that detaches the backend.
        """
        detach = self._thread.call(lambda: self._interpreter.attach(self.session_id, backend))
        return lambda: self._thread.call(detach)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The chat's event loop."""
        return self._thread.loop

    def make_service(self, right: ChatRight = ChatRight.TALK) -> ChatService:
        """Make the service by which a view reaches the conversations, on the chat's event loop.

        Args:
            right: What the view may do.
        """
        return ChatService(self._interpreter, right, deduplicator=self._deduplicator)

    # ---- from outside -------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """The address at which programs with a token reach this chat.

        The first read of the address makes the chat reachable.

        Raises:
            DiscoveryError: No debugger with a port that programs can use was found, or several.
            ConnectionLostError: The debugger can't be reached, or refuses this chat.
        """
        return self._thread.wait(self._thread.remote_access().open)

    def issue_token(
        self,
        scope: str | Iterable[str] = ("talk",),
        expires_in_s: float = 3600,
        session: str | None = None,
        agent_name: str | None = None,
    ) -> str:
        """Make a token that grants a program access to one conversation, at `address`.

        Args:
            scope: What the program may do: `watch`, `talk`, `answer` as an agent, or several of
                these.
            expires_in_s: Seconds for which the token is valid.
            session: The conversation's id; None: the chat's present conversation.
            agent_name: The name of the agent that the program answers as; for the scope `answer`.

        Raises:
            CommandError: `unknown_session`.
            ProtocolError: The scope doesn't exist, or needs an agent's name.
        """
        id = session or self.session_id
        self._thread.call(lambda: self._interpreter.info(id))
        return self._thread.remote_access().tokens.issue(id, scope, expires_in_s, agent_name)

    def revoke(self, token: str | None = None) -> None:
        """Revoke a token before it expires.

        Args:
            token: The token, or its id; None: all tokens of this conversation.
        """
        tokens = self._thread.remote_access().tokens
        if token is None:
            tokens.revoke_session(self.session_id)
        else:
            tokens.revoke(token)

    def rotate_keys(self, *, drop_old: bool = False) -> None:
        """Replace the key that signs tokens.

        Args:
            drop_old: Whether tokens that the previous keys signed become invalid at once.
        """
        self._thread.remote_access().tokens.rotate(drop_old=drop_old)

    # ---- its end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the chat, and stop a turn in progress. Idempotent.

        Stored conversations can be opened again.
        """
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if not self._thread.is_running:
            return "<Chat: closed>"
        info = self.info
        title = f" {info.title!r}" if info.title else ""
        agents = ", ".join(agent.name for agent in info.agents) or "nobody"
        waits = ", waits for a choice" if info.waiting else ""
        return f"<Chat{title} with {agents}: {info.state.value}{waits}, {info.messages} messages>"

    # ---- inside -------------------------------------------------------------------------------------

    def _begin(self, title: str) -> SessionMirror:
        """A new conversation; on the loop."""
        return SessionMirror(self._interpreter, str(self._interpreter.create_session(title)))

    def _turn_to(self, mirror: SessionMirror) -> None:
        before, self._mirror = self._mirror, mirror
        self._thread.call(before.close)

    def _wait_for(self, session: str, begin: Callable[[], object], wait: bool) -> list[Message]:
        """Begin something, and wait for what is said thereupon."""
        if wait:
            return self._thread.wait(
                lambda: AnswerCollector(self._interpreter, session).collect(begin)
            )
        self._thread.call(begin)
        return []
