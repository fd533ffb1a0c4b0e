"""The service `runtime` of a worker: its dispatcher, and the sessions that live in it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncGenerator
from uuid import uuid4

from msgspec import Raw, Struct

from ..errors import CommandError
from ..protocol.runtime_requests import SERVICE
from ..rpc.session import RpcService
from ..worker.services import ServiceContext
from .action_handlers import ActionHandlers
from .dispatcher import Dispatcher
from .remote_queue import RemoteQueue
from .session_host import SessionHost
from .session_registry import SessionRegistry
from .session_writer import RuntimeContext


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
    """

    def __init__(self, context: ServiceContext) -> None:
        self._owner = make_worker_name()
        self._registry = SessionRegistry(context.log)
        self._dispatcher: Dispatcher | None = None
        if context.core_caller is not None:
            self._dispatcher = self._make_dispatcher(context)
            self._dispatcher.start()

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `RpcService.call`."""
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

    async def close(self) -> None:
        """Claim no more, break off what is under way, and give it back; see `RpcService.close`."""
        if self._dispatcher is not None:
            await self._dispatcher.close()
            await self._registry.close()
            await self._dispatcher.release()

    def _make_dispatcher(self, context: ServiceContext) -> Dispatcher:
        # What agents need, the debugger's client among it, is imported where there is a Core.
        from ..sdk.run_events import make_id
        from .monikers.registry import check_config, find_moniker
        from .session_agent import SessionAgent

        assert context.core_caller is not None
        queue = RemoteQueue(context.core_caller)
        runtime_context = RuntimeContext(
            owner=self._owner,
            recorder=queue,
            data_dir=context.data_dir,
            log=context.log,
            clock=time.time,
            new_id=make_id,
        )
        session_host = SessionHost(
            queue,
            self._registry,
            runtime_context,
            SessionAgent,
            find_moniker,
            check_config,
            lease_s=context.lease_s,
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
        )


def _unknown(method: str) -> CommandError:
    return CommandError("unknown_service", f"{SERVICE!r} has no method {method[:80]!r}.")
