"""A worker without a Core, or without anything to do, ends; one that is needed doesn't."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

import pytest
from msgspec import Raw, Struct

from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.worker.orphan_timer import OrphanTimer
from agentstepper_nb.worker.serve_loop import WorkerEnd, run_worker
from tests.worker.cores import WorkerPortCore

LOG = logging.getLogger("agentstepper_nb.test")


def test_only_time_in_which_nobody_needs_it_counts() -> None:
    timer = OrphanTimer(10, now=0)
    assert not timer.is_over(False, now=9)
    assert not timer.is_over(True, now=100)
    assert not timer.is_over(False, now=109)
    assert timer.is_over(False, now=110)
    assert not timer.is_over(True, now=110)


class BusyService:
    """Has something to do while `is_busy`."""

    def __init__(self) -> None:
        self.is_busy = True
        self.is_closed = False

    async def call(self, method: str, params: Raw) -> Struct | None:
        return None

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        nothing: tuple[Struct, ...] = ()
        for item in nothing:
            yield item

    async def close(self) -> None:
        self.is_closed = True


async def test_a_worker_ends_when_it_has_nothing_to_do(caplog: pytest.LogCaptureFixture) -> None:
    service, idle = BusyService(), BusyService()
    idle.is_busy = False
    async with WorkerPortCore() as core:
        worker = asyncio.create_task(start_worker(core, service=service, idle=idle))
        await core.connected()
        for _ in range(20):  # several times as long as it would stay if it had nothing to do
            await asyncio.sleep(0.01)
        assert not worker.done()
        service.is_busy = False
        with caplog.at_level(logging.INFO):
            await worker
    assert "had nothing to do for 0.05 seconds, and ends" in caplog.text
    assert service.is_closed and idle.is_closed


@pytest.mark.slow
async def test_a_worker_ends_without_its_core(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever it has to do: its sessions are others' by then."""
    service = BusyService()
    async with WorkerPortCore() as core:
        worker = asyncio.create_task(start_worker(core, service=service))
        await core.connected()
        await core.stop()
        with caplog.at_level(logging.INFO):
            await worker
        await core.start()
    assert "had no Core for 0.05 seconds, and ends" in caplog.text
    assert service.is_closed


async def start_worker(core: WorkerPortCore, **services: BusyService) -> None:
    await run_worker(
        lambda: core.endpoint,
        services,
        ReconnectingCaller(),
        LOG,
        WorkerEnd(orphan_timeout_s=0.05),
    )
