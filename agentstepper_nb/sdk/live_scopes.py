"""The live agents, tasks, threads and jobs of a run: a step in one that ended goes on outside of it."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol.field_types import ScopePath


def _ignore(path: ScopePath) -> None:
    """Do nothing: no step is in progress."""


class LiveScopes:
    """The paths of a run's agents, tasks, threads and jobs that haven't ended.

    Attributes:
        on_ended: Called with the path of each scope that ends, on any thread.
    """

    def __init__(self) -> None:
        self.on_ended: Callable[[ScopePath], None] = _ignore
        self._paths: dict[ScopePath, None] = {}  # each change is one operation: threads share it

    def add(self, path: ScopePath) -> None:
        """Record that a scope begins."""
        self._paths[path] = None

    def end(self, path: ScopePath) -> None:
        """Record that a scope has ended; a repeated call does nothing."""
        if path in self._paths:
            self._paths.pop(path, None)
            self.on_ended(path)

    def __contains__(self, path: ScopePath) -> bool:
        return path in self._paths
