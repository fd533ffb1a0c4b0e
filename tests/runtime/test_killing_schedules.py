"""Workers and Cores are killed while actions come periodically: each occurrence is there once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from agentstepper_nb.protocol.runtime import Action, ActionKind, ActionStatus
from agentstepper_nb.protocol.runtime_store_messages import MAX_LIMIT, ActionQuery
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run

ROUNDS = 6


async def read_series(client: RuntimeClient, first: Action) -> tuple[Action, ...]:
    return await client.actions(ActionQuery(series_id=first.id, limit=MAX_LIMIT))


async def wait_for_done(client: RuntimeClient, first: Action, count: int) -> None:
    """Wait until so many occurrences are done."""
    while sum(each.status == "done" for each in await read_series(client, first)) < count:
        await asyncio.sleep(0.02)


# In `make test`, store.runtime.conformance.schedule_suite shows the same of one lost worker.
@pytest.mark.soak
def test_each_occurrence_is_there_once_whatever_is_killed(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        async with AsyncExitStack() as stack:
            core = stack.enter_context(place.core())
            client = await stack.enter_async_context(place.client())
            # Its first step may be lost more often than sessions are given.
            joke = {"moniker": "joke", "limits": {"max_attempts": 100}}
            await client.enqueue(ActionKind.CREATE, "s", agent_id="a", payload=joke)
            payload = {"text": "tea"}
            first = await client.enqueue(ActionKind.INPUT, "s", payload=payload, every=1)
            for number in range(ROUNDS):
                with place.worker() as worker:
                    await wait_for_done(client, first, number + 1)
                    kill(worker)
                with place.worker():
                    await wait_for_done(client, first, number + 2)
                    kill(core)
                core = stack.enter_context(place.core())
            stack.enter_context(place.worker())
            await wait_for_done(client, first, ROUNDS + 2)
            check_series(await read_series(client, first))

    run(test)


def check_series(series: tuple[Action, ...]) -> None:
    """One is open, the last; each is due whole periods after the one before."""
    first, *others = series
    assert [each.status for each in series[:-1]] == [ActionStatus.DONE] * (len(series) - 1)
    assert series[-1].status in ("queued", "claimed")
    assert len({each.id for each in series}) == len(series)
    times = [first.created_at, *(each.not_before or 0.0 for each in others)]
    for before, after in pairwise(times):
        assert after - before >= 1 - 1e-6
        assert after - before == pytest.approx(round(after - before), abs=1e-3)
