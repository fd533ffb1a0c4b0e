"""Delayed and periodic actions: when they are claimed, the next occurrence, and cancelling."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import Action, ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_store_messages import (
    ActionQuery,
    CreateAgentSession,
    DiscardAction,
    RetryAction,
    SessionWriteResult,
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
    make_conversation,
    make_state,
    read_action,
    read_action_ids,
    read_snapshot,
    write_session,
)
from .lease_suite import renew_leases

HOUR_S = 3600.0


def make_periodic(id: str = "tick", every: float = 60.0, **fields: Any) -> Action:
    """The first occurrence of a periodic input."""
    return make_action(id, every=every, series_id=id, **fields)


async def end_action(
    store: RuntimeStore, id: str, at: float = 1.0, status: ActionStatus = ActionStatus.DONE
) -> SessionWriteResult:
    """End an action of the session `s`, some seconds after the beginning."""
    finished = make_completion(id, status=status, error=None if status == "done" else "it broke")
    return await write_session(store, finished=(finished,), now=START_TIME + at)


async def read_open(store: RuntimeStore, series_id: str = "tick") -> list[Action]:
    """Read the queued or claimed occurrences of a series."""
    found = (await store.actions(ActionQuery(series_id=series_id))).actions
    return [each for each in found if each.status in ("queued", "claimed")]


async def begin_daily(store: RuntimeStore, **payload: Any) -> Action:
    """Begin the first session `s` of a periodic creation."""
    creation = make_action(
        "tick",
        kind=ActionKind.CREATE,
        payload={"moniker": "joke", "config": {"topic": "tea"}, **payload},
        every=HOUR_S,
        series_id="tick",
    )
    await store.create(CreateAgentSession(state=make_state(), action=creation))
    found = await claim_action(store)
    assert found.state is not None and found.action is not None
    return found.action


class ScheduleSuite(BaseSuite):
    """Delays, periods, cancelling."""

    # ---- delayed ------------------------------------------------------------------------------------

    async def test_delayed_action_is_claimed_at_its_time(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a", not_before=START_TIME + 5))
            await renew_leases(store, "one", 50)
            assert await claim_action_id(store, at=4.9) is None
            assert await claim_action_id(store, at=5) == "a"

    async def test_delayed_action_is_in_nobodys_way(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            later = START_TIME + 5
            await enqueue_actions(
                store,
                make_action("late", urgency=9, not_before=later),
                make_action("late pause", kind=ActionKind.PAUSE, not_before=later),
                make_action("now"),
                make_action("after"),
            )
            assert await claim_action_id(store, at=1) == "now"
            await finish_action(store, "now")
            # From its time on it has its place by kind and urgency.
            assert await claim_action_id(store, at=6) == "late pause"
            await finish_action(store, "late pause")
            assert await claim_action_id(store, at=6) == "late"
            await finish_action(store, "late")
            assert await claim_action_id(store, at=6) == "after"

    async def test_action_whose_time_has_passed_is_due_at_once(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a", not_before=START_TIME - 5))
            assert await claim_action_id(store) == "a"

    async def test_nothing_overtakes_a_delayed_creation(self) -> None:
        async with self.opened_store() as store:
            later = START_TIME + 5
            creation = make_action("create", kind=ActionKind.CREATE, not_before=later)
            await store.create(CreateAgentSession(state=make_state(), action=creation))
            await enqueue_actions(
                store, make_action("hear"), make_action("stop", kind=ActionKind.DESTROY)
            )
            info = await store.info()
            assert (info.live, info.open, info.delayed, info.next_due) == (0, 3, 1, later)
            assert await claim_action_id(store) is None
            assert await claim_action_id(store, at=5) == "create"
            assert (await store.info()).live == 1

    async def test_info_says_what_waits(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            for id, at in (("b", 7.0), ("a", 5.0)):
                await enqueue_actions(store, make_action(id, not_before=START_TIME + at))
            info = await store.info()
            assert (info.open, info.delayed, info.next_due) == (2, 2, START_TIME + 5)
            await claim_action(store, at=6)
            info = await store.info()
            assert (info.open, info.delayed, info.next_due) == (2, 1, START_TIME + 7)

    async def test_delay_outlives_the_store(self) -> None:
        async with self.opened_store() as first:
            await begin_session(first)
            given = make_action("a", not_before=START_TIME + 5, cron="0 * * * *", series_id="a")
            await enqueue_actions(first, given)
            store = await self.reopen(first)
            try:
                assert await read_action(store, "a") == given
                assert await claim_action_id(store, at=4) is None
                assert await claim_action_id(store, at=5) == "a"
            finally:
                await store.close()

    # ---- periodic -----------------------------------------------------------------------------------

    async def test_next_occurrence_comes_with_the_end_of_one(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic(payload={"text": "tick"}, urgency=2))
            assert await claim_action_id(store) == "tick"
            assert [each.id for each in await read_open(store)] == ["tick"]
            written = await end_action(store, "tick")
            ended, following = written.actions
            assert ended == await read_action(store, "tick")
            assert following == await read_action(store, following.id)
            assert following.not_before == START_TIME + 60
            assert (following.series_id, following.payload, following.urgency, following.every) == (
                *("tick", {"text": "tick"}, 2, 60.0),
            )
            assert (following.status, following.attempts, following.owner) == ("queued", 0, None)
            await renew_leases(store, "one", 50)
            assert await claim_action_id(store, at=59) is None
            assert await claim_action_id(store, at=60) == following.id

    async def test_end_that_is_written_twice_enqueues_once(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            await end_action(store, "tick")
            assert (await end_action(store, "tick", at=200)).actions == ()
            assert len(await read_open(store)) == 1

    async def test_occurrence_of_a_worker_that_was_lost_comes_once(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            assert await claim_action_id(store) == "tick"
            again = await claim_action(store, "two", at=LEASE_S + 1)
            assert again.action is not None and again.state is not None
            assert (again.action.id, again.action.attempts) == ("tick", 2)
            await assert_refused("stale_epoch", end_action(store, "tick"))
            assert [each.id for each in await read_open(store)] == ["tick"]
            finished = make_completion("tick", "two")
            await write_session(
                store, owner="two", epoch=again.state.epoch, finished=(finished,), now=START_TIME
            )
            assert len(await read_open(store)) == 1

    async def test_missed_occurrences_are_left_out(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            await end_action(store, "tick", at=60 * 7 + 1)
            (following,) = await read_open(store)
            assert following.not_before == START_TIME + 60 * 8

    async def test_cron_is_in_utc(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            # The beginning is 1970-01-12T13:46:40 UTC, a Monday.
            first = make_action("tick", cron="30 3 * * tue", series_id="tick")
            await enqueue_actions(store, first)
            await claim_action(store)
            await end_action(store, "tick")
            (following,) = await read_open(store)
            assert following.not_before == 12 * 86_400 + 3.5 * HOUR_S

    async def test_failed_occurrence_is_followed_too_and_retried_alone(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            await end_action(store, "tick", status=ActionStatus.FAILED)
            assert len(await read_open(store)) == 1
            request = RetryAction(id="tick", new_id="again", now=START_TIME + 5)
            again, _ = (await store.retry_action(request)).actions
            assert (again.every, again.not_before, again.series_id) == (None, None, None)
            assert await claim_action_id(store, at=5) == "again"
            await end_action(store, "again")
            assert len(await read_open(store)) == 1

    async def test_session_that_has_ended_gets_no_more(self) -> None:
        async with self.opened_store() as store:
            state = await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            ended = replace(state, status=SessionStatus.DONE, owner=None, lease_until=None)
            await write_session(store, state=ended, finished=(make_completion("tick"),))
            assert await read_open(store) == []

    async def test_periodic_creation_makes_a_session_each_time(self) -> None:
        async with self.opened_store() as store:
            await begin_daily(store)
            written = await end_action(store, "tick")
            (created,) = written.created
            assert created.state == await read_snapshot(store, created.state.session_id)
            assert created.state.session_id != "s"
            assert (created.state.moniker, created.state.config) == ("joke", {"topic": "tea"})
            assert (created.action.not_before, created.action.series_id) == (
                *(START_TIME + HOUR_S, "tick"),
            )
            assert await claim_action_id(store, "two", at=HOUR_S - 1) is None
            found = await claim_action(store, "two", at=HOUR_S)
            assert found.action is not None and found.action.id == created.action.id

    async def test_session_of_a_periodic_creation_joins_its_conversation(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation("c"))
            await begin_daily(store, conversation_id="c", delivery="pull")
            (created,) = (await end_action(store, "tick")).created
            assert created.participant is not None and created.message is not None
            assert created.participant.session_id == created.state.session_id
            assert (created.participant.delivery, created.state.conversation_id) == ("pull", "c")

    async def test_conversation_that_is_gone_is_in_no_sessions_way(self) -> None:
        async with self.opened_store() as store:
            await begin_daily(store, conversation_id="gone")
            (created,) = (await end_action(store, "tick")).created
            assert (created.participant, created.message) == (None, None)
            assert created.state.conversation_id is None

    # ---- cancelling ---------------------------------------------------------------------------------

    async def test_delayed_action_is_cancelled(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a", not_before=START_TIME + 5))
            for _ in range(2):
                request = DiscardAction(id="a", now=START_TIME + 1)
                (cancelled,) = (await store.discard_action(request)).actions
                assert cancelled.status is ActionStatus.DISCARDED
            assert cancelled == await read_action(store, "a")
            assert await claim_action_id(store, at=6) is None
            assert (await store.info()).open == 0

    async def test_series_is_ended_by_any_of_its_occurrences(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            await end_action(store, "tick")
            (waiting,) = await read_open(store)
            for _ in range(2):
                await store.discard_action(DiscardAction(id="tick", now=START_TIME + 2))
            assert (await read_action(store, waiting.id)).status is ActionStatus.DISCARDED
            assert (await read_action(store, "tick")).status is ActionStatus.DONE
            assert await read_open(store) == []

    async def test_occurrence_under_way_ends_and_none_follows(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            (cancelled,) = (await store.discard_action(DiscardAction(id="tick"))).actions
            assert (cancelled.status, cancelled.every) == (ActionStatus.CLAIMED, None)
            await end_action(store, "tick")
            assert await read_open(store) == []

    async def test_discarded_failure_ends_its_series(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_periodic())
            await claim_action(store)
            await end_action(store, "tick", status=ActionStatus.FAILED)
            (failed,) = (await store.discard_action(DiscardAction(id="tick"))).actions
            assert (failed.id, failed.status) == ("tick", ActionStatus.DISCARDED)
            assert await read_open(store) == []

    async def test_cancelled_creation_ends_its_session(self) -> None:
        async with self.opened_store() as store:
            await begin_daily(store)
            (created,) = (await end_action(store, "tick")).created
            await store.discard_action(DiscardAction(id="tick", now=START_TIME + 2))
            state = await read_snapshot(store, created.state.session_id)
            assert (state.status, state.updated_at) == (SessionStatus.STOPPED, START_TIME + 2)
            assert await read_action_ids(store, status=ActionStatus.QUEUED) == []

    async def test_plain_action_is_not_cancelled(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            request = DiscardAction(id="create s", now=START_TIME)
            await assert_refused("action_not_failed", store.discard_action(request))
