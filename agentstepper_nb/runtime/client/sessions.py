"""The client's methods that read and watch background agents' sessions and steps."""

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

#: A condition on a session's snapshot, for `wait`.
Predicate = Callable[[AgentState], bool]


class SessionClient:
    """The client's methods that read and watch sessions, steps and conversations."""

    _core: ServiceClient  # asks the Core

    async def status(self) -> RuntimeStatus:
        """Return the queue's status: workers, open work, and work that no worker can do."""
        return await self._core.call(methods.STATUS, GetRuntimeStatus())

    async def state(self, session_id: str) -> AgentState:
        """Return a session's state."""
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
        """List the states of sessions, newest first.

        Args:
            agent_id: Only sessions of this agent.
            status: Only sessions of this status, or of one of these.
            limit: The most sessions to return.
            offset: How many sessions to skip.
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
        """List the steps of a session or of an agent's sessions, by iteration.

        Args:
            session_id: Only steps of this session.
            agent_id: Only steps of this agent.
            min_iteration: Only from this iteration on.
            max_iteration: Only up to this iteration.
            since_created_at: Only steps that were created at this time (POSIX seconds) or later.
            status: Only steps of this status, as `error`.
            limit: The most steps to return.
            offset: How many steps to skip.
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
        """List the steps of a session after an iteration."""
        return await self._steps(
            StepQuery(session_id=session_id, after_iteration=after, limit=limit)
        )

    async def list_agent_steps_latest(
        self, session_id: str | None = None, agent_id: str | None = None
    ) -> list[AgentStep]:
        """Return the last step of a session, or of each of an agent's sessions."""
        return await self._steps(StepQuery(session_id=session_id, agent_id=agent_id, latest=True))

    async def _steps(self, request: StepQuery) -> list[AgentStep]:
        async def read_page(limit: int, offset: int) -> tuple[tuple[AgentStep, ...], bool]:
            page = replace(request, limit=limit, offset=offset)
            found = await self._core.call(methods.STEPS, page)
            return found.steps, found.more

        return await read_pages(read_page, request.limit, request.offset)

    async def list_sessions_for_agent(self, agent_id: str) -> list[AgentSessionInfo]:
        """List an agent's sessions, newest first."""
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
        """Search the texts of steps and messages, best match first. Needs a running projection.

        Args:
            text: The words to search for. If the projection has an embedding, texts of a similar
                meaning are found, too.
            session_id: Only in this session.
            agent_id: Only in this agent's sessions.
            conversation_id: Only messages of this conversation.
            limit: The most matches to return, up to 100.

        Raises:
            CommandError: `unknown_service`: no projection runs; the message says how to start one.
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
        """Return an overview of the agents: counts, errors, and the runs that wait for a person.

        Args:
            status: List only sessions of this `FleetStatus`, or of one of these.
            moniker: List only sessions of this moniker.
            text: List only sessions whose agent, session, moniker or error contains this text.
            limit: The most sessions to list, newest first; 200 at most.
            offset: How many sessions to skip.
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
        """Halt each live run of the Core at its next halt point.

        Returns:
            The number of runs.
        """
        return (await self._core.call(methods.HALT_RUNS, HaltRuns())).changed

    async def continue_runs(
        self, runs: Sequence[str] | None = None, *, but: Sequence[str] = ()
    ) -> RunsChanged:
        """Continue halted runs. Calls that ask for an approval still wait.

        Args:
            runs: The ids of the runs; None: all runs.
            but: The ids of runs that stay halted.

        Returns:
            How many runs continue, and how many wait for an approval.
        """
        request = ContinueRuns(runs=None if runs is None else tuple(runs), but=tuple(but))
        # Asked twice, it would let runs go on that have halted since.
        method = methods.CONTINUE_RUNS
        return await self._core.call_method(method.name, request, method.result, can_retry=False)

    # ---- as it changes ------------------------------------------------------------------------------

    def watch(self, topic: str) -> AsyncGenerator[TopicEvent, None]:
        """Iterate over the changes of a topic as they happen.

        The first item is a `begin` with the latest known rows. Another `begin` follows whenever
        changes were missed.

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
        """Wait until a session meets all the given conditions.

        Args:
            session_id: The session.
            predicate: A function of the session's state that returns whether the wait is over.
            status: The session has this status, or one of these.
            iteration: The session has executed at least this many steps.
            timeout: The most seconds to wait; None: without limit.

        Returns:
            The session's state at the end of the wait.

        Raises:
            CommandError: `unknown_session`; `session_over`: the session has ended without meeting
                the conditions.
            TimeoutError: The conditions were not met in time.
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
