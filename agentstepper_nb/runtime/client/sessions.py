"""Sessions and their steps: as they are kept, and as they change."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from ...errors import CommandError
from ...protocol import runtime_methods as methods
from ...protocol.runtime import LIVE_STATUSES, AgentSessionInfo, AgentState, AgentStep
from ...protocol.runtime_requests import TopicEvent, WatchTopic
from ...protocol.runtime_store_messages import (
    DEFAULT_LIMIT,
    AgentSessionQuery,
    StateQuery,
    StepQuery,
)
from ...rpc.service_client import ServiceClient
from .actions import decode_statuses

#: Says of a session's snapshot whether it is as one waits for.
Predicate = Callable[[AgentState], bool]


class SessionClient:
    """What reads and watches sessions, their steps and conversations."""

    _core: ServiceClient  # asks the Core

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
        request = StateQuery(
            agent_id=agent_id, status=decode_statuses(status), limit=limit, offset=offset
        )
        return list((await self._core.call(methods.STATES, request)).states)

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
        return list((await self._core.call(methods.STEPS, request)).steps)

    async def list_sessions_for_agent(self, agent_id: str) -> list[AgentSessionInfo]:
        """An agent's sessions, the newest first."""
        found = await self._core.call(methods.SESSIONS, AgentSessionQuery(agent_id=agent_id))
        return list(found.sessions)

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
