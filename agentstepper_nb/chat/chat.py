"""A chat for notebooks and programs: conversations with agents, without an event loop of one's own."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

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

if TYPE_CHECKING:
    from .interpreter import Interpreter

#: What answers in a chat: a connector, the name of an installed one, or a function.
Agent = InterpreterABC | Callable[..., Any] | str


class Chat:
    """Conversations with agents, from any thread, also while an event loop runs there, as in a notebook.

    ::

        chat = Chat(lambda message: f"You said: {message}")
        chat.send("Hello!")

    It lives on a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. `ChatWidget(chat)` shows what is said, as it happens. Each turn is in the debugger that is
    found.

    Args:
        agents: Who answers: functions, connectors, or names of installed ones, as `"coding"`. Of these
            the environment says which model is meant: `AGENTSTEPPER_MODEL`, `AGENTSTEPPER_PROVIDER`.
        default_agent: The name of the one that messages are for which name none; None: the first.
        title: Of the conversation; else what is said first becomes it.
        workspace: The folder that is worked in, whose pictures and files may be shown.
        allowed_paths: Further folders whose pictures and files may be shown.
        auto_chat: Whether it goes on by itself after an answer.
        auto_chat_max: How many turns it may go on until somebody says something.
        window: How many messages an agent is given beside the one it answers.
        debugger: Whether to look for a debugger.
        step: Whether to begin stepping there.
        data_dir: The folder that keeps conversations; None: that of this installation.
        store: Whether conversations are stored on disk.

    Raises:
        CommandError: One of the agents is none; or there is none of the name `default_agent`.
        ProtocolError: Two agents have one name, or an unknown role.
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

        connectors = [make_chat_agent(agent) for agent in agents]
        roots = [] if workspace is None else [Path(workspace).expanduser().resolve()]
        folder = default_data_dir() if data_dir is None else Path(data_dir).expanduser()

        def make() -> Interpreter:
            from .interpreter import Interpreter

            return Interpreter(
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
        """Say something, and wait until it is a person's turn again: nobody answers any more, or a
        confirmation waits. An interrupt stops the turn.

        Args:
            text: What to say.
            agent: The name of whom it is for; None: the default agent.
            wait: Whether to wait; else it is answered while the program goes on.

        Returns:
            What was said in answer; nothing without waiting.

        Raises:
            CommandError: `session_busy`: somebody is answering; `unknown_agent`.
        """
        session, given = self.session_id, UserInput(content=text, agent_name=agent)
        return self._wait_for(session, lambda: self._interpreter.post(session, given), wait)

    def choose(
        self, choice: str, message: str | None = None, *, wait: bool = True
    ) -> list[Message]:
        """Answer the confirmation that waits, and wait as `send` does.

        Args:
            choice: One of its choices.
            message: The id of the confirmation that is meant; None: the one that waits.
            wait: Whether to wait.

        Returns:
            What was said from then on.

        Raises:
            CommandError: `not_waiting`: no such confirmation waits, or it has no such choice.
        """
        info = self.info
        session, id = info.id, message or info.waiting
        if id is None:
            raise CommandError("not_waiting", "No confirmation waits for a choice.")
        return self._wait_for(session, lambda: self._interpreter.choose(session, id, choice), wait)

    def stop(self, *, wait: bool = True) -> None:
        """End the turn that is under way: what was said stays. Nothing where there is none.

        Args:
            wait: Whether to wait until the agent has let go.
        """
        stop = partial(self._interpreter.stop, self.session_id)
        if wait:
            self._thread.wait(stop)
        else:
            self._thread.schedule(stop)

    @property
    def auto_chat(self) -> bool:
        """Whether it goes on by itself after an answer. May be set."""
        return self.info.auto_chat

    @auto_chat.setter
    def auto_chat(self, on: bool) -> None:
        self._set(auto_chat=on)

    @property
    def auto_chat_max(self) -> int:
        """How many turns it may go on until somebody says something. May be set."""
        return self.info.auto_chat_max

    @auto_chat_max.setter
    def auto_chat_max(self, turns: int) -> None:
        self._set(auto_chat_max=turns)

    # ---- how it is ----------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The conversation's id."""
        return self.info.id

    @property
    def info(self) -> ChatSessionInfo:
        """All there is to know of the conversation, but for its messages."""
        return self._mirror.info

    @property
    def state(self) -> State:
        """Whether it answers."""
        return self.info.state

    @property
    def is_awaiting_user(self) -> bool:
        """Whether it is a person's turn: nobody answers or goes on, or a confirmation waits."""
        return self._thread.call(lambda: is_awaiting_user(self._interpreter, self.session_id))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The newest messages, oldest first."""
        return self._thread.call(lambda: self._interpreter.messages(self.session_id))

    @property
    def pending_confirmation(self) -> Message | None:
        """The confirmation that waits for a choice."""
        id = self.info.waiting
        return next((message for message in self.messages if message.id == id), None)

    def watch(self) -> Iterator[ChatEvent]:
        """What happens in this conversation, as it happens; a `ChatSessionSnapshot` first.

        Closing the iterator ends the watch. A slow reader gets a new snapshot in place of what was
        missed.
        """
        session = self.session_id
        attach = partial(self._interpreter.attach, session)
        events = self._thread.call(lambda: EventFeed(session, attach)).read()
        try:
            while (event := self._thread.wait(lambda: anext(events, None))) is not None:
                yield event
        finally:
            if self._thread.is_running:
                self._thread.wait(events.aclose)

    # ---- conversations ------------------------------------------------------------------------------

    def new_session(self, title: str = "") -> str:
        """Begin another conversation, which is this chat's from now on. The one before goes on.

        Args:
            title: Its title; else what is said first becomes it.

        Returns:
            Its id.
        """
        self._turn_to(self._thread.call(lambda: self._begin(title)))
        return self.session_id

    def open(self, session_id: str) -> ChatSessionInfo:
        """Go on with a conversation: it is this chat's from now on.

        Args:
            session_id: Its id, as `sessions` tells it.

        Raises:
            CommandError: `unknown_session`.
        """
        open = partial(self._interpreter.open, session_id)
        self._turn_to(self._thread.call(lambda: SessionMirror(self._interpreter, open().id)))
        return self.info

    def sessions(self) -> list[ChatSessionInfo]:
        """All conversations with these agents, those that are kept as well, the newest first."""
        return self._thread.call(self._interpreter.sessions)

    # ---- for views ----------------------------------------------------------------------------------

    def attach(self, backend: Backend[Any] | Listener) -> Callable[[], None]:
        """Let a backend show this conversation; see `Backend.receive`.

        Args:
            backend: A backend, or a function that is given each event on the chat's event loop.

        Returns:
            What ends that.
        """
        detach = self._thread.call(lambda: self._interpreter.attach(self.session_id, backend))
        return lambda: self._thread.call(detach)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop that it lives on."""
        return self._thread.loop

    def make_service(self, right: ChatRight = ChatRight.TALK) -> ChatService:
        """What serves its conversations to a view, on its event loop.

        Args:
            right: What the view may do.
        """
        return ChatService(self._interpreter, right, deduplicator=self._deduplicator)

    # ---- from outside -------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        """Where programs reach this chat that have a token: it is opened by asking for this.

        Raises:
            DiscoveryError: No debugger runs here whose port they could come to, or there are several.
            ConnectionLostError: It can't be reached, or doesn't take this chat.
        """
        return self._thread.wait(self._thread.remote_access().open)

    def issue_token(
        self,
        scope: str | Iterable[str] = ("talk",),
        expires_in_s: float = 3600,
        session: str | None = None,
        agent_name: str | None = None,
    ) -> str:
        """Make a token that lets a program into one conversation, at `address`.

        Args:
            scope: What it may do: `watch`, `talk`, `answer` as an agent, or several of these.
            expires_in_s: Seconds for which it is good.
            session: The conversation's id; None: the one of now.
            agent_name: As whom it answers; for the scope `answer`.

        Raises:
            CommandError: `unknown_session`.
            ProtocolError: There is no such scope, or it needs an agent's name.
        """
        id = session or self.session_id
        self._thread.call(lambda: self._interpreter.info(id))
        return self._thread.remote_access().tokens.issue(id, scope, expires_in_s, agent_name)

    def revoke(self, token: str | None = None) -> None:
        """Make a token worthless before its end.

        Args:
            token: The token, or its id; None: all of this conversation.
        """
        tokens = self._thread.remote_access().tokens
        if token is None:
            tokens.revoke_session(self.session_id)
        else:
            tokens.revoke(token)

    def rotate_keys(self, *, drop_old: bool = False) -> None:
        """Sign tokens by a new key from now on.

        Args:
            drop_old: Whether those that were signed before are worthless at once.
        """
        self._thread.remote_access().tokens.rotate(drop_old=drop_old)

    # ---- its end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """End it, and what is under way. Idempotent. Conversations that are kept can be opened again."""
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

    def _set(self, *, auto_chat: bool | None = None, auto_chat_max: int | None = None) -> None:
        session = self.session_id
        self._thread.call(
            lambda: self._interpreter.update_session(
                session, auto_chat=auto_chat, auto_chat_max=auto_chat_max
            )
        )

    def _wait_for(self, session: str, begin: Callable[[], object], wait: bool) -> list[Message]:
        """Begin something, and wait for what is said thereupon."""
        if wait:
            return self._thread.wait(
                lambda: AnswerCollector(self._interpreter, session).collect(begin)
            )
        self._thread.call(begin)
        return []
