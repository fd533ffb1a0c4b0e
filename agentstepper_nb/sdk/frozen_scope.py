"""The time and the chance of one scope of a run that can be replayed exactly."""

from __future__ import annotations

import random


class FrozenScope:
    """The frozen clock and random numbers that the code of one scope sees.

    Both depend on the run alone: the time stands still between two events, and each scope has its own
    random generator, which no other task or thread uses.

    Args:
        run: The run's id.
        seed: The id of the run that time and random numbers come from, a UUIDv7: its creation time is
            the time until the first event begins.
        path: The scope's path.
        at: The time, in POSIX seconds; None: that in the seed.
    """

    __slots__ = ("_chance", "_path", "_seed", "at", "run")

    def __init__(
        self, run: str, seed: str, path: tuple[str, ...] = (), at: float | None = None
    ) -> None:
        self.run = run
        self.at = _read_time(seed) if at is None else at
        self._seed = seed
        self._path = path
        self._chance: random.Random | None = None

    @property
    def chance(self) -> random.Random:
        """The scope's own generator."""
        if self._chance is None:
            self._chance = random.Random("/".join([self._seed, *self._path]))
        return self._chance

    def open_child(self, path: tuple[str, ...]) -> FrozenScope:
        """Make the frozen scope of an inner scope; until its first event it has this scope's time.

        Args:
            path: The scope's path.
        """
        return FrozenScope(self.run, self._seed, path, self.at)


def _read_time(id: str) -> float:
    """The time in a UUIDv7, in POSIX seconds."""
    return int(id.replace("-", "")[:12], 16) / 1000
