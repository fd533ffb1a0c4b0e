"""The service `runtime` of a worker: its dispatcher, and the sessions that live in it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import AsyncGenerator
from uuid import uuid4

from msgspec import Raw, Struct

from ..errors import CommandError
from ..protocol.runtime_wire import SERVICE
from ..rpc.line import Service
from ..worker.service import ServiceContext
from .dispatcher import Dispatcher
from .handlers import Handlers
from .keeping import Surroundings
from .registry import Registry
from .rehydrate import Household
from .remote_queue import RemoteQueue


class WorkerInfo(Struct, frozen=True, kw_only=True):
    """`info`: what a worker is at, for diagnosis."""

    owner: str
    sessions: tuple[str, ...]
    actions: tuple[str, ...]


def create(context: ServiceContext) -> Service:
    """Make the service; what the entry point names.

    Args:
        context: Where it has a Core, the service begins at once, on the loop that runs.
    """
    return RuntimeWorker(context)


def owner_name() -> str:
    """A name for a worker's claims: no other has it, nor had."""
    return f"{socket.gethostname()[:100]}:{os.getpid()}:{uuid4()}"


class RuntimeWorker:
    """Dispatches, as long as the worker lives.

    Args:
        context: The worker's.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._owner = owner_name()
        self._registry = Registry(context.log)
        self._dispatcher: Dispatcher | None = None
        if context.core is not None:
            self._dispatcher = self._make_dispatcher(context)
            self._dispatcher.start()

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `Service.call`."""
        if method != "info":
            raise _unknown(method)
        actions = () if self._dispatcher is None else self._dispatcher.under_way
        return WorkerInfo(
            owner=self._owner,
            sessions=tuple(self._registry.held()),
            actions=tuple(action.id for action in actions),
        )

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """There are no streams; see `Service.stream`."""
        nothing: tuple[Struct, ...] = ()
        for item in nothing:
            yield item
        raise _unknown(method)

    async def close(self) -> None:
        """Claim no more, break off what is under way, and give it back; see `Service.close`."""
        if self._dispatcher is not None:
            await self._dispatcher.close()
            await self._registry.close()
            await self._dispatcher.release()

    def _make_dispatcher(self, context: ServiceContext) -> Dispatcher:
        # What agents need, the debugger's client among it, is imported where there is a Core.
        from ..sdk.steps import new_id
        from .agent import SessionAgent
        from .monikers.registry import check, find

        assert context.core is not None
        queue = RemoteQueue(context.core)
        surroundings = Surroundings(
            owner=self._owner,
            recorder=queue,
            data_dir=context.data_dir,
            log=context.log,
            clock=time.time,
            new_id=new_id,
        )
        household = Household(
            queue,
            self._registry,
            surroundings,
            SessionAgent,
            find,
            check,
            lease_s=context.lease_s,
        )
        return Dispatcher(
            queue,
            Handlers(household).table(),
            owner=self._owner,
            clock=time.time,
            log=context.log,
            tenants=household,
            lease_s=context.lease_s,
            poll_s=context.poll_s,
        )


def _unknown(method: str) -> CommandError:
    return CommandError("unknown_service", f"{SERVICE!r} has no {method[:80]!r}.")
