"""What agents are made of, and the waits between."""

from __future__ import annotations

import asyncio
import itertools
import math
from typing import Any

import pytest

from agentstepper_nb.runtime.agent_base import (
    AgentBase,
    InterruptMixin,
    PauseMixin,
    StopMixin,
    wait_first_completed,
)
from agentstepper_nb.runtime.session_writer import Stopwatch

MIXINS = (InterruptMixin, PauseMixin, StopMixin)


@pytest.mark.parametrize("order", list(itertools.permutations(MIXINS)))
async def test_the_mixins_go_together_in_any_order(order: tuple[type, ...]) -> None:
    made: Any = type("Made", (*order, AgentBase), {})(agent_id="a", session_id="s")
    assert (made.agent_id, made.session_id) == ("a", "s")
    assert (made.is_pause_requested, made.stopping, made.drain_texts()) == (False, False, [])
    made.request_pause()
    made.request_stop()
    made.send_text("one")
    made.send_text("two")
    await made.wait_for_pause()
    await made.wait_for_stop()
    assert (made.is_pause_requested, made.stopping) == (True, True)
    assert await made.receive_text() == "one"
    assert made.drain_texts() == ["two"]
    made.request_resume()
    await made.wait_until_resumed()
    assert not made.is_pause_requested


async def test_of_several_waits_the_first_counts_and_the_others_end() -> None:
    ended = []

    async def forever(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(name)

    async def over() -> None:
        ended.append("over")

    assert await wait_first_completed(forever("one"), over(), forever("two"))
    assert sorted(ended) == ["one", "over", "two"]
    assert not await wait_first_completed(forever("three"), timeout_s=0)
    assert ended[-1] == "three"


async def test_a_wait_that_is_cancelled_ends_what_it_waits_for() -> None:
    begun, ended = asyncio.Event(), []

    async def forever() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    waiting = asyncio.create_task(wait_first_completed(forever(), timeout_s=math.inf))
    await begun.wait()
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()
    assert ended == [True]


def test_a_stopwatch_counts_what_runs_and_never_back() -> None:
    now = [100.0]
    watch = Stopwatch(lambda: now[0], before=5.0)
    assert watch.total() == 5
    watch.start()
    now[0] += 3
    watch.start()
    assert watch.total() == 8
    watch.stop()
    now[0] += 50
    assert watch.total() == 8
    watch.start()
    now[0] -= 20  # somebody set the clock
    assert watch.total() == 8
