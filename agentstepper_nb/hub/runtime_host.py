"""A Core's background agents: their store, the Core's workers, and the connections to them."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import AgentStepperError, StoreError
from ..protocol import runtime_methods as methods
from ..protocol.runtime_requests import (
    PROJECTION_SERVICE,
    SERVICE,
    AgentSearch,
    AgentSearchResult,
)
from ..protocol.store_info import Durability
from ..store.runtime.base import RuntimeStore, SharedRuntimeStore
from ..store.runtime.sqlite import SqliteRuntimeStore, open_runtime_store
from .chat_registry import ChatRegistry
from .connection import Connection
from .dispatchers import Dispatchers, DispatcherService
from .fleet_runs import HubFleetRuns
from .hub import Hub
from .retention import RetentionLimits
from .rpc_sessions import RpcPeerSession
from .runtime import MethodRight, Runtime, RuntimeService
from .runtime.runtime import has_work, refuse_search
from .runtime_options import DEFAULT_OPTIONS, RuntimeOptions
from .worker_process import WorkerProcess
from .worker_supervisor import WorkerSupervisor
from .workers import Workers, WorkerSession

if TYPE_CHECKING:
    from .metrics import RuntimeMetrics

#: Sets the same as `AgentStepperExtension.runtime_store` and `agentstepper serve --runtime-store`.
STORE_VARIABLE: Final = "AGENTSTEPPER_RUNTIME_STORE"
_SQLITE: Final = "sqlite"
_LANCE: Final = "lance:"
_POSTGRES: Final = ("postgresql://", "postgres://")
_CLIENT_GONE: Final = "The client has disconnected."


def check_store_location(location: str) -> str:
    """Check the location of the store of background agents, as options name it.

    Args:
        location: `sqlite`, or the URL of a database in PostgreSQL.

    Raises:
        ValueError: The location is neither.
    """
    if location == _SQLITE or location.startswith(_POSTGRES):
        return location
    if location.startswith(_LANCE):
        raise ValueError(
            f"Background agents aren't stored in LanceDB any more, as {location!r} asks. Run "
            f"`agentstepper import-lance {location.removeprefix(_LANCE) or 'FOLDER'}` once, then use "
            "sqlite; `agentstepper project --to FOLDER` writes tables for LanceDB."
        )
    raise ValueError(
        f"{location!r} isn't a place to store background agents. Use sqlite, or "
        "postgresql://USER@HOST:PORT/DATABASE."
    )


def open_chosen_store(folder: Path | None, durability: Durability, location: str) -> RuntimeStore:
    """Open the store at the chosen location.

    Args:
        folder: The Core's folder, whose lock the caller holds; None: the store is in memory.
        durability: When written data is safe on disk.
        location: The store's location; see `check_store_location`.

    Raises:
        StoreError: The store can't be used.
        ValueError: The location is invalid.
    """
    if check_store_location(location).startswith(_POSTGRES):
        return _open_postgres(location, durability)
    return SqliteRuntimeStore(None) if folder is None else open_runtime_store(folder, durability)


class RuntimeHost:
    """The runtime of a Core, with the objects it needs. Used on the Core's event loop.

    Args:
        folder: The Core's folder, whose lock the Core holds; None: the store is in memory.
        durability: When written data is safe on disk.
        store_location: The store's location; see `check_store_location`.
        log: Gets a line for each worker that connects or disconnects.
        worker_starter: Starts a worker when one is needed; None: the Core starts no workers.
        options: The options that a person set.

    Attributes:
        runtime: The runtime of background agents.
        workers: The Core's workers.
        chats: The chats that are served through the Core.
        metrics: The metrics for Prometheus; None: switched off.

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
        options: RuntimeOptions = DEFAULT_OPTIONS,
    ) -> None:
        self._log = log
        self._worker_starter = worker_starter
        self._clients: set[RpcPeerSession] = set()
        self._services: dict[WorkerSession, DispatcherService] = {}
        self._starting: asyncio.Task[None] | None = None
        self.workers = Workers(log, worker_starter, self._serve, self._left)
        self.chats = ChatRegistry(self.workers, log)
        self._store = open_chosen_store(folder, durability, store_location)
        self.runtime = Runtime(
            self._store, log, limits=options.limits, model_rates=options.model_rates
        )
        self.runtime.search = self._search
        self.metrics = self._open_metrics() if options.has_metrics else None
        self._dispatchers = Dispatchers(self.runtime, self._changed, log)
        self._supervisor: WorkerSupervisor | None = None
        if worker_starter is not None:
            worker_starter.on_end = self._dispatchers.process_ended
            self._supervisor = WorkerSupervisor(
                worker_starter, self._is_dispatching, self._has_work, log
            )
            self.runtime.on_worker_needed = self._supervisor.request_worker

    def attach(self, hub: Hub) -> None:
        """Connect background agents with the Core's runs."""

        async def prune(limits: RetentionLimits) -> None:
            await self.runtime.prune(limits)

        self.runtime.list_halted_runs = lambda: hub.debugger.halted_runs
        self.runtime.runs = HubFleetRuns(hub)
        if self.metrics is not None:
            hub.listeners.append(self.metrics)
        hub.retention.prune_agents = prune

    async def start(self) -> None:
        """Request a worker if there is work; with a database server, in the background."""
        if isinstance(self._store, SharedRuntimeStore):
            self._store.follow(self.runtime.publish_changes_elsewhere)
        self._starting = asyncio.create_task(self._start())
        if not isinstance(self._store, SharedRuntimeStore):
            await asyncio.shield(self._starting)

    def connect(self, connection: Connection, right: MethodRight) -> RpcPeerSession:
        """Open the session of a client, which calls the runtime's methods as a worker does.

        Args:
            connection: The client's socket.
            right: The client's right.
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
        """End the worker that was started, then all connections, and close the store. Idempotent."""
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

    def _open_metrics(self) -> RuntimeMetrics:
        from .metrics import RuntimeMetrics

        metrics = RuntimeMetrics(self.runtime, time.time)
        self.runtime.observers.append(metrics.observe_rows)
        self.runtime.wrap_methods(metrics.watch)
        return metrics

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

    async def _search(self, request: AgentSearch) -> AgentSearchResult:
        """Search by a projection, which no Core starts by itself."""
        if not self.workers.is_serving(PROJECTION_SERVICE):
            return await refuse_search(request)
        return await self.workers.call(
            PROJECTION_SERVICE, methods.SEARCH.name, request, methods.SEARCH.result
        )

    def _is_dispatching(self) -> bool:
        return bool(self.runtime.dispatchers)

    async def _has_work(self) -> bool:
        return has_work(await self._store.info(), time.time())

    def _changed(self) -> None:
        if self._supervisor is not None:
            self._supervisor.dispatchers_changed()


def _open_postgres(location: str, durability: Durability) -> RuntimeStore:
    try:
        from ..store.runtime.postgres import PostgresRuntimeStore
    except ImportError as error:
        raise StoreError(
            f"Background agents can't be stored in PostgreSQL: {error}. Install its client with "
            '`pip install "agentstepper_nb[postgres]"`.'
        ) from error
    return PostgresRuntimeStore(location, durability)
