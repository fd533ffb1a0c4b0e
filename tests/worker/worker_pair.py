"""A Core and a worker in one loop, joined by hand; and services to ask."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw, Struct

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.workers import Workers, WorkerSession
from agentstepper_nb.protocol.worker import (
    WORKER_VERSION,
    WorkerHello,
    WorkerWelcome,
    worker_messages,
)
from agentstepper_nb.rpc.session import RpcService, RpcSession

LOG = logging.getLogger("agentstepper_nb.test")


class EchoedText(Struct, frozen=True):
    """What the service below says and is told."""

    text: str


@dataclass
class EchoService:
    """A service that says what it is told, again and again, or never.

    Attributes:
        given: Items that its streams have given.
        cancelled: Calls and streams that were cancelled.
        hangs: The method that never answers.
    """

    given: int = 0
    cancelled: int = 0
    closed: bool = False
    hangs: str = "never"
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, params: Raw) -> Struct | None:
        if method == self.hangs:
            await self._hang()
        match method:
            case "echo":
                return msgspec.json.decode(params, type=EchoedText)
            case "nothing":
                return None
            case "refuse":
                raise CommandError("unknown_run", "There is no such run.")
            case "fail":
                raise ZeroDivisionError("a bug")
        raise CommandError("unknown_service", f"What is {method}?")

    async def _hang(self) -> None:
        self.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled += 1

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        if method == "refuse":
            raise CommandError("unknown_run", "There is no such run.")
        most = {"three": 3, "endless": 1_000_000}[method]
        try:
            for number in range(most):
                yield EchoedText(str(number))
                self.given += 1
                self.reached.set()
        except (GeneratorExit, asyncio.CancelledError):
            self.cancelled += 1
            raise

    async def close(self) -> None:
        self.closed = True


class WorkerConnection:
    """A connection of a Core's whose other end is a line.

    Args:
        workers: The Core's.
        services: What the worker serves.
        pid: The worker's.
        host: Where that is.
    """

    def __init__(
        self, workers: Workers, services: Mapping[str, RpcService], pid: int = 1, host: str = ""
    ) -> None:
        self.closed_with: tuple[int, str] | None = None
        self.welcome: Struct | None = None
        self._loop = asyncio.get_running_loop()
        self.line = RpcSession(self._to_core, services, LOG)
        self.session: WorkerSession = workers.connect(self)
        hello = WorkerHello(
            version=WORKER_VERSION, worker="test", pid=pid, host=host, services=tuple(services)
        )
        self.session.receive(worker_messages.encode(hello, 1))

    def send(self, text: str) -> None:
        """The Core sends: the worker hears it in the loop's next turn."""
        if self.welcome is None:
            self.welcome = worker_messages.decode(text)[1]
            assert isinstance(self.welcome, WorkerWelcome)
        else:
            self._loop.call_soon(self.line.receive, text)

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    def break_off(self) -> None:
        """The connection is gone at both ends."""
        self.session.on_closed()
        self.line.connection_lost("gone")

    def _to_core(self, text: str) -> None:
        self._loop.call_soon(self.session.receive, text)
