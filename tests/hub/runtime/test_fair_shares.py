"""How sessions are shared out: workers end up at their shares, and then nothing moves any more."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from agentstepper_nb.hub.runtime.fair_shares import GRACE_S, WorkerGroup, find_surplus
from agentstepper_nb.protocol.routes import (
    OfferedMoniker,
    OwnerLoad,
    RouteLoad,
    SessionRoute,
    WorkerOffer,
    find_route,
    is_fitting,
)
from agentstepper_nb.protocol.runtime import AgentState
from agentstepper_nb.protocol.runtime_requests import DispatcherWake, SubscribeWakes
from agentstepper_nb.protocol.runtime_store_messages import (
    AdoptSessions,
    ReleaseLeases,
    RenewLeases,
    StateQuery,
)
from tests.helpers.sampling import select_sample
from tests.hub.runtime.harness import RuntimeHarness, open_harness

LEASE_S = 10.0


def group(waiting: int = 0, **loads: int) -> WorkerGroup:
    """Workers that are equals, and how many sessions each has."""
    made = WorkerGroup(frozenset(loads))
    held = tuple(OwnerLoad(owner=owner, sessions=number) for owner, number in loads.items())
    live = waiting + sum(loads.values())
    made.add(RouteLoad(route=SessionRoute(moniker="m"), live=live, held=held))
    return made


@pytest.mark.parametrize(
    ("workers", "takers", "share", "surplus"),
    [
        (group(a=10, b=0), "ab", 5, {"a": 5}),
        (group(a=6, b=5), "ab", 6, {}),
        (group(a=7, b=5), "ab", 6, {}),  # by less than the slack
        (group(a=8, b=5), "ab", 7, {}),
        (group(a=9, b=4), "ab", 7, {"a": 2}),
        (group(a=10, b=0), "a", 10, {}),  # the other is full
        (group(a=0, b=0), "ab", 0, {}),
        (group(a=100, b=50, c=0), "abc", 50, {"a": 50}),
        (group(a=80, b=70, c=0), "abc", 50, {"a": 30, "b": 20}),
        (group(waiting=6, a=18, b=0), "ab", 12, {"a": 6}),  # those that wait fill the room first
        (group(waiting=20, a=20, b=0), "ab", 20, {}),
        (group(a=10, b=90, c=0), "bc", 45, {"b": 45}),  # the first is full with 10
        (group(a=105, b=95), "ab", 100, {}),
    ],
)
def test_who_is_above_its_share_hands_over_what_others_have_room_for(
    workers: WorkerGroup, takers: str, share: int, surplus: dict[str, int]
) -> None:
    assert workers.compute_share(frozenset(takers)) == share
    assert find_surplus(workers, frozenset(takers)) == surplus


class WorkerModel:
    """A worker as the Core sees it: it adopts, renews, and hands over what it is asked to.

    Args:
        core: The Core.
        name: Its name.
        monikers: What it has.
        limit: How many sessions it takes at most.
    """

    def __init__(
        self, core: RuntimeHarness, name: str, monikers: str, limit: int | None = None
    ) -> None:
        self.name = name
        self.sessions: dict[str, SessionRoute] = {}
        self.offer = WorkerOffer(monikers=tuple(OfferedMoniker(name=each) for each in monikers))
        self._core = core
        self._limit = limit
        self._wakes: AsyncGenerator[DispatcherWake, None] | None = None

    async def come(self) -> None:
        self._wakes = self._core.runtime.wakes(SubscribeWakes(owner=self.name, offer=self.offer))
        await anext(self._wakes)

    async def leave(self) -> None:
        assert self._wakes is not None
        await self._wakes.aclose()
        self.sessions.clear()
        await self._core.runtime.release(
            ReleaseLeases(owner=self.name, until=self._core.clock(), is_handover=True)
        )

    async def adopt(self) -> int:
        """Adopt as much as it is given; how many that are."""
        room = 20 if self._limit is None else self._limit - len(self.sessions)
        if room <= 0:
            return 0
        request = self._make(AdoptSessions, limit=room, offer=self.offer)
        states = (await self._core.runtime.adopt(request)).states
        self.sessions.update({state.session_id: find_route(state) for state in states})
        return len(states)

    async def renew(self) -> int:
        """Renew all leases, and hand over what is asked for; how many that are."""
        request = self._make(RenewLeases, sessions=tuple(self.sessions))
        renewed = await self._core.runtime.renew(request)
        assert {each.session_id for each in renewed.sessions} == set(self.sessions)
        ids = [
            id
            for surplus in renewed.hand_over
            for id in [id for id, route in self.sessions.items() if route == surplus.route][
                : surplus.sessions
            ]
        ]
        if ids:
            await self._core.runtime.release(
                ReleaseLeases(
                    owner=self.name,
                    until=self._core.clock(),
                    is_handover=True,
                    sessions=tuple(ids),
                )
            )
        for id in ids:
            del self.sessions[id]
        return len(ids)

    def _make(self, request: type[Any], **fields: Any) -> Any:
        now = self._core.clock()
        return request(owner=self.name, now=now, lease_until=now + LEASE_S, **fields)


async def plant(core: RuntimeHarness, monikers: str) -> None:
    """Sessions that run, and that nobody has: one of each moniker that is named."""
    for number, moniker in enumerate(monikers):
        session = f"{moniker}{number}"
        await core.create(session, moniker=moniker)
        await core.begin(session)
    await core.runtime.release(ReleaseLeases(owner="w", until=core.clock(), is_handover=True))


async def settle_down(core: RuntimeHarness, workers: list[WorkerModel], rounds: int = 40) -> int:
    """Let workers adopt and renew, each once a second, until nothing moves; how many moves that took."""
    moves = quiet = 0
    for _ in range(rounds):
        moved = 0
        for worker in workers:
            moved += await worker.adopt()
            moved += await worker.renew()
        core.clock.now += 1
        moves += moved
        quiet = 0 if moved else quiet + 1
        if quiet > 2 * GRACE_S:
            return moves
    raise AssertionError("sessions go on changing hands")


async def read_states(core: RuntimeHarness) -> tuple[AgentState, ...]:
    return (await core.store.states(StateQuery(limit=1000))).states


def count(workers: list[WorkerModel]) -> dict[str, int]:
    return {worker.name: len(worker.sessions) for worker in workers}


async def test_a_second_worker_gets_its_half_once() -> None:
    async with open_harness() as core:
        await plant(core, "m" * 40)
        first, second = (WorkerModel(core, name, "m") for name in ("first", "second"))
        await first.come()
        assert await settle_down(core, [first]) == 40
        await second.come()
        assert await settle_down(core, [first, second]) == 2 * 20
        assert count([first, second]) == {"first": 20, "second": 20}
        states = await read_states(core)
        assert Counter(state.epoch for state in states) == {2: 20, 3: 20}
        assert {state.losses for state in states} == {()}


async def test_what_a_lost_worker_had_is_shared_by_the_others() -> None:
    async with open_harness() as core:
        await plant(core, "m" * 60)
        workers = [WorkerModel(core, name, "m") for name in ("a", "b", "c")]
        for worker in workers:
            await worker.come()
        await settle_down(core, workers)
        assert count(workers) == {"a": 20, "b": 20, "c": 20}
        lost, *others = workers
        await lost.leave()
        assert await settle_down(core, others) == 20
        assert count(others) == {"b": 30, "c": 30}


async def test_nothing_moves_to_who_has_no_room_for_it() -> None:
    async with open_harness() as core:
        await plant(core, "m" * 30)
        large, small = WorkerModel(core, "large", "m"), WorkerModel(core, "small", "m", limit=4)
        other = WorkerModel(core, "other", "x")
        for worker in (large, small, other):
            await worker.come()
        workers = [large, small, other]
        await settle_down(core, workers)
        assert count(workers) == {"large": 26, "small": 4, "other": 0}


async def test_a_full_worker_hands_over_to_one_that_comes() -> None:
    async with open_harness() as core:
        await plant(core, "m" * 10)
        full, new = WorkerModel(core, "full", "m", limit=10), WorkerModel(core, "new", "m")
        await full.come()
        await settle_down(core, [full])
        await new.come()
        assert await settle_down(core, [full, new]) == 2 * 5
        assert count([full, new]) == {"full": 5, "new": 5}


async def test_sessions_wait_a_moment_only_for_a_worker_that_hangs() -> None:
    """It is connected, and asks for nothing."""
    async with open_harness() as core:
        await plant(core, "m" * 10)
        works, hangs = WorkerModel(core, "works", "m"), WorkerModel(core, "hangs", "m")
        for worker in (works, hangs):
            await worker.come()
        await settle_down(core, [works])
        assert count([works]) == {"works": 10}


@pytest.mark.parametrize("seed", select_sample(range(12), 0, 5, 7))
async def test_any_fleet_comes_to_rest_with_every_session_that_fits_one(seed: int) -> None:
    chance = random.Random(seed)
    async with open_harness() as core:
        await plant(core, "".join(chance.choices("xyz", k=chance.randrange(1, 50))))
        workers: list[WorkerModel] = []
        for number in range(5):
            monikers = "".join(chance.sample("xyz", chance.randrange(1, 4)))
            worker = WorkerModel(core, f"w{number}", monikers)
            await worker.come()
            workers.append(worker)
            await settle_down(core, workers)
            if chance.random() < 0.3:
                gone = workers.pop(chance.randrange(len(workers)))
                await gone.leave()
                await settle_down(core, workers) if workers else None
        held = {id: worker for worker in workers for id in worker.sessions}
        for state in await read_states(core):
            fits = [each for each in workers if is_fitting(each.offer, find_route(state))]
            assert (state.session_id in held) == bool(fits)
            if fits:
                assert held[state.session_id].name == state.owner
            assert state.losses == ()


async def test_a_worker_that_names_no_offer_is_given_everything() -> None:
    async with open_harness() as core:
        await plant(core, "xyz")
        async with aclosing(core.runtime.wakes(SubscribeWakes(owner="old"))) as wakes:
            await anext(wakes)
            now = core.clock()
            request = AdoptSessions(owner="old", now=now, lease_until=now + LEASE_S)
            assert len((await core.runtime.adopt(request)).states) == 3
