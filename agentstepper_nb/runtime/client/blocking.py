"""The same for programs without an event loop, or in whose loop nothing may wait: notebooks."""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from functools import partial, wraps
from typing import Concatenate, ParamSpec, Self, TypeVar

from ...discover import Endpoint
from ...protocol.runtime_wire import Notice
from .agents import AsyncAgents
from .line import PATIENCE
from .thread import LoopThread

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncAgents, P], Awaitable[T]],
) -> Callable[Concatenate[Agents, P], T]:
    """The same method, which waits."""

    @wraps(method)
    def wait(self: Agents, /, *args: P.args, **named: P.kwargs) -> T:
        return self._thread.run(partial(method, self._agents, *args, **named))

    return wait


class Agents:
    """Agents that run on their own, from anywhere. Made by `connect`; see `AsyncAgents`.

    ::

        with Agents.connect() as agents:
            session = agents.create_agent("joker", "joke", {"topic": "loops"})
            agents.wait_for(session, iteration=3)
            agents.interrupt("Shorter ones.", session_id=session)

    It has a thread of its own, which ends with `close`, with the last reference to it, or with the
    process. It may be used from any thread, also where an event loop runs, as in a notebook.
    """

    def __init__(self, thread: LoopThread, agents: AsyncAgents) -> None:
        self._thread = thread
        self._agents = agents
        self._end = weakref.finalize(self, thread.close)

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

        async def open() -> AsyncAgents:
            return await AsyncAgents.connect(url, token, patience=patience)

        thread = LoopThread("agentstepper-agents")
        try:
            return cls(thread, thread.run(open))
        except BaseException:
            thread.close()
            raise

    @property
    def url(self) -> str:
        """Where the Core is."""
        return self._agents.url

    def find(self) -> Endpoint:
        """Where the Core is now, and by which token it is controlled; see `AsyncAgents.find`."""
        return self._agents.find()

    def close(self) -> None:
        """Close the connection, and end the thread. Idempotent."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    create_agent = _blocking(AsyncAgents.create_agent)
    pause = _blocking(AsyncAgents.pause)
    resume = _blocking(AsyncAgents.resume)
    interrupt = _blocking(AsyncAgents.interrupt)
    send_input = _blocking(AsyncAgents.send_input)
    destroy = _blocking(AsyncAgents.destroy)
    actions = _blocking(AsyncAgents.actions)
    state = _blocking(AsyncAgents.state)
    states = _blocking(AsyncAgents.states)
    list_agent_steps = _blocking(AsyncAgents.list_agent_steps)
    list_agent_steps_since_iteration = _blocking(AsyncAgents.list_agent_steps_since_iteration)
    list_agent_steps_latest = _blocking(AsyncAgents.list_agent_steps_latest)
    list_sessions_for_agent = _blocking(AsyncAgents.list_sessions_for_agent)
    create_conversation = _blocking(AsyncAgents.create_conversation)
    set_conversation = _blocking(AsyncAgents.set_conversation)
    conversations = _blocking(AsyncAgents.conversations)
    join = _blocking(AsyncAgents.join)
    leave = _blocking(AsyncAgents.leave)
    participants = _blocking(AsyncAgents.participants)
    post = _blocking(AsyncAgents.post)
    messages = _blocking(AsyncAgents.messages)
    unread = _blocking(AsyncAgents.unread)
    mark_read = _blocking(AsyncAgents.mark_read)
    wait_for = _blocking(AsyncAgents.wait_for)

    def watch(self, topic: str) -> Iterator[Notice]:
        """What happens, as it happens; see `AsyncAgents.watch`. Closing the iterator ends it."""
        notices = self._agents.watch(topic)
        try:
            while (notice := self._thread.run(partial(_next, notices))) is not None:
                yield notice
        finally:
            if self._thread.lives:
                self._thread.run(notices.aclose)


async def _next(notices: AsyncGenerator[Notice, None]) -> Notice | None:
    return await anext(notices, None)
