"""Divides sessions among workers: which worker may adopt sessions, and which must hand some over.

Workers that fit the same sessions have equal shares of these sessions. A worker below its share adopts
up to it; a worker with its share leaves sessions to the others for a moment. After workers connect or
disconnect, a worker above its share is asked to hand over as many sessions as the others have room
for.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace

from ...protocol.routes import LoadQuery, RouteCount, RouteLoad, WorkerOffer, is_fitting
from ...protocol.runtime_store_messages import AdoptSessions
from ...store.runtime.base import RuntimeStore
from .dispatcher_wakeups import DispatcherWakeups

#: Seconds for which a worker with its share leaves sessions to others.
GRACE_S: Final = 3.0
#: The least seconds for which a worker that asked for sessions counts as one that takes some.
_ACTIVE_S: Final = 3.0
#: The part of a share by which a worker may be above it without handing anything over; and at least so
#: many sessions.
_SLACK: Final = 0.1
_MIN_SLACK: Final = 1
#: Seconds for which loads that were read count.
_LOADS_AGE_S: Final = 1.0
#: The least seconds between a change of the workers and a request to hand sessions over.
_SETTLE_S: Final = 6.0


@dataclass
class WorkerGroup:
    """Workers that fit the same sessions, and these sessions.

    Args:
        members: The workers' names.
        waiting: The number of sessions without a worker.
        loads: The number of sessions of each worker.
        routes: The sessions, grouped by their requirements.
    """

    members: frozenset[str]
    waiting: int = 0
    loads: Counter[str] = field(default_factory=Counter)
    routes: list[RouteLoad] = field(default_factory=list)

    def add(self, load: RouteLoad) -> None:
        """Add sessions with further requirements, which these workers fit."""
        self.waiting += load.waiting
        self.routes.append(load)
        for held in load.held:
            if held.owner in self.members:
                self.loads[held.owner] += held.sessions

    def compute_share(self, takers: frozenset[str]) -> int:
        """Compute the number of sessions that each worker should have.

        Args:
            takers: The workers that take sessions now. A worker that takes none, since it is full, and
                has less than its share leaves the rest to the others.
        """
        members = self.members
        while members:
            total = self.waiting + sum(self.loads[each] for each in members)
            share = math.ceil(total / len(members))
            sharing = frozenset(
                each for each in members if each in takers or self.loads[each] >= share
            )
            if sharing == members:
                return share
            members = sharing
        return 0


def group_workers(
    loads: Iterable[RouteLoad], offers: Mapping[str, WorkerOffer | None]
) -> list[WorkerGroup]:
    """Group the workers by the sessions that they fit.

    Args:
        loads: The sessions.
        offers: The offer of each worker.
    """
    groups: dict[frozenset[str], WorkerGroup] = {}
    for load in loads:
        members = frozenset(
            owner for owner, offer in offers.items() if is_fitting(offer, load.route)
        )
        if members:
            groups.setdefault(members, WorkerGroup(members)).add(load)
    return list(groups.values())


def find_surplus(group: WorkerGroup, takers: frozenset[str]) -> dict[str, int]:
    """Compute how many sessions each worker above its share should hand over, as far as others have
    room.

    Args:
        group: The workers, and their sessions.
        takers: The workers that take sessions now.
    """
    share = group.compute_share(takers)
    slack = max(_MIN_SLACK, math.ceil(share * _SLACK))
    room = sum(max(0, share - group.loads[each]) for each in group.members & takers)
    room -= group.waiting
    surplus = {}
    for owner, load in group.loads.most_common():
        if load <= share + slack or room <= 0:
            break
        surplus[owner] = min(load - share, room)
        room -= surplus[owner]
    return surplus


class FairShares:
    """Keeps workers at their shares of the sessions.

    Args:
        store: Reports the number of each worker's sessions.
        wakes: The connected workers.
    """

    def __init__(self, store: RuntimeStore, wakes: DispatcherWakeups) -> None:
        self._store = store
        self._wakes = wakes
        self._loads: tuple[RouteLoad, ...] | None = None
        self._loads_read_at = 0.0
        self._changes = 0
        self._asked: dict[str, tuple[float, float]] = {}  # when, and how long after the time before
        self._is_settled = True
        self._changed_at = 0.0

    def on_workers_changed(self) -> None:
        """Handle a worker's connection or disconnection."""
        present = self._wakes.owners
        self._asked = {owner: each for owner, each in self._asked.items() if owner in present}
        self._is_settled, self._changed_at = False, asyncio.get_running_loop().time()
        self.forget_loads()

    def forget_loads(self) -> None:
        """Drop the cached loads: sessions were released or adopted."""
        self._loads = None
        self._changes += 1

    async def limit_adoption(self, request: AdoptSessions) -> AdoptSessions:
        """Limit a worker's request for sessions to its share.

        Args:
            request: The worker's request, with times by the Core's clock.
        """
        self._record_request(request)
        if len(self._wakes.offers) < 2:
            return request
        takers = self._list_takers(request.now)
        rooms = [
            max(0, group.compute_share(takers) - group.loads[request.owner])
            for group in await self._read_groups(request.now)
            if request.owner in group.members
        ]
        if not any(rooms):
            return replace(request, over_by=max(0.0, request.now - GRACE_S))
        return replace(request, limit=min(request.limit, sum(rooms)))

    async def find_hand_over(self, owner: str, now: float) -> tuple[RouteCount, ...]:
        """Find the sessions that a worker should hand over to others.

        Args:
            owner: The worker.
            now: The time, in POSIX seconds.
        """
        if self._is_settled or len(self._wakes.offers) < 2:
            return ()
        takers = self._list_takers(now)
        found: list[RouteCount] = []
        is_balanced = True
        for group in await self._read_groups(now):
            surplus = find_surplus(group, takers)
            is_balanced = is_balanced and not surplus
            found += _select_routes(group, owner, surplus.get(owner, 0))
        age_s = asyncio.get_running_loop().time() - self._changed_at
        self._is_settled = is_balanced and age_s > _SETTLE_S
        return tuple(found)

    def _record_request(self, request: AdoptSessions) -> None:
        before, _ = self._asked.get(request.owner, (request.now, 0.0))
        self._asked[request.owner] = request.now, request.now - before

    def _list_takers(self, now: float) -> frozenset[str]:
        """List the workers that take sessions: they requested some recently."""
        return frozenset(
            owner
            for owner in self._wakes.offers
            if owner in self._asked and now - self._asked[owner][0] <= self._active_s(owner)
        )

    def _active_s(self, owner: str) -> float:
        return max(_ACTIVE_S, 3 * self._asked[owner][1])

    async def _read_groups(self, now: float) -> list[WorkerGroup]:
        clock = asyncio.get_running_loop().time
        loads = self._loads
        if loads is None or clock() - self._loads_read_at > _LOADS_AGE_S:
            began, changes = clock(), self._changes
            loads = (await self._store.loads(LoadQuery(now=now))).routes
            if changes == self._changes:  # else it may be of before
                self._loads, self._loads_read_at = loads, began
        return group_workers(loads, self._wakes.offers)


def _select_routes(group: WorkerGroup, owner: str, number: int) -> Iterable[RouteCount]:
    """Select a number of a worker's sessions, counted by their requirements."""
    for load in group.routes:
        has = sum(held.sessions for held in load.held if held.owner == owner)
        taken = min(has, number)
        number -= taken
        if taken:
            yield RouteCount(route=load.route, sessions=taken)
