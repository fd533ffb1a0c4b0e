"""A worker's life: it dials the Core, serves, and dials again where the connection breaks."""

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

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from .._version import __version__
from ..discover import Endpoint
from ..errors import ConnectionLostError, ProtocolError
from ..protocol.frame import MAX_MESSAGE, SUBPROTOCOL
from ..protocol.worker import WORKER_VERSION, Failed, WorkerHello, WorkerWelcome, both_ways
from .line import Line
from .service import Service

#: Seconds that opening, the greeting and closing may take.
_PATIENCE: Final = 10.0
#: Seconds to wait before dialling again: at first, and at most; each failure doubles them.
_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
#: Seconds that services have to close.
_CLOSING: Final = 3.0
#: Seconds after which this process ends once its Core has, whatever hangs in it.
_LAST_WORDS: Final = 5.0


class NotTakenError(ConnectionLostError):
    """The Core doesn't take this worker, and won't the next time."""


async def work(
    endpoint: Endpoint, services: Mapping[str, Service], log: logging.Logger, *, until_eof: bool
) -> None:
    """Serve a Core until it is gone for good, or this task is cancelled; then close the services.

    Args:
        endpoint: Where the Core takes workers.
        services: What is served.
        log: Gets a line for each connection.
        until_eof: End where standard input does: it is the Core's pipe.

    Raises:
        NotTakenError: The Core refuses this worker.
    """
    over = asyncio.Event()
    if until_eof:
        threading.Thread(
            target=_watch_input, args=(asyncio.get_running_loop(), over), daemon=True
        ).start()
    dialling = asyncio.create_task(_dial_again(endpoint, services, log))
    waiting = asyncio.create_task(over.wait())
    try:
        await asyncio.wait((dialling, waiting), return_when=asyncio.FIRST_COMPLETED)
        if dialling.done():
            dialling.result()
    finally:
        for task in (dialling, waiting):
            task.cancel()
        await asyncio.gather(dialling, waiting, return_exceptions=True)
        await _close(services, log)


async def _close(services: Mapping[str, Service], log: logging.Logger) -> None:
    async def close(name: str, service: Service) -> None:
        try:
            async with asyncio.timeout(_CLOSING):
                await service.close()
        except TimeoutError:
            log.warning("the service %s didn't close in %g seconds", name, _CLOSING)
        except Exception:
            log.exception("the service %s didn't close well", name)

    await asyncio.gather(*(close(*each) for each in services.items()))


def _watch_input(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    """Wait until whoever holds the other end of standard input is gone, and then see to it that this
    process ends, whatever hangs in it. On a thread: what hangs may be the loop.
    """
    while os.read(sys.stdin.fileno(), 1024):
        pass
    with suppress(RuntimeError):  # the loop is over already
        loop.call_soon_threadsafe(over.set)
    time.sleep(_LAST_WORDS)
    os._exit(1)


async def _dial_again(
    endpoint: Endpoint, services: Mapping[str, Service], log: logging.Logger
) -> None:
    wait = _FIRST_WAIT
    while True:
        try:
            async with _opened(endpoint) as socket:
                await _greet(socket, services)
                log.info("serving %s at %s", ", ".join(services) or "nothing", endpoint.url)
                wait = _FIRST_WAIT
                await _converse(socket, services, log)
        except InvalidURI as error:
            raise NotTakenError(f"{endpoint.url!r} is no address of a Core: {error}.") from None
        except InvalidStatus as error:
            if error.response.status_code in (401, 403, 404):
                raise NotTakenError(_why(endpoint, error.response.status_code)) from None
            log.warning("the Core can't be reached: %s", error)
        except (OSError, InvalidHandshake, ConnectionClosed) as error:
            log.warning("the Core can't be reached: %s", error)
        await asyncio.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


def _why(endpoint: Endpoint, status: int) -> str:
    return (
        f"The server at {endpoint.url} takes no such worker ({status}). Let the Jupyter server start "
        "its workers itself, or start this one again after the server."
    )


def _opened(endpoint: Endpoint) -> connect:
    headers = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else None
    return connect(
        endpoint.url,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers=headers,
        proxy=None,
        compression=None,
        max_size=MAX_MESSAGE,
        open_timeout=_PATIENCE,
        close_timeout=_PATIENCE,
        ping_timeout=None,  # a Core that was stopped for a while is not gone
    )


async def _greet(socket: ClientConnection, services: Mapping[str, Service]) -> None:
    hello = WorkerHello(
        version=WORKER_VERSION,
        worker=f"agentstepper_nb {__version__}",
        pid=os.getpid(),
        services=tuple(services),
    )
    await socket.send(both_ways.encode(hello, 1))
    async with asyncio.timeout(_PATIENCE):
        answer = await socket.recv()
    try:
        _, message = both_ways.decode(answer)
    except ProtocolError as error:
        raise NotTakenError(f"The Core's answer to hello isn't readable: {error}") from None
    if isinstance(message, Failed):
        raise NotTakenError(f"The Core refused this worker: {message.message}")
    if not isinstance(message, WorkerWelcome):
        raise NotTakenError("The Core's answer to hello isn't a welcome: are both of one version?")


async def _converse(
    socket: ClientConnection, services: Mapping[str, Service], log: logging.Logger
) -> None:
    """Serve, and ask, until the connection is gone."""
    # Bounded by what may be open, and by the windows of streams.
    outgoing: asyncio.Queue[str] = asyncio.Queue()
    line = Line(outgoing.put_nowait, services, log)
    writing = asyncio.create_task(_write(socket, outgoing))
    try:
        async for message in socket:
            if isinstance(message, str):
                line.receive(message)
            else:
                line.receive_binary()
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        line.lost("The connection to the Core is gone.")
    log.info("the Core closed the connection: %s", socket.close_reason or socket.close_code)


async def _write(socket: ClientConnection, outgoing: asyncio.Queue[str]) -> None:
    try:
        while True:
            await socket.send(await outgoing.get())
    except ConnectionClosed:
        pass  # who reads hears of it as well
