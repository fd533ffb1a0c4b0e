"""Delayed and periodic actions at the Core: refusals, wakes, and what is told."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agentstepper_nb.hub.runtime.dispatcher_wakeups import DueTimer
from agentstepper_nb.protocol.runtime import ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_requests import SubscribeWakes
from agentstepper_nb.protocol.runtime_store_messages import DiscardAction
from agentstepper_nb.store.runtime import schedules
from tests.helpers.loops import settle
from tests.hub.runtime.harness import RuntimeHarness, expect_refusal, run

DAY_S = 86_400.0


async def hear(harness: RuntimeHarness, **when: Any) -> Any:
    return (await harness.enqueue("agent_input", "s", payload={"text": "hear"}, **when)).action


@pytest.mark.parametrize(
    ("when", "field"),
    [
        ({"cron": "every morning"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),  # no year has it
        ({"cron": "* * * * *", "every": 60}, "cron"),
    ],
)
def test_schedule_that_cant_be_is_refused(when: dict[str, Any], field: str) -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        with expect_refusal("invalid_message", field):
            await hear(harness, **when)

    run(test)


def test_cron_times_are_utc_whatever_the_machines_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    assert schedules.find_first_due(10 * DAY_S, None, None, "0 3 * * *") == 10 * DAY_S + 3 * 3600
    # A time that the expression names counts from itself on.
    assert schedules.find_first_due(0, DAY_S, None, "0 0 * * *") == DAY_S
    assert schedules.find_first_due(0, DAY_S + 0.5, None, "0 0 * * *") == 2 * DAY_S


def test_periodic_action_is_due_at_once_and_cron_at_its_time() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        every = await hear(harness, every=60)
        assert (every.not_before, every.series_id) == (None, every.id)
        cron = await hear(harness, cron="0 * * * *")
        assert (cron.not_before, cron.series_id) == (3600.0, cron.id)
        claimed = await harness.claim()
        assert claimed is not None and claimed.id == every.id

    run(test)


def test_delayed_input_is_not_said_in_the_conversation() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.conversation()
        await harness.create("s", conversation_id="c")
        await hear(harness, not_before=5000)
        await hear(harness, every=60)
        assert await harness.list_texts() == ["ann joined."]
        await hear(harness)
        assert await harness.list_texts() == ["ann joined.", "hear"]

    run(test)


def test_next_occurrence_is_dated_by_the_cores_clock_and_told() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        first = await hear(harness, every=60)
        claimed = await harness.claim()
        assert claimed is not None
        harness.clock.now += 130  # the worker's own clock may say what it likes
        async with aclosing(harness.watch("session:s")) as topic:
            assert (await anext(topic)).event == "begin"
            await harness.finish(claimed)
            told = [(await anext(topic)).actions[0] for _ in range(2)]
        ended, following = told
        assert (ended.id, ended.status) == (first.id, ActionStatus.DONE)
        assert following.not_before == pytest.approx(first.created_at + 180)
        assert following.series_id == first.id

    run(test)


def test_session_of_a_periodic_creation_is_told() -> None:
    async def test(harness: RuntimeHarness) -> None:
        acted = await harness.enqueue(
            "agent_create", "s", agent_id="ann", payload={"moniker": "joke"}, every=60
        )
        async with aclosing(harness.watch("sessions")) as topic:
            await anext(topic)
            await harness.begin("s")
            states = [(await anext(topic)).states[0] for _ in range(3)]
        assert [each.session_id == "s" for each in states] == [True, True, False]
        (waiting,) = [each for each in await harness.actions() if each.status == "queued"]
        assert waiting.session_id == states[-1].session_id
        await harness.runtime.discard_action(DiscardAction(id=acted.action.id))
        ended = await harness.state(waiting.session_id)
        assert ended.status is SessionStatus.STOPPED

    run(test)


# ---- waking ----------------------------------------------------------------------------------------


def test_no_worker_is_asked_for_before_an_action_is_due() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.enqueue(
            "agent_create", "s", agent_id="ann", payload={"moniker": "joke"}, not_before=5000
        )
        await harness.runtime.start()
        assert harness.worker_requests == 0
        harness.clock.now = 5000
        await harness.runtime.start()
        assert harness.worker_requests == 1

    run(test)


def test_dispatcher_is_woken_when_an_action_is_due() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await harness.create("s")
        await harness.begin("s")
        async with aclosing(harness.runtime.wakes(SubscribeWakes(owner="w"))) as wakes:
            await anext(wakes)
            # Due by the loop's clock in 20 ms, and by ours in so many looks at it.
            await hear(harness, not_before=harness.clock.now + 0.02)
            await anext(wakes)  # it came
            coming = asyncio.ensure_future(anext(wakes))
            await settle()
            assert not coming.done()
            await coming

    run(test)


class FakeTimes:
    """A clock, and a loop whose calls a test makes itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.calls: list[tuple[float, Any]] = []
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", self._call_later)

    def _call_later(self, wait_s: float, call: Any) -> asyncio.TimerHandle:
        self.calls.append((wait_s, call))
        return asyncio.TimerHandle(0, call, (), asyncio.get_running_loop())


async def test_timer_waits_for_the_earliest_and_follows_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    times, due = FakeTimes(monkeypatch), []
    timer = DueTimer(lambda: times.now, lambda: due.append(times.now))
    timer.set(1030)
    timer.set(1010)
    timer.set(1020)
    timer.set(None)
    assert [wait_s for wait_s, _ in times.calls] == [30, 10]
    times.now = 1005  # the clock was set back: it isn't time yet
    times.calls[-1][1]()
    assert (due, times.calls[-1][0]) == ([], 5)
    times.now = 1010
    times.calls[-1][1]()
    assert due == [1010]
    timer.set(1000 + DAY_S)
    assert times.calls[-1][0] == 60  # a clock that is set is noticed within a minute
    timer.close()
    timer.set(1011)
    assert len(times.calls) == 4
