"""The Core's side of background agents: the only access to their store.

What is asked is checked, done, and told to whoever watches, in this order. What changes something is
carried through once it was begun, even where who asked is gone: else the store would have what nobody
was told of.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import uuid_utils

from ...errors import AgentStepperError, CommandError
from ...protocol.runtime_methods import CALLS
from ...protocol.runtime_requests import (
    AgentSearch,
    AgentSearchResult,
    CreateAgentPayload,
    DispatcherWake,
    GetRuntimeStatus,
    RuntimeStatus,
    SubscribeWakes,
    TopicEvent,
    WatchTopic,
)
from ...protocol.runtime_store_messages import (
    ChangedRows,
    PrunedRows,
    PruneRows,
    ReleaseLeases,
    RuntimeStoreInfo,
)
from ...store.runtime.base import RuntimeStore
from ..retention import RetentionLimits
from .action_service import ActionService
from .admission import DEFAULT_LIMITS, Admission, AdmissionLimits
from .context import RowUpdates, RuntimeServices, wait_shielded
from .conversation_service import ConversationService
from .conversation_writer import ConversationWriter
from .dispatcher_wakeups import DispatcherWakeups, DueTimer
from .fair_shares import FairShares
from .fleet_service import FleetRuns, FleetService, NoRuns, StepRate
from .message_service import MessageService
from .model_rates import ModelRate, ModelRates
from .query_service import QueryService
from .topic_stream import stream_topic
from .topics import DEFAULT_TOPIC_LIMITS, TopicLimits, Topics
from .unfit_sessions import UnfitSessions
from .worker_service import WorkerService

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")
#: A method of `Runtime` that is answered once.
Method = Callable[..., Awaitable[Any]]

#: Seconds that leases last on where a worker's connection broke: it may come back.
GRACE_S: Final = 2.0
#: Seconds until it is looked again whether an action that is due has been claimed.
_RECHECK_S: Final = 1.0
#: How a worker ended of which nothing else is known.
_DISCONNECTED: Final = "lost its connection to the Core, and didn't come back"


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
        limits: How much may be under way at once.
        model_rates: By the model's name, how often all workers together may ask it.
        clock: Gives POSIX seconds.
        new_id: Gives ids.
        topic_limits: How much of a topic is sent at once, or waits to be sent.

    Attributes:
        on_worker_needed: Called where there is work, and nobody that does it: it starts one, say.
        list_halted_runs: Gives the ids of runs that are halted, or were when their agent was lost.
        runs: The runs of the Core, which halt and are continued.
        search: Finds steps and messages by their texts.
        check_agent: Refuses agents that may not be created, or gives them as they may; on a thread.
        observers: Called with rows that changed, after those who watch are told.
    """

    def __init__(
        self,
        store: RuntimeStore,
        log: logging.Logger,
        *,
        limits: AdmissionLimits = DEFAULT_LIMITS,
        model_rates: Mapping[str, ModelRate] = MappingProxyType({}),
        clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = _new_id,
        topic_limits: TopicLimits = DEFAULT_TOPIC_LIMITS,
    ) -> None:
        self.on_worker_needed: Callable[[], None] = _no_worker_starter
        self.list_halted_runs: Callable[[], Iterable[str]] = tuple
        self.runs: FleetRuns = NoRuns()
        self.search: Callable[[AgentSearch], Awaitable[AgentSearchResult]] = refuse_search
        self.observers: list[Callable[[RowUpdates], None]] = []
        self.check_agent: Callable[[CreateAgentPayload], CreateAgentPayload] = lambda agent: agent
        self._store = store
        self._log = log
        self._clock = clock
        self._is_closing = False
        self._topics = Topics(topic_limits)
        self._wakes = DispatcherWakeups(self._on_dispatchers_changed, self._on_last_dispatcher_left)
        self._shares = FairShares(store, self._wakes)
        self._step_rate = StepRate(clock)
        self._due_timer = DueTimer(clock, self._on_action_due)
        self._tasks: set[asyncio.Task[Any]] = set()
        context = RuntimeServices(
            store,
            log,
            clock,
            new_id,
            self._publish,
            self._wakes.wake,
            lambda: self.list_halted_runs(),
            lambda: self.dispatchers,
        )
        self._queries = queries = QueryService(store)
        self._unfit = UnfitSessions(context, self._wakes)
        admission = Admission(store, limits, clock)
        actions = ActionService(
            context, admission, lambda agent: self.check_agent(agent), self._unfit
        )
        conversations = ConversationService(context)
        messages = MessageService(context)
        self._conversation_writer = ConversationWriter(context)
        work = WorkerService(context, self._conversation_writer, self._shares, self._unfit)
        fleet = FleetService(
            store, clock, self._step_rate, lambda: self.runs, lambda: len(self.dispatchers)
        )
        # What anybody may read.
        self.actions = queries.actions
        self.states = queries.states
        self.steps = queries.steps
        self.sessions = queries.sessions
        self.conversations = queries.conversations
        self.participants = queries.participants
        self.messages = queries.messages
        self.cursor = queries.cursor
        self.changes = queries.changes
        self.fleet = fleet.fleet
        # What clients ask.
        self.act = self._shield(actions.act)
        self.retry = self._shield(actions.retry)
        self.retry_action = self._shield(actions.retry_action)
        self.discard_action = self._shield(actions.discard_action)
        self.halt_runs = fleet.halt_runs
        self.continue_runs = fleet.continue_runs
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
        self.take_model_credit = ModelRates(model_rates, clock).take_model_credit

    def wrap_methods(self, wrap: Callable[[str, Method], Method]) -> None:
        """Put something around each method that is answered once.

        Args:
            wrap: Gives what is called in a method's place, by the method's name.
        """
        for name in CALLS:
            setattr(self, name, wrap(name, getattr(self, name)))

    async def start(self) -> None:
        """See whether there is work that waits for a worker."""
        await self._check_for_work()

    async def close(self) -> None:
        """End all streams, finish what was begun, and close the store. Idempotent."""
        self._is_closing = True
        self._topics.close()
        self._wakes.close()
        self._due_timer.close()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._store.close()

    async def status(self, request: GetRuntimeStatus | None = None) -> RuntimeStatus:
        """Where the rows are, how much is open, and who is there for it; this starts no worker."""
        return RuntimeStatus(
            dispatchers=len(self.dispatchers),
            store=await self._store.info(),
            waiting=await self._unfit.list_waiting(),
        )

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
        return self._wakes.read(request)

    async def prune(self, limits: RetentionLimits) -> PrunedRows:
        """Delete what is kept long enough, in batches between which others have their turn.

        Args:
            limits: What stays.

        Returns:
            How much was deleted.

        Raises:
            StoreError: It can't be written.
        """
        before = limits.find_cutoff(self._clock())
        total = PrunedRows(has_more=before is not None or limits.sessions is not None)
        while total.has_more and not self._is_closing:
            request = PruneRows(before=before, keep=limits.sessions)
            total = add_pruned(total, await self._shield(self._store.prune)(request))
        if total != PrunedRows():
            self._log.info(
                "%d sessions of background agents with %d steps and %d actions, and %d conversations "
                "were deleted, since they exceeded the limits of retention",
                *(total.sessions, total.steps, total.actions, total.conversations),
            )
        return total

    async def worker_disconnected(self, owner: str, *, ending: str | None = None) -> None:
        """A worker is gone: what it has is soon, or at once, anybody's.

        Args:
            owner: As its claims name it.
            ending: How its process is known to have ended. None: it may come back, or is back: an owner
                that reads `wakes` keeps what it has.
        """
        if ending is None and owner in self.dispatchers:
            return
        release = ReleaseLeases(
            owner=owner,
            until=self._clock() + (GRACE_S if ending is None else 0),
            ending=_DISCONNECTED if ending is None else ending,
        )
        await self._shield(self._store.release)(release)
        self._shares.forget_loads()
        self._wakes.wake()

    def publish_changes_elsewhere(self, changed: ChangedRows | None) -> None:
        """Tell what another Core wrote into the store of both; see `SharedRuntimeStore.follow`."""
        if changed is None:
            self._topics.restart()
            self._wakes.wake()
            self._begin(self._recheck_for_work())
            return
        updates = RowUpdates(
            states=changed.states,
            steps=changed.steps,
            actions=changed.actions,
            messages=changed.messages,
            participants=changed.participants,
            conversations=changed.conversations,
        )
        self._publish(updates)
        if updates == RowUpdates():
            self._wakes.wake()  # a lease was cut: what it kept may soon be claimed

    @property
    def dispatchers(self) -> frozenset[str]:
        """The owners that read `wakes` now."""
        return self._wakes.owners

    # ---- telling ------------------------------------------------------------------------------------

    def _publish(self, updates: RowUpdates) -> None:
        """Tell who watches and who works; called in the order in which the store answered."""
        self._topics.publish(updates)
        self._conversation_writer.note(updates.participants)
        self._step_rate.add(len(updates.steps))
        if updates.has_claimable_action:
            self._wakes.wake()
        for observe in self.observers:
            observe(updates)
        now = self._clock()
        self._due_timer.set(updates.find_next_due(now))
        if updates.needs_worker(now) and not self.dispatchers:
            self.on_worker_needed()

    def _on_dispatchers_changed(self) -> None:
        """A dispatcher came or left: what no worker fitted may fit one now, or the other way round."""
        self._shares.on_workers_changed()
        if self.dispatchers:
            self._begin(self._end_destroyed())

    async def _end_destroyed(self) -> None:
        try:
            await self._unfit.end_destroyed()
        except (OSError, AgentStepperError) as error:
            self._log.warning("destroyed sessions that no worker fits can't be ended: %s", error)

    def _on_last_dispatcher_left(self) -> None:
        """The last dispatcher has left."""
        self._begin(self._recheck_for_work())

    def _on_action_due(self) -> None:
        """An action that waited for its time may be claimed."""
        self._wakes.wake()
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
        now = self._clock()
        if info.next_due is not None:  # what is due and not claimed yet is looked at again
            self._due_timer.set(max(info.next_due, now + _RECHECK_S))
        if has_work(info, now) and not self.dispatchers:
            self.on_worker_needed()

    def _shield(
        self, method: Callable[[RequestT], Coroutine[Any, Any, ResponseT]]
    ) -> Callable[[RequestT], Coroutine[Any, Any, ResponseT]]:
        """A method that is done to its end, even where who waits for it is cancelled."""

        async def shielded(request: RequestT) -> ResponseT:
            return await wait_shielded(self._begin(method(request)))

        return shielded

    def _begin(self, coroutine: Coroutine[Any, Any, ResponseT]) -> asyncio.Task[ResponseT]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def refuse_search(request: AgentSearch) -> AgentSearchResult:
    """Say what to do so that agents can be searched.

    Raises:
        CommandError: `unknown_service`.
    """
    raise CommandError(
        "unknown_service",
        "Background agents can't be searched: no projection runs. Run `agentstepper project --to "
        "FOLDER` beside the Core.",
    )


def has_work(info: RuntimeStoreInfo, now: float) -> bool:
    """Whether a store has anything for a worker: what waits for its time is nothing yet.

    Args:
        info: What the store says.
        now: POSIX seconds.
    """
    is_due = info.next_due is not None and info.next_due <= now
    return info.live > 0 or info.open > info.delayed or is_due


def add_pruned(before: PrunedRows, batch: PrunedRows) -> PrunedRows:
    """What several batches deleted together."""
    counts = {
        name: getattr(before, name) + getattr(batch, name)
        for name in ("sessions", "actions", "steps", "conversations", "messages")
    }
    return PrunedRows(**counts, has_more=batch.has_more)


def _no_worker_starter() -> None:
    """Nobody starts workers here."""
