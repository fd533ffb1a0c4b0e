"""Leases: how long a claim counts, and whose a session is."""

from __future__ import annotations

from itertools import chain

from ....protocol.runtime import ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_asks import (
    Adopt,
    Held,
    Release,
    Renew,
    Renewed,
)
from ..base import RuntimeStore
from .suite import (
    BEGIN,
    LEASE,
    Suite,
    action,
    begin,
    claim,
    claimed,
    create,
    enqueue,
    finish,
    one_action,
    over,
    refused,
    snapshot,
    state,
    write,
)

LATER = LEASE + 1.0


async def renew(
    store: RuntimeStore, owner: str, at: float, sessions: tuple[str, ...] | None = None
) -> Renewed:
    now = BEGIN + at
    ask = Renew(owner=owner, now=now, lease_until=now + LEASE, sessions=sessions)
    return await store.renew(ask)


async def adopt(store: RuntimeStore, owner: str, at: float, limit: int = 100) -> list[str]:
    now = BEGIN + at
    ask = Adopt(owner=owner, now=now, lease_until=now + LEASE, limit=limit)
    return [each.session_id for each in (await store.adopt(ask)).states]


class Leases(Suite):
    """Renewing, releasing, adopting."""

    # ---- leases -------------------------------------------------------------------------------------

    async def test_an_action_whose_lease_is_over_is_ready_again(self) -> None:
        async with self.opened() as store:
            await create(store)
            await claim(store)
            assert await claimed(store, "two", LEASE - 1) is None
            again = await claim(store, "two", LATER)
            assert again.action is not None and again.state is not None
            assert (again.action.id, again.action.attempts) == ("create s", 2)
            assert (again.state.owner, again.state.epoch) == ("two", 2)

    async def test_a_lease_that_is_over_lets_control_overtake(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"))
            assert await claimed(store) == "a"
            await enqueue(store, action("pause", kind=ActionKind.PAUSE))
            assert await claimed(store, "two", LATER) == "pause"
            assert await claimed(store, "three", LATER) is None
            assert (await renew(store, "one", LATER)).actions == ()  # one at a time
            await finish(store, "pause", owner="two", epoch=2)
            assert await claimed(store, "two", LATER) == "a"

    async def test_an_answer_that_got_lost_is_given_again(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"), action("b"))
            first = await claim(store)
            again = await claim(store, at=1.0)
            assert first.action is not None and again.action is not None
            assert again.action.id == first.action.id == "a"
            assert again.action.lease_until == BEGIN + 1.0 + LEASE
            assert again.action.attempts == 1
            assert await claimed(store, held=("a",)) is None

    async def test_renewing_makes_all_last_and_says_what_that_is(self) -> None:
        async with self.opened() as store:
            await begin(store, "a")
            await begin(store, "b")
            await enqueue(store, action("input a", "a"))
            await claim(store)
            had = await renew(store, "one", 8)
            assert sorted(had.sessions, key=lambda held: held.session_id) == [
                Held(session_id="a", epoch=1),
                Held(session_id="b", epoch=1),
            ]
            assert had.actions == ("input a",)
            assert await claimed(store, "two", 8 + LEASE - 1) is None
            assert await adopt(store, "two", 8 + LEASE - 1) == []
            assert await claimed(store, "two", 8 + LATER) == "input a"

    async def test_what_a_renewal_doesnt_name_ends_and_can_be_adopted(self) -> None:
        """As where the answer to an `adopt` got lost: its owner doesn't know of it."""
        async with self.opened() as store:
            for session in ("a", "b", "other"):
                await begin(store, session, owner="two" if session == "other" else "one")
            had = await renew(store, "one", 8, ("b", "other", "nobody"))
            assert had.sessions == (Held(session_id="b", epoch=1),)
            assert (await renew(store, "one", 9, ())).sessions == ()
            assert sorted(await adopt(store, "one", LATER)) == ["a", "other"]

    async def test_renewing_leaves_out_what_another_has_by_now(self) -> None:
        async with self.opened() as store:
            await begin(store, "a")
            await begin(store, "b")
            await enqueue(store, action("input a", "a"))
            await claim(store)
            await claim(store, "two", LATER)
            had = await renew(store, "one", LATER)
            assert had == Renewed(sessions=(Held(session_id="b", epoch=1),), actions=())
            assert (await renew(store, "nobody", LATER)) == Renewed(sessions=(), actions=())

    async def test_a_lease_that_was_over_lasts_again_where_nobody_came_meanwhile(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"))
            await claim(store)
            assert (await renew(store, "one", LATER)).actions == ("a",)
            assert await claimed(store, "two", LATER) is None
            assert await adopt(store, "two", LATER) == []
            assert (await snapshot(store)).epoch == 1

    async def test_what_was_ready_for_all_is_its_owner_s_again_after_a_renewal(self) -> None:
        async with self.opened() as store:
            for session in ("a", "b"):
                await begin(store, session)
            await enqueue(store, action("to a", "a"), action("to b", "b"))
            assert await claimed(store, "two", LATER) == "to a"
            assert (await renew(store, "one", LATER)).sessions == (Held(session_id="b", epoch=1),)
            assert await claimed(store, "three", LATER) is None
            assert await claimed(store, "one", LATER) == "to b"

    async def test_a_claim_shortens_no_lease_on_its_session(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await renew(store, "one", 8)
            await enqueue(store, action("a"))
            assert await claimed(store, at=1) == "a"
            await finish(store, "a")
            assert await adopt(store, "two", 8 + LEASE - 1) == []

    async def test_releasing_cuts_leases_and_leaves_epochs(self) -> None:
        async with self.opened() as store:
            await begin(store, "a")
            await begin(store, "b", "other")
            await enqueue(store, action("input a", "a"), action("input b", "b"))
            assert await claimed(store) == "input a"
            assert await claimed(store, "other") == "input b"
            await store.release(Release(owner="one", until=BEGIN + 2))
            await store.release(Release(owner="one", until=BEGIN + 5))  # never longer
            assert (await snapshot(store, "a")).epoch == 1
            assert await claimed(store, "two", 1) is None
            assert await claimed(store, "two", 2.5) == "input a"
            assert await claimed(store, "two", 2.5, ("input a",)) is None

    async def test_an_owner_that_comes_back_in_time_keeps_what_was_released(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await store.release(Release(owner="one", until=BEGIN + 2))
            assert (await renew(store, "one", 1)).sessions == (Held(session_id="s", epoch=1),)
            assert await adopt(store, "two", 3) == []
            await write(store, steps=())

    # ---- whose a session is -------------------------------------------------------------------------

    async def test_an_owner_s_own_and_anybody_s_are_claimed_in_one_order(self) -> None:
        async with self.opened() as store:
            await begin(store, "mine")
            await create(store, "anybody's")
            await enqueue(store, action("1", "mine"), action("2", "mine", urgency=1))
            order = []
            for _ in range(2):
                found = await claimed(store, held=("create anybody's",))
                assert found is not None
                order.append(found)
                if found in ("1", "2"):
                    await finish(store, found, "mine")
            assert order == ["2", "create anybody's"]
            await enqueue(store, action("3", "mine", urgency=-1))
            assert await claimed(store, held=("create anybody's",)) == "1"

    async def test_a_session_s_actions_go_to_its_owner_alone(self) -> None:
        async with self.opened() as store:
            await begin(store, "mine", "one")
            await begin(store, "yours", "two")
            await enqueue(store, action("to yours", "yours", urgency=9), action("to mine", "mine"))
            assert await claimed(store, "three") is None
            assert await claimed(store, "one") == "to mine"
            assert await claimed(store, "two") == "to yours"
            assert (await snapshot(store, "mine")).epoch == 1

    async def test_whose_owner_is_gone_is_claimed_in_a_new_epoch(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"))
            found = await claim(store, "two", LATER)
            assert found.state is not None
            assert (found.state.owner, found.state.epoch) == ("two", 2)
            await refused("stale_epoch", write(store, state=state(), steps=()))

    async def test_adopted_are_those_that_go_on_by_themselves_and_have_no_owner(self) -> None:
        async with self.opened() as store:
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
                await begin(store, session, status=status)
            await begin(store, "other's", "other")
            await create(store, "created")
            await claim(store)
            await renew(store, "other", 5)
            assert await adopt(store, "two", 5) == []
            assert sorted(await adopt(store, "two", LATER)) == sorted(going)
            for session in going:
                standing = await snapshot(store, session)
                assert (standing.owner, standing.epoch) == ("two", 2)
            assert await adopt(store, "three", LATER) == []

    async def test_so_many_are_adopted_at_one_go(self) -> None:
        async with self.opened() as store:
            for number in range(5):
                await begin(store, f"{number}")
            found = [await adopt(store, "two", LATER, limit=2) for _ in range(4)]
            assert [len(each) for each in found] == [2, 2, 1, 0]
            assert sorted(chain.from_iterable(found)) == ["0", "1", "2", "3", "4"]

    async def test_who_adopts_a_session_gets_its_actions(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"))
            assert await claimed(store) == "a"
            await adopt(store, "two", LATER)
            assert (await renew(store, "one", LATER)).actions == ()
            assert await claimed(store, "three", LATER) is None
            assert await claimed(store, "two", LATER) == "a"
            await refused("stale_epoch", finish(store, "a"))
            await finish(store, "a", owner="two", epoch=2)

    async def test_an_ended_session_s_actions_are_claimed_without_it(self) -> None:
        async with self.opened() as store:
            await begin(store, status=SessionStatus.DONE)
            await enqueue(store, action("destroy", kind=ActionKind.DESTROY))
            found = await claim(store, "two")
            assert found.action is not None and found.state is not None
            assert (found.action.id, found.state.owner, found.state.epoch) == ("destroy", None, 1)
            late = await claim(store, "three", LATER)
            assert late.action is not None and late.action.attempts == 2
            done = over("destroy", "two")
            await refused("stale_claim", write(store, owner="two", finished=(done,)))
            await finish(store, "destroy", owner="three")
            assert (await one_action(store, "destroy")).status is ActionStatus.DONE
