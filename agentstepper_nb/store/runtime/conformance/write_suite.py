"""Writes: atomic, in the right epoch, and idempotent."""

from __future__ import annotations

from msgspec.structs import replace

from ....protocol.runtime import ActionStatus, ConversationMessage, SenderType, SessionStatus
from ....protocol.runtime_store_messages import (
    MessageQuery,
    SessionWrite,
    SessionWriteResult,
    StepQuery,
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
    enqueue_actions,
    make_action,
    make_completion,
    make_conversation,
    make_message,
    make_step,
    read_action,
    read_snapshot,
    write_session,
)


def make_step_message(iteration: int) -> ConversationMessage:
    """Make a step's message in the session's conversation."""
    return make_message(
        f"m{iteration}",
        iteration,
        sender_type=SenderType.AGENT,
        user_id=None,
        agent_id="agent",
        session_id="s",
        event_type="step",
        iteration=iteration,
    )


async def make_full_write(store: RuntimeStore) -> SessionWrite:
    """Make a write with every kind of content: the session's first step."""
    await store.save_conversation(make_conversation())
    state = await begin_session(store, conversation_id="c")
    await enqueue_actions(store, make_action("a"))
    await claim_action(store)
    return SessionWrite(
        session_id="s",
        epoch=1,
        owner="one",
        state=replace(state, iteration=1, next_step_token="at 1", updated_at=START_TIME + 3),
        steps=(make_step(), make_step(event_seq=1, id="a part of it")),
        messages=(make_step_message(0),),
        finished=(make_completion("a"),),
    )


async def read_all_rows(store: RuntimeStore) -> tuple[object, ...]:
    """Read all rows that a write may change."""
    return (
        await read_snapshot(store),
        await store.steps(StepQuery()),
        await store.messages(MessageQuery(conversation_id="c")),
        await read_action(store, "a"),
    )


class WriteSuite(BaseSuite):
    """Steps, snapshots, messages and ends of actions."""

    async def test_write_stores_all_rows(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            new = await store.write(request)
            state, steps, messages, done = await read_all_rows(store)
            assert state == new.state == request.state
            assert (new.steps, new.messages) == (request.steps, request.messages)
            assert steps.steps == request.steps  # type: ignore[attr-defined]
            assert messages.messages == request.messages  # type: ignore[attr-defined]
            assert new.actions == (done,)
            assert new.actions[0].status is ActionStatus.DONE
            assert new.actions[0].processed_at == START_TIME + 1
            assert new.actions[0].lease_until is None

    async def test_repeated_write_changes_nothing(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            await store.write(request)
            before = await read_all_rows(store)
            for _ in range(2):
                assert await store.write(request) == SessionWriteResult()
                assert await read_all_rows(store) == before

    async def test_partly_repeated_write_stores_new_rows(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            await store.write(request)
            more = replace(
                request,
                steps=(*request.steps, make_step(iteration=1)),
                messages=(*request.messages, make_step_message(1)),
            )
            new = await store.write(more)
            assert new == SessionWriteResult(
                steps=(make_step(iteration=1),), messages=(make_step_message(1),)
            )

    async def test_write_is_atomic(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            before = await read_all_rows(store)
            wrong = {
                "stale_epoch": replace(request, epoch=2),
                "stale_claim": replace(
                    request, finished=(make_completion("a"), make_completion("create s", "two"))
                ),
                "unknown_conversation": replace(
                    request,
                    messages=(
                        make_step_message(0),
                        replace(make_step_message(1), conversation_id="nowhere"),
                    ),
                ),
                "duplicate_step": replace(request, steps=(*request.steps, make_step(id="other"))),
                "unknown_session": replace(
                    request, session_id="nobody", state=None, steps=(), finished=()
                ),
            }
            for code, each in wrong.items():
                await assert_refused(code, store.write(each))
                assert await read_all_rows(store) == before, code
            assert await store.write(request) != SessionWriteResult()

    async def test_another_step_at_the_same_place_is_refused(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await write_session(store, steps=(make_step(),))
            await assert_refused(
                "duplicate_step", write_session(store, steps=(make_step(id="other"),))
            )
            await assert_refused(
                "duplicate_step", write_session(store, steps=(make_step(iteration=1, id="s/0"),))
            )
            assert (await store.steps(StepQuery())).steps == (make_step(),)

    async def test_only_the_last_epoch_writes(self) -> None:
        async with self.opened_store() as store:
            state = await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            await claim_action(store, "two", LEASE_S + 1)
            await assert_refused("stale_epoch", write_session(store, state=state))
            await assert_refused("stale_epoch", write_session(store, steps=(make_step(),)))
            await assert_refused(
                "stale_epoch", write_session(store, finished=(make_completion("create s"),))
            )
            await assert_refused(
                "stale_epoch", write_session(store, epoch=3, owner="two", steps=(make_step(),))
            )
            await assert_refused("stale_epoch", write_session(store, epoch=2, steps=(make_step(),)))
            await write_session(store, epoch=2, owner="two", steps=(make_step(),))
            assert (await read_snapshot(store)).epoch == 2

    async def test_store_ignores_owner_given_in_state(self) -> None:
        async with self.opened_store() as store:
            state = await begin_session(store)
            foreign = replace(state, owner="nobody", lease_until=1.0, iteration=1)
            await write_session(store, state=foreign)
            assert await read_snapshot(store) == replace(state, iteration=1)

    async def test_an_owner_s_lease_on_a_session_ends_with_it(self) -> None:
        async with self.opened_store() as store:
            state = await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            assert await claim_action_id(store, "two") is None
            await write_session(store, state=replace(state, status=SessionStatus.STOPPED))
            ended = await read_snapshot(store)
            assert (ended.owner, ended.lease_until, ended.epoch) == (None, None, 1)
            assert await claim_action_id(store, "two") == "a"
            assert (await store.info()).live == 0

    async def test_the_end_of_a_session_can_be_written_again(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            assert request.state is not None
            last = replace(request, state=replace(request.state, status=SessionStatus.DONE))
            await store.write(last)
            assert await store.write(last) == SessionWriteResult()

    async def test_ended_session_is_immutable(self) -> None:
        async with self.opened_store() as store:
            request = await make_full_write(store)
            assert request.state is not None
            last = replace(request, state=replace(request.state, status=SessionStatus.DONE))
            await store.write(last)
            await enqueue_actions(store, make_action("late"))
            assert await claim_action_id(store) == "late"
            before = await read_all_rows(store)
            for status in SessionStatus:
                other = replace(request.state, status=status, iteration=2)
                late = replace(
                    request,
                    state=other,
                    steps=(make_step(iteration=1),),
                    finished=(make_completion("late"),),
                )
                await assert_refused("session_over", store.write(late))
                assert await read_all_rows(store) == before, status
            assert await store.write(last) == SessionWriteResult()
            await write_session(
                store, finished=(make_completion("late"),)
            )  # which changes nothing of the session
            assert await read_snapshot(store) == before[0]
            assert (await store.info()).live == 0

    async def test_a_failed_action_says_why(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"), make_action("b"))
            await claim_action(store)
            failed = make_completion(
                "a", status=ActionStatus.FAILED, error="the payload has no text"
            )
            (found,) = (await write_session(store, finished=(failed,))).actions
            assert (found.status, found.error) == (ActionStatus.FAILED, "the payload has no text")
            assert found == await read_action(store, "a")
            assert await claim_action_id(store) == "b"

    async def test_a_write_finishes_its_own_session_s_actions_alone(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await begin_session(store, "other")
            await enqueue_actions(store, make_action("a", "other"))
            await claim_action(store)
            await assert_refused(
                "stale_claim", write_session(store, finished=(make_completion("a"),))
            )
            await write_session(store, "other", finished=(make_completion("a"),))

    async def test_unclaimed_action_cannot_be_finished(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            await assert_refused(
                "stale_claim", write_session(store, finished=(make_completion("a"),))
            )
            await assert_refused(
                "stale_claim", write_session(store, finished=(make_completion("unheard of"),))
            )
            await claim_action(store)
            await assert_refused(
                "stale_claim", write_session(store, finished=(make_completion("a", "two"),))
            )
            assert (await read_action(store, "a")).status is ActionStatus.CLAIMED
