"""How many Dask workers a cluster needs for the Core's queue."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from ..protocol.runtime_requests import RuntimeStatus

#: Looks in a row that have to ask for fewer Dask workers before some are let go.
_LOOKS_BEFORE_SHRINKING: Final = 3


@dataclass(frozen=True)
class ScaleBounds:
    """The bounds of a cluster, and how much one Dask worker is meant to carry.

    Args:
        minimum: Dask workers that there are at least.
        maximum: Dask workers that there are at most.
        sessions_per_worker: Background sessions for one Dask worker.
        agents_per_worker: Mapped agents for one Dask worker.
    """

    minimum: int
    maximum: int
    sessions_per_worker: int
    agents_per_worker: int

    def __post_init__(self) -> None:
        if not 0 <= self.minimum <= self.maximum:
            raise ValueError(
                f"The bounds {self.minimum} and {self.maximum} don't work: minimum must be at least 0, "
                "and at most maximum."
            )
        if self.sessions_per_worker < 1 or self.agents_per_worker < 1:
            raise ValueError("sessions_per_worker and agents_per_worker must be at least 1.")

    def count_wanted(self, status: RuntimeStatus, mapped_agents: int, busy_workers: int) -> int:
        """The Dask workers for what there is to do.

        Args:
            status: The Core's queue.
            mapped_agents: Mapped agents that haven't ended.
            busy_workers: Dask workers that run some of them, and would take these along.
        """
        store = status.store
        depth = 0 if store is None else max(store.live, store.open)
        wanted = max(
            math.ceil(depth / self.sessions_per_worker),
            math.ceil(mapped_agents / self.agents_per_worker),
            busy_workers,
        )
        return min(max(wanted, self.minimum), self.maximum)


class ScaleDecision:
    """Grows at once, and shrinks once several looks in a row have asked for less.

    Args:
        current: The Dask workers that there are.
    """

    def __init__(self, current: int) -> None:
        self._current = current
        self._smaller: deque[int] = deque(maxlen=_LOOKS_BEFORE_SHRINKING)

    def decide(self, wanted: int) -> int | None:
        """The count to scale to now; None: no change. It is said again until the cluster is scaled.

        Args:
            wanted: What this look asks for.
        """
        if wanted >= self._current:
            self._smaller.clear()
            return wanted if wanted > self._current else None
        self._smaller.append(wanted)
        if len(self._smaller) < _LOOKS_BEFORE_SHRINKING:
            return None
        return max(self._smaller)

    def note_scaled(self, count: int) -> None:
        """The cluster is scaled.

        Args:
            count: The Dask workers that there are to be.
        """
        self._smaller.clear()
        self._current = count


def scale_cluster(client: Any, cluster: Any, count: int) -> None:
    """Scale a cluster. Dask workers that are let go run no mapped agent, where the cluster can be told
    which ones to let go; it takes its newest else.

    Args:
        client: A client of its scheduler.
        cluster: The cluster.
        count: The Dask workers that there are to be.
    """
    present = len(client.nthreads())
    if count >= present or not hasattr(cluster, "scale_down"):
        cluster.scale(count)
        return
    names = client.run_on_scheduler(partial(_choose_idle_workers, count))
    cluster.sync(cluster.scale_down, names)
    if present - len(names) <= count:
        cluster.scale(count)  # lets go of those that haven't started yet


def _choose_idle_workers(count: int, dask_scheduler: Any) -> list[Any]:
    """Run on the scheduler: the names of Dask workers without which there are so many."""
    found: list[Any] = dask_scheduler.workers_to_close(target=count, attribute="name")
    return found
