"""The Core's sweep of background agents: what it asks the store, and that nobody waits for it."""

from __future__ import annotations

import asyncio
import logging

import pytest
from msgspec.structs import replace

from agentstepper_nb.hub import Hub, RetentionLimits
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import PrunedRows, StateQuery
from agentstepper_nb.store import MemoryStore
from tests.hub.runtime.harness import RuntimeHarness, run

DAY_S = 86_400.0


async def end_sessions(harness: RuntimeHarness, count: int, steps: int = 1) -> None:
    for number in range(count):
        session = f"s{number}"
        await harness.create(session)
        await harness.begin(session)
        for _ in range(steps):
            await harness.step(session)
        state = await harness.state(session)
        ended = replace(state, status=SessionStatus.DONE, updated_at=harness.clock.now)
        await harness.write(state, ended)


def test_what_is_old_enough_goes_and_the_log_says_how_much(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def test(harness: RuntimeHarness) -> None:
        await end_sessions(harness, 3, steps=2)
        assert await harness.runtime.prune(RetentionLimits(days=1)) == PrunedRows()
        assert await harness.runtime.prune(RetentionLimits(gib=1)) == PrunedRows()
        harness.clock.now += DAY_S + 1
        pruned = await harness.runtime.prune(RetentionLimits(days=1))
        assert pruned == PrunedRows(sessions=3, steps=6, actions=3)
        assert (await harness.store.states(StateQuery())).states == ()

    run(test)
    assert caplog.text.count("3 sessions of background agents with 6 steps and 3 actions") == 1


@pytest.mark.slow
def test_claim_has_its_turn_between_two_batches() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await end_sessions(harness, 10, steps=100)  # 1,020 rows: three batches
        await harness.create("next")
        pruning = asyncio.create_task(harness.runtime.prune(RetentionLimits(sessions=0)))
        await asyncio.sleep(0)
        claimed = await harness.claim()
        assert claimed is not None and claimed.session_id == "next"
        assert not pruning.done()
        assert (await pruning).sessions == 10

    run(test)


@pytest.mark.slow
def test_runtime_that_closes_waits_for_one_batch_alone() -> None:
    async def test(harness: RuntimeHarness) -> None:
        await end_sessions(harness, 10, steps=100)
        pruning = asyncio.create_task(harness.runtime.prune(RetentionLimits(sessions=0)))
        await asyncio.sleep(0)
        await harness.runtime.close()
        assert (await pruning).has_more

    run(test)


async def test_sweep_of_the_hub_prunes_agents_too() -> None:
    hub = Hub(MemoryStore(), extensions=(), retention=RetentionLimits(days=2, sessions=5))
    asked: list[RetentionLimits] = []

    async def prune(limits: RetentionLimits) -> None:
        asked.append(limits)

    hub.retention.prune_agents = prune
    await hub.start()
    while not asked:
        await asyncio.sleep(0)
    await hub.close()
    assert asked == [RetentionLimits(days=2, sessions=5)]


def test_cutoff_is_in_days() -> None:
    assert RetentionLimits(days=2).find_cutoff(10 * DAY_S) == 8 * DAY_S
    assert RetentionLimits(gib=2).find_cutoff(10 * DAY_S) is None
