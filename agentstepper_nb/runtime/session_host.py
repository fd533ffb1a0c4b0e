"""Activates sessions in this worker: new sessions, and sessions whose worker is gone.

A session continues from its snapshot: at `next_step_token`, with the next iteration. A step that was in
progress when its worker ended is executed again, and stored once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.routes import RouteCount, find_route
from ..protocol.runtime import AgentState, SessionStatus
from ..protocol.runtime_store_messages import (
    ActionCompletion,
    AdoptedSessions,
    AdoptSessions,
    ReleaseLeases,
    RenewedLeases,
    SessionWrite,
)
from . import session_changes
from .dispatcher import LOST_CLAIM_CODES, describe_error, release_leases
from .frame import FrameIn
from .moniker import MonikerFactory
from .session_registry import SessionRegistry
from .session_writer import RuntimeContext
from .worker_capacity import WorkerCapacity

if TYPE_CHECKING:
    from .remote_queue import RemoteQueue
    from .session_agent import SessionAgent


#: Sessions that are taken in at once, and the seconds between two such: each of them opens a connection
#: to the debugger and begins a step.
ADOPT_BATCH_SIZE: Final = 20
ADOPT_PAUSE_S: Final = 0.05

#: Makes a session's agent.
AgentMaker = Callable[[AgentState, MonikerFactory, RuntimeContext], "SessionAgent"]
#: A function that returns the moniker of a name; raises `CommandError` if there is none.
MonikerFinder = Callable[[str], MonikerFactory]
#: Refuses a config that a moniker can't work with, by a `CommandError`.
ConfigCheck = Callable[[str, Any], None]


class SessionHost:
    """Creates and adopts the sessions of this worker; implements the dispatcher's `LocalSessions`.

    Args:
        queue: The queue from which unowned sessions are adopted.
        registry: The sessions that run in this worker.
        runtime_context: The context of the sessions.
        make_agent: Makes a session's agent.
        find_moniker: Finds a moniker by its name.
        check_config: Validates a moniker's configuration.
        lease_s: The duration of leases, in seconds.
        batch_size: The most sessions that are adopted at once.
        capacity: The worker's capacity; None: no limit.
    """

    def __init__(
        self,
        queue: RemoteQueue,
        registry: SessionRegistry,
        runtime_context: RuntimeContext,
        make_agent: AgentMaker,
        find_moniker: MonikerFinder,
        check_config: ConfigCheck,
        *,
        lease_s: float,
        batch_size: int = ADOPT_BATCH_SIZE,
        capacity: WorkerCapacity | None = None,
    ) -> None:
        self.registry = registry
        self.runtime_context = runtime_context
        self._queue = queue
        self._make_agent = make_agent
        self._find_moniker = find_moniker
        self._check_config = check_config
        self._lease_s = lease_s
        self._batch_size = batch_size
        self._capacity = capacity or WorkerCapacity()
        self._unhostable: list[tuple[AgentState, CommandError]] = []

    # ---- for the dispatcher -------------------------------------------------------------------------

    async def adopt(self) -> None:
        """Adopt sessions that no worker has any more, in batches, as far as the capacity allows."""
        while True:
            if not await self._adopt_batch():
                return
            await asyncio.sleep(ADOPT_PAUSE_S)

    def local_epochs(self) -> Mapping[str, int]:
        """The epoch of each session that lives here."""
        return self.registry.local_epochs()

    async def drop_lost_sessions(
        self, before: Mapping[str, int], renewed: RenewedLeases
    ) -> Collection[str]:
        """Drop sessions that this worker has lost. See `dispatcher.LocalSessions`."""
        renewed_epochs = {held.session_id: held.epoch for held in renewed.sessions}
        lost_ids = []
        for id, epoch in before.items():
            agent = self.registry.get(id)
            if renewed_epochs.get(id) != epoch and agent is not None and agent.epoch == epoch:
                self.runtime_context.log.info("the session %s no longer belongs to this worker", id)
                lost_ids.append(id)
                self.registry.drop(agent)
        for surplus in renewed.hand_over:
            self._start_hand_overs(surplus, before)
        return lost_ids

    # ---- handing over -------------------------------------------------------------------------------

    async def drain(self, timeout_s: float) -> None:
        """Hand all sessions over, each after the step that is under way.

        Args:
            timeout_s: Seconds after which steps are broken off.
        """
        hand_overs = (
            self.registry.hand_over(agent, timeout_s, self._release)
            for agent in self.registry.list_agents()
        )
        await asyncio.gather(*hand_overs)

    def _start_hand_overs(self, surplus: RouteCount, before: Mapping[str, int]) -> None:
        """Hand some sessions over, those first that do nothing now.

        Args:
            surplus: How many are too many, by the Core's count.
            before: What was held before it counted: what left since may be among these.
        """
        now = self.runtime_context.clock()
        departing = self.registry.departing
        agents = [
            agent
            for agent in self.registry.list_agents()
            if find_route(agent.snapshot) == surplus.route
        ]
        staying = [agent for agent in agents if agent.session_id not in departing]
        staying.sort(key=lambda agent: not _is_idle(agent.snapshot, now))
        gone = sum(self.registry.get(id) is None for id in {*before, *departing})
        left = len(agents) - len(staying) + gone
        for agent in staying[: max(0, surplus.sessions - left)]:
            self.runtime_context.log.info(
                "the session %s is handed over to another worker", agent.session_id
            )
            self.registry.start_hand_over(agent, self._release)

    async def _release(self, session_id: str) -> None:
        context = self.runtime_context
        request = ReleaseLeases(
            owner=context.owner, until=context.clock(), is_handover=True, sessions=(session_id,)
        )
        await release_leases(self._queue, request, context.log)

    # ---- for handlers -------------------------------------------------------------------------------

    def new_agent(self, state: AgentState) -> SessionAgent:
        """The agent of a session that is created, which doesn't live here yet.

        Raises:
            CommandError: There is no such moniker, or the session's config is none for it.
        """
        self._check_config(state.moniker, state.config)
        return self._create_agent(state)

    async def host_session(self, state: AgentState) -> SessionAgent:
        """A session's agent; where none of this hold on the session lives here, one does from now on.

        Args:
            state: As the session came to us.

        Raises:
            CommandError: Its moniker can't be made here.
        """
        while (hosted := self.registry.get(state.session_id)) is not None:
            if hosted.epoch >= state.epoch:
                return hosted
            await self.registry.suspend_agent(hosted)
        if self.registry.departing.get(state.session_id, -1) >= state.epoch:
            raise CommandError(
                "stale_epoch", f"The session {state.session_id} continues in another worker."
            )
        # From here on without a pause: who asks next finds this one.
        agent = self._create_agent(state)
        self.registry.start_agent(agent)
        return agent

    async def fail_session(
        self, state: AgentState, error: BaseException, finished: tuple[ActionCompletion, ...] = ()
    ) -> None:
        """A session can't live here: it ends as an error, and says why.

        Args:
            state: The session.
            error: Why.
            finished: The action that it came by.
        """
        log = self.runtime_context.log
        log.warning("the session %s can't be hosted: %s", state.session_id, describe_error(error))
        await self.runtime_context.recorder.write(
            self._make_failure(state, describe_error(error), finished)
        )

    def _create_agent(self, state: AgentState) -> SessionAgent:
        return self._make_agent(state, self._find_moniker(state.moniker), self.runtime_context)

    # ---- taking in ----------------------------------------------------------------------------------

    async def _adopt_batch(self) -> bool:
        """Take in a few; whether there may be more."""
        async with self._capacity.take() as room:
            limit = int(min(self._batch_size, room))
            if limit == 0:
                return False
            adopted = await self._adopt(limit)
            await self._host_all(adopted.states)
            return len(adopted.states) + len(adopted.ended) >= limit

    async def _adopt(self, limit: int) -> AdoptedSessions:
        now = self.runtime_context.clock()
        request = AdoptSessions(
            owner=self.runtime_context.owner,
            now=now,
            lease_until=now + self._lease_s,
            limit=limit,
            offer=self._capacity.offer,
        )
        try:
            return await self._queue.adopt(request)
        except CommandError as error:
            # In one answer: they come again when their leases are over.
            if error.code == "too_large":
                self._batch_size = max(1, self._batch_size // 2)
            raise

    async def _host_all(self, states: tuple[AgentState, ...]) -> None:
        # Side by side: an older agent of one of them may take long to end.
        await asyncio.gather(*(self._host_one(state) for state in states))
        await self._fail_unhostable()

    async def _host_one(self, state: AgentState) -> None:
        try:
            await self.host_session(state)
        except CommandError as error:
            self._unhostable.append((state, error))

    async def _fail_unhostable(self) -> None:
        """End those that can't live here. One whose end can't be kept is tried again with the next."""
        while self._unhostable:
            state, why = self._unhostable[0]
            try:
                await self.fail_session(state, why)
            except CommandError as refused:
                if refused.code not in LOST_CLAIM_CODES:
                    raise
            self._unhostable.pop(0)

    def _make_failure(
        self, state: AgentState, text: str, finished: tuple[ActionCompletion, ...]
    ) -> SessionWrite:
        context = self.runtime_context
        now = context.clock()
        frame = FrameIn(step=session_changes.find_next_step(state), state=state.state)
        done = session_changes.FinishedStep(
            frame=frame, out=None, error=text, at=now, latency_ms=0.0
        )
        change = session_changes.add_step(
            state, done, stops_on_done=True, ran_s=state.ran_s, new_id=context.new_id
        )
        assert change.state is not None
        return SessionWrite(
            session_id=state.session_id,
            epoch=state.epoch,
            owner=context.owner,
            state=replace(change.state, owner=None, lease_until=None, updated_at=now),
            steps=change.steps,
            messages=change.messages,
            finished=finished,
        )


def _is_idle(state: AgentState, now: float) -> bool:
    """Whether a session is paused, or waits for its next step."""
    if state.status is SessionStatus.PAUSED:
        return True
    return state.next_try_at is not None and state.next_try_at > now
