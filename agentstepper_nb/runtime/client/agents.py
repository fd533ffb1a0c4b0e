"""Agents that run on their own, for programs: create them, steer them, watch them, talk with them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, Self

from ...discover import CoreEndpoint
from ...protocol.runtime_requests import TopicEvent
from ...rpc.loop_thread import SyncClient, make_blocking
from ...rpc.service_client import CONNECT_TIMEOUT_S, ServiceClient
from .actions import ActionClient
from .conversations import ConversationClient
from .sessions import SessionClient


class PendingConnection:
    """A connection that is to be opened: `await` it, or enter it."""

    def __init__(self, url: str | None, token: str | None, timeout_s: float) -> None:
        self._how = (url, token, timeout_s)
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
        return AsyncAgents(await ServiceClient.connect_runtime(*self._how))


class AsyncAgents(ActionClient, SessionClient, ConversationClient):
    """Agents that run on their own, on an event loop. Made by `connect`; `Agents` is the same without.

    ::

        async with AsyncAgents.connect() as agents:
            session = await agents.create_agent("joker", "joke", {"subject": "loops"})
            await agents.wait_for(session, iteration=3)
            await agents.interrupt("Shorter ones.", session_id=session)

    The connection comes back by itself where it broke; a call waits for it. A call that was under way is
    made again where that changes nothing more. What the Core refuses raises `CommandError`.

    An action is for one session: that of `session_id`, or the latest of the agent `agent_id`.
    """

    def __init__(self, client: ServiceClient) -> None:
        self._core = client

    @classmethod
    def connect(
        cls,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> PendingConnection:
        """Connect to a Core.

        Args:
            url: Where it is: the address that it tells agents. None: the one that is running.
            token: Its control token. None: it is looked for.
            timeout_s: Seconds that a call waits for a Core that is away.

        Returns:
            To be awaited, or entered by `async with`.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached, or doesn't take this connection.
        """
        return PendingConnection(url, token, timeout_s)

    @property
    def url(self) -> str:
        """Where the Core is."""
        return self._core.url

    def find(self) -> CoreEndpoint:
        """Where the Core is now, and by which token it is controlled: for another connection to it.

        Raises:
            DiscoveryError: It isn't there any more.
        """
        return self._core.find()

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        await self._core.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Agents(SyncClient[AsyncAgents]):
    """Agents that run on their own, from anywhere. Made by `connect`; see `AsyncAgents`.

    ::

        with Agents.connect() as agents:
            session = agents.create_agent("joker", "joke", {"subject": "loops"})
            agents.wait_for(session, iteration=3)
            agents.interrupt("Shorter ones.", session_id=session)

    It has a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. It may be used from any thread, also where an event loop runs, as in a notebook.
    """

    @classmethod
    def connect(
        cls,
        url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> Self:
        """Connect to a Core.

        Args:
            url: Where it is: the address that it tells agents. None: the one that is running.
            token: Its control token. None: it is looked for.
            timeout_s: Seconds that a call waits for a Core that is away.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached, or doesn't take this connection.
        """
        how = partial(AsyncAgents.connect, url, token, timeout_s=timeout_s)
        return cls._connected("agentstepper-agents", how)

    @property
    def url(self) -> str:
        """Where the Core is."""
        return self._client.url

    def find(self) -> CoreEndpoint:
        """Where the Core is now, and by which token it is controlled; see `AsyncAgents.find`."""
        return self._client.find()

    create_agent = make_blocking(AsyncAgents.create_agent)
    pause = make_blocking(AsyncAgents.pause)
    resume = make_blocking(AsyncAgents.resume)
    interrupt = make_blocking(AsyncAgents.interrupt)
    send_input = make_blocking(AsyncAgents.send_input)
    destroy = make_blocking(AsyncAgents.destroy)
    retry = make_blocking(AsyncAgents.retry)
    retry_action = make_blocking(AsyncAgents.retry_action)
    discard_action = make_blocking(AsyncAgents.discard_action)
    actions = make_blocking(AsyncAgents.actions)
    status = make_blocking(AsyncAgents.status)
    state = make_blocking(AsyncAgents.state)
    states = make_blocking(AsyncAgents.states)
    list_agent_steps = make_blocking(AsyncAgents.list_agent_steps)
    list_agent_steps_since_iteration = make_blocking(AsyncAgents.list_agent_steps_since_iteration)
    list_agent_steps_latest = make_blocking(AsyncAgents.list_agent_steps_latest)
    list_sessions_for_agent = make_blocking(AsyncAgents.list_sessions_for_agent)
    fleet = make_blocking(AsyncAgents.fleet)
    halt_runs = make_blocking(AsyncAgents.halt_runs)
    continue_runs = make_blocking(AsyncAgents.continue_runs)
    search = make_blocking(AsyncAgents.search)
    create_conversation = make_blocking(AsyncAgents.create_conversation)
    set_conversation = make_blocking(AsyncAgents.set_conversation)
    conversations = make_blocking(AsyncAgents.conversations)
    join = make_blocking(AsyncAgents.join)
    leave = make_blocking(AsyncAgents.leave)
    participants = make_blocking(AsyncAgents.participants)
    post = make_blocking(AsyncAgents.post)
    messages = make_blocking(AsyncAgents.messages)
    unread = make_blocking(AsyncAgents.unread)
    mark_read = make_blocking(AsyncAgents.mark_read)
    wait_for = make_blocking(AsyncAgents.wait_for)

    def watch(self, topic: str) -> Iterator[TopicEvent]:
        """What happens, as it happens; see `AsyncAgents.watch`. Closing the iterator ends it."""
        return self._items(self._client.watch(topic))
