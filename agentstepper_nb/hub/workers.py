"""The Core's side of its workers: which of them serves what, and asking them.

A service is served by the worker that offered it first, as its state is there; another that offers it
too takes over where that one is gone. A worker that isn't there yet is started by who asks first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

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
        """Start it, unless it runs.

        Returns:
            Done when it ends, with how, for a person.

        Raises:
            OSError: It can't be started.
        """


class Workers:
    """All workers of one Core.

    Args:
        log: Gets a line for each that comes and goes.
        worker_starter: Starts one where nobody serves what is asked for; None: none is.
        make_services: Makes what a worker may ask for, as its connection begins.
        on_left: Called where a worker's connection is gone.
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
        """A worker connected; its first message says what it serves.

        Args:
            connection: Its socket.
        """
        return WorkerSession(self, connection)

    def is_serving(self, service: str) -> bool:
        """Whether a service can be asked without starting a worker."""
        return self.find(service) is not None

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Ask a service.

        Args:
            service: Its name.
            method: What is asked.
            params: With what.
            kind: The answer's class; `type(None)` where there is none.

        Raises:
            CommandError: It was refused; `worker_failed`, `worker_lost` and `unknown_service` are ours.
        """
        rpc_session = await self._find_or_start(service)
        return _read(await rpc_session.call(service, method, params), kind)

    async def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Ask a service for a stream: it goes as fast as it is read. Arguments and errors as `call`."""
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
        """A worker has greeted. An older connection of the same process is of no use any more, unless it
        serves something else: a kernel may serve several chats.
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
        """A worker is gone."""
        if session in self._sessions:
            self._sessions.remove(session)
            self.log.info("worker %d disconnected", session.pid)
        self._on_left(session)

    # ---- finding ------------------------------------------------------------------------------------

    def find(self, service: str) -> RpcSession | None:
        """The line to whoever serves this now; None where nobody does, and nobody is started."""
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
        """Wait until somebody serves it; None where the process is gone before."""
        while (rpc_session := self.find(service)) is None:
            if ended.done():
                return None
            register = asyncio.ensure_future(self._registered.wait())
            await asyncio.wait((register, ended), return_when=asyncio.FIRST_COMPLETED)
            register.cancel()
        return rpc_session


class WorkerSession(RpcPeerSession):
    """One worker's connection.

    Args:
        workers: All of them.
        connection: Its socket.
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
        return msgspec.json.decode(value, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise CommandError(
            "worker_failed",
            f"The worker's answer can't be decoded: {error}. Check that the worker and "
            "the Core have the same version.",
        ) from None
