"""How many Dask workers a queue asks for."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from agentstepper_nb.fleet import Fleet
from agentstepper_nb.fleet.adaptation import ScaleBounds, ScaleDecision
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.runtime_requests import RuntimeStatus
from agentstepper_nb.protocol.runtime_store_messages import RuntimeStoreInfo


@pytest.mark.parametrize(
    ("live", "open", "mapped", "busy", "expected"),
    [
        *((0, 0, 0, 0, 1), (10, 0, 0, 0, 1), (11, 3, 0, 0, 2), (2, 25, 0, 0, 3)),
        *((0, 0, 9, 0, 3), (0, 0, 9, 2, 3), (0, 0, 4, 4, 4), (500, 0, 0, 0, 8)),
    ],
)
def test_the_longest_queue_decides(
    live: int, open: int, mapped: int, busy: int, expected: int
) -> None:
    bounds = ScaleBounds(minimum=1, maximum=8, sessions_per_worker=10, agents_per_worker=4)
    store = RuntimeStoreInfo(kind="memory", place="", live=live, open=open)
    status = RuntimeStatus(dispatchers=0, store=store)
    assert bounds.count_wanted(status, mapped, busy) == expected


def test_without_a_store_mapped_agents_count() -> None:
    bounds = ScaleBounds(minimum=0, maximum=8, sessions_per_worker=10, agents_per_worker=4)
    assert bounds.count_wanted(RuntimeStatus(dispatchers=0), 5, 0) == 2


def test_it_grows_at_once_and_shrinks_after_three_looks() -> None:
    decision = ScaleDecision(current=2)

    def look(wanted: int) -> int | None:
        count = decision.decide(wanted)
        if count is not None:
            decision.note_scaled(count)
        return count

    assert [look(n) for n in (2, 4, 1, 3, 4, 3, 1, 2)] == [
        *(None, 4, None, None, None, None, None, 3)
    ]
    assert [look(n) for n in (3, 0, 0, 0)] == [None, None, None, 0]


def test_what_failed_is_decided_again() -> None:
    decision = ScaleDecision(current=2)
    assert [decision.decide(n) for n in (4, 4, 2)] == [4, 4, None]
    assert [decision.decide(n) for n in (1, 0, 0, 0)] == [None, None, 1, 0]


class FailingCluster:
    """Can be scaled from the second time on."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.is_scaled = threading.Event()

    def scale(self, count: int) -> None:
        self.counts.append(count)
        if len(self.counts) == 1:
            raise KeyError("no machine")
        self.is_scaled.set()


def test_scaling_that_failed_is_tried_again(
    core: AgentStepperCore, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    client.cluster = cluster = FailingCluster()
    client.nthreads.return_value = {}
    with Fleet(client, core, workers_per_node=0) as fleet:
        fleet.adapt(2, 2, interval_s=0.01)
        assert cluster.is_scaled.wait(20)
    assert cluster.counts == [2, 2]
    (warning,) = (each for each in caplog.records if each.name == "agentstepper_nb.fleet")
    assert "stays as it is for 0.01 seconds, until the next try: 'no machine'" in warning.message
    assert warning.exc_info


@pytest.mark.parametrize("numbers", [(-1, 2, 1, 1), (3, 2, 1, 1), (0, 1, 0, 1), (0, 1, 1, 0)])
def test_bounds_that_do_not_work(numbers: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="must be at least"):
        ScaleBounds(*numbers)
