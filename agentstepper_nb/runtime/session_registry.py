"""The sessions that live in this worker, by their ids."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .session_agent import SessionAgent


class SessionRegistry:
    """Sessions, each with its agent, until that ends.

    Args:
        log: Gets what an agent raises.

    Attributes:
        departing: The sessions that are being handed over, each with its epoch here.
    """

    def __init__(self, log: logging.Logger) -> None:
        self.departing: dict[str, int] = {}
        self._log = log
        self._agents: dict[str, SessionAgent] = {}
        self._dropped: set[SessionAgent] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._agents)

    def get(self, session_id: str) -> SessionAgent | None:
        """The agent of a session that lives here."""
        return self._agents.get(session_id)

    def list_agents(self) -> list[SessionAgent]:
        """The agents that live here."""
        return list(self._agents.values())

    def local_epochs(self) -> dict[str, int]:
        """The epoch of each session."""
        return {id: agent.epoch for id, agent in self._agents.items()}

    @contextmanager
    def register_pending(self, agent: SessionAgent) -> Iterator[None]:
        """Know a session by an agent that lives here from the end of this on, unless it fails.

        What the Core has kept of it is known there before it is here, and its next action may be at
        once: that finds this agent, and makes no other.
        """
        self._agents[agent.session_id] = agent
        try:
            yield
        except BaseException:
            self._forget(agent)
            raise
        if self.get(agent.session_id) is agent:  # else it was let go meanwhile
            self.start_agent(agent)

    def start_agent(self, agent: SessionAgent) -> None:
        """Have an agent live here, and start it; until it ends, its session is known by it."""
        self._agents[agent.session_id] = agent
        agent.start()
        self._track_task(self._watch(agent), f"watch {agent.session_id}")

    def drop(self, agent: SessionAgent) -> None:
        """Drop an agent in the background, since its step may take long to end. Idempotent."""
        if agent not in self._dropped:
            self._dropped.add(agent)
            self._track_task(self.suspend_agent(agent), f"drop {agent.session_id}")

    async def suspend_agent(self, agent: SessionAgent) -> None:
        """Cancel an agent whose session was lost, or whose worker ends. Idempotent."""
        try:
            await agent.suspend()
        except Exception:
            self._log.exception("the agent of %s could not be ended", agent.session_id)
        finally:
            self._dropped.discard(agent)
            self._forget(agent)

    def start_hand_over(
        self, agent: SessionAgent, release: Callable[[str], Awaitable[None]]
    ) -> None:
        """Hand an agent's session over, while others go on: its step ends first, however long it takes.

        Args:
            agent: The agent.
            release: Gives the session back to the queue.
        """
        self.departing[agent.session_id] = agent.epoch
        work = self.hand_over(agent, None, release)
        self._track_task(work, f"hand over {agent.session_id}")

    async def hand_over(
        self,
        agent: SessionAgent,
        timeout_s: float | None,
        release: Callable[[str], Awaitable[None]],
    ) -> None:
        """End an agent after the step that is under way, and give its session to other workers.

        Args:
            agent: The agent.
            timeout_s: Seconds after which the step is broken off; None: never.
            release: Gives the session back to the queue.
        """
        id = agent.session_id
        self.departing[id] = agent.epoch
        try:
            try:
                await agent.hand_over(timeout_s)
            except Exception:
                self._log.exception("the agent of %s could not be ended", id)
            self._forget(agent)  # unless this is cancelled: then it lives here, and `close` ends it
            await release(id)
        finally:
            self.departing.pop(id, None)

    async def close(self, timeout_s: float | None = None) -> None:
        """Break all of them off.

        Args:
            timeout_s: Seconds after which agents that are still closing are left alone; None: never.
        """
        agents = self.list_agents()
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(*(self.suspend_agent(agent) for agent in agents))
        except TimeoutError:
            late = ", ".join(agent.session_id for agent in agents if agent.running)
            self._log.warning("these sessions didn't close in %g seconds: %s", timeout_s, late)
        for watch in list(self._tasks):
            watch.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _track_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, agent: SessionAgent) -> None:
        try:
            await agent.join()
        except Exception:
            self._log.exception("the agent of %s failed as it ended", agent.session_id)
        finally:
            self._forget(agent)

    def _forget(self, agent: SessionAgent) -> None:
        if self._agents.get(agent.session_id) is agent:
            del self._agents[agent.session_id]
