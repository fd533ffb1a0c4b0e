"""The Core's side of background agents: the only access to their store.

A request is checked, executed, and published to watchers, in this order. A change that was begun runs
to its end even if its client is gone: otherwise the store would have changes that no watcher was told
of.
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

#: Seconds that leases last after a worker's connection broke: the worker may reconnect.
GRACE_S: Final = 2.0
#: Seconds until it is looked again whether an action that is due has been claimed.
_RECHECK_S: Final = 1.0
#: The ending of a worker of which nothing else is known.
_DISCONNECTED: Final = "lost its connection to the Core, and didn't come back"


def _new_id() -> str:
    return str(uuid_utils.uuid7())


class Runtime:
    """All requests to the runtime's store, with the rules around them. Used on one event loop.

    It has each method of `protocol.runtime_methods` by its name. Methods with one answer are methods of
    the runtime's parts (`ActionService`, `QueryService` and the like), which document their answers
    and errors. The store's errors pass through.

    Args:
        store: The store of the rows; closed with this object.
        log: Receives failures that raise no error.
        limits: The limits of live sessions and open actions.
        model_rates: The rate of all workers' queries together, by the model's name.
        clock: Returns POSIX seconds.
        new_id: Makes ids.
        topic_limits: The limits of a topic's first rows, and of its waiting notices.

    Attributes:
        on_worker_needed: Called when there is work but no dispatcher; it may start a worker.
        list_halted_runs: Lists the ids of runs that are halted, or were when their agent was lost.
        runs: The runs of the Core, which can be halted and continued.
        search: Finds steps and messages by their texts.
        check_agent: Refuses agents that may not be created, or returns them as allowed; on a thread.
        observers: Called with changed rows, after the watchers.
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
        self.on_worker_needed: Callable[[], None] = lambda: None
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
        """Wrap each method that is answered once.

        Args:
            wrap: Returns the replacement of a method, given the method's name and the method.
        """
        for name in CALLS:
            setattr(self, name, wrap(name, getattr(self, name)))

    async def start(self) -> None:
        """Start: request a worker if there is work."""
        await self._check_for_work()

    async def close(self) -> None:
        """End all streams, finish the requests in progress, and close the store. Idempotent."""
        self._is_closing = True
        self._topics.close()
        self._wakes.close()
        self._due_timer.close()
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._store.close()

    async def status(self, request: GetRuntimeStatus | None = None) -> RuntimeStatus:
        """Report the store's location, its open work and the dispatchers. Starts no worker."""
        return RuntimeStatus(
            dispatchers=len(self.dispatchers),
            store=await self._store.info(),
            waiting=await self._unfit.list_waiting(),
        )

    def watch(self, request: WatchTopic) -> AsyncGenerator[TopicEvent, None]:
        """Stream a topic's changes, from its last known rows on; see `TopicEvent`.

        Raises:
            CommandError: `unknown_topic`; `unknown_session`, `unknown_conversation`.
        """
        return stream_topic(self._topics, self._queries, request.topic)

    def wakes(self, request: SubscribeWakes) -> AsyncGenerator[DispatcherWake, None]:
        """Stream wakes: one at the start, and one whenever work may be ready. Wakes that a reader hasn't
        read yet are merged. A reader of this stream counts as a dispatcher.
        """
        return self._wakes.read(request)

    async def prune(self, limits: RetentionLimits) -> PrunedRows:
        """Delete expired rows, in batches, between which other requests run.

        Args:
            limits: The retention limits.

        Returns:
            The number of deleted rows.

        Raises:
            StoreError: The store can't be written.
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
        """Release the sessions of a worker that is gone, at once or after a grace period.

        Args:
            owner: The worker's name in its claims.
            ending: The ending of the worker's process. None: unknown, the worker may come back, or is
                back: an owner that reads `wakes` keeps its sessions.
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
        """Publish another Core's changes to a shared store; see `SharedRuntimeStore.follow`."""
        if changed is None:
            self._topics.restart()
            self._conversation_writer.forget()
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
        """Publish rows to watchers and dispatchers; called in the order of the store's answers."""
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
        """Handle a change of the dispatchers: other sessions may have a fitting worker now."""
        self._shares.on_workers_changed()
        if self.dispatchers:
            self._begin(self._end_destroyed())

    async def _end_destroyed(self) -> None:
        try:
            await self._unfit.end_destroyed()
        except (OSError, AgentStepperError) as error:
            self._log.warning("destroyed sessions that no worker fits can't be ended: %s", error)

    def _on_last_dispatcher_left(self) -> None:
        """Check for work after the last dispatcher has disconnected."""
        self._begin(self._recheck_for_work())

    def _on_action_due(self) -> None:
        """Wake the dispatchers: a delayed action is due."""
        self._wakes.wake()
        self._begin(self._recheck_for_work())
        self._begin(self._end_destroyed())

    async def _recheck_for_work(self) -> None:
        try:
            await self._check_for_work()
        except (OSError, AgentStepperError) as error:
            self._log.warning(
                "the store of background agents can't be read, so no worker is requested: %s", error
            )

    async def _check_for_work(self) -> None:
        """Request a dispatcher if there is work and no dispatcher."""
        info = await self._store.info()
        now = self._clock()
        if info.next_due is not None:  # what is due and not claimed yet is looked at again
            self._due_timer.set(max(info.next_due, now + _RECHECK_S))
        if has_work(info, now) and not self.dispatchers:
            self.on_worker_needed()

    def _shield(
        self, method: Callable[[RequestT], Coroutine[Any, Any, ResponseT]]
    ) -> Callable[[RequestT], Coroutine[Any, Any, ResponseT]]:
        """Wrap a method so that it runs to its end, even if its caller is cancelled."""

        async def shielded(request: RequestT) -> ResponseT:
            return await wait_shielded(self._begin(method(request)))

        return shielded

    def _begin(self, coroutine: Coroutine[Any, Any, ResponseT]) -> asyncio.Task[ResponseT]:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def refuse_search(request: AgentSearch) -> AgentSearchResult:
    """Raise the error that explains how to make agents searchable.

    Raises:
        CommandError: `unknown_service`.
    """
    raise CommandError(
        "unknown_service",
        "Background agents can't be searched: no projection runs. Run `agentstepper project --to "
        "FOLDER` beside the Core.",
    )


def has_work(info: RuntimeStoreInfo, now: float) -> bool:
    """Whether a store has work for a worker. Delayed work counts once it is due.

    Args:
        info: The store's counts.
        now: POSIX seconds.
    """
    is_due = info.next_due is not None and info.next_due <= now
    return info.live > 0 or info.open > info.delayed or is_due


def add_pruned(before: PrunedRows, batch: PrunedRows) -> PrunedRows:
    """Add the counts of two batches of deleted rows."""
    counts = {
        name: getattr(before, name) + getattr(batch, name)
        for name in ("sessions", "actions", "steps", "conversations", "messages")
    }
    return PrunedRows(**counts, has_more=batch.has_more)
