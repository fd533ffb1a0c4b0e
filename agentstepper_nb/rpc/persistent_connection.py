"""Keeps a connection to a Core: reconnects when it breaks, and sends requests over the present one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final, NoReturn, TypeVar

import msgspec
from msgspec import Raw, Struct

from .. import typed_json
from ..discover import CoreEndpoint
from ..errors import CommandError, ConnectionLostError, ProtocolError
from .backoff import Backoff
from .connection import RpcConnection, RpcRefusedError, open_connection
from .session import RpcService, RpcSession

Value = TypeVar("Value")

#: Seconds in which a refusal isn't final where there was a connection before: a Core that starts again
#: listens before its new token can be found.
REFUSAL_GRACE_S: Final = 30.0

#: Finds the Core. Called before each connection: a restarted Core may have a new token.
FindEndpoint = Callable[[], CoreEndpoint]


class ReconnectingCaller:
    """Sends requests to the Core over changing connections; see `session.RpcCaller`.

    Attributes:
        away_reason: The reason why there is no connection, if there is none.
        disconnect_count: The number of lost connections.
    """

    def __init__(self) -> None:
        self.away_reason = "The connection to the Core isn't open yet."
        self.disconnect_count = 0
        self._rpc_session: RpcSession | None = None
        self._connected = asyncio.Event()

    def attach(self, rpc_session: RpcSession) -> None:
        """Use a new connection from now on.

        Args:
            rpc_session: The connection's session.
        """
        self._rpc_session = rpc_session
        self._connected.set()

    def detach(self) -> None:
        """Note the connection's loss. Idempotent."""
        self.away_reason = "The connection to the Core is lost."
        self.disconnect_count += 1
        self._rpc_session = None
        self._connected.clear()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._rpc_session is not None

    async def wait_connected(self) -> None:
        """Wait until there is a connection; at once where there is one."""
        await self._connected.wait()

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Request a result; see `session.RpcCaller`."""
        return _read(await self._get_session().call(service, method, params), kind)

    async def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Request a stream of items; see `session.RpcCaller`."""
        async with aclosing(self._get_session().stream(service, method, params)) as items:
            async for item in items:
                yield _read(item, kind)

    def _get_session(self) -> RpcSession:
        if self._rpc_session is None:
            raise CommandError("worker_lost", self.away_reason)
        return self._rpc_session


def _read(value: Raw, kind: type[Value]) -> Value:
    try:
        return typed_json.decode(value, kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError(
            "invalid_message",
            f"The Core's answer can't be decoded: {error}. Check that both sides have the "
            "same version.",
        ) from None


async def maintain_connection(
    find: FindEndpoint,
    services: Mapping[str, RpcService],
    caller: ReconnectingCaller,
    log: logging.Logger,
    connection: RpcConnection | None = None,
    *,
    backoff: Backoff | None = None,
    refusal_grace_s: float = REFUSAL_GRACE_S,
) -> NoReturn:
    """Keep a connection until this task is cancelled.

    Args:
        find: Finds the Core.
        services: The services that the Core may call.
        caller: The caller, attached to each connection.
        log: Gets a line for each connection.
        connection: The first connection; None: connect.
        backoff: Computes the waits between attempts.
        refusal_grace_s: Seconds after a lost connection in which a refusal isn't final.

    Raises:
        RpcRefusedError: The Core refuses this connection.
    """
    clock = asyncio.get_running_loop().time
    backoff = backoff or Backoff()
    refusal_final_at = clock()  # from when on a refusal is final
    while True:
        try:
            if connection is None:
                connection = await open_connection(find(), services, log)
            await _serve_until_closed(connection, services, caller, log)
            backoff.reset()
            refusal_final_at = clock() + refusal_grace_s
        except ConnectionLostError as error:
            if isinstance(error, RpcRefusedError) and clock() >= refusal_final_at:
                raise
            caller.away_reason = str(error)
            log.warning("%s", error)
        connection = None
        await asyncio.sleep(backoff.next_delay_s())


async def _serve_until_closed(
    connection: RpcConnection,
    services: Mapping[str, RpcService],
    caller: ReconnectingCaller,
    log: logging.Logger,
) -> None:
    """Attach the caller to a connection until the connection has ended."""
    log.info("connected to the Core, serving %s", ", ".join(services) or "nothing")
    connection.on_lost = caller.detach
    caller.attach(connection.rpc_session)
    try:
        why = await connection.closed()
    finally:
        await connection.close()
    log.info("the connection to the Core is closed: %s", why)


class PersistentConnection:
    """A connection to a Core that reconnects by itself, until it is closed.

    Args:
        connection: The first connection.
        find: Finds the Core before each new connection.
        services: The services that the Core may call.
        log: Gets a line for each connection.

    Attributes:
        caller: Sends requests to the Core.
        task: The task that keeps the connection; it ends by itself only with an error.
    """

    def __init__(
        self,
        connection: RpcConnection,
        find: FindEndpoint,
        services: Mapping[str, RpcService],
        log: logging.Logger,
    ) -> None:
        self._first = connection
        self.caller = ReconnectingCaller()
        self.caller.attach(connection.rpc_session)
        self.task: asyncio.Task[None] = asyncio.create_task(
            maintain_connection(find, services, self.caller, log, connection)
        )

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self.task.cancel()
        await asyncio.wait((self.task,))
        await self._first.close()  # a task that was cancelled before it began has closed nothing
