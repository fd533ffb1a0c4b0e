"""Sessions and their steps, as they are kept."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import CommandError
from ...protocol import runtime_methods as methods
from ...protocol.runtime import AgentState, AgentStep, SessionSummary
from ...protocol.runtime_asks import (
    DEFAULT_LIMIT,
    SessionsOf,
    StateQuery,
    StepQuery,
)
from ...rpc.client import ClientLine
from .words import statuses


class Reading:
    """What reads sessions and steps.

    Args:
        line: Asks the Core.
    """

    def __init__(self, line: ClientLine) -> None:
        self._line = line

    async def state(self, session_id: str) -> AgentState:
        """How a session stands."""
        found = await self._line.call(methods.STATES, StateQuery(session_id=session_id))
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
        ask = StateQuery(agent_id=agent_id, status=statuses(status), limit=limit, offset=offset)
        return list((await self._line.call(methods.STATES, ask)).states)

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
        ask = StepQuery(
            session_id=session_id,
            agent_id=agent_id,
            min_iteration=min_iteration,
            max_iteration=max_iteration,
            since=since_created_at,
            status=status,
            limit=limit,
            offset=offset,
        )
        return await self._steps(ask)

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

    async def _steps(self, ask: StepQuery) -> list[AgentStep]:
        return list((await self._line.call(methods.STEPS, ask)).steps)

    async def list_sessions_for_agent(self, agent_id: str) -> list[SessionSummary]:
        """An agent's sessions, the newest first."""
        found = await self._line.call(methods.SESSIONS, SessionsOf(agent_id=agent_id))
        return list(found.sessions)
