"""When a worker is started for agents that nobody runs, and when it isn't."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from agentstepper_nb.hub.worker_supervisor import StartBackoff, WorkerSupervisor

LOG = logging.getLogger("agentstepper_nb.test")


def test_starts_that_follow_each_other_wait_ever_longer() -> None:
    waits, now, waited = StartBackoff(), 100.0, []
    assert waits.delay_left(now) == 0
    for _ in range(8):
        waits.record_start(now)
        waited.append(waits.delay_left(now))
        now += waits.delay_left(now)
        assert waits.delay_left(now) == 0
    assert waited == [1, 2, 4, 8, 16, 30, 30, 30]


def test_a_worker_that_worked_long_is_started_again_at_once() -> None:
    waits = StartBackoff()
    for now in (0.0, 1.0, 3.0):
        waits.record_start(now)
    assert waits.delay_left(3.0) == 4
    assert waits.delay_left(100.0) == 0
    waits.record_start(100.0)
    assert waits.delay_left(100.0) == 1


class SupervisorHarness:
    """A keeper, and what it is told; `starts` says what becomes of each start."""

    def __init__(
        self,
        *starts: Callable[[SupervisorHarness], None],
        first_wait_s: float = 0.0,
        slow_start_s: float = 60.0,
    ) -> None:
        self.starts = list(starts)
        self.started = 0
        self.dispatching = False
        self.is_work_waiting = True
        self.looked = 0
        self.settled = asyncio.Event()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.supervisor = WorkerSupervisor(
            self, lambda: self.dispatching, self.has_work, LOG, first_wait_s, slow_start_s
        )

    async def has_work(self) -> bool:
        self.looked += 1
        if not self.is_work_waiting:
            self.settled.set()
        return self.is_work_waiting

    async def start(self) -> asyncio.Future[str]:
        self.started += 1
        self.ended = asyncio.get_running_loop().create_future()
        self.starts.pop(0)(self)
        return self.ended

    def begin_dispatching(self) -> None:
        asyncio.get_running_loop().call_soon(self.begin)

    def begin(self) -> None:
        self.dispatching = True
        self.supervisor.dispatchers_changed()
        self.settled.set()

    def end_worker(self) -> None:
        self.dispatching = False
        self.supervisor.dispatchers_changed()
        self.ended.set_result("exited with 1")

    def fail_start(self) -> None:
        raise OSError("no such program")

    def settle_without_dispatching(self) -> None:
        self.settled.set()

    async def settle(self) -> None:
        await self.settled.wait()
        self.settled.clear()
        for _ in range(5):
            await asyncio.sleep(0)


async def test_it_is_started_once_for_many_who_need_it() -> None:
    scene = SupervisorHarness(SupervisorHarness.begin_dispatching)
    for _ in range(5):
        scene.supervisor.request_worker()
    await scene.settle()
    scene.supervisor.request_worker()
    await asyncio.sleep(0)
    assert scene.started == 1
    await scene.supervisor.close()


def test_again_until_it_works(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        scene = SupervisorHarness(
            SupervisorHarness.fail_start,
            SupervisorHarness.end_worker,
            SupervisorHarness.begin_dispatching,
            SupervisorHarness.begin_dispatching,
        )
        scene.supervisor.request_worker()
        await scene.settle()
        assert scene.started == 3
        scene.end_worker()
        scene.supervisor.request_worker()  # as the runtime says where its last dispatcher has left
        await scene.settle()
        assert scene.started == 4
        await scene.supervisor.close()

    asyncio.run(test())
    assert "no such program" in caplog.text


async def test_none_where_there_is_no_work_or_somebody_by_hand() -> None:
    scene = SupervisorHarness()
    scene.is_work_waiting = False
    scene.supervisor.request_worker()
    await scene.settle()
    scene.is_work_waiting = scene.dispatching = True
    scene.supervisor.request_worker()
    await asyncio.sleep(0)
    assert (scene.started, scene.looked) == (0, 1)
    await scene.supervisor.close()
    scene.dispatching = False
    scene.supervisor.request_worker()
    await asyncio.sleep(0)
    assert scene.started == 0


async def test_a_worker_by_hand_is_enough_while_one_would_be_waited_for() -> None:
    scene = SupervisorHarness(SupervisorHarness.end_worker, first_wait_s=3600.0)
    scene.supervisor.request_worker()
    while not scene.started:
        await asyncio.sleep(0)
    scene.begin()
    await scene.settle()
    assert scene.supervisor._task is not None
    await scene.supervisor._task
    assert scene.started == 1
    await scene.supervisor.close()


def test_a_store_that_can_not_be_asked_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        scene = SupervisorHarness(SupervisorHarness.begin_dispatching)
        works = scene.has_work

        async def fails_once() -> bool:
            if not scene.looked:
                scene.looked += 1
                raise OSError("the disk is full")
            return await works()

        scene.supervisor._has_work = fails_once
        scene.supervisor.request_worker()
        await scene.settle()
        assert (scene.started, scene.looked) == (1, 2)
        await scene.supervisor.close()

    asyncio.run(test())
    assert "the disk is full" in caplog.text


async def test_one_that_runs_and_does_not_dispatch_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = SupervisorHarness(SupervisorHarness.settle_without_dispatching, slow_start_s=0.0)
    scene.supervisor.request_worker()
    await scene.settle()
    while "doesn't connect to dispatch" not in caplog.text:
        await asyncio.sleep(0)
    assert scene.started == 1
    await scene.supervisor.close()
