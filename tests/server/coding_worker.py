"""A worker with coding sessions that a test leads, in the test's own loop."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from agentstepper_nb.coding.service import CodingService
from agentstepper_nb.protocol.worker import (
    WORKER_VERSION,
    WorkerHello,
    WorkerWelcome,
    worker_messages,
)
from agentstepper_nb.rpc.session import RpcSession
from agentstepper_nb.worker.services import ServiceContext
from tests.helpers.scripted_coding_sessions import ScriptedSessionOpener

LOG = logging.getLogger("agentstepper_nb.test")


class SocketWorker:
    """A worker on a real socket."""

    def __init__(self, socket: Any, opener: ScriptedSessionOpener, data_dir: Path) -> None:
        self.socket = socket
        service = CodingService(opener, ServiceContext(data_dir, LOG))
        self.rpc_session = RpcSession(
            lambda text: self._writing.append(socket.write_message(text)), {"coding": service}, LOG
        )
        self._writing: list[Any] = []

    async def serve(self) -> None:
        hello = WorkerHello(version=WORKER_VERSION, worker="test", pid=7, services=("coding",))
        await self.socket.write_message(worker_messages.encode(hello, 1))
        _, welcome = worker_messages.decode(await self.socket.read_message())
        assert isinstance(welcome, WorkerWelcome)
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while (message := await self.socket.read_message()) is not None:
            self.rpc_session.receive(message)
        self.rpc_session.connection_lost("gone")

    async def die(self) -> None:
        self.socket.close()
        await self.reading
