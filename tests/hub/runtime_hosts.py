"""A runtime host in memory, with workers and clients joined by hand."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from agentstepper_nb.hub.runtime import MethodRight
from agentstepper_nb.hub.runtime_host import RuntimeHost
from agentstepper_nb.hub.worker_process import WorkerProcess
from agentstepper_nb.protocol.runtime import Action, ActionKind
from agentstepper_nb.protocol.runtime_requests import (
    ActionEnqueued,
    DispatcherWake,
    NewAction,
    SubscribeWakes,
)
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    ClaimAction,
    ClaimedAction,
    RenewLeases,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.protocol.worker import (
    WORKER_VERSION,
    WorkerHello,
    WorkerWelcome,
    worker_messages,
)
from agentstepper_nb.rpc.session import RpcService, RpcSession
from tests.worker.worker_pair import WorkerConnection

LOG = logging.getLogger("agentstepper_nb.test")
PID = 4242

Value = TypeVar("Value")


class FakeWorkerStarter(WorkerProcess):
    """Starts processes that do what a test does in their place."""

    def __init__(self) -> None:
        super().__init__(LOG, dict)
        self.started = 0
        self.was_started = asyncio.Event()
        self._ended: asyncio.Future[str] | None = None

    async def start(self) -> asyncio.Future[str]:
        if self._ended is None or self._ended.done():
            self._ended = asyncio.get_running_loop().create_future()
            self.started += 1
            self.was_started.set()
        return self._ended

    def end(self) -> None:
        """The process ends."""
        assert self._ended is not None
        ending = "was killed by signal 9"
        self._ended.set_result(ending)
        self.on_end(PID, ending)

    async def stop(self) -> None:
        """There is none."""


class RuntimeClient:
    """A client's end of a line to a host, which hears in the loop's next turn."""

    def __init__(self, host: RuntimeHost, right: MethodRight, *, greets: bool = True) -> None:
        self.closed_with: tuple[int, str] | None = None
        self._loop = asyncio.get_running_loop()
        self._welcomed = False
        self.rpc_session = RpcSession(self._to_core, {}, LOG)
        self.session = host.connect(self, right)
        if greets:
            hello = WorkerHello(version=WORKER_VERSION, worker="test", pid=1, services=())
            self.session.receive(worker_messages.encode(hello, 1))

    def send(self, text: str) -> None:
        if self._welcomed:
            self._loop.call_soon(self.rpc_session.receive, text)
        else:
            assert isinstance(worker_messages.decode(text)[1], WorkerWelcome)
            self._welcomed = True

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    async def request(self, method: str, params: Struct, kind: type[Value]) -> Value:
        return msgspec.json.decode(
            await self.rpc_session.call("runtime", method, params), type=kind
        )

    async def create(self, session_id: str = "s1") -> ActionEnqueued:
        ask = NewAction(
            kind=ActionKind.CREATE,
            agent_id="a1",
            session_id=session_id,
            payload={"moniker": "joke"},
        )
        return await self.request("act", ask, ActionEnqueued)

    def _to_core(self, text: str) -> None:
        self._loop.call_soon(self.session.receive, text)


class WorkerClient(WorkerConnection):
    """A worker whose dispatcher reads `wakes`."""

    def __init__(self, host: RuntimeHost, owner: str, services: Mapping[str, RpcService]) -> None:
        super().__init__(host.workers, services, PID)
        self.owner = owner
        self.wakes = self._wakes()

    async def dispatch(self) -> None:
        """Begin to read, until the first wake."""
        assert (await anext(self.wakes)).n == 1

    async def claim(self, now: float, lease_until: float) -> Action:
        ask = ClaimAction(owner=self.owner, now=now, lease_until=lease_until)
        answer = await self.line.call("runtime", "claim", ask)
        action = msgspec.json.decode(answer, type=ClaimedAction).action
        assert action is not None
        return action

    async def renew(self, lease_until: float) -> None:
        ask = RenewLeases(owner=self.owner, now=0.0, lease_until=lease_until)
        await self.line.call("runtime", "renew", ask)

    async def _wakes(self) -> AsyncGenerator[DispatcherWake, None]:
        async for item in self.line.stream("runtime", "wakes", SubscribeWakes(owner=self.owner)):
            yield msgspec.json.decode(item, type=DispatcherWake)


class RuntimeHostHarness:
    """What tests ask of a host."""

    def __init__(self, host: RuntimeHost, starting: FakeWorkerStarter) -> None:
        self.host = host
        self.starter = starting

    def client(self, right: MethodRight = MethodRight.CONTROL) -> RuntimeClient:
        return RuntimeClient(self.host, right)

    def worker(self, owner: str = "w1", **services: Any) -> WorkerClient:
        return WorkerClient(self.host, owner, services)

    async def get_action(self, id: str) -> Action:
        (found,) = (await self.host.runtime.actions(ActionQuery(id=id))).actions
        return found


@asynccontextmanager
async def open_runtime_host(place: str = "sqlite") -> AsyncGenerator[RuntimeHostHarness, None]:
    """A host, started, until it is closed."""
    starting = FakeWorkerStarter()
    host = RuntimeHost(None, Durability.DURABLE, place, LOG, starting)
    await host.start()
    try:
        yield RuntimeHostHarness(host, starting)
    finally:
        await host.close()
