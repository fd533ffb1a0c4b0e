"""A clock that only moves when somebody sleeps by it."""

from __future__ import annotations

import asyncio

from agentstepper_nb.hub.rate_limit import RateLimiter, RateLimits


class ManualClock:
    """Seconds from 0."""

    def __init__(self) -> None:
        self.now = 0.0

    async def sleep(self, seconds: float) -> None:
        """Until so many seconds are over; where several sleep at a time, until all of theirs are."""
        self.now += seconds
        await asyncio.sleep(0)

    def make_pacer(self, pace: RateLimits) -> RateLimiter:
        """One that goes by this clock."""
        return RateLimiter(pace, lambda: self.now, self.sleep)
