"""How long a session has run."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """Counts the seconds between `start` and `stop`, of all times together.

    Args:
        clock: Gives seconds; where they go back, nothing is counted.
        before: Seconds that were counted before.
    """

    def __init__(self, clock: Callable[[], float], before: float = 0.0) -> None:
        self._clock = clock
        self._before = before
        self._since: float | None = None

    def start(self) -> None:
        """Count from now on."""
        if self._since is None:
            self._since = self._clock()

    def stop(self) -> None:
        """Count no more, until it is started again."""
        self._before, self._since = self.total(), None

    def total(self) -> float:
        """Seconds, so far."""
        if self._since is None:
            return self._before
        return self._before + max(0.0, self._clock() - self._since)
