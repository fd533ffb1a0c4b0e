"""Retention: what is deleted by age and by count, and what is never deleted."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import AgentStep, ParticipantKind, SessionStatus
from ....protocol.runtime_store_messages import (
    AgentSessionQuery,
    ConversationQuery,
    EndParticipation,
    MessageQuery,
    ParticipantQuery,
    PostMessage,
    PrunedRows,
    PruneRows,
    StateQuery,
    StepQuery,
)
from ..base import RuntimeStore
from .base_suite import (
    START_TIME,
    BaseSuite,
    begin_session,
    claim_action_id,
    create_session,
    enqueue_actions,
    make_action,
    make_conversation,
    make_message,
    make_participant,
    make_step,
    read_action_ids,
    read_snapshot,
    write_session,
)

DAY_S = 86_400.0


async def end_session(
    store: RuntimeStore, session_id: str, at: float, steps: int = 1, **fields: Any
) -> None:
    """Create a session that takes some steps and ends so many seconds after the beginning."""
    await begin_session(store, session_id, **fields)
    state = await read_snapshot(store, session_id)
    ended = replace(
        state,
        status=SessionStatus.DONE,
        updated_at=START_TIME + at,
        owner=None,
        lease_until=None,
    )
    done: tuple[AgentStep, ...] = tuple(make_step(session_id, number) for number in range(steps))
    await write_session(store, session_id, state=ended, steps=done)


async def prune(store: RuntimeStore, before: float | None = None, **fields: Any) -> PrunedRows:
    """Delete what ended at most so many seconds after the beginning."""
    at = None if before is None else START_TIME + before
    return await store.prune(PruneRows(before=at, **fields))


async def read_session_ids(store: RuntimeStore) -> set[str]:
    """Read the ids of all sessions."""
    return {each.session_id for each in (await store.states(StateQuery())).states}


async def read_conversation_ids(store: RuntimeStore) -> set[str]:
    """Read the ids of all conversations."""
    found = await store.conversations(ConversationQuery())
    return {each.conversation_id for each in found.conversations}


class RetentionSuite(BaseSuite):
    """Age, count, batches."""

    async def test_session_goes_with_its_actions_and_steps(self) -> None:
        async with self.opened_store() as store:
            await end_session(store, "old", 10, steps=3)
            await end_session(store, "new", 20)
            pruned = await prune(store, before=15)
            assert pruned == PrunedRows(sessions=1, actions=1, steps=3)
            assert await read_session_ids(store) == {"new"}
            assert await read_action_ids(store) == ["create new"]
            assert (await store.steps(StepQuery(session_id="old"))).steps == ()
            listed = await store.sessions(AgentSessionQuery(agent_id="agent"))
            assert [each.session_id for each in listed.sessions] == ["new"]
            assert await prune(store, before=15) == PrunedRows()

    async def test_live_sessions_stay_however_old(self) -> None:
        async with self.opened_store() as store:
            for status in ("running", "paused", "stopping"):
                await begin_session(store, status, status=SessionStatus(status))
            await create_session(store, "created")
            for fields in ({"before": DAY_S}, {"keep": 0}):
                assert await prune(store, **fields) == PrunedRows()
            assert len(await read_session_ids(store)) == 4

    async def test_session_with_an_open_action_stays(self) -> None:
        async with self.opened_store() as store:
            await end_session(store, "s", 10)
            await enqueue_actions(store, make_action("a"))
            assert await prune(store, before=DAY_S, keep=0) == PrunedRows()
            assert await claim_action_id(store) == "a"
            assert await prune(store, before=DAY_S, keep=0) == PrunedRows()

    async def test_newest_sessions_are_kept(self) -> None:
        async with self.opened_store() as store:
            for number in range(5):
                await end_session(store, f"s{number}", number)
            await begin_session(store, "live")
            assert (await prune(store, keep=2)).sessions == 3
            assert await read_session_ids(store) == {"s3", "s4", "live"}

    async def test_what_is_new_in_number_may_be_old(self) -> None:
        async with self.opened_store() as store:
            for number in range(4):
                await end_session(store, f"s{number}", number)
            assert (await prune(store, before=1, keep=2)).sessions == 2
            assert await read_session_ids(store) == {"s2", "s3"}

    async def test_batch_has_so_many_rows_and_the_next_goes_on(self) -> None:
        async with self.opened_store() as store:
            await end_session(store, "a", 1, steps=7)
            await end_session(store, "b", 2, steps=1)
            found = [await prune(store, before=DAY_S, limit=4) for _ in range(3)]
            for each in found:
                assert each.sessions + each.actions + each.steps <= 4
            assert [each.has_more for each in found] == [True, True, True]
            assert sum(each.steps for each in found) == 8
            assert await prune(store, before=DAY_S, limit=4) == PrunedRows()
            assert await read_session_ids(store) == set()

    async def test_session_that_is_half_gone_goes_whole_after_reopening(self) -> None:
        async with self.opened_store() as first:
            await end_session(first, "s", 1, steps=7)
            await prune(first, before=DAY_S, limit=3)
            store = await self.reopen(first)
            try:
                assert await read_session_ids(store) == {"s"}
                assert (await prune(store, before=DAY_S)).sessions == 1
            finally:
                await store.close()

    # ---- conversations ------------------------------------------------------------------------------

    async def test_conversation_goes_with_what_was_said(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation("c"))
            await store.join(make_participant("p"))
            await store.post(PostMessage(message=make_message("m", 5)))
            assert await prune(store, before=5) == PrunedRows()  # the last was said then
            assert await prune(store, before=6) == PrunedRows(conversations=1, messages=1)
            assert await read_conversation_ids(store) == set()
            assert (await store.messages(MessageQuery(conversation_id="c"))).messages == ()
            found = await store.participants(ParticipantQuery(conversation_id="c"))
            assert found.participants == ()

    async def test_conversation_of_a_session_stays_as_long_as_that(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation("c"))
            await end_session(store, "s", 10, conversation_id="c")
            assert await prune(store, before=5) == PrunedRows()
            pruned = await prune(store, before=11)
            assert (pruned.sessions, pruned.conversations) == (1, 1)

    async def test_conversation_in_which_a_live_session_takes_part_stays(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation("c"))
            await begin_session(store)
            seat = make_participant(
                "p", kind=ParticipantKind.SESSION, user_id=None, session_id="s", agent_id="agent"
            )
            await store.join(seat)
            assert await prune(store, before=DAY_S, keep=0) == PrunedRows()
            await store.leave(EndParticipation(participant_id="p", at=START_TIME + 1))
            assert (await prune(store, before=DAY_S)).conversations == 1

    async def test_session_that_is_gone_has_left_its_conversation(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation("c"))
            await store.post(PostMessage(message=make_message("m", DAY_S)))
            await end_session(store, "s", 10)
            seat = make_participant(
                "p", kind=ParticipantKind.SESSION, user_id=None, session_id="s", agent_id="agent"
            )
            await store.join(seat)
            assert (await prune(store, before=DAY_S)).sessions == 1
            (left,) = (await store.participants(ParticipantQuery(conversation_id="c"))).participants
            assert left.left_at == START_TIME + 10

    async def test_newest_conversations_are_kept(self) -> None:
        async with self.opened_store() as store:
            for number in range(4):
                given = make_conversation(f"c{number}", created_at=START_TIME + number)
                await store.save_conversation(given)
            assert (await prune(store, keep=1)).conversations == 3
            assert await read_conversation_ids(store) == {"c3"}

    # ---- what stays usable --------------------------------------------------------------------------

    async def test_id_of_a_session_that_is_gone_may_be_used_again(self) -> None:
        async with self.opened_store() as store:
            await end_session(store, "s", 10)
            await prune(store, before=DAY_S)
            assert (await create_session(store, "s")).is_new
            assert await claim_action_id(store) == "create s"

    async def test_nothing_is_deleted_without_a_limit(self) -> None:
        async with self.opened_store() as store:
            await end_session(store, "s", 10)
            await store.save_conversation(make_conversation("c"))
            assert await prune(store) == PrunedRows()
            assert await read_session_ids(store) == {"s"}
            assert await read_conversation_ids(store) == {"c"}
