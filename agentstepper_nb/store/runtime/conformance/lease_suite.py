"""Leases: how long a claim is valid, and which owner has a session."""

from __future__ import annotations

from itertools import chain

from ....protocol.runtime import ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_store_messages import (
    AdoptSessions,
    LeasedSession,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
)
from ..base import RuntimeStore
from .base_suite import (
    LEASE_S,
    START_TIME,
    BaseSuite,
    assert_refused,
    begin_session,
    claim_action,
    claim_action_id,
    create_session,
    enqueue_actions,
    finish_action,
    make_action,
    make_completion,
    make_state,
    read_action,
    read_snapshot,
    write_session,
)

AFTER_LEASE_S = LEASE_S + 1.0


async def renew_leases(
    store: RuntimeStore, owner: str, at: float, sessions: tuple[str, ...] | None = None
) -> RenewedLeases:
    now = START_TIME + at
    request = RenewLeases(owner=owner, now=now, lease_until=now + LEASE_S, sessions=sessions)
    return await store.renew(request)


async def adopt_sessions(store: RuntimeStore, owner: str, at: float, limit: int = 100) -> list[str]:
    now = START_TIME + at
    request = AdoptSessions(owner=owner, now=now, lease_until=now + LEASE_S, limit=limit)
    return [each.session_id for each in (await store.adopt(request)).states]


class LeaseSuite(BaseSuite):
    """Renewing, releasing, adopting."""

    # ---- leases -------------------------------------------------------------------------------------

    async def test_expired_lease_makes_action_claimable_again(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            await claim_action(store)
            assert await claim_action_id(store, "two", LEASE_S - 1) is None
            again = await claim_action(store, "two", AFTER_LEASE_S)
            assert again.action is not None and again.state is not None
            assert (again.action.id, again.action.attempts) == ("create s", 2)
            assert (again.state.owner, again.state.epoch) == ("two", 2)

    async def test_expired_lease_lets_control_action_overtake(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            assert await claim_action_id(store) == "a"
            await enqueue_actions(store, make_action("pause", kind=ActionKind.PAUSE))
            assert await claim_action_id(store, "two", AFTER_LEASE_S) == "pause"
            assert await claim_action_id(store, "three", AFTER_LEASE_S) is None
            assert (await renew_leases(store, "one", AFTER_LEASE_S)).actions == ()  # one at a time
            await finish_action(store, "pause", owner="two", epoch=2)
            assert await claim_action_id(store, "two", AFTER_LEASE_S) == "a"

    async def test_lost_claim_response_is_repeated(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"), make_action("b"))
            first = await claim_action(store)
            again = await claim_action(store, at=1.0)
            assert first.action is not None and again.action is not None
            assert again.action.id == first.action.id == "a"
            assert again.action.lease_until == START_TIME + 1.0 + LEASE_S
            assert again.action.attempts == 1
            assert await claim_action_id(store, running_action_ids=("a",)) is None

    async def test_renew_extends_and_lists_leases(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b")
            await enqueue_actions(store, make_action("input a", "a"))
            await claim_action(store)
            renewed = await renew_leases(store, "one", 8)
            assert sorted(renewed.sessions, key=lambda held: held.session_id) == [
                LeasedSession(session_id="a", epoch=1),
                LeasedSession(session_id="b", epoch=1),
            ]
            assert renewed.actions == ("input a",)
            assert await claim_action_id(store, "two", 8 + LEASE_S - 1) is None
            assert await adopt_sessions(store, "two", 8 + LEASE_S - 1) == []
            assert await claim_action_id(store, "two", 8 + AFTER_LEASE_S) == "input a"

    async def test_session_omitted_from_renewal_can_be_adopted(self) -> None:
        """As where the answer to an `adopt` got lost: its owner doesn't know of it."""
        async with self.opened_store() as store:
            for session in ("a", "b", "other"):
                await begin_session(store, session, owner="two" if session == "other" else "one")
            renewed = await renew_leases(store, "one", 8, ("b", "other", "nobody"))
            assert renewed.sessions == (LeasedSession(session_id="b", epoch=1),)
            assert (await renew_leases(store, "one", 9, ())).sessions == ()
            assert sorted(await adopt_sessions(store, "one", AFTER_LEASE_S)) == ["a", "other"]

    async def test_renew_omits_sessions_of_other_owners(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b")
            await enqueue_actions(store, make_action("input a", "a"))
            await claim_action(store)
            await claim_action(store, "two", AFTER_LEASE_S)
            renewed = await renew_leases(store, "one", AFTER_LEASE_S)
            assert renewed == RenewedLeases(
                sessions=(LeasedSession(session_id="b", epoch=1),), actions=()
            )
            assert (await renew_leases(store, "nobody", AFTER_LEASE_S)) == RenewedLeases(
                sessions=(), actions=()
            )

    async def test_expired_unclaimed_lease_can_be_renewed(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            await claim_action(store)
            assert (await renew_leases(store, "one", AFTER_LEASE_S)).actions == ("a",)
            assert await claim_action_id(store, "two", AFTER_LEASE_S) is None
            assert await adopt_sessions(store, "two", AFTER_LEASE_S) == []
            assert (await read_snapshot(store)).epoch == 1

    async def test_renewal_takes_claimable_actions_back_to_their_owner(self) -> None:
        async with self.opened_store() as store:
            for session in ("a", "b"):
                await begin_session(store, session)
            await enqueue_actions(store, make_action("to a", "a"), make_action("to b", "b"))
            assert await claim_action_id(store, "two", AFTER_LEASE_S) == "to a"
            assert (await renew_leases(store, "one", AFTER_LEASE_S)).sessions == (
                LeasedSession(session_id="b", epoch=1),
            )
            assert await claim_action_id(store, "three", AFTER_LEASE_S) is None
            assert await claim_action_id(store, "one", AFTER_LEASE_S) == "to b"

    async def test_claim_never_shortens_session_lease(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await renew_leases(store, "one", 8)
            await enqueue_actions(store, make_action("a"))
            assert await claim_action_id(store, at=1) == "a"
            await finish_action(store, "a")
            assert await adopt_sessions(store, "two", 8 + LEASE_S - 1) == []

    async def test_release_shortens_leases_and_keeps_epochs(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b", "other")
            await enqueue_actions(store, make_action("input a", "a"), make_action("input b", "b"))
            assert await claim_action_id(store) == "input a"
            assert await claim_action_id(store, "other") == "input b"
            await store.release(ReleaseLeases(owner="one", until=START_TIME + 2))
            await store.release(ReleaseLeases(owner="one", until=START_TIME + 5))  # never longer
            assert (await read_snapshot(store, "a")).epoch == 1
            assert await claim_action_id(store, "two", 1) is None
            assert await claim_action_id(store, "two", 2.5) == "input a"
            assert await claim_action_id(store, "two", 2.5, ("input a",)) is None

    async def test_owner_can_renew_released_lease_before_it_ends(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await store.release(ReleaseLeases(owner="one", until=START_TIME + 2))
            assert (await renew_leases(store, "one", 1)).sessions == (
                LeasedSession(session_id="s", epoch=1),
            )
            assert await adopt_sessions(store, "two", 3) == []
            await write_session(store, steps=())

    # ---- whose a session is -------------------------------------------------------------------------

    async def test_owned_and_unowned_sessions_share_claim_order(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "mine")
            await create_session(store, "anybody's")
            await enqueue_actions(
                store, make_action("1", "mine"), make_action("2", "mine", urgency=1)
            )
            order = []
            for _ in range(2):
                found = await claim_action_id(store, running_action_ids=("create anybody's",))
                assert found is not None
                order.append(found)
                if found in ("1", "2"):
                    await finish_action(store, found, "mine")
            assert order == ["2", "create anybody's"]
            await enqueue_actions(store, make_action("3", "mine", urgency=-1))
            assert await claim_action_id(store, running_action_ids=("create anybody's",)) == "1"

    async def test_only_the_owner_claims_actions_of_its_session(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "mine", "one")
            await begin_session(store, "yours", "two")
            await enqueue_actions(
                store, make_action("to yours", "yours", urgency=9), make_action("to mine", "mine")
            )
            assert await claim_action_id(store, "three") is None
            assert await claim_action_id(store, "one") == "to mine"
            assert await claim_action_id(store, "two") == "to yours"
            assert (await read_snapshot(store, "mine")).epoch == 1

    async def test_session_of_expired_owner_gets_new_epoch(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            found = await claim_action(store, "two", AFTER_LEASE_S)
            assert found.state is not None
            assert (found.state.owner, found.state.epoch) == ("two", 2)
            await assert_refused("stale_epoch", write_session(store, state=make_state(), steps=()))

    async def test_adopt_takes_live_ownerless_sessions(self) -> None:
        async with self.opened_store() as store:
            going = {
                "runs": SessionStatus.RUNNING,
                "paused": SessionStatus.PAUSED,
                "stopping": SessionStatus.STOPPING,
            }
            over_ = {
                "stopped": SessionStatus.STOPPED,
                "done": SessionStatus.DONE,
                "error": SessionStatus.ERROR,
            }
            for session, status in (going | over_).items():
                await begin_session(store, session, status=status)
            await begin_session(store, "other's", "other")
            await create_session(store, "created")
            await claim_action(store)
            await renew_leases(store, "other", 5)
            assert await adopt_sessions(store, "two", 5) == []
            assert sorted(await adopt_sessions(store, "two", AFTER_LEASE_S)) == sorted(going)
            for session in going:
                state = await read_snapshot(store, session)
                assert (state.owner, state.epoch) == ("two", 2)
            assert await adopt_sessions(store, "three", AFTER_LEASE_S) == []

    async def test_adopt_respects_limit(self) -> None:
        async with self.opened_store() as store:
            for number in range(5):
                await begin_session(store, f"{number}")
            found = [await adopt_sessions(store, "two", AFTER_LEASE_S, limit=2) for _ in range(4)]
            assert [len(each) for each in found] == [2, 2, 1, 0]
            assert sorted(chain.from_iterable(found)) == ["0", "1", "2", "3", "4"]

    async def test_adopter_claims_actions_of_the_session(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            assert await claim_action_id(store) == "a"
            await adopt_sessions(store, "two", AFTER_LEASE_S)
            assert (await renew_leases(store, "one", AFTER_LEASE_S)).actions == ()
            assert await claim_action_id(store, "three", AFTER_LEASE_S) is None
            assert await claim_action_id(store, "two", AFTER_LEASE_S) == "a"
            await assert_refused("stale_epoch", finish_action(store, "a"))
            await finish_action(store, "a", owner="two", epoch=2)

    async def test_actions_of_ended_session_are_claimed_without_the_session(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, status=SessionStatus.DONE)
            await enqueue_actions(store, make_action("destroy", kind=ActionKind.DESTROY))
            found = await claim_action(store, "two")
            assert found.action is not None and found.state is not None
            assert (found.action.id, found.state.owner, found.state.epoch) == ("destroy", None, 1)
            late = await claim_action(store, "three", AFTER_LEASE_S)
            assert late.action is not None and late.action.attempts == 2
            done = make_completion("destroy", "two")
            await assert_refused("stale_claim", write_session(store, owner="two", finished=(done,)))
            await finish_action(store, "destroy", owner="three")
            assert (await read_action(store, "destroy")).status is ActionStatus.DONE
