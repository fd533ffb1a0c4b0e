"""The Core's side of its workers: the services that they offer, and calls of these services.

A service is served by the worker that offered it first, since its state is there; another worker that
offers the service takes over when that worker is gone. The first call of a missing service starts a
worker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from .. import typed_json
from ..core.summaries import extract_first_line
from ..errors import CommandError
from ..protocol.worker import WorkerHello
from ..rpc.session import RpcService, RpcSession
from .connection import Connection
from .rpc_sessions import RpcPeerSession

#: Seconds that a worker has from its start to its hello: it imports all it serves.
_START_TIMEOUT_S: Final = 60.0
_LOST: Final = (
    "The worker ended before it answered; the server's log says how. Send the request "
    "again to restart the worker."
)

Value = TypeVar("Value")


class WorkerStarter(Protocol):
    """Starts a worker process."""

    async def start(self) -> asyncio.Future[str]:
        """Start the worker, unless it runs.

        Returns:
            A future that is done when the worker ends, with its ending, for a person.

        Raises:
            OSError: The worker can't be started.
        """


class Workers:
    """All workers of one Core.

    Args:
        log: Gets a line for each worker that connects or disconnects.
        worker_starter: Starts a worker if no worker serves the called service; None: none is started.
        make_services: Makes the services that a worker may call, at the begin of its connection.
        on_left: Called when a worker's connection has ended.
    """

    def __init__(
        self,
        log: logging.Logger,
        worker_starter: WorkerStarter | None = None,
        make_services: Callable[[WorkerSession], Mapping[str, RpcService]] = lambda session: {},
        on_left: Callable[[WorkerSession], None] = lambda session: None,
    ) -> None:
        self.log = log
        self.make_services = make_services
        self._on_left = on_left
        self._worker_starter = worker_starter
        self._sessions: list[WorkerSession] = []  # that have greeted, in their order
        self._registered = asyncio.Event()

    def connect(self, connection: Connection) -> WorkerSession:
        """Open the session of a worker that connected. The worker's first message names its services.

        Args:
            connection: The worker's socket.
        """
        return WorkerSession(self, connection)

    def is_serving(self, service: str) -> bool:
        """Whether a service can be called without starting a worker."""
        return self.find(service) is not None

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Call a method of a service.

        Args:
            service: The service's name.
            method: The method's name.
            params: The method's parameters.
            kind: The answer's class; `type(None)` if there is none.

        Raises:
            CommandError: The service refused; `worker_failed`, `worker_lost` and `unknown_service` are
                the Core's own.
        """
        rpc_session = await self._find_or_start(service)
        return _read(await rpc_session.call(service, method, params), kind)

    async def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Stream from a service, as fast as the stream is read. Arguments and errors as `call`."""
        rpc_session = await self._find_or_start(service)
        async with aclosing(rpc_session.stream(service, method, params)) as items:
            async for item in items:
                yield _read(item, kind)

    def close(self) -> None:
        """Close every connection: workers end by themselves."""
        for session in list(self._sessions):
            session.connection.close(1001, "The Core is stopping.")

    # ---- for sessions -------------------------------------------------------------------------------

    def register(self, session: WorkerSession, hello: WorkerHello) -> None:
        """Register a worker after its hello. An older connection of the same process is closed, unless
        it serves other services: a kernel may serve several chats.
        """
        for other in list(self._sessions):
            same = (other.host, other.pid, other.services)
            if same == (hello.host, hello.pid, hello.services):
                other.connection.close(1000, "replaced by a newer connection")
                other.on_closed()
        self._sessions.append(session)
        self.log.info(
            "worker %d serves %s", hello.pid, extract_first_line(", ".join(hello.services))
        )
        self._registered.set()
        self._registered = asyncio.Event()

    def remove_session(self, session: WorkerSession) -> None:
        """Remove a worker that has disconnected."""
        if session in self._sessions:
            self._sessions.remove(session)
            self.log.info("worker %d disconnected", session.pid)
        self._on_left(session)

    # ---- finding ------------------------------------------------------------------------------------

    def find(self, service: str) -> RpcSession | None:
        """The RPC session of the worker that serves this now; None if none does. Starts no worker."""
        return next((each.rpc_session for each in self._sessions if service in each.services), None)

    async def _find_or_start(self, service: str) -> RpcSession:
        rpc_session = self.find(service)
        if rpc_session is not None:
            return rpc_session
        if self._worker_starter is None:
            raise CommandError("unknown_service", f"No worker of this Core serves {service!r}.")
        try:
            async with asyncio.timeout(_START_TIMEOUT_S):
                ended = await self._worker_starter.start()
                rpc_session = await self._wait_for_service(service, ended)
                if rpc_session is None:  # perhaps the one before, whose end is known only now
                    ended = await self._worker_starter.start()
                    rpc_session = await self._wait_for_service(service, ended)
        except OSError as error:  # a TimeoutError is one
            why = str(error) or f"it didn't connect within {_START_TIMEOUT_S:g} seconds"
            raise CommandError("worker_failed", f"The worker can't be started: {why}.") from None
        if rpc_session is None:
            raise CommandError(
                "worker_failed",
                f"The worker {ended.result()} before it served any request. See the server's log.",
            )
        return rpc_session

    async def _wait_for_service(
        self, service: str, ended: asyncio.Future[str]
    ) -> RpcSession | None:
        """Wait until a worker serves it; None if the started process ends before."""
        while (rpc_session := self.find(service)) is None:
            if ended.done():
                return None
            register = asyncio.ensure_future(self._registered.wait())
            await asyncio.wait((register, ended), return_when=asyncio.FIRST_COMPLETED)
            register.cancel()
        return rpc_session


class WorkerSession(RpcPeerSession):
    """The session of one worker's connection.

    Args:
        workers: All workers of the Core.
        connection: The worker's socket.
    """

    def __init__(self, workers: Workers, connection: Connection) -> None:
        self.pid = 0
        self.host = ""
        self.services: tuple[str, ...] = ()
        self._workers = workers
        super().__init__(
            connection,
            workers.make_services(self),
            workers.log,
            _LOST,
            on_hello=self._registered,
            on_close=lambda: workers.remove_session(self),
        )

    def _registered(self, hello: WorkerHello) -> None:
        self.pid, self.host, self.services = hello.pid, hello.host, hello.services
        self._workers.register(self, hello)


def _read(value: msgspec.Raw, kind: type[Value]) -> Value:
    try:
        return typed_json.decode(value, kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise CommandError(
            "worker_failed",
            f"The worker's answer can't be decoded: {error}. Check that the worker and "
            "the Core have the same version.",
        ) from None
