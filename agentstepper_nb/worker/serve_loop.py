"""A worker's life: it stays connected to the Core and serves, until it is told to end."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from ..rpc.persistent_connection import FindEndpoint, ReconnectingCaller, maintain_connection
from ..rpc.session import RpcService

#: Seconds that services have to close.
_CLOSE_TIMEOUT_S: Final = 3.0
#: Seconds after which this process ends once its Core has, whatever hangs in it.
_EXIT_GRACE_S: Final = 5.0


async def run_worker(
    find_endpoint: FindEndpoint,
    services: Mapping[str, RpcService],
    caller: ReconnectingCaller,
    log: logging.Logger,
    *,
    exits_at_stdin_eof: bool,
) -> None:
    """Serve a Core until it is gone for good, or this task is cancelled; then close the services.

    Args:
        find_endpoint: Says where the Core takes workers.
        services: What is served.
        caller: By which they ask the Core.
        log: Gets a line for each connection.
        exits_at_stdin_eof: End where standard input does: it is the Core's pipe.

    Raises:
        NotTakenError: The Core refuses this worker.
    """
    input_closed = asyncio.Event()
    if exits_at_stdin_eof:
        threading.Thread(
            target=_watch_input, args=(asyncio.get_running_loop(), input_closed), daemon=True
        ).start()
    connected = asyncio.create_task(maintain_connection(find_endpoint, services, caller, log))
    waiting = asyncio.create_task(input_closed.wait())
    try:
        await asyncio.wait((connected, waiting), return_when=asyncio.FIRST_COMPLETED)
        if connected.done():
            await connected
    finally:
        waiting.cancel()
        await _close(services, log)  # while they can still tell the Core
        connected.cancel()
        await asyncio.gather(connected, waiting, return_exceptions=True)


async def _close(services: Mapping[str, RpcService], log: logging.Logger) -> None:
    async def close(name: str, service: RpcService) -> None:
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await service.close()
        except TimeoutError:
            log.warning("the service %s didn't close in %g seconds", name, _CLOSE_TIMEOUT_S)
        except Exception:
            log.exception("the service %s could not be closed cleanly", name)

    await asyncio.gather(*(close(*each) for each in services.items()))


def _watch_input(loop: asyncio.AbstractEventLoop, input_closed: asyncio.Event) -> None:
    """Wait until whoever holds the other end of standard input is gone, and then see to it that this
    process ends, whatever hangs in it. On a thread: what hangs may be the loop.
    """
    while os.read(sys.stdin.fileno(), 1024):
        pass
    with suppress(RuntimeError):  # the loop is over already
        loop.call_soon_threadsafe(input_closed.set)
    time.sleep(_EXIT_GRACE_S)
    os._exit(1)
