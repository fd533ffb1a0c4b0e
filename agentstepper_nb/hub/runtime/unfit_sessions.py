"""Sessions that no worker fits: their missing requirements, and their ending."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.routes import LoadQuery, describe_misfit, find_route
from ...protocol.runtime import (
    LIVE_STATUSES,
    ActionKind,
    ActionStatus,
    AgentState,
    SessionStatus,
)
from ...protocol.runtime_requests import WaitingSessions
from ...protocol.runtime_store_messages import MAX_LIMIT, ActionQuery, SessionWrite
from . import lookups
from .context import RowUpdates, RuntimeServices, is_due
from .dispatcher_wakeups import DispatcherWakeups

#: The writer of the ending of a session that never had a worker.
_CORE: Final = "core"
#: The error codes if a worker has the session by now, or the session has ended.
_TAKEN_CODES: Final = frozenset({"stale_epoch", "session_over"})


class UnfitSessions:
    """Lists the sessions that no worker fits, and ends those that a person destroyed.

    Args:
        context: The services of the runtime.
        wakes: The connected workers.
    """

    def __init__(self, context: RuntimeServices, wakes: DispatcherWakeups) -> None:
        self._context = context
        self._wakes = wakes
        self._leased: set[str] = set()  # to be ended when their lost worker's leases are over

    async def list_waiting(self) -> tuple[WaitingSessions, ...]:
        """Count the waiting sessions by their requirements, with what each group misses."""
        loads = await self._context.store.loads(LoadQuery(now=self._context.clock()))
        offers = self._wakes.offers.values()
        return tuple(
            WaitingSessions(route=load.route, sessions=load.waiting, reason=reason)
            for load in loads.routes
            if load.waiting and (reason := describe_misfit(load.route, offers)) is not None
        )

    async def end_destroyed(self) -> None:
        """End each session that a person destroyed and that no worker fits: nothing of it runs."""
        if not self._wakes.offers:
            return
        query = ActionQuery(kind=ActionKind.DESTROY, status=ActionStatus.QUEUED, limit=MAX_LIMIT)
        found = await self._context.store.actions(query)
        now = self._context.clock()
        await self._end({each.session_id for each in found.actions if is_due(each, now)})

    async def end_expired(self) -> None:
        """End the destroyed sessions that a lost worker's lease has protected until now."""
        leased, self._leased = self._leased, set()
        await self._end(leased)

    async def _end(self, session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            state = await lookups.find_state(self._context.store, session_id)
            if state is not None:
                await self.end_if_unfit(state)

    async def end_if_unfit(self, state: AgentState) -> None:
        """End a session that is to be destroyed, where no worker that is connected fits it.

        Args:
            state: The session, as it was read just now.
        """
        offers = self._wakes.offers.values()
        if not offers or describe_misfit(find_route(state), offers) is None:
            return  # a worker does it, or the Core starts one that may
        now = self._context.clock()
        if state.status not in LIVE_STATUSES:
            return
        if state.lease_until is not None and state.lease_until > now:
            self._leased.add(state.session_id)
            return
        stopped = replace(state, status=SessionStatus.STOPPED, updated_at=now)
        try:
            written = await self._context.store.write(
                SessionWrite(
                    session_id=state.session_id,
                    epoch=state.epoch,
                    owner=state.owner or _CORE,
                    state=stopped,
                )
            )
        except CommandError as error:
            if error.code not in _TAKEN_CODES:
                raise
            return
        if written.state is not None:
            self._context.publish(RowUpdates(states=(written.state,)))
