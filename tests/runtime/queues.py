"""A queue that says what a test wants it to, and the rows that stand in it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from agentstepper_nb.protocol.runtime import Action, ActionKind, AgentState, SessionStatus
from agentstepper_nb.protocol.runtime_requests import DispatcherWake, SubscribeWakes
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    AgentStateList,
    ClaimAction,
    ClaimedAction,
    LeasedSession,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
)

LOG = logging.getLogger("agentstepper_nb.test")
OWNER = "here:1:test"
NOW = 1_000.0


def a_state(session_id: str = "s", **given: Any) -> AgentState:
    """A session that we have."""
    fields: dict[str, Any] = {
        "agent_id": "a",
        "session_id": session_id,
        "status": SessionStatus.RUNNING,
        "moniker": "joke",
        "epoch": 1,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return AgentState(**fields | given)


def an_action(id: str, session_id: str = "s", **given: Any) -> Action:
    """An action that is claimed."""
    fields: dict[str, Any] = {
        "id": id,
        "created_at": NOW,
        "kind": ActionKind.PAUSE,
        "agent_id": "a",
        "session_id": session_id,
    }
    return Action(**fields | given)


@dataclass
class ScriptedQueue:
    """Gives what is put in, in order, once; remembers what is written.

    Attributes:
        ready: What is claimed next.
        refusals: What the next asks of a method raise, by its name.
        adopted: What is adopted next, one answer after the other.
        sessions: Which sessions a renewal finds.
        actions: Which actions it finds.
    """

    ready: list[ClaimedAction] = field(default_factory=list)
    refusals: dict[str, list[Exception]] = field(default_factory=dict)
    adopted: list[tuple[AgentState, ...]] = field(default_factory=list)
    sessions: tuple[LeasedSession, ...] = ()
    actions: tuple[str, ...] = ()
    claims: list[ClaimAction] = field(default_factory=list)
    renewals: list[RenewLeases] = field(default_factory=list)
    writes: list[SessionWrite] = field(default_factory=list)
    releases: list[ReleaseLeases] = field(default_factory=list)
    listeners: int = 0

    def __post_init__(self) -> None:
        self._wakes: asyncio.Queue[DispatcherWake | None] = asyncio.Queue()
        self._happened = asyncio.Condition()

    def put(self, *actions: Action, state: AgentState | None = None) -> None:
        """Let actions be ready, and say so."""
        for action in actions:
            self.ready.append(
                ClaimedAction(action=action, state=state or a_state(session_id=action.session_id))
            )
        self._wakes.put_nowait(DispatcherWake(n=0))

    def end_stream(self) -> None:
        """Let the stream of wakes end: the Core went, say."""
        self._wakes.put_nowait(None)

    async def wait_until(self, happened: Any) -> None:
        """Wait until something asked of this queue makes this true."""
        async with self._happened:
            await self._happened.wait_for(happened)

    async def claim(self, ask: ClaimAction) -> ClaimedAction:
        await self._record("claim", self.claims, ask)
        return self.ready.pop(0) if self.ready else ClaimedAction()

    async def renew(self, ask: RenewLeases) -> RenewedLeases:
        await self._record("renew", self.renewals, ask)
        return RenewedLeases(sessions=self.sessions, actions=self.actions)

    async def adopt(self, ask: AdoptSessions) -> AgentStateList:
        await self._record("adopt", [], ask)
        return AgentStateList(states=self.adopted.pop(0) if self.adopted else ())

    async def release(self, ask: ReleaseLeases) -> None:
        await self._record("release", self.releases, ask)

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        await self._record("write", self.writes, ask)
        return SessionWriteResult()

    async def wakes(self, ask: SubscribeWakes) -> AsyncGenerator[DispatcherWake, None]:
        self.listeners += 1
        try:
            while (wake := await self._wakes.get()) is not None:
                yield wake
        finally:
            self.listeners -= 1

    async def _record(self, method: str, kept: list[Any], ask: Any) -> None:
        refusals = self.refusals.get(method)
        async with self._happened:
            if not refusals:
                kept.append(ask)
            self._happened.notify_all()
        if refusals:
            raise refusals.pop(0)
