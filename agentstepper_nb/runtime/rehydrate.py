"""Brings sessions to life in this worker: new ones, and those whose worker is gone.

A session goes on where its snapshot says: at `next_step_token`, with the next iteration. What was
under way when its worker ended is done again, and kept once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from ..errors import CommandError
from ..protocol.runtime import AgentState
from ..protocol.runtime_asks import Adopt, Finish, Renewed, States, Write
from . import changes
from .dispatcher import NOT_OURS, told
from .frame import FrameIn
from .keeping import Surroundings
from .moniker import MonikerFactory
from .registry import Registry

if TYPE_CHECKING:
    from .agent import SessionAgent
    from .remote_queue import RemoteQueue


#: Sessions that are taken in at once, and the seconds between two such: each of them opens a connection
#: to the debugger and begins a step.
BATCH: Final = 20
PAUSE_S: Final = 0.05

#: Makes a session's agent.
AgentMaker = Callable[[AgentState, MonikerFactory, Surroundings], "SessionAgent"]
#: Gives the moniker of a name; `CommandError` where there is none.
Find = Callable[[str], MonikerFactory]
#: Refuses a config that a moniker can't work with, by a `CommandError`.
Check = Callable[[str, Any], None]


class Household:
    """The sessions that live in this worker, and how they get here. It is the dispatcher's `Tenants`.

    Args:
        queue: Where sessions that nobody has are taken from.
        registry: Those that live here.
        surroundings: What each of them is given.
        make: Makes an agent.
        find: Finds a moniker.
        check: Checks a config.
        lease_s: Seconds that leases last.
        batch: Sessions that are taken in at once.
    """

    def __init__(
        self,
        queue: RemoteQueue,
        registry: Registry,
        surroundings: Surroundings,
        make: AgentMaker,
        find: Find,
        check: Check,
        *,
        lease_s: float,
        batch: int = BATCH,
    ) -> None:
        self.registry = registry
        self.surroundings = surroundings
        self._queue = queue
        self._make = make
        self._find = find
        self._check = check
        self._lease_s = lease_s
        self._batch = batch
        self._homeless: list[tuple[AgentState, CommandError]] = []

    # ---- for the dispatcher -------------------------------------------------------------------------

    async def adopt(self) -> None:
        """Take in sessions that nobody has any more, a few at a time, until there are none."""
        while True:
            adopted = await self._adopt()
            await self._take_in(adopted.states)
            if len(adopted.states) < self._batch:
                return
            await asyncio.sleep(PAUSE_S)

    def held(self) -> Mapping[str, int]:
        """The epoch of each session that lives here."""
        return self.registry.held()

    async def keep(self, before: Mapping[str, int], renewed: Renewed) -> Collection[str]:
        """Let go of those that aren't ours any more; see `dispatcher.Tenants`."""
        ours = {held.session_id: held.epoch for held in renewed.sessions}
        gone = []
        for id, epoch in before.items():
            agent = self.registry.get(id)
            if ours.get(id) != epoch and agent is not None and agent.epoch == epoch:
                self.surroundings.log.info("the session %s is ours no more", id)
                gone.append(id)
                self.registry.drop(agent)
        return gone

    # ---- for handlers -------------------------------------------------------------------------------

    def new_agent(self, state: AgentState) -> SessionAgent:
        """The agent of a session that is created, which doesn't live here yet.

        Raises:
            CommandError: There is no such moniker, or the session's config is none for it.
        """
        self._check(state.moniker, state.config)
        return self._agent(state)

    async def bring_back(self, state: AgentState) -> SessionAgent:
        """A session's agent; where none of this hold on the session lives here, one does from now on.

        Args:
            state: As the session came to us.

        Raises:
            CommandError: Its moniker can't be made here.
        """
        while (there := self.registry.get(state.session_id)) is not None:
            if there.epoch >= state.epoch:
                return there
            await self.registry.let_go(there)
        # From here on without a pause: who asks next finds this one.
        agent = self._agent(state)
        self.registry.add(agent)
        return agent

    async def give_up(
        self, state: AgentState, error: BaseException, finished: tuple[Finish, ...] = ()
    ) -> None:
        """A session can't live here: it ends as an error, and says why.

        Args:
            state: The session.
            error: Why.
            finished: The action that it came by.
        """
        log = self.surroundings.log
        log.warning("the session %s can't live: %s", state.session_id, told(error))
        await self.surroundings.recorder.write(self._broken(state, told(error), finished))

    def _agent(self, state: AgentState) -> SessionAgent:
        return self._make(state, self._find(state.moniker), self.surroundings)

    # ---- taking in ----------------------------------------------------------------------------------

    async def _adopt(self) -> States:
        now = self.surroundings.clock()
        ask = Adopt(
            owner=self.surroundings.owner,
            now=now,
            lease_until=now + self._lease_s,
            limit=self._batch,
        )
        try:
            return await self._queue.adopt(ask)
        except CommandError as error:
            if (
                error.code == "too_large"
            ):  # in one answer: they come again when their leases are over
                self._batch = max(1, self._batch // 2)
            raise

    async def _take_in(self, states: tuple[AgentState, ...]) -> None:
        # Side by side: an older agent of one of them may take long to end.
        await asyncio.gather(*(self._take_one_in(state) for state in states))
        await self._see_off()

    async def _take_one_in(self, state: AgentState) -> None:
        try:
            await self.bring_back(state)
        except CommandError as error:
            self._homeless.append((state, error))

    async def _see_off(self) -> None:
        """End those that can't live here. One whose end can't be kept is tried again with the next."""
        while self._homeless:
            state, why = self._homeless[0]
            try:
                await self.give_up(state, why)
            except CommandError as refused:
                if refused.code not in NOT_OURS:
                    raise
            self._homeless.pop(0)

    def _broken(self, state: AgentState, text: str, finished: tuple[Finish, ...]) -> Write:
        here = self.surroundings
        now = here.clock()
        frame = FrameIn(step=changes.next_step(state), state=state.state)
        done = changes.Done(frame=frame, out=None, error=text, at=now, latency_ms=0.0)
        change = changes.stepped(state, done, ends=True, ran_s=state.ran_s, new_id=here.new_id)
        assert change.state is not None
        return Write(
            session_id=state.session_id,
            epoch=state.epoch,
            owner=here.owner,
            state=replace(change.state, owner=None, lease_until=None, updated_at=now),
            steps=change.steps,
            messages=change.messages,
            finished=finished,
        )
