"""The same for programs without an event loop, or in whose loop nothing may wait: scripts, notebooks."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from ...protocol.chat import ChatEvent
from ...runtime.client.thread import LoopThread
from ..connector import InterpreterABC
from .client import PATIENCE, AsyncChatClient

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncChatClient, P], Awaitable[T]],
) -> Callable[Concatenate[ChatClient, P], T]:
    """The same method, which waits."""

    @wraps(method)
    def wait(self: ChatClient, /, *args: P.args, **named: P.kwargs) -> T:
        return self._thread.run(partial(method, self._client, *args, **named))

    return wait


class ChatClient:
    """One session of a chat, by its token, from anywhere. Made by `connect`; see `AsyncChatClient`.

    ::

        with ChatClient.connect(address, token) as chat:
            for message in chat.send("How far are you?"):
                print(message.agent_name, message.content)

    It has a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. It may be used from any thread; an interrupt ends what is waited for.
    """

    def __init__(self, thread: LoopThread, client: AsyncChatClient) -> None:
        self._thread = thread
        self._client = client
        self._end = weakref.finalize(self, thread.close)

    @classmethod
    def connect(cls, address: str, token: str, *, patience: float = PATIENCE) -> Self:
        """Connect to a session; see `AsyncChatClient.connect`."""
        thread = LoopThread("agentstepper-chat-client")
        try:
            how = partial(AsyncChatClient.connect, address, token, patience=patience)
            return cls(thread, thread.run(how))
        except BaseException:
            thread.close()
            raise

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

    send = _blocking(AsyncChatClient.send)
    choose = _blocking(AsyncChatClient.choose)
    stop = _blocking(AsyncChatClient.stop)
    info = _blocking(AsyncChatClient.info)
    messages = _blocking(AsyncChatClient.messages)
    earlier = _blocking(AsyncChatClient.earlier)
    picture = _blocking(AsyncChatClient.picture)

    def attend(self, agent: InterpreterABC | Callable[..., Any] | str, **options: Any) -> None:
        """Be an agent of the session until an interrupt; see `AsyncChatClient.attend`."""
        self._thread.run(partial(self._client.attend, agent, **options))

    def watch(self) -> Iterator[ChatEvent]:
        """What happens, as it happens; see `AsyncChatClient.watch`. Closing the iterator ends it."""
        events = self._client.watch()
        try:
            while (event := self._thread.run(partial(_next, events))) is not None:
                yield event
        finally:
            if self._thread.lives:
                self._thread.run(events.aclose)

    def close(self) -> None:
        """Close the connection, and end the thread. Idempotent."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _next(events: AsyncGenerator[ChatEvent, None]) -> ChatEvent | None:
    return await anext(events, None)
