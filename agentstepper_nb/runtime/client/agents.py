"""Agents that run on their own, for programs: create them, steer them, watch them, talk with them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, Self

from ...discover import Endpoint
from ...protocol.runtime_wire import Notice
from ...rpc.client import PATIENCE, ClientLine
from ...rpc.loop_thread import Waiter, blocking
from .acting import Acting
from .reading import Reading
from .talking import Talking


class Connecting:
    """A connection that is to be opened: `await` it, or enter it."""

    def __init__(self, url: str | None, token: str | None, patience: float) -> None:
        self._how = (url, token, patience)
        self._agents: AsyncAgents | None = None

    def __await__(self) -> Generator[Any, None, AsyncAgents]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncAgents:
        self._agents = await self._open()
        return self._agents

    async def __aexit__(self, *_: object) -> None:
        assert self._agents is not None
        await self._agents.close()

    async def _open(self) -> AsyncAgents:
        return AsyncAgents(await ClientLine.open(*self._how))


class AsyncAgents(Acting, Reading, Talking):
    """Agents that run on their own, on an event loop. Made by `connect`; `Agents` is the same without.

    ::

        async with AsyncAgents.connect() as agents:
            session = await agents.create_agent("joker", "joke", {"topic": "loops"})
            await agents.wait_for(session, iteration=3)
            await agents.interrupt("Shorter ones.", session_id=session)

    The connection comes back by itself where it broke; a call waits for it. A call that was under way is
    made again where that changes nothing more. What the Core refuses raises `CommandError`.

    An action is for one session: that of `session_id`, or the latest of the agent `agent_id`.
    """

    def __init__(self, line: ClientLine) -> None:
        self._line = line

    @classmethod
    def connect(
        cls, url: str | None = None, token: str | None = None, *, patience: float = PATIENCE
    ) -> Connecting:
        """Connect to a Core.

        Args:
            url: Where it is: the address that it tells agents. None: the one that is running.
            token: Its control token. None: it is looked for.
            patience: Seconds that a call waits for a Core that is away.

        Returns:
            To be awaited, or entered by `async with`.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached, or doesn't take this connection.
        """
        return Connecting(url, token, patience)

    @property
    def url(self) -> str:
        """Where the Core is."""
        return self._line.url

    def find(self) -> Endpoint:
        """Where the Core is now, and by which token it is controlled: for another connection to it.

        Raises:
            DiscoveryError: It isn't there any more.
        """
        return self._line.find()

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        await self._line.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Agents(Waiter[AsyncAgents]):
    """Agents that run on their own, from anywhere. Made by `connect`; see `AsyncAgents`.

    ::

        with Agents.connect() as agents:
            session = agents.create_agent("joker", "joke", {"topic": "loops"})
            agents.wait_for(session, iteration=3)
            agents.interrupt("Shorter ones.", session_id=session)

    It has a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. It may be used from any thread, also where an event loop runs, as in a notebook.
    """

    @classmethod
    def connect(
        cls, url: str | None = None, token: str | None = None, *, patience: float = PATIENCE
    ) -> Self:
        """Connect to a Core.

        Args:
            url: Where it is: the address that it tells agents. None: the one that is running.
            token: Its control token. None: it is looked for.
            patience: Seconds that a call waits for a Core that is away.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached, or doesn't take this connection.
        """
        how = partial(AsyncAgents.connect, url, token, patience=patience)
        return cls._connected("agentstepper-agents", how)

    @property
    def url(self) -> str:
        """Where the Core is."""
        return self._client.url

    def find(self) -> Endpoint:
        """Where the Core is now, and by which token it is controlled; see `AsyncAgents.find`."""
        return self._client.find()

    create_agent = blocking(AsyncAgents.create_agent)
    pause = blocking(AsyncAgents.pause)
    resume = blocking(AsyncAgents.resume)
    interrupt = blocking(AsyncAgents.interrupt)
    send_input = blocking(AsyncAgents.send_input)
    destroy = blocking(AsyncAgents.destroy)
    actions = blocking(AsyncAgents.actions)
    state = blocking(AsyncAgents.state)
    states = blocking(AsyncAgents.states)
    list_agent_steps = blocking(AsyncAgents.list_agent_steps)
    list_agent_steps_since_iteration = blocking(AsyncAgents.list_agent_steps_since_iteration)
    list_agent_steps_latest = blocking(AsyncAgents.list_agent_steps_latest)
    list_sessions_for_agent = blocking(AsyncAgents.list_sessions_for_agent)
    create_conversation = blocking(AsyncAgents.create_conversation)
    set_conversation = blocking(AsyncAgents.set_conversation)
    conversations = blocking(AsyncAgents.conversations)
    join = blocking(AsyncAgents.join)
    leave = blocking(AsyncAgents.leave)
    participants = blocking(AsyncAgents.participants)
    post = blocking(AsyncAgents.post)
    messages = blocking(AsyncAgents.messages)
    unread = blocking(AsyncAgents.unread)
    mark_read = blocking(AsyncAgents.mark_read)
    wait_for = blocking(AsyncAgents.wait_for)

    def watch(self, topic: str) -> Iterator[Notice]:
        """What happens, as it happens; see `AsyncAgents.watch`. Closing the iterator ends it."""
        return self._items(self._client.watch(topic))
