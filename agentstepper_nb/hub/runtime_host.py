"""What a Core needs for agents that run on their own: their store, its workers, and who watches."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Final

from ..errors import AgentStepperError
from ..protocol.runtime_requests import SERVICE
from ..protocol.runtime_store_messages import RuntimeStoreInfo
from ..protocol.store_info import Durability
from ..store.runtime.base import RuntimeStore
from ..store.runtime.remote_store import RemoteRuntimeStore
from ..store.runtime.sqlite import SqliteRuntimeStore, open_runtime_store
from .chat_registry import ChatRegistry
from .connection import Connection
from .dispatchers import Dispatchers, DispatcherService
from .rpc_sessions import RpcPeerSession
from .runtime import MethodRight, Runtime, RuntimeService
from .worker_process import WorkerProcess
from .worker_supervisor import WorkerSupervisor
from .workers import Workers, WorkerSession

#: Says the same as `AgentStepperExtension.runtime_store` and `agentstepper serve --runtime-store`; a
#: worker that keeps the rows finds its folder there.
STORE_VARIABLE: Final = "AGENTSTEPPER_RUNTIME_STORE"
#: The service of a worker that keeps the rows in the Core's place.
_STORE_SERVICE: Final = "runtime_store"
_SQLITE: Final = "sqlite"
_LANCE: Final = "lance:"
_CLIENT_GONE: Final = "The client has disconnected."


def check_store_location(location: str) -> str:
    """A place for the rows, as options name it.

    Args:
        location: `sqlite`, or `lance:` and a folder.

    Raises:
        ValueError: It is neither.
    """
    if location == _SQLITE or (location.startswith(_LANCE) and location != _LANCE):
        return location
    raise ValueError(
        f"{location!r} isn't a place to store background agents. Use sqlite, or lance: and a folder."
    )


class RuntimeHost:
    """The runtime of a Core, with all that it needs around it. Used on the Core's event loop.

    Args:
        folder: The Core's folder, whose lock it has; None: what is kept is gone with the Core.
        durability: When what is kept outlives what.
        store_location: Where the rows are kept; see `check_store_location`.
        log: Gets a line for each worker that comes and goes.
        worker_starter: Starts a worker where one is needed; None: somebody else does.

    Attributes:
        runtime: The agents.
        workers: The Core's workers.
        chats: The chats that are served through it.

    Raises:
        StoreError: The folder can't be used.
    """

    def __init__(
        self,
        folder: Path | None,
        durability: Durability,
        store_location: str,
        log: logging.Logger,
        worker_starter: WorkerProcess | None = None,
    ) -> None:
        self._log = log
        self._worker_starter = worker_starter
        self._clients: set[RpcPeerSession] = set()
        self._services: dict[WorkerSession, DispatcherService] = {}
        self._starting: asyncio.Task[None] | None = None
        self.workers = Workers(log, worker_starter, self._serve, self._left)
        self.chats = ChatRegistry(self.workers, log)
        self._store = self._open(folder, durability, store_location)
        self.runtime = Runtime(self._store, log)
        if isinstance(self._store, RemoteRuntimeStore):
            self.runtime.is_store_available = lambda: self.workers.is_serving(_STORE_SERVICE)
        self._dispatchers = Dispatchers(self.runtime, self._changed, log)
        self._supervisor: WorkerSupervisor | None = None
        if worker_starter is not None:
            worker_starter.on_end = self._dispatchers.process_ended
            self._supervisor = WorkerSupervisor(
                worker_starter, self._is_dispatching, self._has_work, log
            )
            self.runtime.on_worker_needed = self._supervisor.request_worker

    async def start(self) -> None:
        """Look whether agents wait for a worker. Where the rows are a worker's, nobody waits for it."""
        self._starting = asyncio.create_task(self._start())
        if not isinstance(self._store, RemoteRuntimeStore):
            await asyncio.shield(self._starting)

    def connect(self, connection: Connection, right: MethodRight) -> RpcPeerSession:
        """A client connected: it asks the runtime, as a worker would ask its Core.

        Args:
            connection: Its socket.
            right: What it may do.
        """
        services = {SERVICE: RuntimeService(self.runtime, right)}
        session = RpcPeerSession(
            connection,
            services,
            self._log,
            _CLIENT_GONE,
            can_control=right >= MethodRight.CONTROL,
            on_close=lambda: self._clients.discard(session),
        )
        self._clients.add(session)
        return session

    async def close(self) -> None:
        """End the worker that was started, then all connections, then what is kept. Idempotent."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait((self._starting,))
        if self._supervisor is not None:
            await self._supervisor.close()
        if self._worker_starter is not None:
            await self._worker_starter.stop()  # which may still tell how its agents stand
        self.workers.close()
        self.chats.close()
        for session in list(self._clients):
            session.connection.close(1001, "The Core is stopping.")
        await self._dispatchers.wait_notified()
        await self.runtime.close()

    # ---- what keeps the rows ------------------------------------------------------------------------

    def _open(self, folder: Path | None, durability: Durability, place: str) -> RuntimeStore:
        if check_store_location(place) != _SQLITE:
            return RemoteRuntimeStore(
                lambda method, params, kind: self.workers.call(_STORE_SERVICE, method, params, kind)
            )
        return (
            SqliteRuntimeStore(None) if folder is None else open_runtime_store(folder, durability)
        )

    async def _start(self) -> None:
        try:
            await self.runtime.start()
        except (OSError, AgentStepperError) as error:
            self._log.warning(
                "the store of background agents can't be read, so no worker is requested: %s", error
            )

    # ---- workers ------------------------------------------------------------------------------------

    def _serve(self, session: WorkerSession) -> dict[str, DispatcherService]:
        offer = self._services[session] = self._dispatchers.make_service(session)
        return {SERVICE: offer}

    def _left(self, session: WorkerSession) -> None:
        offer = self._services.pop(session, None)
        if offer is not None:
            offer.connection_lost()

    def _is_dispatching(self) -> bool:
        return bool(self.runtime.dispatchers)

    async def _has_work(self) -> bool:
        info: RuntimeStoreInfo = await self._store.info()
        return bool(info.live or info.open)

    def _changed(self) -> None:
        if self._supervisor is not None:
            self._supervisor.dispatchers_changed()
