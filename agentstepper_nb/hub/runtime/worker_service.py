"""What workers request: claims, leases, and keeping what became of sessions.

Times are the Core's: what a worker says of now is only what its leases are measured from, so that
workers whose clocks differ take nothing from each other too early.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ...protocol.runtime_store_messages import (
    AdoptSessions,
    AgentStateList,
    ClaimAction,
    ClaimedAction,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
)
from .context import RowUpdates, RuntimeServices
from .message_service import select_postable

LeaseRequest = TypeVar("LeaseRequest", ClaimAction, RenewLeases, AdoptSessions)


class WorkerService:
    """Asks the store for workers, and tells what changed by it. Errors are the store's.

    Args:
        context: What it works with.
    """

    def __init__(self, context: RuntimeServices) -> None:
        self._context = context
        self._store = context.store

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next action that is ready."""
        claimed = await self._store.claim(self._restamp(request))
        if claimed.action is not None:
            states = () if claimed.state is None else (claimed.state,)
            self._context.publish(RowUpdates(states=states, actions=(claimed.action,)))
        return claimed

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Make an owner's leases last on."""
        return await self._store.renew(self._restamp(request))

    async def adopt(self, request: AdoptSessions) -> AgentStateList:
        """Take sessions that lost their worker."""
        adopted = await self._store.adopt(self._restamp(request))
        self._context.publish(RowUpdates(states=adopted.states))
        if adopted.states:  # what was claimed of them may be claimed again
            self._context.wake()
        return adopted

    async def release(self, request: ReleaseLeases) -> None:
        """Let an owner's leases last no longer than until now, or than it asks."""
        until = min(request.until, self._context.clock())
        await self._store.release(msgspec.structs.replace(request, until=until))
        self._context.wake()

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Keep what became of a session; messages that it may not post are left out."""
        messages = await select_postable(self._store, request.session_id, request.messages)
        if len(messages) < len(request.messages):
            self._context.log.info(
                "%d messages of session %r were not posted: the session is an observer "
                "or has left, or the conversation is closed",
                len(request.messages) - len(messages),
                request.session_id,
            )
            request = msgspec.structs.replace(request, messages=messages)
        written = await self._store.write(request)
        self._context.publish(
            RowUpdates(
                states=() if written.state is None else (written.state,),
                steps=written.steps,
                messages=written.messages,
                actions=written.actions,
            )
        )
        return written

    def _restamp(self, request: LeaseRequest) -> LeaseRequest:
        now = self._context.clock()
        lease_duration_s = max(0.0, request.lease_until - request.now)
        return msgspec.structs.replace(request, now=now, lease_until=now + lease_duration_s)
