"""The children of one AgentStepper: they end before its run does."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

from .pumps import in_thread
from .spawn import AsyncSpawned, Child, Spawned, end

C = TypeVar("C", bound=Child)


class Children:
    """The child processes that an AgentStepper started."""

    def __init__(self) -> None:
        self._all: list[Child] = []

    def add(self, child: C) -> C:
        """Take one in, and forget those that have ended."""
        self._all = [*(each for each in self._all if each.runs), child]
        return child

    def join(self, error: BaseException | None) -> None:
        """Wait for all of them, or end them where an exception, now or meanwhile, ends the agent.

        Args:
            error: The exception.
        """
        running = [child for child in self._all if child.runs and isinstance(child, Spawned)]
        try:
            for child in running if error is None else ():
                child.wait()
        finally:
            end(running)

    async def ajoin(self, error: BaseException | None) -> None:
        """As `join`, awaited."""
        running = [child for child in self._all if child.runs and isinstance(child, AsyncSpawned)]
        try:
            for child in running if error is None else ():
                await child.wait()
        finally:
            if any(child.runs for child in running):
                await in_thread(partial(end, running))
