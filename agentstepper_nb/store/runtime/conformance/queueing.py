"""The queue: what comes into it once, and in which order it is claimed."""

from __future__ import annotations

from ....protocol.runtime import ActionKind, ActionStatus
from ....protocol.runtime_asks import (
    Create,
    Enqueue,
    ParticipantQuery,
)
from .suite import (
    BEGIN,
    LEASE,
    Suite,
    action,
    begin,
    claim,
    claimed,
    conversation,
    create,
    enqueue,
    finish,
    message,
    one_action,
    participant,
    queued,
    refused,
    snapshot,
    state,
)


class Queueing(Suite):
    """Creating, enqueueing, claiming."""

    # ---- what comes in ------------------------------------------------------------------------------

    async def test_a_created_session_waits_for_its_first_action(self) -> None:
        async with self.opened() as store:
            made = await create(store)
            assert made.fresh
            assert (made.state, made.action.id) == (state(), "create s")
            assert await snapshot(store) == state()
            assert (await one_action(store, "create s")).status is ActionStatus.QUEUED
            info = await store.info()
            assert (info.live, info.open) == (1, 1)

    async def test_creating_a_known_session_answers_it_and_writes_nothing(self) -> None:
        async with self.opened() as store:
            await create(store)
            ask = Create(
                state=state(moniker="other"), action=action("other", kind=ActionKind.CREATE)
            )
            again = await store.create(ask)
            assert not again.fresh
            assert (again.state.moniker, again.action.id) == ("joke", "create s")
            assert await queued(store) == ["create s"]

    async def test_creating_with_a_known_idem_key_answers_the_first_session(self) -> None:
        async with self.opened() as store:
            for session in ("first", "second"):
                creation = action(f"create {session}", session, ActionKind.CREATE, idem_key="key")
                made = await store.create(Create(state=state(session), action=creation))
                assert (made.state.session_id, made.action.id) == ("first", "create first")
            assert await queued(store) == ["create first"]

    async def test_a_session_is_created_into_a_conversation_or_not_at_all(self) -> None:
        async with self.opened() as store:
            ask = Create(
                state=state(),
                action=action("create s", kind=ActionKind.CREATE),
                participant=participant("p"),
                message=message("joined"),
            )
            await refused("unknown_conversation", store.create(ask))
            assert await queued(store) == []
            await store.save_conversation(conversation())
            assert (await store.create(ask)).fresh
            here = await store.participants(ParticipantQuery(conversation_id="c"))
            assert [each.participant_id for each in here.participants] == ["p"]

    async def test_of_two_actions_with_one_id_or_key_the_first_counts(self) -> None:
        async with self.opened() as store:
            await create(store)
            first = action("a", idem_key="key", payload=1)
            found = await enqueue(
                store, first, action("b", idem_key="key", payload=2), action("a", payload=3)
            )
            assert found == (first, first, first)
            assert await enqueue(store, action("a", payload=4)) == (first,)
            assert await queued(store) == ["create s", "a"]

    async def test_actions_of_an_unknown_session_are_refused_with_all_beside_them(self) -> None:
        async with self.opened() as store:
            await create(store)
            ask = Enqueue(actions=(action("a"), action("b", "nobody"), action("c")))
            await refused("unknown_session", store.enqueue(ask))
            assert await queued(store) == ["create s"]

    # ---- order --------------------------------------------------------------------------------------

    async def test_a_session_is_created_then_controlled_then_told_by_urgency_and_time(self) -> None:
        async with self.opened() as store:
            await create(store)
            await enqueue(
                store,
                action("input"),
                action("urgent", urgency=5),
                action("input later"),
                action("pause", kind=ActionKind.PAUSE, urgency=-7),
                action("interrupt", kind=ActionKind.INTERRUPT, urgency=1),
            )
            order = []
            while (found := await claimed(store)) is not None:
                order.append(found)
                await finish(store, found)
            inputs = ["urgent", "input", "input later"]
            assert order == ["create s", "interrupt", "pause", *inputs]
            assert (await store.info()).open == 0

    async def test_among_sessions_urgency_counts_then_time(self) -> None:
        async with self.opened() as store:
            for number, urgency in enumerate((0, 5, 0, -1, 5)):
                creation = action(f"{number}", f"{number}", ActionKind.CREATE, urgency=urgency)
                await store.create(Create(state=state(f"{number}"), action=creation))
            order = [await claimed(store, held=("0", "1", "2", "3", "4")) for _ in range(6)]
            assert order == ["1", "4", "0", "2", "3", None]

    async def test_the_first_of_a_session_holds_back_its_more_urgent_ones(self) -> None:
        async with self.opened() as store:
            await begin(store, "a")
            await begin(store, "b")
            await enqueue(store, action("input a", "a", urgency=9))
            await enqueue(store, action("pause a", "a", ActionKind.PAUSE, urgency=-9))
            await enqueue(store, action("input b", "b"))
            assert await claimed(store) == "input b"
            assert await claimed(store, held=("input b",)) == "pause a"

    async def test_a_session_has_one_claimed_action_at_a_time(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"), action("b"))
            assert await claimed(store) == "a"
            await enqueue(store, action("pause", kind=ActionKind.PAUSE))
            for owner in ("one", "two"):
                assert await claimed(store, owner, held=("a",)) is None
            await finish(store, "a")
            assert await claimed(store) == "pause"

    async def test_a_claim_tells_what_is_claimed_and_counts_it(self) -> None:
        async with self.opened() as store:
            await create(store)
            found = await claim(store)
            assert found.action is not None and found.state is not None
            assert found.action == await one_action(store, "create s")
            assert found.action.status is ActionStatus.CLAIMED
            assert (found.action.owner, found.action.attempts) == ("one", 1)
            assert found.action.lease_until == BEGIN + LEASE
            assert found.state == await snapshot(store)
            assert (found.state.owner, found.state.epoch) == ("one", 1)
            assert (found.state.lease_until or 0) >= BEGIN + LEASE
