"""Limits the rate of requests that cost money and may fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

#: Seconds to wait after a first failure in a row; each further one doubles them.
_FIRST_PAUSE_S: Final = 1.0


@dataclass(frozen=True)
class RateLimits:
    """The limits of a `RateLimiter`.

    Args:
        per_minute: Requests per minute on average.
        burst: Requests at once after a pause.
        max_failures: Consecutive failures after which requests pause.
        pause_s: The length of that pause, in seconds.
    """

    per_minute: float = 60.0
    burst: int = 10
    max_failures: int = 5
    pause_s: float = 60.0


class RateLimiter:
    """Delays requests to a given rate, and further after failures.

    Args:
        limits: The limits.
        clock: Returns seconds since any start.
        sleep: Sleeps for seconds of that clock.
    """

    def __init__(
        self,
        limits: RateLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(limits.burst)
        self._filled_at = clock()
        self._failures_in_row = 0  # in a row
        self._not_before = self._filled_at

    async def admit(self) -> None:
        """Wait until the next request may go, and count it."""
        while (wait := self._wait()) > 0:
            await self._sleep(wait)
        self._tokens -= 1

    def record_success(self) -> None:
        """Note that a request succeeded."""
        self._failures_in_row = 0

    def record_failure(self) -> None:
        """A request failed."""
        self._failures_in_row += 1
        resting = self._failures_in_row >= self._limits.max_failures
        wait = (
            self._limits.pause_s if resting else _FIRST_PAUSE_S * 2 ** (self._failures_in_row - 1)
        )
        self._not_before = max(self._not_before, self._clock() + wait)

    def _wait(self) -> float:
        """Compute the seconds until a request may start."""
        now, per_second = self._clock(), self._limits.per_minute / 60
        gained = (now - self._filled_at) * per_second
        self._tokens = min(float(self._limits.burst), self._tokens + gained)
        self._filled_at = now
        missing = max(0.0, 1 - self._tokens) / per_second
        # Shares of a token may round to just below a whole one, whose wait the clock couldn't show.
        return max(missing if missing > 1e-6 else 0.0, self._not_before - now)
