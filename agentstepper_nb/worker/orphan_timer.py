"""Ends a worker that has no Core, or no work, for some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

#: Looks in the time after which a worker ends, and seconds between two looks at most.
_LOOKS: Final = 10
_MAX_PAUSE_S: Final = 5.0


class OrphanTimer:
    """Measures for how long a worker has had no Core, or no work.

    Args:
        timeout_s: Seconds after which such a worker must end.
        now: The time of a clock that only goes forward, in seconds.
    """

    def __init__(self, timeout_s: float, now: float) -> None:
        self._timeout_s = timeout_s
        self._needed_at = now

    def is_over(self, is_needed: bool, now: float) -> bool:
        """Whether the worker must end.

        Args:
            is_needed: Whether the worker has a Core and work now.
            now: The time of the same clock.
        """
        if is_needed:
            self._needed_at = now
        return now - self._needed_at >= self._timeout_s


async def wait_until_orphaned(is_needed: Callable[[], bool], timeout_s: float | None) -> None:
    """Wait until a worker has had no Core, or no work, for some time.

    Args:
        is_needed: Returns whether the worker has a Core and work.
        timeout_s: The time in seconds; None: wait forever.
    """
    if timeout_s is None:
        await asyncio.Event().wait()
        return
    clock = asyncio.get_running_loop().time
    timer = OrphanTimer(timeout_s, clock())
    while True:
        await asyncio.sleep(min(timeout_s / _LOOKS, _MAX_PAUSE_S))
        if timer.is_over(is_needed(), clock()):
            return
