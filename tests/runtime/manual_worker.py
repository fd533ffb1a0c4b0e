"""A Core of its own without a worker, and a hand that does what a worker would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import ActionStatus, AgentState, AgentStep, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ClaimAction,
    SessionWrite,
    StateQuery,
)

T = TypeVar("T")


class ManualWorker:
    """Does on a Core's loop what a worker would ask of its runtime; from any other thread.

    Args:
        core: The Core, started.
    """

    def __init__(self, core: AgentStepperCore) -> None:
        self.core = core

    def call_runtime(self, ask: Callable[[Runtime], Awaitable[T]]) -> T:
        """Ask the runtime."""

        async def asking() -> T:
            assert self.core._host is not None
            return await ask(self.core._host.runtime)

        return asyncio.run_coroutine_threadsafe(asking(), self.core.loop).result()

    def finish_next_action(self) -> AgentState:
        """Claim the next action and finish it; gives its session, which runs."""
        now = time.time()
        ask = ClaimAction(owner="hand", now=now, lease_until=now + 600)
        claimed = self.call_runtime(lambda runtime: runtime.claim(ask))
        assert claimed.action is not None
        assert claimed.state is not None
        done = ActionCompletion(
            id=claimed.action.id, owner="hand", status=ActionStatus.DONE, processed_at=now
        )
        return self._write(claimed.state, finished=(done,), status=SessionStatus.RUNNING)

    def step(self, session_id: str, text: str = "a step") -> AgentState:
        """Do one iteration."""
        state = self.state(session_id)
        step = AgentStep(
            id=f"{session_id}-{state.iteration}",
            created_at=time.time(),
            agent_id=state.agent_id,
            session_id=session_id,
            iteration=state.iteration,
            step_token=f"t{state.iteration}",
            status=state.status,
            text=text,
        )
        return self._write(state, steps=(step,), iteration=state.iteration + 1)

    def set_status(self, session_id: str, status: SessionStatus, error: str | None = None) -> None:
        """Let a session stand so."""
        self._write(self.state(session_id), status=status, last_error=error)

    def state(self, session_id: str) -> AgentState:
        """How a session stands."""
        ask = StateQuery(session_id=session_id)
        (found,) = self.call_runtime(lambda runtime: runtime.states(ask)).states
        return found

    def _write(
        self,
        state: AgentState,
        *,
        finished: tuple[ActionCompletion, ...] = (),
        steps: tuple[AgentStep, ...] = (),
        **changed: Any,
    ) -> AgentState:
        after = replace(state, **changed, updated_at=time.time())
        ask = SessionWrite(
            session_id=state.session_id,
            epoch=state.epoch,
            owner="hand",
            state=after,
            steps=steps,
            finished=finished,
        )
        self.call_runtime(lambda runtime: runtime.write(ask))
        return after
