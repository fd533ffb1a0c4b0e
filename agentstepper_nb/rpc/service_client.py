"""The base of clients of one service of the Core, over a connection that reconnects by itself."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Final, Self, TypeVar

from msgspec import Struct

from .. import discover
from ..errors import CommandError, ConnectionLostError
from ..protocol.runtime_methods import Request, Result, RuntimeMethod
from ..protocol.runtime_requests import SERVICE
from .connection import RpcConnection, open_connection
from .persistent_connection import FindEndpoint, PersistentConnection

Value = TypeVar("Value")

#: Seconds that a call waits for a Core that is away.
CONNECT_TIMEOUT_S: Final = 30.0
#: Seconds before a stream that the Core has ended is requested again.
_RETRY_PAUSE_S: Final = 0.1
#: The error code of a call whose connection broke before the answer.
_LOST_CODE: Final = "worker_lost"

#: A logger of its own: its records go to configured logging, and not to a cell's output.
_log = logging.getLogger("agentstepper_nb.runtime.client")
_log.addHandler(logging.NullHandler())


class ServiceClient:
    """A client of one service of the Core, over changing connections.

    Made by `connect_runtime` or `connect_endpoint`.

    Args:
        url: The Core's URL.
        find: Finds the Core and its token before each connection.
        service: The service's name.
        timeout_s: Seconds that a call waits for a disconnected Core.
        connection: The first connection.

    Attributes:
        url: The Core's URL.
        find: Finds the Core and its token.
    """

    def __init__(
        self,
        url: str,
        find: FindEndpoint,
        service: str,
        timeout_s: float,
        connection: RpcConnection,
    ) -> None:
        self.url = url
        self.find = find
        self._service = service
        self._timeout_s = timeout_s
        self._connection = PersistentConnection(connection, find, {}, _log)
        self._caller = self._connection.caller
        self._closed = False

    @classmethod
    async def connect_runtime(
        cls, url: str | None, token: str | None, timeout_s: float
    ) -> ServiceClient:
        """Connect to the service `runtime`.

        Args:
            url: The Core's URL; None: the Core is discovered.
            token: The control token; None: the token in the Core's data folder.
            timeout_s: Seconds that a call waits for a disconnected Core.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: The Core can't be reached, or refuses this connection.
        """
        endpoint = discover.find_runtime_endpoint(url, token)
        find = partial(discover.find_runtime_endpoint, endpoint.url, token)
        connection = await open_connection(endpoint, {}, _log)
        return cls(endpoint.url, find, SERVICE, timeout_s, connection)

    @classmethod
    async def connect_endpoint(
        cls, endpoint: discover.CoreEndpoint, service: str, timeout_s: float
    ) -> Self:
        """Connect to another service.

        Args:
            endpoint: The service's address, with its token.
            service: The service's name.
            timeout_s: Seconds that a call waits for a disconnected Core.

        Raises:
            ConnectionLostError: The Core can't be reached, or refuses this connection.
        """
        connection = await open_connection(endpoint, {}, _log)
        return cls(endpoint.url, lambda: endpoint, service, timeout_s, connection)

    async def call(self, method: RuntimeMethod[Request, Result], request: Request) -> Result:
        """Call a method of the service `runtime`. Errors as `ask`."""
        return await self.call_method(method.name, request, method.result)

    def stream_items(
        self, method: RuntimeMethod[Request, Result], request: Request
    ) -> AsyncGenerator[Result, None]:
        """Read a stream of the service `runtime`. Errors as `ask`."""
        return self.stream(method.name, request, method.result)

    async def call_method(
        self, method: str, params: Struct | None, kind: type[Value], *, can_retry: bool = True
    ) -> Value:
        """Call a method, and again if the connection broke before the answer.

        Args:
            method: The method's name.
            params: The parameters.
            kind: The answer's class.
            can_retry: Whether the method is idempotent. If not, it is called once.

        Raises:
            CommandError: The service refused.
            ConnectionLostError: The Core is disconnected.
        """
        while True:
            await self._connected()
            before = self._caller.disconnect_count
            try:
                return await self._caller.call(self._service, method, params, kind)
            except CommandError as error:
                if not can_retry or not self._is_disconnected_since(error, before):
                    raise

    async def stream(
        self, method: str, params: Struct, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Request an endless stream. If the connection breaks, the stream is requested again, and so
        begins again. Arguments and errors as `call_method`.
        """
        while True:
            await self._connected()
            before = self._caller.disconnect_count
            try:
                async with aclosing(
                    self._caller.stream(self._service, method, params, kind)
                ) as items:
                    async for item in items:
                        yield item
            except CommandError as error:
                if not self._is_disconnected_since(error, before):
                    raise
            else:
                await asyncio.sleep(_RETRY_PAUSE_S)  # the Core ends, and its connection with it

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self._closed = True
        await self._connection.close()

    def _is_disconnected_since(self, error: CommandError, before: int) -> bool:
        """Whether the connection broke since: the Core uses the same code for its own workers."""
        return error.code == _LOST_CODE and self._caller.disconnect_count != before

    async def _connected(self) -> None:
        """Wait for the connection."""
        if self._closed:
            raise ConnectionLostError("This connection is closed. Connect again.")
        if self._caller.is_open:
            return
        connected = asyncio.ensure_future(self._caller.wait_connected())
        task = self._connection.task
        try:
            await asyncio.wait(
                (connected, task),
                timeout=self._timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            connected.cancel()
        if task.done() and not task.cancelled():
            task.result()
        if not self._caller.is_open:
            raise ConnectionLostError(
                f"The Core at {self.url} is away: {self._caller.away_reason} Start the "
                "Core again; this client then reconnects by itself."
            )
