"""A worker's main loop: stays connected to the Core, and runs services until the worker must end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from ..rpc.persistent_connection import FindEndpoint, ReconnectingCaller, maintain_connection
from ..rpc.session import RpcService
from .orphan_timer import wait_until_orphaned
from .services import CLOSE_TIMEOUT_S, DrainableService, is_any_busy

#: Seconds after which this process ends once its Core has, whatever hangs in it; services close in less.
_EXIT_GRACE_S: Final = 5.0


@dataclass(frozen=True)
class WorkerEnd:
    """The conditions on which a worker ends.

    Args:
        drain: When set, the worker accepts no new work, finishes what it can, hands over the rest, and
            ends.
        drain_timeout_s: Seconds after which unfinished work is cancelled then.
        at_stdin_eof: End at once when standard input, a pipe of the Core, is closed.
        orphan_timeout_s: Seconds without a Core, or without work, after which the worker ends; None:
            never.
    """

    drain: asyncio.Event = field(default_factory=asyncio.Event)
    drain_timeout_s: float = 30.0
    at_stdin_eof: bool = False
    orphan_timeout_s: float | None = None


async def run_worker(
    find_endpoint: FindEndpoint,
    services: Mapping[str, RpcService],
    caller: ReconnectingCaller,
    log: logging.Logger,
    end: WorkerEnd,
) -> None:
    """Serve a Core until it is gone for good, this worker is drained or an orphan, or this task is
    cancelled; then
    close the services.

    Args:
        find_endpoint: Says where the Core takes workers.
        services: What is served.
        caller: By which they ask the Core.
        log: Gets a line for each connection.
        end: When the worker ends.

    Raises:
        RpcRefusedError: The Core refuses this worker.
    """
    input_closed = asyncio.Event()
    if end.at_stdin_eof:
        threading.Thread(
            target=_watch_input, args=(asyncio.get_running_loop(), input_closed), daemon=True
        ).start()
    connected = asyncio.create_task(maintain_connection(find_endpoint, services, caller, log))
    orphaned = asyncio.create_task(
        wait_until_orphaned(lambda: caller.is_open and is_any_busy(services), end.orphan_timeout_s)
    )
    ends = (
        connected,
        asyncio.create_task(input_closed.wait()),
        asyncio.create_task(_drain(services, log, end)),
        orphaned,
    )
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        if connected.done():
            await connected
        if orphaned.done():
            what = "had nothing to do" if caller.is_open else "had no Core"
            log.info("this worker %s for %g seconds, and ends", what, end.orphan_timeout_s)
    finally:
        for waiting in ends[1:]:
            waiting.cancel()
        await _close(services, log)  # while they can still tell the Core
        connected.cancel()
        await asyncio.gather(*ends, return_exceptions=True)


async def _drain(services: Mapping[str, RpcService], log: logging.Logger, end: WorkerEnd) -> None:
    """Wait until the worker is to be drained, and then until it is."""
    await end.drain.wait()

    async def drain(name: str, service: DrainableService) -> None:
        try:
            await service.drain(end.drain_timeout_s)
        except Exception:
            log.exception("the service %s could not be drained", name)

    found = ((name, each) for name, each in services.items() if isinstance(each, DrainableService))
    await asyncio.gather(*(drain(*each) for each in found))


async def _close(services: Mapping[str, RpcService], log: logging.Logger) -> None:
    async def close(name: str, service: RpcService) -> None:
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await service.close()
        except TimeoutError:
            log.warning("the service %s didn't close in %g seconds", name, CLOSE_TIMEOUT_S)
        except Exception:
            log.exception("the service %s could not be closed cleanly", name)

    await asyncio.gather(*(close(*each) for each in services.items()))


def _watch_input(loop: asyncio.AbstractEventLoop, input_closed: asyncio.Event) -> None:
    """Wait until whoever holds the other end of standard input is gone, and then see to it that this
    process ends, whatever hangs in it. On a thread: what hangs may be the loop.
    """
    while sys.stdin is not None and os.read(sys.stdin.fileno(), 1024):
        pass
    with suppress(RuntimeError):  # the loop is over already
        loop.call_soon_threadsafe(input_closed.set)
    time.sleep(_EXIT_GRACE_S)
    os._exit(1)
