"""Writing: all of it or nothing, in the right epoch, and once however often it is asked for."""

from __future__ import annotations

from msgspec.structs import replace

from ....protocol.runtime import ActionStatus, ConversationMessage, SenderType, SessionStatus
from ....protocol.runtime_asks import MessageQuery, StepQuery, Write, Written
from ..base import RuntimeStore
from .suite import (
    BEGIN,
    LEASE,
    Suite,
    action,
    begin,
    claim,
    claimed,
    conversation,
    enqueue,
    message,
    one_action,
    over,
    refused,
    snapshot,
    step,
    write,
)


def said(iteration: int) -> ConversationMessage:
    """What a step says in the session's conversation."""
    return message(
        f"m{iteration}",
        iteration,
        sender_type=SenderType.AGENT,
        user_id=None,
        agent_id="agent",
        session_id="s",
        event_type="step",
        iteration=iteration,
    )


async def whole(store: RuntimeStore) -> Write:
    """A write of everything, ready to be asked for: the session's first step."""
    await store.save_conversation(conversation())
    standing = await begin(store, conversation_id="c")
    await enqueue(store, action("a"))
    await claim(store)
    return Write(
        session_id="s",
        epoch=1,
        owner="one",
        state=replace(standing, iteration=1, next_step_token="at 1", updated_at=BEGIN + 3),
        steps=(step(), step(event_seq=1, id="a part of it")),
        messages=(said(0),),
        finished=(over("a"),),
    )


async def kept(store: RuntimeStore) -> tuple[object, ...]:
    """All that a write may change."""
    return (
        await snapshot(store),
        await store.steps(StepQuery()),
        await store.messages(MessageQuery(conversation_id="c")),
        await one_action(store, "a"),
    )


class Writing(Suite):
    """Steps, snapshots, messages and ends of actions."""

    async def test_a_write_keeps_all_of_it(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            new = await store.write(ask)
            standing, steps, messages, done = await kept(store)
            assert standing == new.state == ask.state
            assert (new.steps, new.messages) == (ask.steps, ask.messages)
            assert steps.steps == ask.steps  # type: ignore[attr-defined]
            assert messages.messages == ask.messages  # type: ignore[attr-defined]
            assert new.actions == (done,)
            assert new.actions[0].status is ActionStatus.DONE
            assert new.actions[0].processed_at == BEGIN + 1
            assert new.actions[0].lease_until is None

    async def test_writing_the_same_again_changes_nothing(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            await store.write(ask)
            before = await kept(store)
            for _ in range(2):
                assert await store.write(ask) == Written()
                assert await kept(store) == before

    async def test_what_is_new_beside_what_is_known_is_kept(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            await store.write(ask)
            more = replace(
                ask, steps=(*ask.steps, step(iteration=1)), messages=(*ask.messages, said(1))
            )
            new = await store.write(more)
            assert new == Written(steps=(step(iteration=1),), messages=(said(1),))

    async def test_all_or_nothing(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            before = await kept(store)
            wrong = {
                "stale_epoch": replace(ask, epoch=2),
                "stale_claim": replace(ask, finished=(over("a"), over("create s", "two"))),
                "unknown_conversation": replace(
                    ask, messages=(said(0), replace(said(1), conversation_id="nowhere"))
                ),
                "duplicate_step": replace(ask, steps=(*ask.steps, step(id="other"))),
                "unknown_session": replace(
                    ask, session_id="nobody", state=None, steps=(), finished=()
                ),
            }
            for code, each in wrong.items():
                await refused(code, store.write(each))
                assert await kept(store) == before, code
            assert await store.write(ask) != Written()

    async def test_another_step_at_the_same_place_is_refused(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await write(store, steps=(step(),))
            await refused("duplicate_step", write(store, steps=(step(id="other"),)))
            await refused("duplicate_step", write(store, steps=(step(iteration=1, id="s/0"),)))
            assert (await store.steps(StepQuery())).steps == (step(),)

    async def test_only_the_last_epoch_writes(self) -> None:
        async with self.opened() as store:
            standing = await begin(store)
            await enqueue(store, action("a"))
            await claim(store, "two", LEASE + 1)
            await refused("stale_epoch", write(store, state=standing))
            await refused("stale_epoch", write(store, steps=(step(),)))
            await refused("stale_epoch", write(store, finished=(over("create s"),)))
            await refused("stale_epoch", write(store, epoch=3, owner="two", steps=(step(),)))
            await refused("stale_epoch", write(store, epoch=2, steps=(step(),)))
            await write(store, epoch=2, owner="two", steps=(step(),))
            assert (await snapshot(store)).epoch == 2

    async def test_a_snapshot_s_owner_is_the_store_s_to_say(self) -> None:
        async with self.opened() as store:
            standing = await begin(store)
            foreign = replace(standing, owner="nobody", lease_until=1.0, iteration=1)
            await write(store, state=foreign)
            assert await snapshot(store) == replace(standing, iteration=1)

    async def test_an_owner_s_lease_on_a_session_ends_with_it(self) -> None:
        async with self.opened() as store:
            standing = await begin(store)
            await enqueue(store, action("a"))
            assert await claimed(store, "two") is None
            await write(store, state=replace(standing, status=SessionStatus.STOPPED))
            ended = await snapshot(store)
            assert (ended.owner, ended.lease_until, ended.epoch) == (None, None, 1)
            assert await claimed(store, "two") == "a"
            assert (await store.info()).live == 0

    async def test_the_end_of_a_session_can_be_written_again(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            assert ask.state is not None
            last = replace(ask, state=replace(ask.state, status=SessionStatus.DONE))
            await store.write(last)
            assert await store.write(last) == Written()

    async def test_what_has_ended_stays_as_it_ended(self) -> None:
        async with self.opened() as store:
            ask = await whole(store)
            assert ask.state is not None
            last = replace(ask, state=replace(ask.state, status=SessionStatus.DONE))
            await store.write(last)
            await enqueue(store, action("late"))
            assert await claimed(store) == "late"
            before = await kept(store)
            for status in SessionStatus:
                other = replace(ask.state, status=status, iteration=2)
                late = replace(
                    ask, state=other, steps=(step(iteration=1),), finished=(over("late"),)
                )
                await refused("session_over", store.write(late))
                assert await kept(store) == before, status
            assert await store.write(last) == Written()
            await write(store, finished=(over("late"),))  # which changes nothing of the session
            assert await snapshot(store) == before[0]
            assert (await store.info()).live == 0

    async def test_a_failed_action_says_why(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"), action("b"))
            await claim(store)
            failed = over("a", status=ActionStatus.FAILED, error="the payload has no text")
            (found,) = (await write(store, finished=(failed,))).actions
            assert (found.status, found.error) == (ActionStatus.FAILED, "the payload has no text")
            assert found == await one_action(store, "a")
            assert await claimed(store) == "b"

    async def test_a_write_finishes_its_own_session_s_actions_alone(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await begin(store, "other")
            await enqueue(store, action("a", "other"))
            await claim(store)
            await refused("stale_claim", write(store, finished=(over("a"),)))
            await write(store, "other", finished=(over("a"),))

    async def test_what_nobody_or_another_claimed_isn_t_finished(self) -> None:
        async with self.opened() as store:
            await begin(store)
            await enqueue(store, action("a"))
            await refused("stale_claim", write(store, finished=(over("a"),)))
            await refused("stale_claim", write(store, finished=(over("unheard of"),)))
            await claim(store)
            await refused("stale_claim", write(store, finished=(over("a", "two"),)))
            assert (await one_action(store, "a")).status is ActionStatus.CLAIMED
