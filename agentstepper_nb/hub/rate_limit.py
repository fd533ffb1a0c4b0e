"""How often something that costs money, and may fail, is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

#: Seconds to wait after a first failure in a row; each further one doubles them.
_FIRST_WAIT: Final = 1.0


@dataclass(frozen=True)
class RateLimits:
    """Limits.

    Args:
        a_minute: How often it is asked over time.
        burst: How often at once, after a pause.
        failures: After so many failures in a row it is left alone for a while.
        rest: How long, in seconds.
    """

    a_minute: float = 60.0
    burst: int = 10
    failures: int = 5
    rest: float = 60.0


class RateLimiter:
    """Lets requests go as fast as a pace allows, slower after failures.

    Args:
        pace: The limits.
        clock: Tells seconds, from any start.
        sleep: Waits for seconds of that clock.
    """

    def __init__(
        self,
        pace: RateLimits,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._pace = pace
        self._clock = clock
        self._sleep = sleep
        self._tokens = float(pace.burst)
        self._filled_at = clock()
        self._failed = 0  # in a row
        self._not_before = self._filled_at

    async def admit(self) -> None:
        """Wait until the next request may go, and count it."""
        while (wait := self._wait()) > 0:
            await self._sleep(wait)
        self._tokens -= 1

    def worked(self) -> None:
        """A request was answered."""
        self._failed = 0

    def failed(self) -> None:
        """A request failed."""
        self._failed += 1
        resting = self._failed >= self._pace.failures
        wait = self._pace.rest if resting else _FIRST_WAIT * 2 ** (self._failed - 1)
        self._not_before = max(self._not_before, self._clock() + wait)

    def _wait(self) -> float:
        """Seconds until a request may go, as things stand."""
        now, a_second = self._clock(), self._pace.a_minute / 60
        gained = (now - self._filled_at) * a_second
        self._tokens = min(float(self._pace.burst), self._tokens + gained)
        self._filled_at = now
        missing = max(0.0, 1 - self._tokens) / a_second
        # Shares of a token may round to just below a whole one, whose wait the clock couldn't show.
        return max(missing if missing > 1e-6 else 0.0, self._not_before - now)
