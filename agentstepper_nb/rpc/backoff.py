"""The waits between attempts to reach a Core."""

from __future__ import annotations

import random
from collections.abc import Callable

# Not the module's own: an agent that seeds `random` draws the same numbers with a debugger as without.
_chance = random.Random()


class Backoff:
    """The waits between attempts, in seconds: each doubles the one before, with random jitter of up to
    half, so that many clients of one Core don't reconnect at once.

    The waits of the websockets library are longer than a Core's restart.

    Args:
        first_s: Seconds of the first wait.
        max_s: The most seconds of a wait.
        is_immediate: Whether the first attempt doesn't wait; the second one waits `first_s`.
        chance: Returns a number between 0 and 1.
    """

    def __init__(
        self,
        first_s: float = 0.1,
        max_s: float = 5.0,
        *,
        is_immediate: bool = False,
        chance: Callable[[], float] = _chance.random,
    ) -> None:
        self._first_s = first_s
        self._max_s = max_s
        self._start = 0.0 if is_immediate else first_s
        self._chance = chance
        self._next = self._start

    def next_delay_s(self) -> float:
        """Compute the seconds to wait before the next attempt."""
        delay_s = self._next
        self._next = min(self._max_s, 2 * delay_s or self._first_s)
        return delay_s * (1 + self._chance()) / 2

    def reset(self) -> None:
        """The Core did something: the waits begin anew."""
        self._next = self._start
