"""A Core's runtime and workers in one loop: real parts, of which a test may kill one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    AgentState,
    AgentStep,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import NewAction, WatchTopic
from agentstepper_nb.protocol.runtime_store_messages import ActionQuery, StateQuery, StepQuery
from agentstepper_nb.runtime.action_handlers import ActionHandlers
from agentstepper_nb.runtime.dispatcher import Dispatcher
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import Moniker, MonikerContext, MonikerFactory
from agentstepper_nb.runtime.session_agent import SessionAgent
from agentstepper_nb.runtime.session_host import SessionHost
from agentstepper_nb.runtime.session_registry import SessionRegistry
from agentstepper_nb.runtime.session_writer import RuntimeContext
from agentstepper_nb.store.runtime.base import RuntimeStore
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.runtime.queues import LOG

LEASE_S = 10.0
QUICK = 0.001


class SettableClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class CountingMoniker(Moniker):
    """Counts its steps, and says what it was told; each step waits for leave.

    Attributes:
        leave: A permit for each step that may end.
    """

    name = "counting"
    stop_on_done = False
    leave = asyncio.Semaphore(0)

    @classmethod
    def check(cls, config: Any) -> None:
        if config == "bad":
            raise ValueError("It is bad.")

    async def step(self, frame: FrameIn) -> FrameOut:
        permits: asyncio.Semaphore = self.task.config["leave"]
        await permits.acquire()
        state = (frame.state or 0) + 1
        told = frame.guidance if isinstance(frame.guidance, str) else None
        return FrameOut(step=frame.step, next_step=f"n{state}", state=state, text=told, done=False)


@dataclass
class PermittedMonikers:
    """What sessions may be made of: one moniker, whose steps end as a test lets them.

    Attributes:
        permits: For each session, the steps that may still end.
        lost: Whether it can't be made any more.
    """

    permits: dict[str, asyncio.Semaphore] = field(default_factory=dict)
    lost: bool = False

    def find(self, name: str) -> MonikerFactory:
        if name != CountingMoniker.name or self.lost:
            raise CommandError("invalid_message", f"There is no moniker {name!r}.")
        return self.make

    def check(self, name: str, config: Any) -> None:
        self.find(name)
        try:
            CountingMoniker.check(config)
        except ValueError as error:
            raise CommandError("invalid_message", str(error)) from None

    def make(self, task: MonikerContext) -> Moniker:
        task.config = {"leave": self.permit(task.session_id)}
        return CountingMoniker(task)

    def permit(self, session_id: str, steps: int = 0) -> asyncio.Semaphore:
        """Let so many more steps of a session end."""
        permits = self.permits.setdefault(session_id, asyncio.Semaphore(0))
        for _ in range(steps):
            permits.release()
        return permits


class RuntimeWorker:
    """A worker's dispatcher with all that lives there.

    Args:
        core: Its Core.
        queue: Its way there.
        options: The dispatcher's.
    """

    def __init__(self, core: RuntimeCore, queue: Any, folder: Path, **options: Any) -> None:
        self.owner = f"worker:{uuid4()}"
        self._is_dead = False
        self.registry = SessionRegistry(LOG)
        runtime_context = RuntimeContext(
            owner=self.owner,
            recorder=queue,
            data_dir=folder,
            log=LOG,
            clock=core.clock,
            new_id=lambda: str(uuid4()),
            debugger=False,
        )
        self.session_host = SessionHost(
            queue,
            self.registry,
            runtime_context,
            SessionAgent,
            core.monikers.find,
            core.monikers.check,
            lease_s=LEASE_S,
            capacity=options.get("capacity"),
            **({"batch_size": options.pop("batch_size")} if "batch_size" in options else {}),
        )
        self.dispatcher = Dispatcher(
            queue,
            ActionHandlers(self.session_host).by_kind(),
            owner=self.owner,
            clock=core.clock,
            log=LOG,
            local_sessions=self.session_host,
            **({"lease_s": LEASE_S, "poll_s": 3600.0} | options),
        )

    async def close(self) -> None:
        """It ends well, unless it is dead."""
        if self._is_dead:
            return
        await self.dispatcher.close()
        await self.registry.close()
        await self.dispatcher.release()

    async def die(self) -> None:
        """It ends without a word, as by SIGKILL: its leases last on."""
        self._is_dead = True
        await self.dispatcher.close()
        await self.registry.close()


class RuntimeCore:
    """A runtime, and what a test asks of it.

    Args:
        store: Its store.
        folder: For what monikers keep.
    """

    def __init__(self, store: RuntimeStore, folder: Path) -> None:
        self.clock = SettableClock()
        self.store = store
        self.runtime = Runtime(store, LOG, clock=self.clock)
        self.monikers = PermittedMonikers()
        self._folder = folder

    @asynccontextmanager
    async def worker(
        self, queue: Any | None = None, **options: Any
    ) -> AsyncGenerator[RuntimeWorker, None]:
        """A worker that dispatches."""
        worker = RuntimeWorker(self, queue or self.runtime, self._folder, **options)
        worker.dispatcher.start()
        try:
            yield worker
        finally:
            await worker.close()

    # ---- asking -------------------------------------------------------------------------------------

    async def create(
        self, session_id: str, moniker: str = CountingMoniker.name, **payload: Any
    ) -> Action:
        """Create a session."""
        given = {"moniker": moniker} | payload
        return await self.enqueue(ActionKind.CREATE, session_id, payload=given, agent_id="a")

    async def enqueue(self, kind: ActionKind, session_id: str, **given: Any) -> Action:
        """Enqueue an action."""
        ask = NewAction(kind=kind, session_id=session_id, **given)
        return (await self.runtime.act(ask)).action

    async def wait_until_done(self, action: Action) -> Action:
        """An action, once it is over."""

        async def over() -> Action | None:
            (found,) = (await self.store.actions(ActionQuery(id=action.id))).actions
            return found if found.status in ("done", "failed") else None

        return await self._wait_until(action.session_id, over)

    async def state(self, session_id: str) -> AgentState:
        """A session as it stands."""
        (state,) = (await self.store.states(StateQuery(session_id=session_id))).states
        return state

    async def wait_for_state(
        self,
        session_id: str,
        status: SessionStatus | None = None,
        *,
        iteration: int = 0,
        epoch: int = 0,
    ) -> AgentState:
        """A session, once it stands so, or is that far."""

        async def so() -> AgentState | None:
            state = await self.state(session_id)
            there = state.iteration >= iteration and state.epoch >= epoch
            return state if there and status in (None, state.status) else None

        return await self._wait_until(session_id, so)

    async def steps(self, session_id: str) -> tuple[AgentStep, ...]:
        """A session's steps."""
        return (await self.store.steps(StepQuery(session_id=session_id, limit=1000))).steps

    async def _wait_until(self, session_id: str, look: Callable[[], Awaitable[Any]]) -> Any:
        watch = self.runtime.watch(WatchTopic(topic=f"session:{session_id}"))
        async with aclosing(watch) as notices:
            async for _ in notices:
                if (found := await look()) is not None:
                    return found
        raise AssertionError("the Core ended")


@asynccontextmanager
async def a_core(folder: Path, file: Path | None = None) -> AsyncGenerator[RuntimeCore, None]:
    """A Core.

    Args:
        folder: For what monikers keep.
        file: Where it keeps its rows; None: in memory.
    """
    core = RuntimeCore(SqliteRuntimeStore(file), folder)
    await core.runtime.start()
    try:
        yield core
    finally:
        await core.runtime.close()
