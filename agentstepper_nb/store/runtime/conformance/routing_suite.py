"""Routing: which owner gets which session, how sessions change owners, and counts per owner."""

from __future__ import annotations

from typing import Any

from ....protocol.routes import (
    LoadQuery,
    OfferedMoniker,
    OwnerLoad,
    RouteLoad,
    SessionRoute,
    WorkerOffer,
)
from ....protocol.runtime import ActionKind, SessionStatus
from ....protocol.runtime_store_messages import (
    AdoptSessions,
    LeasedSession,
    ReleaseLeases,
    RetrySession,
)
from ..base import RuntimeStore
from .base_suite import (
    LEASE_S,
    START_TIME,
    BaseSuite,
    begin_session,
    claim_action,
    claim_action_id,
    create_session,
    enqueue_actions,
    finish_action,
    make_action,
    make_state,
    read_action,
    read_snapshot,
    write_session,
)
from .lease_suite import renew_leases

LOST_S = LEASE_S + 1.0
#: The offer of an owner that accepts no more sessions.
NOTHING = WorkerOffer()


def make_offer(*monikers: str, labels: tuple[str, ...] = ()) -> WorkerOffer:
    """An offer of monikers, each by its name or as NAME VERSION."""
    offered = []
    for moniker in monikers:
        name, _, version = moniker.partition(" ")
        offered.append(OfferedMoniker(name=name, version=version))
    return WorkerOffer(monikers=tuple(offered), labels=labels)


async def adopt(
    store: RuntimeStore, owner: str, at: float, offer: WorkerOffer | None, **more: Any
) -> list[str]:
    """The sessions that an owner adopts, some seconds after the beginning."""
    now = START_TIME + at
    request = AdoptSessions(
        owner=owner, now=now, lease_until=now + LEASE_S, offer=offer, **({"limit": 100} | more)
    )
    return [state.session_id for state in (await store.adopt(request)).states]


async def claim_all(store: RuntimeStore, owner: str, offer: WorkerOffer | None) -> list[str]:
    """Claim all actions that an owner may get. Returns their ids, in order."""
    ids: list[str] = []
    while (found := await claim_action_id(store, owner, 0, tuple(ids), offer)) is not None:
        ids.append(found)
    return ids


async def hand_over(store: RuntimeStore, *sessions: str, at: float = 1.0) -> None:
    """Hand sessions over from the first owner."""
    await store.release(
        ReleaseLeases(owner="one", until=START_TIME + at, is_handover=True, sessions=sessions)
    )


class RoutingSuite(BaseSuite):
    """Offers, hand-overs, loads."""

    # ---- what fits ----------------------------------------------------------------------------------

    async def test_owner_claims_sessions_of_its_monikers_only(self) -> None:
        async with self.opened_store() as store:
            for session, moniker in (("a", "joke"), ("b", "review"), ("c", "joke")):
                await create_session(store, session, moniker=moniker)
            assert await claim_all(store, "none", make_offer("other")) == []
            assert await claim_all(store, "one", make_offer("joke")) == ["create a", "create c"]
            assert await claim_all(store, "two", make_offer("joke", "review")) == ["create b"]
            assert (await read_snapshot(store, "b")).owner == "two"

    async def test_owner_without_an_offer_claims_everything(self) -> None:
        async with self.opened_store() as store:
            await create_session(store, "a", moniker="review", requires=("gpu",))
            await create_session(store, "b", moniker_version="2")
            assert await claim_all(store, "one", None) == ["create a", "create b"]

    async def test_version_has_to_be_the_one_that_the_session_asks_for(self) -> None:
        async with self.opened_store() as store:
            await create_session(store, "two", moniker_version="2")
            await create_session(store, "any")
            assert await claim_all(store, "1", make_offer("joke 1")) == ["create any"]
            assert await claim_all(store, "0", make_offer("joke")) == []
            assert await claim_all(store, "2", make_offer("joke 1", "joke 2")) == ["create two"]

    async def test_owner_has_all_labels_that_the_session_requires(self) -> None:
        async with self.opened_store() as store:
            await create_session(store, "both", requires=("region=eu", "gpu"))
            await create_session(store, "gpu", requires=("gpu",))
            await create_session(store, "none")
            plain, gpu = make_offer("joke"), make_offer("joke", labels=("gpu", "large"))
            both = make_offer("joke", labels=("gpu", "region=eu"))
            assert await claim_all(store, "plain", plain) == ["create none"]
            assert await claim_all(store, "gpu", gpu) == ["create gpu"]
            assert await claim_all(store, "both", both) == ["create both"]

    async def test_snapshot_keeps_what_the_session_needs(self) -> None:
        async with self.opened_store() as store:
            labels = ("gpu", "region=eu")
            await begin_session(store, moniker_version="2", requires=labels)
            # As a worker of an earlier version writes it, which knows nothing of it.
            state = make_state(status=SessionStatus.RUNNING, iteration=4)
            await write_session(store, state=state)
            kept = await read_snapshot(store)
            assert (kept.moniker_version, kept.requires, kept.iteration) == ("2", labels, 4)
            assert await adopt(store, "two", LOST_S, make_offer("joke")) == []

    async def test_order_of_claims_holds_among_what_fits(self) -> None:
        async with self.opened_store() as store:
            waits = (("a", 0), ("b", 5), ("c", 9), ("b", 0), ("a", 5))
            for number, (moniker, _) in enumerate(waits):
                await begin_session(store, f"{number}", moniker=moniker)
            for number, (_, urgency) in enumerate(waits):
                await enqueue_actions(store, make_action(f"{number}", f"{number}", urgency=urgency))
            await store.release(ReleaseLeases(owner="one", until=START_TIME - 1))
            assert await claim_all(store, "two", make_offer("a", "b")) == ["1", "4", "0", "3"]

    async def test_own_sessions_are_claimed_whatever_is_offered(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "mine")
            await create_session(store, "other")
            await enqueue_actions(store, make_action("a", "mine", urgency=-1))
            assert await claim_all(store, "two", NOTHING) == []
            assert await claim_all(store, "one", NOTHING) == ["a"]

    async def test_actions_of_ended_sessions_are_anybodys(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "ended", status=SessionStatus.DONE)
            await begin_session(store, "lives")
            await enqueue_actions(
                store,
                make_action("to lives", "lives", ActionKind.DESTROY),
                make_action("to ended", "ended", ActionKind.DESTROY),
            )
            found = await claim_action(store, "two", LOST_S, offer=NOTHING)
            assert found.action is not None and found.action.id == "to ended"
            assert await claim_action_id(store, "two", LOST_S, ("to ended",), NOTHING) is None

    async def test_creation_of_a_session_that_ended_before_it_is_anybodys(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            stopped = make_state(status=SessionStatus.STOPPED)
            await write_session(store, epoch=0, owner="core", state=stopped, steps=())
            assert await claim_all(store, "two", NOTHING) == ["create s"]
            await finish_action(store, "create s", owner="two", epoch=0)
            assert (await store.info()).open == 0

    async def test_retried_session_needs_what_it_needed(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, status=SessionStatus.ERROR)
            await enqueue_actions(store, make_action("a"))
            await store.retry(RetrySession(session_id="s", now=START_TIME))
            assert await claim_all(store, "two", make_offer("review")) == []
            assert await adopt(store, "two", 0, make_offer("review")) == []
            assert await claim_all(store, "two", make_offer("joke")) == ["a"]

    async def test_routes_outlive_a_reopening(self) -> None:
        store = await self.open()
        await begin_session(store, "begun", moniker="review")
        await create_session(store, "gpu", requires=("gpu",))
        store = await self.reopen(store)
        try:
            assert await adopt(store, "two", LOST_S, make_offer("joke")) == []
            assert await adopt(store, "two", LOST_S, make_offer("review")) == ["begun"]
            offer = make_offer("joke", labels=("gpu",))
            assert await claim_action_id(store, "two", LOST_S, offer=offer) == "create gpu"
        finally:
            await store.close()

    # ---- changing hands -----------------------------------------------------------------------------

    async def test_owner_adopts_what_fits_only(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b", moniker="review")
            await begin_session(store, "c", requires=("gpu",))
            assert await adopt(store, "two", LOST_S, NOTHING) == []
            assert await adopt(store, "two", LOST_S, make_offer("joke"), limit=1) == ["a"]
            assert await adopt(store, "two", LOST_S, make_offer("joke"), limit=1) == []
            assert sorted(await adopt(store, "three", LOST_S, None)) == ["b", "c"]

    async def test_adoption_may_be_of_leases_that_were_over_by_then(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            then = START_TIME + LEASE_S
            assert await adopt(store, "two", LOST_S, None, over_by=then - 1) == []
            assert await adopt(store, "two", LEASE_S - 1, None, over_by=then) == []  # it lasts
            assert await adopt(store, "two", LOST_S, None, over_by=then) == ["s"]

    async def test_owner_hands_over_some_of_its_sessions(self) -> None:
        async with self.opened_store() as store:
            for session in ("a", "b"):
                await begin_session(store, session)
            await enqueue_actions(store, make_action("to a", "a"), make_action("to b", "b"))
            assert await claim_all(store, "one", None) == ["to a", "to b"]
            await hand_over(store, "a")
            assert await adopt(store, "two", 2, None) == ["a"]
            assert await claim_action_id(store, "two", 2) == "to a"
            assert await claim_action_id(store, "two", 2, ("to a",)) is None
            state = await read_snapshot(store, "a")
            assert (state.owner, state.epoch, state.losses) == ("two", 2, ())
            assert (await read_action(store, "to b")).owner == "one"
            assert (await read_snapshot(store, "b")).owner == "one"

    async def test_what_was_handed_over_is_not_renewed(self) -> None:
        """A renewal in progress at the handover must not keep the session from all owners."""
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b")
            await hand_over(store, "a")
            renewed = await renew_leases(store, "one", 2, ("a", "b"))
            assert renewed.sessions == (LeasedSession(session_id="b", epoch=1),)
            assert await adopt(store, "two", 2, None) == ["a"]

    async def test_owner_may_take_back_what_it_handed_over(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await hand_over(store, "s")
            assert await adopt(store, "one", 2, None) == ["s"]
            renewed = await renew_leases(store, "one", 3)
            assert renewed.sessions == (LeasedSession(session_id="s", epoch=2),)
            assert (await read_snapshot(store)).losses == ()

    async def test_sessions_of_others_are_not_handed_over(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a", "two")
            await hand_over(store, "a")
            assert await adopt(store, "three", 2, None) == []

    # ---- loads --------------------------------------------------------------------------------------

    async def test_loads_are_counted_by_route_and_owner(self) -> None:
        async with self.opened_store() as store:
            for number in range(3):
                await begin_session(store, f"{number}")
            await begin_session(store, "two's", "two")
            await begin_session(store, "over", status=SessionStatus.DONE)
            await create_session(store, "gpu", moniker_version="2", requires=("b", "a"))
            await hand_over(store, "0")
            loads = await store.loads(LoadQuery(now=START_TIME + 2))
            held = (OwnerLoad(owner="one", sessions=2), OwnerLoad(owner="two", sessions=1))
            gpu = SessionRoute(moniker="joke", moniker_version="2", requires=("a", "b"))
            assert loads.routes == (
                RouteLoad(route=SessionRoute(moniker="joke"), live=4, held=held),
                RouteLoad(route=gpu, live=1),
            )
            assert [load.waiting for load in loads.routes] == [1, 1]
            over = await store.loads(LoadQuery(now=START_TIME + LOST_S))
            assert [(load.live, load.held) for load in over.routes] == [(4, ()), (1, ())]
