"""The Core's side of agents that run on their own: the only access to their store.

What is asked is checked, done, and told to whoever watches, in this order. What changes something is
carried through once it was begun, even where who asked is gone: else the store would have what nobody
was told of.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

import uuid_utils

from ...errors import AgentStepperError
from ...protocol.runtime_requests import (
    CreateAgentPayload,
    DispatcherWake,
    GetRuntimeStatus,
    RuntimeStatus,
    SubscribeWakes,
    TopicEvent,
    WatchTopic,
)
from ...protocol.runtime_store_messages import ReleaseLeases
from ...store.runtime.base import RuntimeStore
from .action_service import ActionService
from .context import RowUpdates, RuntimeServices
from .conversation_service import ConversationService
from .dispatcher_wakeups import DispatcherWakeups
from .message_service import MessageService
from .query_service import QueryService
from .topic_stream import stream_topic
from .topics import Topics
from .worker_service import WorkerService

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

#: Seconds that leases last on where a worker's connection broke: it may come back.
GRACE_S: Final = 2.0


def _new_id() -> str:
    return str(uuid_utils.uuid7())


class Runtime:
    """All that is asked of the runtime's store, with the rules around it. Used on one event loop.

    It has each method of `protocol.runtime_methods` by its name. Those that are answered once are
    methods of its parts (`ActionService`, `QueryService` and their like), which say what each
    answers and refuses. What the store raises passes through.

    Args:
        store: Keeps the rows; it is closed with this.
        log: Gets what is passed over without an error.
        clock: Gives POSIX seconds.
        new_id: Gives ids.

    Attributes:
        on_need: Called where there is work, and nobody that does it: it starts a worker, say.
        store_is_there: Whether the store answers without a worker that would have to be started for it.
        check_agent: Refuses agents that may not be created here, or gives them as they may. Called on
            a thread.
    """

    def __init__(
        self,
        store: RuntimeStore,
        log: logging.Logger,
        *,
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = _new_id,
    ) -> None:
        self.on_worker_needed: Callable[[], None] = _no_worker_starter
        self.is_store_available: Callable[[], bool] = lambda: True
        self.check_agent: Callable[[CreateAgentPayload], CreateAgentPayload] = lambda agent: agent
        self._store = store
        self._log = log
        self._clock = clock
        self._topics = Topics()
        self._wakes = DispatcherWakeups(self._on_last_dispatcher_left)
        self._tasks: set[asyncio.Task[Any]] = set()
        context = RuntimeServices(store, log, clock, new_id, self._publish, self._wakes.wake)
        self._queries = queries = QueryService(store)
        actions = ActionService(context, lambda agent: self.check_agent(agent))
        conversations = ConversationService(context)
        messages = MessageService(context)
        work = WorkerService(context)
        # What anybody may read.
        self.actions = queries.actions
        self.states = queries.states
        self.steps = queries.steps
        self.sessions = queries.sessions
        self.conversations = queries.conversations
        self.participants = queries.participants
        self.messages = queries.messages
        self.cursor = queries.cursor
        # What clients ask.
        self.act = self._shield(actions.act)
        self.create_conversation = self._shield(conversations.create)
        self.set_conversation = self._shield(conversations.set)
        self.join = self._shield(conversations.join)
        self.leave = self._shield(conversations.leave)
        self.say = self._shield(messages.say)
        self.read_on = self._shield(messages.read_on)
        self.advance = self._shield(messages.advance)
        # What workers ask.
        self.claim = self._shield(work.claim)
        self.renew = self._shield(work.renew)
        self.adopt = self._shield(work.adopt)
        self.release = self._shield(work.release)
        self.write = self._shield(work.write)

    async def start(self) -> None:
        """See whether there is work that waits for a worker."""
        await self._check_for_work()

    async def close(self) -> None:
        """End all streams, finish what was begun, and close the store. Idempotent."""
        self._topics.close()
        self._wakes.close()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._store.close()

    async def status(self, request: GetRuntimeStatus | None = None) -> RuntimeStatus:
        """Where the rows are, how much is open, and who is there for it; this starts no worker."""
        info = await self._store.info() if self.is_store_available() else None
        return RuntimeStatus(dispatchers=len(self.dispatchers), store=info)

    def watch(self, request: WatchTopic) -> AsyncGenerator[TopicEvent, None]:
        """Tell what happens in a topic, from its last known rows on; see `TopicEvent`.

        Raises:
            CommandError: `unknown_topic`; `unknown_session`, `unknown_conversation`.
        """
        return stream_topic(self._topics, self._queries, request.topic)

    def wakes(self, request: SubscribeWakes) -> AsyncGenerator[DispatcherWake, None]:
        """Say where something may be ready: once at the start, and then each time. A reader that is
        behind is told once. Who reads this is taken for a dispatcher.
        """
        return self._wakes.read(request.owner)

    async def worker_disconnected(self, owner: str, *, is_dead: bool) -> None:
        """A worker is gone: what it has is soon, or at once, anybody's.

        Args:
            owner: As its claims name it.
            is_dead: Whether its process is known to have ended. Otherwise it may come back, or is back:
                an owner that reads `wakes` keeps what it has.
        """
        if not is_dead and owner in self.dispatchers:
            return
        until = self._clock() + (0 if is_dead else GRACE_S)
        await self._shield(self._store.release)(ReleaseLeases(owner=owner, until=until))
        self._wakes.wake()

    @property
    def dispatchers(self) -> frozenset[str]:
        """The owners that read `wakes` now."""
        return self._wakes.owners

    # ---- telling ------------------------------------------------------------------------------------

    def _publish(self, updates: RowUpdates) -> None:
        """Tell who watches and who works; called in the order in which the store answered."""
        self._topics.publish(updates)
        if updates.has_claimable_action:
            self._wakes.wake()
        if updates.has_queued_action and not self.dispatchers:
            self.on_worker_needed()

    def _on_last_dispatcher_left(self) -> None:
        """The last dispatcher has left."""
        self._begin(self._recheck_for_work())

    async def _recheck_for_work(self) -> None:
        try:
            await self._check_for_work()
        except (OSError, AgentStepperError) as error:
            self._log.warning(
                "the store of background agents can't be read, so no worker is requested: %s", error
            )

    async def _check_for_work(self) -> None:
        """Ask for a dispatcher where there is work and none of them."""
        info = await self._store.info()
        if (info.live or info.open) and not self.dispatchers:
            self.on_worker_needed()

    def _shield(
        self, method: Callable[[RequestT], Coroutine[Any, Any, ResponseT]]
    ) -> Callable[[RequestT], Coroutine[Any, Any, ResponseT]]:
        """A method that is done to its end, even where who waits for it is cancelled."""

        async def shielded(request: RequestT) -> ResponseT:
            return await asyncio.shield(self._begin(method(request)))

        return shielded

    def _begin(self, coroutine: Coroutine[Any, Any, ResponseT]) -> asyncio.Task[ResponseT]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _no_worker_starter() -> None:
    """Nobody starts workers here."""
