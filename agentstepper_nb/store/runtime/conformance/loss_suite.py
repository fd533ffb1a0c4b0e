"""Losses and failures: steps that end their worker, and retries of sessions and actions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ....protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentLimits,
    AgentState,
    SessionStatus,
)
from ....protocol.runtime_store_messages import (
    AdoptedSessions,
    AdoptSessions,
    DiscardAction,
    ReleaseLeases,
    RetryAction,
    RetrySession,
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
    finish_action,
    make_action,
    make_completion,
    make_state,
    make_step,
    read_action,
    read_snapshot,
    write_session,
)
from .lease_suite import renew_leases

LOST_S = LEASE_S + 1.0


async def adopt(
    store: RuntimeStore, owner: str, at: float, halted_runs: tuple[str, ...] = ()
) -> AdoptedSessions:
    now = START_TIME + at
    return await store.adopt(
        AdoptSessions(owner=owner, now=now, lease_until=now + LEASE_S, halted_runs=halted_runs)
    )


async def lose(store: RuntimeStore, times: int) -> AgentState:
    """Give a session to one worker after another, each of which is lost. Returns its last snapshot."""
    for number in range(times):
        await adopt(store, f"worker {number}", (number + 1) * LOST_S)
    return await read_snapshot(store)


async def fail_action(store: RuntimeStore) -> Action:
    """An action that a worker did, and that failed."""
    await begin_session(store)
    await enqueue_actions(store, make_action("a", urgency=4, payload={"text": "hear"}))
    assert await claim_action_id(store) == "a"
    failed = make_completion("a", status=ActionStatus.FAILED, error="it broke")
    await write_session(store, steps=(), finished=(failed,))
    return await read_action(store, "a")


async def retry_action(store: RuntimeStore, id: str = "a") -> tuple[Action, ...]:
    request = RetryAction(id=id, new_id="again", now=START_TIME + 5)
    return (await store.retry_action(request)).actions


class LossSuite(BaseSuite):
    """Losses, retries, dead letters."""

    # ---- steps that end their worker ----------------------------------------------------------------

    async def test_lost_step_is_counted_with_its_story(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            at = START_TIME + 2
            await store.release(ReleaseLeases(owner="one", until=at, ending="lost its connection"))
            await store.release(ReleaseLeases(owner="one", until=at, ending="was killed"))
            (state,) = (await adopt(store, "two", 3)).states
            (loss,) = state.losses
            assert (loss.worker, loss.at, loss.ending) == ("one", at, "was killed")
            assert (state.status, state.attempt, state.owner) == ("running", 1, "two")
            assert state == await read_snapshot(store)

    async def test_step_lost_max_attempts_times_ends_its_session(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            assert (await lose(store, 2)).status is SessionStatus.RUNNING
            now = 3 * LOST_S
            found = await adopt(store, "last", now)
            assert found.states == ()
            (ended,) = found.ended
            assert ended == await read_snapshot(store)
            assert (ended.status, ended.owner) == (SessionStatus.ERROR, None)
            assert [loss.worker for loss in ended.losses] == ["one", "worker 0", "worker 1"]
            assert ended.last_error is not None and "worker 1" in ended.last_error
            assert (await adopt(store, "later", now + LOST_S)) == AdoptedSessions(states=())

    async def test_claim_counts_as_adoption_does(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, limits=AgentLimits(max_attempts=1))
            await enqueue_actions(store, make_action("a"))
            found = await claim_action(store, "two", LOST_S)
            assert found.action is not None and found.state is not None
            assert (found.action.id, found.state.status) == ("a", SessionStatus.ERROR)

    async def test_other_sessions_of_a_lost_worker_are_not_ended_with_it(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, limits=AgentLimits(max_attempts=1))
            await begin_session(store, "other", limits=AgentLimits(max_attempts=2))
            found = await adopt(store, "two", LOST_S)
            assert [each.session_id for each in found.ended] == ["s"]
            assert [each.session_id for each in found.states] == ["other"]

    async def test_step_that_shared_its_process_makes_a_suspect_that_is_not_counted(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, limits=AgentLimits(max_attempts=1), is_sharing=True)
            (state,) = (await adopt(store, "two", LOST_S)).states
            assert [loss.is_shared for loss in state.losses] == [True]
            alone = make_state(
                status=SessionStatus.RUNNING, limits=state.limits, losses=state.losses
            )
            await write_session(store, owner="two", epoch=2, state=alone, steps=())
            assert (await adopt(store, "three", 2 * LOST_S)).states == ()
            assert (await read_snapshot(store)).status is SessionStatus.ERROR

    async def test_written_step_has_no_losses_behind_it(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            state = await lose(store, 2)
            after = make_state(status=SessionStatus.RUNNING, iteration=1)
            await write_session(
                store, owner="worker 1", epoch=state.epoch, state=after, steps=(make_step(),)
            )
            assert (await lose(store, 1)).losses == ()  # it has its owner still
            (again,) = (await adopt(store, "next", 4 * LOST_S)).states
            assert len(again.losses) == 1

    async def test_what_was_not_begun_is_not_lost(self) -> None:
        waits: dict[str, dict[str, Any]] = {
            "paused": {"status": SessionStatus.PAUSED},
            "stopping": {"status": SessionStatus.STOPPING},
            "waits": {"status": SessionStatus.RUNNING, "next_try_at": START_TIME + LEASE_S + 1},
            "halted": {"status": SessionStatus.RUNNING, "run_id": "halted run"},
            "begun": {"status": SessionStatus.RUNNING, "next_try_at": START_TIME + 1},
        }
        async with self.opened_store() as store:
            for session, fields in waits.items():
                await begin_session(store, session, **fields)
            await adopt(store, "two", LOST_S, halted_runs=("halted run",))
            lost = {each: (await read_snapshot(store, each)).attempt for each in waits}
            assert lost == {each: int(each == "begun") for each in waits}

    async def test_session_that_was_pausing_is_paused_for_whoever_takes_it(self) -> None:
        """The step in progress was lost with its worker: no step begins before a person resumes."""
        async with self.opened_store() as store:
            for session in ("adopted", "claimed", "ended"):
                limits = AgentLimits(max_attempts=1 if session == "ended" else 3)
                state = await begin_session(store, session, limits=limits)
                pausing = replace(state, is_pausing=True)
                await write_session(store, session, state=pausing, steps=())
            assert (await read_snapshot(store, "adopted")).is_pausing
            await enqueue_actions(store, make_action("a", session_id="claimed"))
            claimed = (await claim_action(store, "two", LOST_S)).state
            adopted = await adopt(store, "two", LOST_S)
            assert claimed is not None
            for state in (claimed, *adopted.states):
                assert (state.status, state.is_pausing) == (SessionStatus.PAUSED, False)
                assert (state.owner, len(state.losses)) == ("two", 1)
                assert state == await read_snapshot(store, state.session_id)
            (ended,) = adopted.ended
            assert (ended.status, ended.is_pausing) == (SessionStatus.ERROR, False)

    async def test_isolated_steps_of_a_worker_that_was_only_late_are_not_lost(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, "alone")
            await begin_session(store, "sharing", is_sharing=True)
            now = START_TIME + LOST_S
            request = AdoptSessions(
                owner="two", now=now, lease_until=now + LEASE_S, present_owners=("one", "two")
            )
            assert len((await store.adopt(request)).states) == 2
            assert (await read_snapshot(store, "alone")).losses == ()
            (loss,) = (await read_snapshot(store, "sharing")).losses
            assert loss.is_shared

    async def test_steps_that_a_worker_hands_over_are_not_lost(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            at = START_TIME + 1
            await store.release(ReleaseLeases(owner="one", until=at, is_handover=True))
            await store.release(ReleaseLeases(owner="one", until=at, ending="exited with 0"))
            (state,) = (await adopt(store, "two", 2)).states
            assert (state.epoch, state.losses, state.attempt) == (2, (), 0)

    async def test_renewed_lease_forgets_that_its_owner_was_gone(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await store.release(ReleaseLeases(owner="one", until=START_TIME + 2, ending="lost"))
            await claim_action(store, "one", 1)
            await renew_leases(store, "one", 1)
            (state,) = (await adopt(store, "two", 1 + LOST_S)).states
            assert [loss.ending for loss in state.losses] == [None]

    # ---- retrying -----------------------------------------------------------------------------------

    async def test_retried_session_is_adopted_with_no_tries_behind_it(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, limits=AgentLimits(max_attempts=1))
            await lose(store, 1)
            retried = await store.retry(RetrySession(session_id="s", now=START_TIME + 20))
            assert (retried.status, retried.attempt, retried.losses) == ("running", 0, ())
            assert await store.retry(RetrySession(session_id="s", now=START_TIME + 21)) == retried
            await assert_refused("stale_epoch", write_session(store, state=make_state(), steps=()))
            (state,) = (await adopt(store, "two", 2 * LOST_S)).states
            assert (state.owner, state.losses) == ("two", ())

    async def test_only_sessions_that_ended_as_errors_are_retried(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store, status=SessionStatus.DONE)
            now = START_TIME + 1
            await assert_refused("session_over", store.retry(RetrySession(session_id="s", now=now)))
            await assert_refused(
                "unknown_session", store.retry(RetrySession(session_id="none", now=now))
            )

    # ---- dead letters -------------------------------------------------------------------------------

    async def test_retried_action_is_enqueued_anew(self) -> None:
        async with self.opened_store() as store:
            await fail_action(store)
            new, old = await retry_action(store)
            assert (new.id, new.retry_of, new.status) == ("again", "a", ActionStatus.QUEUED)
            assert (new.kind, new.urgency, new.payload) == (ActionKind.INPUT, 4, {"text": "hear"})
            assert (new.error, new.attempts, new.owner) == (None, 0, None)
            assert (old.id, old.status, old.error) == ("a", ActionStatus.RETRIED, "it broke")
            assert old == await read_action(store, "a")
            assert await claim_action_id(store) == "again"
            await finish_action(store, "again")

    async def test_action_is_retried_once(self) -> None:
        async with self.opened_store() as store:
            await fail_action(store)
            first = await retry_action(store)
            request = RetryAction(id="a", new_id="third", now=START_TIME + 6)
            assert (await store.retry_action(request)).actions == first

    async def test_discarded_action_is_no_dead_letter(self) -> None:
        async with self.opened_store() as store:
            await fail_action(store)
            for _ in range(2):
                (discarded,) = (await store.discard_action(DiscardAction(id="a"))).actions
                assert discarded.status is ActionStatus.DISCARDED
            assert discarded == await read_action(store, "a")
            await assert_refused("action_not_failed", retry_action(store))

    async def test_only_failed_actions_are_retried_or_discarded(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            await assert_refused("action_not_failed", retry_action(store))
            await assert_refused("action_not_failed", store.discard_action(DiscardAction(id="a")))
            await assert_refused("unknown_action", retry_action(store, "none"))
            await assert_refused("unknown_action", store.discard_action(DiscardAction(id="none")))
