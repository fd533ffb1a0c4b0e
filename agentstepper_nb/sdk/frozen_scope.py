"""The time and the chance of one scope of a run that can be replayed exactly."""

from __future__ import annotations

import random


class FrozenScope:
    """What the code of one scope sees in place of the clock and of random numbers.

    Both follow from the run alone: the time stands still between two events, and the numbers are those
    of a generator of the scope's own, so that no other task or thread changes them.

    Args:
        run: The run's id.
        seed: The id of the run whose time and chance they are, a UUIDv7: when it was made is the time
            until the first event begins.
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
        """That of a scope inside: the time is this one's, until an event begins in there.

        Args:
            path: The scope's path.
        """
        return FrozenScope(self.run, self._seed, path, self.at)


def _read_time(id: str) -> float:
    """The time in a UUIDv7, in POSIX seconds."""
    return int(id.replace("-", "")[:12], 16) / 1000
