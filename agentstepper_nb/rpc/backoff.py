"""The waits between attempts to reach a Core."""

from __future__ import annotations

import random
from collections.abc import Callable

# Not the module's own: an agent that seeds `random` draws the same numbers with a debugger as without.
_chance = random.Random()


class Backoff:
    """The waits between attempts, in seconds: each doubles the one before, and chance cuts it by half at
    most, so that many clients of one Core don't come back at once.

    The library's own waits (of websockets) are longer than a Core takes to start again.

    Args:
        first: Seconds of the first wait.
        longest: Seconds that a wait has at most.
        at_once: Whether the first attempt doesn't wait; the second one waits `first`.
        chance: Gives a number between 0 and 1.
    """

    def __init__(
        self,
        first: float = 0.1,
        longest: float = 5.0,
        *,
        at_once: bool = False,
        chance: Callable[[], float] = _chance.random,
    ) -> None:
        self._first = first
        self._longest = longest
        self._start = 0.0 if at_once else first
        self._chance = chance
        self._next = self._start

    def wait(self) -> float:
        """How long to wait before the next attempt."""
        wait = self._next
        self._next = min(self._longest, 2 * wait or self._first)
        return wait * (1 + self._chance()) / 2

    def reset(self) -> None:
        """The Core did something: the waits begin anew."""
        self._next = self._start
