"""Opens a line to a Core: for workers, and for whoever else asks it over one."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from socket import gethostname
from typing import Final

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.http11 import Response
from websockets.typing import Subprotocol

from .. import typed_json
from .._version import __version__
from ..discover import CoreEndpoint, explain_tls_error, make_tls_context
from ..errors import ConnectionLostError, DiscoveryError, ProtocolError
from ..protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL
from ..protocol.worker import (
    WORKER_VERSION,
    RpcFailure,
    WorkerHello,
    WorkerWelcome,
    worker_messages,
)
from .session import RpcService, RpcSession

#: Seconds for opening, the hello and closing.
_TIMEOUT_S: Final = 10.0
#: Characters of a server's refusal that are shown.
_MAX_REASON_CHARS: Final = 500


class _Refusal(msgspec.Struct):
    message: str


class RpcRefusedError(ConnectionLostError):
    """The Core refuses this connection, and will refuse it again."""


class RpcConnection:
    """An open connection, until either end closes it.

    Args:
        socket: The connection, after both hellos.
        services: The services that the Core may call.
        log: Receives invalid messages.

    Attributes:
        rpc_session: Sends requests to the Core.
        on_lost: Called when the connection is lost, before open requests fail.
    """

    def __init__(
        self, socket: ClientConnection, services: Mapping[str, RpcService], log: logging.Logger
    ) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._socket = socket
        # Bounded by what may be open, and by the windows of streams.
        self._outgoing: asyncio.Queue[str] = asyncio.Queue()
        self.rpc_session = RpcSession(self._outgoing.put_nowait, services, log)
        self._task = asyncio.create_task(self._run())

    async def closed(self) -> str:
        """Wait until the connection has ended. Returns the reason, for a log."""
        await asyncio.wait((self._task,))
        return self._socket.close_reason or str(self._socket.close_code)

    async def close(self) -> None:
        """Close it, and wait until all that is served for the Core is cancelled. Idempotent."""
        await self._socket.close()
        await asyncio.wait((self._task,))

    async def _run(self) -> None:
        """Receive and send messages until the connection has ended."""
        writing = asyncio.create_task(self._write())
        try:
            async for message in self._socket:
                if isinstance(message, str):
                    self.rpc_session.receive(message)
                else:
                    self.rpc_session.receive_binary()
        except ConnectionClosed:
            pass  # not in order: who asks hears of it from the line
        finally:
            writing.cancel()
            await asyncio.wait((writing,))
            self.on_lost()
            self.rpc_session.connection_lost("The connection to the Core is lost.")
            await self._socket.close()  # where it isn't gone but this loop ends

    async def _write(self) -> None:
        try:
            while True:
                await self._socket.send(await self._outgoing.get())
        except ConnectionClosed:
            pass  # who reads hears of it as well


async def open_connection(
    endpoint: CoreEndpoint, services: Mapping[str, RpcService], log: logging.Logger
) -> RpcConnection:
    """Connect to a Core, and exchange hellos.

    Args:
        endpoint: The Core's address for workers (`discover.find_worker_endpoint`) or clients
            (`discover.find_runtime_endpoint`).
        services: The services that the Core may call.
        log: Receives invalid messages.

    Raises:
        RpcRefusedError: The Core refuses this connection, or the server isn't a Core.
        ConnectionLostError: The Core can't be reached now.
    """
    socket = await open_socket(endpoint)
    try:
        await _greet(socket, services)
    except BaseException as error:
        await socket.close()
        if isinstance(error, TimeoutError | ConnectionClosed):
            raise _make_lost_error(endpoint, error) from None
        raise
    return RpcConnection(socket, services, log)


async def open_socket(endpoint: CoreEndpoint) -> ClientConnection:
    """Open a connection to a Core, without hellos. Errors as `open_connection`.

    Args:
        endpoint: The Core's address for workers or clients.
    """
    try:
        return await _opened(endpoint)
    except InvalidURI as error:
        raise RpcRefusedError(f"{endpoint.url!r} isn't an address of a Core: {error}.") from None
    except InvalidStatus as error:
        if error.response.status_code in (401, 403, 404):
            raise RpcRefusedError(_explain_refusal(endpoint, error.response)) from None
        raise _make_lost_error(endpoint, error, f": {_describe_body(error.response)}") from None
    except DiscoveryError as error:  # a file of certificates
        raise RpcRefusedError(str(error)) from None
    except (OSError, InvalidHandshake) as error:
        if (said := explain_tls_error(endpoint.url, error)) is not None:
            raise RpcRefusedError(said) from None
        raise _make_lost_error(endpoint, error) from None


def _opened(endpoint: CoreEndpoint) -> connect:
    headers = {"Authorization": f"Bearer {endpoint.token}"} if endpoint.token else None
    return connect(
        endpoint.url,
        ssl=make_tls_context(endpoint.url),
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers=headers,
        proxy=None,
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        open_timeout=_TIMEOUT_S,
        close_timeout=_TIMEOUT_S,
        ping_timeout=None,  # a Core that was stopped for a while is not gone
    )


async def _greet(socket: ClientConnection, services: Mapping[str, RpcService]) -> None:
    hello = WorkerHello(
        version=WORKER_VERSION,
        worker=f"agentstepper_nb {__version__}",
        pid=os.getpid(),
        host=gethostname(),
        services=tuple(services),
    )
    async with asyncio.timeout(_TIMEOUT_S):
        await socket.send(worker_messages.encode(hello, 1))
        answer = await socket.recv()
    try:
        _, message = worker_messages.decode(answer)
    except ProtocolError as error:
        raise RpcRefusedError(f"The Core's answer to hello can't be decoded: {error}") from None
    if isinstance(message, RpcFailure):
        raise RpcRefusedError(f"The Core refused this connection: {message.message}")
    if not isinstance(message, WorkerWelcome):
        raise RpcRefusedError(
            "The Core's answer to hello isn't a welcome. Check that both sides have the "
            "same version."
        )


def _make_lost_error(
    endpoint: CoreEndpoint, error: Exception, said: str = ""
) -> ConnectionLostError:
    why = f"{str(error).rstrip('.') or type(error).__name__}{said.rstrip('.')}"
    return ConnectionLostError(f"The Core at {endpoint.url} can't be reached: {why}.")


def _explain_refusal(endpoint: CoreEndpoint, response: Response) -> str:
    said = _describe_body(response)
    return f"The server at {endpoint.url} refused this connection ({response.status_code}): {said}"


def _describe_body(response: Response) -> str:
    """The message of a server's refusal: a line of text, or JSON with a message."""
    text = bytes(response.body or b"").decode(errors="replace")
    with suppress(msgspec.DecodeError, msgspec.ValidationError):
        text = typed_json.decode(text, _Refusal).message
    line = " ".join(text.split())
    return (
        line[:_MAX_REASON_CHARS]
        or "no reason was given. Check that the server is a Core of this version."
    )
