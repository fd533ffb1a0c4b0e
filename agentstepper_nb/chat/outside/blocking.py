"""The same for programs without an event loop, or in whose loop nothing may wait: scripts, notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

from ...protocol.chat import ChatEvent
from ...runtime.client.waiter import Waiter, blocking
from ..connector import InterpreterABC
from .client import PATIENCE, AsyncChatClient


class ChatClient(Waiter[AsyncChatClient]):
    """One session of a chat, by its token, from anywhere. Made by `connect`; see `AsyncChatClient`.

    ::

        with ChatClient.connect(address, token) as chat:
            for message in chat.send("How far are you?"):
                print(message.agent_name, message.content)

    It has a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. It may be used from any thread; an interrupt ends what is waited for.
    """

    @classmethod
    def connect(cls, address: str, token: str, *, patience: float = PATIENCE) -> Self:
        """Connect to a session; see `AsyncChatClient.connect`."""
        how = partial(AsyncChatClient.connect, address, token, patience=patience)
        return cls._connected("agentstepper-chat-client", how)

    @property
    def session_id(self) -> str:
        """The session that the token is for."""
        return self._client.session_id

    @property
    def scope(self) -> tuple[str, ...]:
        """What the token is for: some of `watch`, `talk` and `answer`."""
        return self._client.scope

    @property
    def agent_name(self) -> str | None:
        """The agent that this program may be, where the scope has `answer`."""
        return self._client.agent_name

    @property
    def expires_at(self) -> float:
        """When the token ends, POSIX seconds."""
        return self._client.expires_at

    send = blocking(AsyncChatClient.send)
    choose = blocking(AsyncChatClient.choose)
    stop = blocking(AsyncChatClient.stop)
    info = blocking(AsyncChatClient.info)
    messages = blocking(AsyncChatClient.messages)
    earlier = blocking(AsyncChatClient.earlier)
    picture = blocking(AsyncChatClient.picture)

    def attend(self, agent: InterpreterABC | Callable[..., Any] | str, **options: Any) -> None:
        """Be an agent of the session until an interrupt; see `AsyncChatClient.attend`."""
        self._thread.run(partial(self._client.attend, agent, **options))

    def watch(self) -> Iterator[ChatEvent]:
        """What happens, as it happens; see `AsyncChatClient.watch`. Closing the iterator ends it."""
        return self._items(self._client.watch())
