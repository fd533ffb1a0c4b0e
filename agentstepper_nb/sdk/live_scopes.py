"""Which agents, tasks, threads and jobs of a run haven't ended: a step goes on around one that has."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol.field_types import ScopePath


def _ignore(path: ScopePath) -> None:
    """Nobody steps yet."""


class LiveScopes:
    """The paths of a run's agents, tasks, threads and jobs that haven't ended.

    Attributes:
        on_ended: Called with the path of each that ends, on whatever thread.
    """

    def __init__(self) -> None:
        self.on_ended: Callable[[ScopePath], None] = _ignore
        self._paths: dict[ScopePath, None] = {}  # each change is one operation: threads share it

    def add(self, path: ScopePath) -> None:
        """One begins."""
        self._paths[path] = None

    def end(self, path: ScopePath) -> None:
        """One has ended; a second time it is no error."""
        if path in self._paths:
            self._paths.pop(path, None)
            self.on_ended(path)

    def __contains__(self, path: ScopePath) -> bool:
        return path in self._paths
