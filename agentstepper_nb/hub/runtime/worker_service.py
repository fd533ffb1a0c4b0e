"""Requests of workers: claims, leases, and writes of sessions' changes.

Times are the Core's: a worker's own time is used only to measure its leases, so that workers whose
clocks differ don't adopt each other's sessions too early.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from ...protocol.runtime_store_messages import (
    AdoptedSessions,
    AdoptSessions,
    ClaimAction,
    ClaimedAction,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
)
from .context import RowUpdates, RuntimeServices
from .conversation_writer import ConversationWriter
from .fair_shares import FairShares
from .unfit_sessions import UnfitSessions

TakingRequest = TypeVar("TakingRequest", ClaimAction, AdoptSessions)
LeaseRequest = TypeVar("LeaseRequest", ClaimAction, RenewLeases, AdoptSessions)


class WorkerService:
    """Passes workers' requests to the store, and publishes the changes. Errors are the store's.

    Args:
        context: The services of the runtime.
        conversation_writer: Posts sessions' messages.
        shares: Computes the number of sessions of each worker.
        unfit: Ends destroyed sessions that no worker can run.
    """

    def __init__(
        self,
        context: RuntimeServices,
        conversation_writer: ConversationWriter,
        shares: FairShares,
        unfit: UnfitSessions,
    ) -> None:
        self._context = context
        self._conversation_writer = conversation_writer
        self._shares = shares
        self._unfit = unfit
        self._store = context.store

    async def claim(self, request: ClaimAction) -> ClaimedAction:
        """Claim the next action that is ready."""
        claimed = await self._store.claim(self._add_bystanders(self._restamp(request)))
        if claimed.action is not None:
            states = () if claimed.state is None else (claimed.state,)
            self._context.publish(RowUpdates(states=states, actions=(claimed.action,)))
        return claimed

    async def renew(self, request: RenewLeases) -> RenewedLeases:
        """Renew an owner's leases. Returns also the sessions that the owner should hand over."""
        restamped = self._restamp(request)
        renewed = await self._store.renew(restamped)
        hand_over = await self._shares.find_hand_over(request.owner, restamped.now)
        return msgspec.structs.replace(renewed, hand_over=hand_over) if hand_over else renewed

    async def adopt(self, request: AdoptSessions) -> AdoptedSessions:
        """Adopt sessions that lost their worker, up to the owner's share."""
        await self._unfit.end_expired()
        limited = await self._shares.limit_adoption(self._restamp(request))
        adopted = await self._store.adopt(self._add_bystanders(limited))
        for state in adopted.ended:
            self._context.log.warning("session %r ended: %s", state.session_id, state.last_error)
        self._context.publish(RowUpdates(states=(*adopted.states, *adopted.ended)))
        if adopted.states:  # what was claimed of them may be claimed again
            self._shares.forget_loads()
            self._context.wake()
        return adopted

    async def release(self, request: ReleaseLeases) -> None:
        """End an owner's leases now, or at the requested time if that is earlier."""
        until = min(request.until, self._context.clock())
        await self._store.release(msgspec.structs.replace(request, until=until))
        self._shares.forget_loads()
        self._context.wake()

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        """Store a session's changes, and post its messages; see `ConversationWriter.complete`."""
        if request.steps or request.messages:
            request = await self._conversation_writer.complete(request)
        request = msgspec.structs.replace(request, now=self._context.clock())
        written = await self._store.write(request)
        self._context.publish(list_written_rows(written))
        return written

    def _add_bystanders(self, request: TakingRequest) -> TakingRequest:
        """Add the steps that can't be the cause of a worker's loss: those that a person halted, and
        those of connected workers whose renewal was only late.
        """
        return msgspec.structs.replace(
            request,
            halted_runs=tuple(self._context.list_halted_runs()),
            present_owners=tuple(self._context.list_present_owners()),
        )

    def _restamp(self, request: LeaseRequest) -> LeaseRequest:
        now = self._context.clock()
        lease_duration_s = max(0.0, request.lease_until - request.now)
        return msgspec.structs.replace(request, now=now, lease_until=now + lease_duration_s)


def list_written_rows(written: SessionWriteResult) -> RowUpdates:
    """List the rows that a write changed, with the next sessions of periodic creations."""
    created = written.created
    return RowUpdates(
        states=(
            *(() if written.state is None else (written.state,)),
            *(each.state for each in created),
        ),
        steps=written.steps,
        messages=(
            *written.messages,
            *(each.message for each in created if each.message is not None),
        ),
        actions=(*written.actions, *(each.action for each in created)),
        participants=tuple(each.participant for each in created if each.participant is not None),
    )
