"""What happens, as it happens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from ...errors import CommandError
from ...protocol import runtime_methods as methods
from ...protocol.runtime import LIVE, AgentState
from ...protocol.runtime_wire import Notice, WatchTopic
from ...rpc.client import ClientLine
from .words import statuses

#: Says of a session's snapshot whether it is as one waits for.
Predicate = Callable[[AgentState], bool]


class Watching:
    """What tells of sessions and conversations.

    Args:
        line: Asks the Core.
    """

    def __init__(self, line: ClientLine) -> None:
        self._line = line

    def watch(self, topic: str) -> AsyncGenerator[Notice, None]:
        """What happens, as it happens: first a `begin` with the last known rows, and again where some
        was missed.

        Args:
            topic: `session:ID`, `conversation:ID`, `sessions` or `conversations`.
        """
        return self._line.items(methods.WATCH, WatchTopic(topic=topic))

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
        wanted = statuses(status)

        def reached(state: AgentState) -> bool:
            return (
                (not wanted or state.status in wanted)
                and (iteration is None or state.iteration >= iteration)
                and (predicate is None or predicate(state))
            )

        try:
            async with asyncio.timeout(timeout):
                return await self._until(session_id, reached)
        except TimeoutError:
            raise TimeoutError(
                f"The session {session_id} wasn't as it was waited for within {timeout:g} seconds."
            ) from None

    async def _until(self, session_id: str, reached: Predicate) -> AgentState:
        async with aclosing(self.watch(f"session:{session_id}")) as notices:
            async for notice in notices:
                for state in notice.states:
                    if reached(state):
                        return state
                    if state.status not in LIVE:
                        raise CommandError(
                            "session_over",
                            f"The session {session_id} is {state.status} after {state.iteration} steps, "
                            f"and not what was waited for. {state.last_error or ''}".rstrip(),
                        )
        raise CommandError("session_over", f"Nothing more is told of the session {session_id}.")
