"""Clients of a chat session for other processes: talk, watch, and answer as an agent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Self
from uuid import uuid4

from ...errors import CommandError
from ...protocol.chat import (
    ChatEvent,
    ChatImage,
    ChatMessageChanged,
    ChatMessagePage,
    ChatMessageRequest,
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionRemoved,
    ChatSessionRequest,
    ChatSessionSnapshot,
    ChooseOption,
    ClientAdmission,
    GetEarlierMessages,
    Message,
    NumberedChatEvent,
    SendChatMessage,
    State,
)
from ...rpc.loop_thread import SyncClient, make_blocking
from ..connector import InterpreterABC
from .agent_runner import RemoteAgentRunner
from .session_connection import ChatConnection

#: Seconds that is waited for a chat that is away.
CONNECT_TIMEOUT_S: Final = 30.0


class _TokenHolder(ABC):
    """Who has a token: what it is for."""

    @property
    @abstractmethod
    def _admission(self) -> ClientAdmission:
        """What the token lets its bearer do."""

    @property
    def session_id(self) -> str:
        """The session that the token is for."""
        return self._admission.session

    @property
    def scope(self) -> tuple[str, ...]:
        """The token's permissions: some of `watch`, `talk` and `answer`."""
        return self._admission.scope

    @property
    def agent_name(self) -> str | None:
        """The agent that this program may be, where the scope has `answer`."""
        return self._admission.agent_name

    @property
    def expires_at(self) -> float:
        """When the token ends, POSIX seconds."""
        return self._admission.expires_at


class AsyncChatClient(_TokenHolder):
    """A client of one chat session, by a token, for an event loop; `ChatClient` needs no loop.

    ::

        async with await AsyncChatClient.connect(address, token) as chat:
            for message in await chat.send("How far are you?"):
                print(message.agent_name, message.content)

    Made by `connect`. A broken connection is restored without a call. A request that the chat
    refuses raises `CommandError`.
    """

    def __init__(self, connection: ChatConnection) -> None:
        self._connection = connection

    @classmethod
    async def connect(
        cls, address: str, token: str, *, timeout_s: float = CONNECT_TIMEOUT_S
    ) -> Self:
        """Connect to a session.

        Args:
            address: The chat's address, from `chat.address`.
            token: The session's token, from `chat.issue_token()`.
            timeout_s: Seconds that a call waits for a chat that is away.

        Raises:
            ConnectionLostError: The Core can't be reached, the chat isn't there, or the chat
                refuses the token; the message says which.
        """
        return cls(await ChatConnection.dial_session(address, token, timeout_s))

    @property
    def _admission(self) -> ClientAdmission:
        return self._connection.admission

    # ---- talking ------------------------------------------------------------------------------------

    async def send(self, content: str, *, agent: str | None = None) -> list[Message]:
        """Send a person's message, and wait until the turn ends or a CONFIRMATION is pending.

        AutoChat may go on after that; `watch` shows it.

        Args:
            content: The message.
            agent: The agent that the message is for; None: the session's default agent.

        Returns:
            The messages of the answer, oldest first. A pending CONFIRMATION is the last one.

        Raises:
            CommandError: `session_busy`; `unknown_agent`; `out_of_scope`.
            ConnectionLostError: The chat is away.
        """
        key = str(uuid4())  # so that it may be sent again where the connection broke
        said = SendChatMessage(session=self.session_id, content=content, agent_name=agent, key=key)
        return await self._begin(
            lambda: self._connection.send_command("send", said, Message, can_retry=True)
        )

    async def choose(self, choice: str, message: str | None = None) -> list[Message]:
        """Answer the pending CONFIRMATION, and wait as `send` does.

        Args:
            choice: One of its choices.
            message: The CONFIRMATION's id; None: the pending one.

        Raises:
            CommandError: `not_waiting`.
            ConnectionLostError: The chat is away.
        """
        id = message or (await self.info()).waiting
        if id is None:
            raise CommandError("not_waiting", "No confirmation waits for a choice.")
        chosen = ChooseOption(session=self.session_id, message=id, choice=choice)
        return await self._begin(lambda: self._connection.send_command("choose", chosen, Message))

    async def stop(self) -> None:
        """Stop the turn in progress; its messages stay. Does nothing if no turn is in progress."""
        await self._connection.send_command("stop", self._session, type(None))

    # ---- reading ------------------------------------------------------------------------------------

    async def info(self) -> ChatSessionInfo:
        """Return the session's data, without the messages."""
        return (await self._now()).session

    async def messages(self) -> tuple[Message, ...]:
        """Return the newest messages, oldest first. `read_image` reads the bytes of images."""
        return (await self._now()).messages

    async def read_earlier_messages(self, before: str, limit: int = 50) -> ChatMessagePage:
        """Read the messages before a message, and whether there are older ones.

        Args:
            before: The id of the message.
            limit: The most messages to return, up to 200.
        """
        asked = GetEarlierMessages(session=self.session_id, before=before, limit=limit)
        return await self._connection.call_method("earlier", asked, ChatMessagePage)

    async def read_image(self, message: str) -> ChatImage:
        """Read the bytes of an IMAGE message.

        Args:
            message: The message's id.
        """
        asked = ChatMessageRequest(session=self.session_id, message=message)
        return await self._connection.call_method("picture", asked, ChatImage)

    async def watch(self) -> AsyncGenerator[ChatEvent, None]:
        """Iterate over the session's changes as they happen, until the session ends.

        The first item is a `ChatSessionSnapshot`. Another one follows whenever changes were missed.

        Raises:
            CommandError: The token has expired or was revoked.
            ConnectionLostError: The chat is away.
        """
        async with aclosing(
            self._connection.stream("watch", self._session, NumberedChatEvent)
        ) as told:
            async for each in told:
                yield each.event

    # ---- answering ----------------------------------------------------------------------------------

    async def serve_agent(
        self, agent: InterpreterABC | Callable[..., Any] | str, **options: Any
    ) -> None:
        """Answer as an agent of the session, by the token's agent name, until this is cancelled.

        Args:
            agent: The agent: a function, a connector, or the name of an installed connector.
            options: Options of the connector, as `role=` of a function.

        Raises:
            CommandError: `out_of_scope`; the token has expired or was revoked; another client
                answers with the token; or the session has an agent of this name.
            ConnectionLostError: The chat is away.
        """
        from ..connectors.registry import make_connector

        await RemoteAgentRunner(self._connection, make_connector(agent, **options)).run()

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # ---- inside -------------------------------------------------------------------------------------

    @property
    def _session(self) -> ChatSessionRequest:
        return ChatSessionRequest(session=self.session_id)

    async def _now(self) -> ChatSessionSnapshot:
        async with aclosing(self.watch()) as events:
            async for event in events:
                if isinstance(event, ChatSessionSnapshot):
                    return event
        raise CommandError("unknown_session", "The chat session no longer exists.")

    async def _begin(self, send_command: Callable[[], Awaitable[Message]]) -> list[Message]:
        """Do what begins or continues a turn, and collect what follows."""
        async with aclosing(self.watch()) as events:
            await anext(events)  # it is watched from here on
            replies = ReplyCollector(await send_command())
            async for event in events:
                if replies.add(event):
                    break
        return replies.messages


class ChatClient(_TokenHolder, SyncClient[AsyncChatClient]):
    """A client of one chat session, by a token, for any thread; see `AsyncChatClient`.

    ::

        with ChatClient.connect(address, token) as chat:
            for message in chat.send("How far are you?"):
                print(message.agent_name, message.content)

    Made by `connect`. The client has a thread of its own, which ends with `close`, with the last
    reference to the client, or with the process. It may be used from any thread. An interrupt ends
    a wait.
    """

    @classmethod
    def connect(cls, address: str, token: str, *, timeout_s: float = CONNECT_TIMEOUT_S) -> Self:
        """Connect to a session; see `AsyncChatClient.connect`."""
        how = partial(AsyncChatClient.connect, address, token, timeout_s=timeout_s)
        return cls._connected("agentstepper-chat-client", how)

    @property
    def _admission(self) -> ClientAdmission:
        return self._client._admission

    send = make_blocking(AsyncChatClient.send)
    choose = make_blocking(AsyncChatClient.choose)
    stop = make_blocking(AsyncChatClient.stop)
    info = make_blocking(AsyncChatClient.info)
    messages = make_blocking(AsyncChatClient.messages)
    read_earlier_messages = make_blocking(AsyncChatClient.read_earlier_messages)
    read_image = make_blocking(AsyncChatClient.read_image)

    def serve_agent(self, agent: InterpreterABC | Callable[..., Any] | str, **options: Any) -> None:
        """Answer as an agent until an interrupt; see `AsyncChatClient.serve_agent`."""
        self._thread.run(partial(self._client.serve_agent, agent, **options))

    def watch(self) -> Iterator[ChatEvent]:
        """Iterate over the session's changes; see `AsyncChatClient.watch`.

        Closing the iterator ends the watch.
        """
        return self._items(self._client.watch())


_USER: Final = "user"


class ReplyCollector:
    """Collects the messages that follow a message, until the person may answer.

    Args:
        message: The message as the chat returned it, or a CONFIRMATION with its choice.
    """

    def __init__(self, message: Message) -> None:
        self._message = message
        self._seen = False
        self._messages_by_id: dict[str, Message] = {}

    @property
    def messages(self) -> list[Message]:
        """The messages so far, without those of people."""
        return [each for each in self._messages_by_id.values() if each.role != _USER]

    def add(self, event: ChatEvent) -> bool:
        """Process an event of the session.

        Args:
            event: The event.

        Returns:
            Whether this was the last one: no agent answers any more, or another CONFIRMATION is
            pending.
        """
        match event:
            case ChatSessionSnapshot(session=session, messages=messages):
                self._begin(messages)
                return self._is_awaiting_user(session)
            case ChatMessageChanged(message=message):
                self._put(message)
            case ChatSessionChanged(session=session):
                return self._is_awaiting_user(session)
            case ChatSessionRemoved():
                return True
        return False

    def _begin(self, messages: tuple[Message, ...]) -> None:
        """How it is now: what isn't there any more was removed, or is older than what is told."""
        oldest = min((each.created_at for each in messages), default=0.0)
        self._messages_by_id = {
            id: each for id, each in self._messages_by_id.items() if each.created_at < oldest
        }
        if oldest > self._message.created_at:
            self._seen = True  # so much has followed it that it isn't among the newest any more
        for message in messages:
            if message.created_at >= self._message.created_at:
                self._put(message)

    def _put(self, message: Message) -> None:
        if message.id == self._message.id:
            # A confirmation is the same message before its choice was made.
            self._seen = self._seen or message.final
        elif self._seen:
            self._messages_by_id[message.id] = message

    def _is_awaiting_user(self, session: ChatSessionInfo) -> bool:
        if not self._seen:
            return False
        if session.waiting is not None:
            return session.waiting in self._messages_by_id
        return session.state is not State.STATE_RUNNING
