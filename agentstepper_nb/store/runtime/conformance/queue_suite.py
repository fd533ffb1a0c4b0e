"""The queue: what is enqueued once, and the order of claims."""

from __future__ import annotations

from ....protocol.runtime import ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_store_messages import (
    CreateAgentSession,
    EnqueueActions,
    ParticipantQuery,
)
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
    make_conversation,
    make_message,
    make_participant,
    make_state,
    read_action,
    read_action_ids,
    read_snapshot,
)


class QueueSuite(BaseSuite):
    """Creating, enqueueing, claiming."""

    # ---- what comes in ------------------------------------------------------------------------------

    async def test_what_is_over_is_stored_as_it_stands(self) -> None:
        async with self.opened_store() as store:
            over = {"status": ActionStatus.DONE, "processed_at": START_TIME + 1, "attempts": 2}
            creation = make_action("create s", "s", ActionKind.CREATE, **over)
            state = make_state(status=SessionStatus.DONE, iteration=3, epoch=4)
            await store.create(CreateAgentSession(state=state, action=creation))
            failed = make_action("failed", status=ActionStatus.FAILED, error="It broke.")
            await enqueue_actions(store, failed)
            assert await read_snapshot(store) == state
            assert await read_action(store, "create s") == creation
            assert await read_action(store, "failed") == failed
            assert (await store.info()).open == 0
            assert await claim_action_id(store) is None

    async def test_a_created_session_waits_for_its_first_action(self) -> None:
        async with self.opened_store() as store:
            made = await create_session(store)
            assert made.is_new
            assert (made.state, made.action.id) == (make_state(), "create s")
            assert await read_snapshot(store) == make_state()
            assert (await read_action(store, "create s")).status is ActionStatus.QUEUED
            info = await store.info()
            assert (info.live, info.open) == (1, 1)

    async def test_creating_a_known_session_answers_it_and_writes_nothing(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            request = CreateAgentSession(
                state=make_state(moniker="other"),
                action=make_action("other", kind=ActionKind.CREATE),
            )
            again = await store.create(request)
            assert not again.is_new
            assert (again.state.moniker, again.action.id) == ("joke", "create s")
            assert await read_action_ids(store) == ["create s"]

    async def test_creating_with_a_known_idem_key_answers_the_first_session(self) -> None:
        async with self.opened_store() as store:
            for session in ("first", "second"):
                creation = make_action(
                    f"create {session}", session, ActionKind.CREATE, idem_key="key"
                )
                made = await store.create(
                    CreateAgentSession(state=make_state(session), action=creation)
                )
                assert (made.state.session_id, made.action.id) == ("first", "create first")
            assert await read_action_ids(store) == ["create first"]

    async def test_a_session_is_created_into_a_conversation_or_not_at_all(self) -> None:
        async with self.opened_store() as store:
            request = CreateAgentSession(
                state=make_state(),
                action=make_action("create s", kind=ActionKind.CREATE),
                participant=make_participant("p"),
                message=make_message("joined"),
            )
            await assert_refused("unknown_conversation", store.create(request))
            assert await read_action_ids(store) == []
            await store.save_conversation(make_conversation())
            assert (await store.create(request)).is_new
            present = await store.participants(ParticipantQuery(conversation_id="c"))
            assert [each.participant_id for each in present.participants] == ["p"]

    async def test_duplicate_id_or_key_keeps_the_first_action(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            first = make_action("a", idem_key="key", payload=1)
            found = await enqueue_actions(
                store,
                first,
                make_action("b", idem_key="key", payload=2),
                make_action("a", payload=3),
            )
            assert found == (first, first, first)
            assert await enqueue_actions(store, make_action("a", payload=4)) == (first,)
            assert await read_action_ids(store) == ["create s", "a"]

    async def test_enqueue_with_unknown_session_is_refused_whole(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            request = EnqueueActions(
                actions=(make_action("a"), make_action("b", "nobody"), make_action("c"))
            )
            await assert_refused("unknown_session", store.enqueue(request))
            assert await read_action_ids(store) == ["create s"]

    # ---- order --------------------------------------------------------------------------------------

    async def test_claim_order_within_a_session(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            await enqueue_actions(
                store,
                make_action("input"),
                make_action("urgent", urgency=5),
                make_action("input later"),
                make_action("pause", kind=ActionKind.PAUSE, urgency=-7),
                make_action("interrupt", kind=ActionKind.INTERRUPT, urgency=1),
            )
            order = []
            while (found := await claim_action_id(store)) is not None:
                order.append(found)
                await finish_action(store, found)
            guidance = ["urgent", "interrupt", "input", "input later"]
            assert order == ["create s", "pause", *guidance]
            assert (await store.info()).open == 0

    async def test_claim_order_across_sessions(self) -> None:
        async with self.opened_store() as store:
            for number, urgency in enumerate((0, 5, 0, -1, 5)):
                creation = make_action(f"{number}", f"{number}", ActionKind.CREATE, urgency=urgency)
                await store.create(
                    CreateAgentSession(state=make_state(f"{number}"), action=creation)
                )
            order = [
                await claim_action_id(store, running_action_ids=("0", "1", "2", "3", "4"))
                for _ in range(6)
            ]
            assert order == ["1", "4", "0", "2", "3", None]

    async def test_first_action_of_a_session_holds_back_its_others(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "a")
            await begin_session(store, "b")
            await enqueue_actions(store, make_action("input a", "a", urgency=9))
            await enqueue_actions(store, make_action("pause a", "a", ActionKind.PAUSE, urgency=-9))
            await enqueue_actions(store, make_action("input b", "b"))
            assert await claim_action_id(store) == "input b"
            assert await claim_action_id(store, running_action_ids=("input b",)) == "pause a"

    async def test_a_session_has_one_claimed_action_at_a_time(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"), make_action("b"))
            assert await claim_action_id(store) == "a"
            await enqueue_actions(store, make_action("pause", kind=ActionKind.PAUSE))
            for owner in ("one", "two"):
                assert await claim_action_id(store, owner, running_action_ids=("a",)) is None
            await finish_action(store, "a")
            assert await claim_action_id(store) == "pause"

    async def test_claim_returns_action_and_counts_attempt(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            found = await claim_action(store)
            assert found.action is not None and found.state is not None
            assert found.action == await read_action(store, "create s")
            assert found.action.status is ActionStatus.CLAIMED
            assert (found.action.owner, found.action.attempts) == ("one", 1)
            assert found.action.lease_until == START_TIME + LEASE_S
            assert found.state == await read_snapshot(store)
            assert (found.state.owner, found.state.epoch) == ("one", 1)
            assert (found.state.lease_until or 0) >= START_TIME + LEASE_S
