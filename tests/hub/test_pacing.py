"""How often a model is asked, by a clock that only moves when somebody sleeps."""

from __future__ import annotations

import asyncio

import pytest

from agentstepper_nb.hub.rate_limit import RateLimiter, RateLimits
from tests.helpers.clock import ManualClock

PACE = RateLimits(per_minute=60, burst=3, max_failures=3, pause_s=60)


def admitted(clock: ManualClock, pacer: RateLimiter, times: int) -> list[float]:
    """When each of some requests was let go."""

    async def ask() -> list[float]:
        found = []
        for _ in range(times):
            await pacer.admit()
            found.append(clock.now)
        return found

    return asyncio.run(ask())


def test_a_burst_and_then_as_many_as_a_minute_has() -> None:
    clock = ManualClock()
    assert admitted(clock, clock.make_pacer(PACE), 6) == pytest.approx([0, 0, 0, 1, 2, 3])


def test_a_pause_fills_it_up_and_no_further() -> None:
    clock = ManualClock()
    pacer = clock.make_pacer(PACE)
    admitted(clock, pacer, 3)
    clock.now += 1000
    assert admitted(clock, pacer, 4) == pytest.approx([1000, 1000, 1000, 1001])


def test_an_hour_of_requests_keeps_the_rate() -> None:
    clock = ManualClock()
    pace = RateLimits(per_minute=7, burst=2)
    assert admitted(clock, clock.make_pacer(pace), 422)[-1] == pytest.approx(3600)


def test_failures_slow_it_down_until_it_rests() -> None:
    clock = ManualClock()
    pacer = clock.make_pacer(PACE)
    went = []
    for _ in range(5):
        went += admitted(clock, pacer, 1)
        pacer.record_failure()
    assert went == pytest.approx([0, 1, 3, 63, 123])


def test_one_that_works_forgets_the_failures() -> None:
    clock = ManualClock()
    pacer = clock.make_pacer(PACE)
    pacer.record_failure()
    pacer.record_failure()
    assert admitted(clock, pacer, 1) == pytest.approx([2])
    pacer.record_success()
    pacer.record_failure()
    assert admitted(clock, pacer, 1) == pytest.approx([3])


def test_two_that_wait_dont_share_one_place() -> None:
    clock = ManualClock()
    pacer = clock.make_pacer(PACE)
    admitted(clock, pacer, 3)
    went: list[float] = []

    async def ask() -> None:
        await pacer.admit()
        went.append(clock.now)

    async def both() -> None:
        await asyncio.gather(ask(), ask())

    asyncio.run(both())
    assert went == pytest.approx([1, 2])
