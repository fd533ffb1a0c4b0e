"""The service `runtime` of a worker: its dispatcher, and the sessions that live in it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from msgspec import Raw, Struct

from ..errors import CommandError
from ..protocol.routes import WorkerOffer
from ..protocol.runtime_requests import SERVICE
from ..rpc.session import RpcService
from ..worker.services import CLOSE_TIMEOUT_S, ServiceContext
from .action_handlers import ActionHandlers
from .dispatcher import Dispatcher
from .remote_queue import RemoteQueue
from .session_host import SessionHost
from .session_registry import SessionRegistry
from .session_writer import RuntimeContext
from .worker_capacity import WorkerCapacity

if TYPE_CHECKING:
    from ..worker.run_relay import RunRelay
    from .process_executor import ProcessPool

#: Seconds that sessions have to close at the worker's end; in the rest of the service's time, the leases
#: are released and the processes killed.
_SESSIONS_CLOSE_TIMEOUT_S: Final = CLOSE_TIMEOUT_S / 2


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """`info`: what a worker is at, for diagnosis."""

    owner: str
    sessions: tuple[str, ...]
    actions: tuple[str, ...]


def create(context: ServiceContext) -> RpcService:
    """Make the service; what the entry point names.

    Args:
        context: Where it has a Core, the service begins at once, on the loop that runs.
    """
    return RuntimeWorker(context)


def make_worker_name() -> str:
    """A name for a worker's claims: no other has it, nor had."""
    return f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid4()}"


class RuntimeWorker:
    """Dispatches, as long as the worker lives.

    Args:
        context: The worker's.
        close_timeout_s: Seconds that sessions have to close.
    """

    def __init__(
        self, context: ServiceContext, *, close_timeout_s: float = _SESSIONS_CLOSE_TIMEOUT_S
    ) -> None:
        self._close_timeout_s = close_timeout_s
        self._owner = make_worker_name()
        self._registry = SessionRegistry(context.log)
        self._dispatcher: Dispatcher | None = None
        self._pool: ProcessPool | None = None
        self._relay: RunRelay | None = None
        self._warming: asyncio.Task[None] | None = None
        self._session_host: SessionHost | None = None
        self._capacity = WorkerCapacity(max_sessions=context.max_sessions)
        if context.core_caller is not None:
            queue = RemoteQueue(context.core_caller)
            self._dispatcher = self._make_dispatcher(
                context, queue, self._make_pool(context, queue)
            )
            self._dispatcher.start()

    @property
    def is_busy(self) -> bool:
        """Whether a session lives here, or an action is under way."""
        return bool(self._registry) or bool(
            self._dispatcher is not None and self._dispatcher.running_actions
        )

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `RpcService.call`."""
        if method == "end":  # the process ends as it does by a person's signal
            os.kill(os.getpid(), signal.SIGTERM)
            return None
        if method != "info":
            raise _unknown(method)
        actions = () if self._dispatcher is None else self._dispatcher.running_actions
        return WorkerInfo(
            owner=self._owner,
            sessions=tuple(self._registry.local_epochs()),
            actions=tuple(action.id for action in actions),
        )

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """There are no streams; see `RpcService.stream`."""
        nothing: tuple[Struct, ...] = ()
        for item in nothing:
            yield item
        raise _unknown(method)

    async def drain(self, timeout_s: float) -> None:
        """Accept no new sessions, and hand over this worker's sessions. See `DrainableService.drain`."""
        if self._dispatcher is None or self._session_host is None:
            return
        clock = asyncio.get_running_loop().time
        deadline = clock() + timeout_s
        self._capacity.is_draining = True
        self._dispatcher.stop_listening()
        await self._session_host.drain(timeout_s)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                await self._dispatcher.wait_idle()
        # What was claimed as this began.
        await self._session_host.drain(max(0.0, deadline - clock()))

    async def close(self) -> None:
        """Stop claiming, cancel all work, and release the leases. See `RpcService.close`."""
        async with AsyncExitStack() as rest:  # is called last first, whatever one of them raises
            if self._relay is not None:
                rest.push_async_callback(self._relay.close)
            if self._pool is not None:
                rest.push_async_callback(self._pool.close)
            if self._warming is not None:
                rest.callback(self._warming.cancel)
            if self._dispatcher is not None:
                rest.push_async_callback(self._dispatcher.release)
                await self._dispatcher.close()
                await self._registry.close(self._close_timeout_s)

    def _make_pool(self, context: ServiceContext, queue: RemoteQueue) -> ProcessPool:
        from ..discover import discover
        from ..worker.run_relay import RunRelay
        from .message_reader import read_unread
        from .process_executor import ProcessPool
        from .step_executor import StepSettings

        isolates = context.isolation == "process"
        settings = StepSettings(
            context.data_dir,
            debugger=True,
            log=context.log,
            read_unread=partial(read_unread, queue),
        )
        pool = self._pool = ProcessPool(
            settings,
            lambda: relay.find_endpoint(),
            isolates=isolates,
            limit=context.processes,
            credits=queue,
        )
        relay = self._relay = RunRelay(
            lambda: discover(None, None), pool.find_exit_code, context.log
        )
        if isolates:
            self._warming = asyncio.create_task(pool.warm_up())
        return pool

    def _make_dispatcher(
        self, context: ServiceContext, queue: RemoteQueue, pool: ProcessPool
    ) -> Dispatcher:
        # What agents need, the debugger's client among it, is imported where there is a Core.
        from ..sdk.run_events import make_id
        from .message_reader import read_unread
        from .model_gate import ModelGate
        from .monikers.registry import check_config, find_moniker, list_offered_monikers
        from .session_agent import SessionAgent

        self._capacity.offer = WorkerOffer(monikers=list_offered_monikers(), labels=context.labels)
        runtime_context = RuntimeContext(
            owner=self._owner,
            recorder=queue,
            data_dir=context.data_dir,
            log=context.log,
            clock=time.time,
            new_id=make_id,
            pool=pool,
            model_gate=ModelGate(queue, context.log),
            read_unread=partial(read_unread, queue),
        )
        self._session_host = session_host = SessionHost(
            queue,
            self._registry,
            runtime_context,
            SessionAgent,
            find_moniker,
            check_config,
            lease_s=context.lease_s,
            capacity=self._capacity,
        )
        return Dispatcher(
            queue,
            ActionHandlers(session_host).by_kind(),
            owner=self._owner,
            clock=time.time,
            log=context.log,
            local_sessions=session_host,
            lease_s=context.lease_s,
            poll_s=context.poll_s,
            capacity=self._capacity,
        )


def _unknown(method: str) -> CommandError:
    return CommandError("unknown_service", f"{SERVICE!r} has no method {method[:80]!r}.")
