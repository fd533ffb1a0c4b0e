"""Clients of the Core's background agents: create, steer and watch them, and talk with them."""

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
    """A connection that is not open yet: `await` it, or enter it by `async with`."""

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
    """A client of a Core's background agents, for an event loop; `Agents` needs no loop.

    ::

        async with AsyncAgents.connect() as agents:
            session = await agents.create_agent("joker", "joke", {"subject": "loops"})
            await agents.wait_for(session, iteration=3)
            await agents.interrupt("Shorter ones.", session_id=session)

    Made by `connect`. A broken connection is restored without a call; calls wait for it. A call
    that was in progress is sent again if that changes nothing more. A request that the Core refuses
    raises `CommandError`.

    An action is for one session: the session `session_id`, or the latest session of the agent
    `agent_id`.
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
            url: The Core's URL for agents. None: the running Core is discovered.
            token: The control token. None: the token is looked up.
            timeout_s: Seconds that a call waits for a Core that is away.

        Returns:
            An object to `await`, or to enter by `async with`.

        Raises:
            DiscoveryError: No Core was found, or several were.
            ConnectionLostError: The Core can't be reached, or refuses this connection.
        """
        return PendingConnection(url, token, timeout_s)

    @property
    def url(self) -> str:
        """The Core's URL."""
        return self._core.url

    def find(self) -> CoreEndpoint:
        """Find the Core's present URL and control token, for another connection to the Core.

        Raises:
            DiscoveryError: The Core doesn't run any more.
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
    """A client of a Core's background agents, for any thread. `AsyncAgents` describes the methods.

    ::

        with Agents.connect() as agents:
            session = agents.create_agent("joker", "joke", {"subject": "loops"})
            agents.wait_for(session, iteration=3)
            agents.interrupt("Shorter ones.", session_id=session)

    Made by `connect`. The client has a thread of its own, which ends with `close`, with the last
    reference to the client, or with the process. It may be used from any thread, also where an
    event loop runs, as in a notebook.
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
            url: The Core's URL for agents. None: the running Core is discovered.
            token: The control token. None: the token is looked up.
            timeout_s: Seconds that a call waits for a Core that is away.

        Raises:
            DiscoveryError: No Core was found, or several were.
            ConnectionLostError: The Core can't be reached, or refuses this connection.
        """
        how = partial(AsyncAgents.connect, url, token, timeout_s=timeout_s)
        return cls._connected("agentstepper-agents", how)

    @property
    def url(self) -> str:
        """The Core's URL."""
        return self._client.url

    def find(self) -> CoreEndpoint:
        """Find the Core's present URL and control token; see `AsyncAgents.find`."""
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
        """Iterate over a topic's changes, as `AsyncAgents.watch`; closing the iterator ends it."""
        return self._items(self._client.watch(topic))
