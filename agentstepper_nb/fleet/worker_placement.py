"""The Dask plugin that keeps worker processes at a Dask worker, and hands over when that retires."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from distributed import Worker, WorkerPlugin
from distributed.comm import connect
from distributed.core import Status

from ..rpc.backoff import Backoff
from .core_access import CoreAccess
from .worker_slots import WorkerSlot, open_fleet_folder

#: Seconds between two looks whether a worker is there.
_CHECK_S: Final = 1.0
#: Seconds before a start that follows another one closely, and after which one doesn't.
_FIRST_WAIT_S: Final = 1.0
_MAX_WAIT_S: Final = 30.0
_STEADY_AFTER_S: Final = 60.0
#: Seconds that a retirement waits for workers that hand over; they go on with that after it.
_DRAIN_WAIT_S: Final = 20.0
#: Seconds between two looks whether they have ended, and to reach a scheduler.
_DRAIN_CHECK_S: Final = 0.1
_SCHEDULER_TIMEOUT_S: Final = 2.0

log = logging.getLogger("agentstepper_nb.fleet")


class WorkerPlacement(WorkerPlugin):
    """Keeps `agentstepper worker` processes at each Dask worker.

    A process outlives the Dask worker where that is killed or loses its scheduler; the next Dask worker
    of the place finds it there. Where the Dask worker retires, or the plugin is taken away, it drains.

    Args:
        name: The fleet's name, by which Dask knows the plugin.
        access: How the workers reach the Core.
        options: What each is told.
        workers_per_node: Workers of a machine, whatever Dask workers it has; None: one a Dask worker.
    """

    #: A second fleet of the same name finds the plugin there, and starts nothing anew.
    idempotent = True

    def __init__(
        self,
        name: str,
        access: CoreAccess,
        options: Sequence[str],
        workers_per_node: int | None,
    ) -> None:
        self.name = name
        self._access = access
        self._options = tuple(options)
        self._workers_per_node = workers_per_node
        self._slots: list[WorkerSlot] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def setup(self, worker: Worker) -> None:
        """Start workers where none are; see `WorkerPlugin.setup`."""
        self._access.check_reachable()
        folder = open_fleet_folder(self.name)
        make_environment = partial(self._access.make_worker_environment, folder)
        self._slots = [
            WorkerSlot(folder, slot, self._options, make_environment)
            for slot in self._name_slots(worker)
        ]
        self._tasks = [asyncio.create_task(_keep_filled(slot)) for slot in self._slots]

    async def teardown(self, worker: Worker) -> None:
        """Let the workers drain, unless only the scheduler is gone; see `WorkerPlugin.teardown`."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if await _has_lost_scheduler(worker):
            log.info("the Dask scheduler is gone: the workers at this Dask worker go on without it")
            return
        for slot in self._slots:
            slot.drain()
        try:
            async with asyncio.timeout(_DRAIN_WAIT_S):
                await asyncio.gather(
                    *(_wait_until_empty(slot, _DRAIN_CHECK_S) for slot in self._slots)
                )
        except TimeoutError:
            log.info("workers still hand over their sessions, and end by themselves")

    def describe(self) -> list[dict[str, Any]]:
        """The workers at this Dask worker: host, process id, log."""
        return [
            {"host": socket.gethostname(), "pid": pid, "log": str(slot.log_file)}
            for slot in self._slots
            if (pid := slot.pid) is not None
        ]

    def _name_slots(self, worker: Worker) -> list[str]:
        if self._workers_per_node is not None:
            return [f"node-{number}" for number in range(self._workers_per_node)]
        # The nanny's address stays where it starts its Dask worker again.
        place = str(worker.nanny or worker.address)
        return [hashlib.sha256(place.encode()).hexdigest()[:16]]


async def _keep_filled(slot: WorkerSlot, first_wait_s: float = _FIRST_WAIT_S) -> None:
    clock = asyncio.get_running_loop().time
    backoff = Backoff(first_wait_s, _MAX_WAIT_S, is_immediate=True)
    while True:
        await asyncio.sleep(backoff.next_delay_s())
        began = clock()
        try:
            if slot.fill():
                log.info("a worker is started, and logs to %s", slot.log_file)
            await _wait_until_empty(slot, _CHECK_S)
        except OSError as error:
            log.warning("a worker can't be started or watched, which is tried again: %s", error)
        if clock() - began >= _STEADY_AFTER_S:
            backoff.reset()


async def _wait_until_empty(slot: WorkerSlot, interval_s: float) -> None:
    """Wait for the end of a slot's worker, which may be no child of this process."""
    while True:
        if slot.is_empty():
            return
        await asyncio.sleep(interval_s)


async def _has_lost_scheduler(worker: Worker) -> bool:
    """Whether a Dask worker closes since its scheduler is gone, and nobody has asked it to."""
    stream = worker.batched_stream
    if worker.status == Status.running or (stream is not None and not stream.closed()):
        return False
    try:
        found = await connect(
            worker.scheduler.address, timeout=_SCHEDULER_TIMEOUT_S, **worker.connection_args
        )
    except OSError:
        return True
    await found.close()
    return False
