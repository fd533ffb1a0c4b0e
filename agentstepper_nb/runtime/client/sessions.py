"""Sessions and their steps: as they are kept, and as they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol import runtime_methods as methods
from ...protocol.fleet import (
    ContinueRuns,
    FleetQuery,
    FleetStatus,
    FleetSummary,
    HaltRuns,
    RunsChanged,
)
from ...protocol.runtime import LIVE_STATUSES, AgentSessionInfo, AgentState, AgentStep
from ...protocol.runtime_requests import (
    AgentSearch,
    AgentSearchHit,
    GetRuntimeStatus,
    RuntimeStatus,
    TopicEvent,
    WatchTopic,
)
from ...protocol.runtime_store_messages import (
    DEFAULT_LIMIT,
    AgentSessionQuery,
    StateQuery,
    StepQuery,
)
from ...rpc.service_client import ServiceClient
from .actions import decode_statuses, find_enum_member
from .pages import read_pages

#: Says of a session's snapshot whether it is as one waits for.
Predicate = Callable[[AgentState], bool]


class SessionClient:
    """What reads and watches sessions, their steps and conversations."""

    _core: ServiceClient  # asks the Core

    async def status(self) -> RuntimeStatus:
        """How many workers are connected, how much is open, and what waits for what no worker has."""
        return await self._core.call(methods.STATUS, GetRuntimeStatus())

    async def state(self, session_id: str) -> AgentState:
        """How a session stands."""
        found = await self._core.call(methods.STATES, StateQuery(session_id=session_id))
        if not found.states:
            raise CommandError("unknown_session", f"There is no session {session_id[:80]!r}.")
        return found.states[0]

    async def states(
        self,
        *,
        agent_id: str | None = None,
        status: str | Sequence[str] = (),
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
    ) -> list[AgentState]:
        """How sessions stand, the newest first.

        Args:
            agent_id: Only those of this agent.
            status: Only those of this status, or of one of these.
            limit: How many at most.
            offset: How many to leave out.
        """
        request = StateQuery(agent_id=agent_id, status=decode_statuses(status))

        async def read_page(limit: int, offset: int) -> tuple[tuple[AgentState, ...], bool]:
            page = replace(request, limit=limit, offset=offset)
            found = await self._core.call(methods.STATES, page)
            return found.states, found.more

        return await read_pages(read_page, limit, offset)

    async def list_agent_steps(
        self,
        session_id: str | None = None,
        agent_id: str | None = None,
        min_iteration: int | None = None,
        max_iteration: int | None = None,
        since_created_at: float | None = None,
        status: str | None = None,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
    ) -> list[AgentStep]:
        """Steps of a session or of an agent's sessions, by iteration.

        Args:
            session_id: Of this session.
            agent_id: Of this agent's.
            min_iteration: From this iteration on.
            max_iteration: Up to this one.
            since_created_at: Made at this time (POSIX seconds) or later.
            status: With this status: `error`, say.
            limit: How many at most.
            offset: How many to leave out.
        """
        request = StepQuery(
            session_id=session_id,
            agent_id=agent_id,
            min_iteration=min_iteration,
            max_iteration=max_iteration,
            since=since_created_at,
            status=status,
            limit=limit,
            offset=offset,
        )
        return await self._steps(request)

    async def list_agent_steps_since_iteration(
        self, session_id: str, after: int, limit: int = DEFAULT_LIMIT
    ) -> list[AgentStep]:
        """Steps of a session after an iteration."""
        return await self._steps(
            StepQuery(session_id=session_id, after_iteration=after, limit=limit)
        )

    async def list_agent_steps_latest(
        self, session_id: str | None = None, agent_id: str | None = None
    ) -> list[AgentStep]:
        """The last step of a session, or of each of an agent's."""
        return await self._steps(StepQuery(session_id=session_id, agent_id=agent_id, latest=True))

    async def _steps(self, request: StepQuery) -> list[AgentStep]:
        async def read_page(limit: int, offset: int) -> tuple[tuple[AgentStep, ...], bool]:
            page = replace(request, limit=limit, offset=offset)
            found = await self._core.call(methods.STEPS, page)
            return found.steps, found.more

        return await read_pages(read_page, request.limit, request.offset)

    async def list_sessions_for_agent(self, agent_id: str) -> list[AgentSessionInfo]:
        """An agent's sessions, the newest first."""
        found = await self._core.call(methods.SESSIONS, AgentSessionQuery(agent_id=agent_id))
        return list(found.sessions)

    async def search(
        self,
        text: str,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        conversation_id: str | None = None,
        limit: int = 20,
    ) -> list[AgentSearchHit]:
        """Find steps and messages by their texts, the best first, where a projection runs.

        Args:
            text: Words; where the projection has an embedding, also what is meant.
            session_id: Only of this session.
            agent_id: Only of this agent.
            conversation_id: Only messages of this conversation.
            limit: How many at most; 100 are the most.

        Raises:
            CommandError: `unknown_service`: no projection runs; the message says what starts one.
        """
        request = AgentSearch(
            text=text,
            session_id=session_id,
            agent_id=agent_id,
            conversation_id=conversation_id,
            limit=limit,
        )
        return list((await self._core.call(methods.SEARCH, request)).hits)

    # ---- all of them --------------------------------------------------------------------------------

    async def fleet(
        self,
        *,
        status: str | Sequence[str] = (),
        moniker: str | None = None,
        text: str | None = None,
        limit: int = 0,
        offset: int = 0,
    ) -> FleetSummary:
        """How all agents of the Core stand: counts, errors, and the runs that wait for a person.

        Args:
            status: List only sessions of this status, or of one of these, by `FleetStatus`.
            moniker: List only sessions of this moniker.
            text: List only sessions that have this in agent, session, moniker or error.
            limit: How many sessions to list, the newest first; 200 at most.
            offset: How many to leave out.
        """
        names = (status,) if isinstance(status, str) else status
        request = FleetQuery(
            status=tuple(find_enum_member(FleetStatus, name) for name in names),
            moniker=moniker,
            text=text,
            limit=limit,
            offset=offset,
        )
        return await self._core.call(methods.FLEET, request)

    async def halt_runs(self) -> int:
        """Let each live run of the Core halt at its next halt point.

        Returns:
            How many runs that is.
        """
        return (await self._core.call(methods.HALT_RUNS, HaltRuns())).changed

    async def continue_runs(
        self, runs: Sequence[str] | None = None, *, but: Sequence[str] = ()
    ) -> RunsChanged:
        """Let halted runs go on. What asks for an approval stays.

        Args:
            runs: The ids of these runs; None: of all.
            but: The ids of runs that stay halted.

        Returns:
            How many went on, and how many stay for an approval.
        """
        request = ContinueRuns(runs=None if runs is None else tuple(runs), but=tuple(but))
        # Asked twice, it would let runs go on that have halted since.
        method = methods.CONTINUE_RUNS
        return await self._core.call_method(method.name, request, method.result, can_retry=False)

    # ---- as it changes ------------------------------------------------------------------------------

    def watch(self, topic: str) -> AsyncGenerator[TopicEvent, None]:
        """What happens, as it happens: first a `begin` with the last known rows, and again where some
        was missed.

        Args:
            topic: `session:ID`, `conversation:ID`, `sessions` or `conversations`.
        """
        return self._core.stream_items(methods.WATCH, WatchTopic(topic=topic))

    async def wait_for(
        self,
        session_id: str,
        predicate: Predicate | None = None,
        *,
        status: str | Sequence[str] = (),
        iteration: int | None = None,
        timeout: float | None = None,
    ) -> AgentState:
        """Wait until a session is as one wants it.

        Args:
            session_id: The session.
            predicate: Says of its state whether it is; besides:
            status: It has this status, or one of these.
            iteration: It has done so many steps.
            timeout: Seconds to wait at most.

        Returns:
            Its state then.

        Raises:
            CommandError: `unknown_session`; `session_over`: it has ended otherwise.
            TimeoutError: It wasn't so in time.
        """
        wanted_statuses = decode_statuses(status)

        def is_reached(state: AgentState) -> bool:
            return (
                (not wanted_statuses or state.status in wanted_statuses)
                and (iteration is None or state.iteration >= iteration)
                and (predicate is None or predicate(state))
            )

        try:
            async with asyncio.timeout(timeout):
                return await self._wait_until(session_id, is_reached)
        except TimeoutError:
            goal = f" to be {' or '.join(sorted(wanted_statuses))}" if wanted_statuses else ""
            raise TimeoutError(
                f"Timed out after {timeout:g} s waiting for session {session_id}{goal}."
            ) from None

    async def _wait_until(self, session_id: str, is_reached: Predicate) -> AgentState:
        async with aclosing(self.watch(f"session:{session_id}")) as notices:
            async for notice in notices:
                for state in notice.states:
                    if is_reached(state):
                        return state
                    if state.status not in LIVE_STATUSES:
                        raise CommandError(
                            "session_over",
                            f"The session {session_id} is {state.status} after "
                            f"{state.iteration} steps, so that the wait can't succeed. "
                            f"{state.last_error or ''}".rstrip(),
                        )
        raise CommandError(
            "session_over", f"The Core sends no more events of the session {session_id}."
        )
