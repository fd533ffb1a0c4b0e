"""The costs of the queue of background agents: until a handler begins, and at many rows.

The Core is a process of its own and keeps them on disk, `durable`. A client and a worker's dispatcher
are in this one, each with a connection of its own; handlers do nothing but say that they are done.

A claim with its end is measured on the store itself: one store has many rows and another few, and
blocks of both take turns, so that whatever else the machine does meets both. PostgreSQL is a process
beside it, and syncs each commit.
"""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    AgentStep,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import SERVICE, ActionEnqueued, NewAction
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ClaimAction,
    CreateAgentSession,
    EnqueueActions,
    SessionWrite,
    StateQuery,
)
from agentstepper_nb.rpc.connection import open_connection
from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.runtime.dispatcher import Dispatcher
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.helpers.postgres_server import run_server

from .access import TOKENS
from .measured_server import start_process
from .round_trip import Spread

#: Rows of the small store.
FEW_ROWS = 1_000
#: Sessions that actions are spread over.
SESSIONS = 20
#: Actions of one `enqueue`, where rows are loaded.
_BATCH = 1_000
_LEASE = 1e6
#: Opens a store in a folder, or beside it.
OpenStore = Callable[[Path], RuntimeStore]
_OWNER = "bench"
_LOG = logging.getLogger("bench")
_INPUT = {"text": "What is new?"}


@dataclass(frozen=True)
class BackgroundEffort:
    """How much is measured."""

    actions: int = 300  # one after the other; and as many at one go
    rows: int = 100_000  # of the large store; 0: none
    blocks: int = 15  # of each store
    pairs: int = 50  # claims with their end, of each block
    steps: int = 100  # of each session
    rest: float = 3.0  # seconds in which the stores tidy up what was loaded


@dataclass(frozen=True)
class WakeUpCost:
    """From a client to a handler, through a Core."""

    seconds: Spread  # from asking for an action until its handler begins
    action_count: int
    actions_per_s: float  # from the first that is asked for until the last is over


@dataclass(frozen=True)
class ClaimCost:
    """Claiming an action and ending it, in one kind of store."""

    store: str
    rows: int  # of the large store
    few: Spread  # seconds, at `FEW` rows
    many: Spread  # the same at `rows`
    ratio: Spread  # of neighbouring blocks


@dataclass(frozen=True)
class StepRate:
    """Steps that sessions write at the same time, each one after the other, into one kind of store."""

    store: str
    sessions: int
    steps_per_s: float


@dataclass(frozen=True)
class BackgroundCosts:
    """All that this module measures."""

    wake_up: WakeUpCost
    claims: tuple[ClaimCost, ...]
    steps: tuple[StepRate, ...] = ()


def measure(effort: BackgroundEffort) -> BackgroundCosts:
    """Measure the way through a Core, then the stores."""
    waking = asyncio.run(_measure_wake_up(effort))
    with run_server(is_durable=True) as server:
        stores: dict[str, OpenStore] = {
            "SQLite": open_runtime_store,
            "PostgreSQL": lambda folder: PostgresRuntimeStore(server.create_database()),
        }
        claims = [asyncio.run(_measure_store(*each, effort)) for each in stores.items()]
        steps = [asyncio.run(_measure_steps(*each, effort)) for each in stores.items()]
    return BackgroundCosts(waking, tuple(claims if effort.rows else ()), tuple(steps))


# ---- through a Core -----------------------------------------------------------------------------------


class RecordingHandlers:
    """Do nothing with an action but say that it is done, and note when they were begun.

    Args:
        queue: Where that is kept.
    """

    def __init__(self, queue: RemoteQueue) -> None:
        self._queue = queue
        self._begin_times: asyncio.Queue[float] = asyncio.Queue()
        self._ends: asyncio.Queue[None] = asyncio.Queue()

    async def handle(self, action: Action, state: AgentState | None) -> None:
        self._begin_times.put_nowait(time.perf_counter())
        assert state is not None
        await self._queue.write(_make_completion(action, state, _OWNER))
        self._ends.put_nowait(None)

    async def wait_for_begin(self) -> float:
        """When the next one was begun."""
        return await self._begin_times.get()

    async def wait_for_ends(self, number: int) -> None:
        """Wait until so many more are over."""
        for _ in range(number):
            await self._ends.get()


async def _measure_wake_up(effort: BackgroundEffort) -> WakeUpCost:
    with start_process("server", "durable") as ports:
        port, _ = json.loads(ports)
        async with _connect(f"ws://127.0.0.1:{port}/worker", TOKENS.worker) as worker:
            queue = RemoteQueue(worker)
            handlers = RecordingHandlers(queue)
            dispatcher = Dispatcher(
                queue,
                dict.fromkeys(ActionKind, handlers.handle),
                owner=_OWNER,
                clock=time.time,
                log=_LOG,
            )
            dispatcher.start()
            try:
                async with _connect(f"ws://127.0.0.1:{port}/runtime", TOKENS.control) as client:
                    return await _measure_requests(client, handlers, effort.actions)
            finally:
                await dispatcher.close()


async def _measure_requests(
    client: ReconnectingCaller, handlers: RecordingHandlers, number: int
) -> WakeUpCost:
    async def act(kind: ActionKind, session: int, payload: object) -> None:
        ask = NewAction(kind=kind, agent_id="a", session_id=f"{session}", payload=payload)
        await client.call(SERVICE, "act", ask, ActionEnqueued)

    for session in range(SESSIONS):
        await act(ActionKind.CREATE, session, {"moniker": "joke"})
        await handlers.wait_for_begin()
        await handlers.wait_for_ends(1)
    seconds = []
    for n in range(number):
        begin = time.perf_counter()
        action_task = asyncio.create_task(act(ActionKind.INPUT, n % SESSIONS, _INPUT))
        seconds.append(await handlers.wait_for_begin() - begin)
        await action_task
        await handlers.wait_for_ends(1)
    begin = time.perf_counter()
    await asyncio.gather(*(act(ActionKind.INPUT, n % SESSIONS, _INPUT) for n in range(number)))
    await handlers.wait_for_ends(number)
    rate = number / (time.perf_counter() - begin)
    return WakeUpCost(Spread.of(seconds), number, rate)


@asynccontextmanager
async def _connect(url: str, token: str) -> AsyncGenerator[ReconnectingCaller, None]:
    """A connection of its own to the Core."""
    opened = await open_connection(CoreEndpoint(url, token), {}, _LOG)
    caller = ReconnectingCaller()
    caller.attach(opened.rpc_session)
    try:
        yield caller
    finally:
        await opened.close()


# ---- on the stores ------------------------------------------------------------------------------------


async def _measure_store(name: str, open_store: OpenStore, effort: BackgroundEffort) -> ClaimCost:
    """Measure one kind of store."""
    with tempfile.TemporaryDirectory() as folder:
        stores = [open_store(Path(folder) / size) for size in ("few", "many")]
        try:
            for store, rows in zip(stores, (FEW_ROWS, effort.rows), strict=True):
                await _fill(store, rows)
            await asyncio.sleep(effort.rest)
            for store in stores:
                await _time_block(store, effort.pairs)  # to warm up
            rounds = [
                [await _time_block(store, effort.pairs) for store in stores]
                for _ in range(effort.blocks)
            ]
        finally:
            for store in stores:
                await store.close()
    few, many = zip(*rounds, strict=True)
    ratios = [large / small for small, large in rounds]
    return ClaimCost(name, effort.rows, Spread.of(few), Spread.of(many), Spread.of(ratios))


async def _measure_steps(name: str, open_store: OpenStore, effort: BackgroundEffort) -> StepRate:
    """Let all sessions write their steps."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(Path(folder) / "steps")
        try:
            await _fill(store, 0)
            begin = time.perf_counter()
            await asyncio.gather(
                *(_write_steps(store, f"{n}", effort.steps) for n in range(SESSIONS))
            )
            seconds = time.perf_counter() - begin
        finally:
            await store.close()
    return StepRate(name, SESSIONS, SESSIONS * effort.steps / seconds)


async def _write_steps(store: RuntimeStore, session: str, steps: int) -> None:
    (state,) = (await store.states(StateQuery(session_id=session))).states
    for number in range(steps):
        state = replace(state, iteration=number + 1)
        step = AgentStep(
            id=f"{session}/{number}",
            created_at=1.0,
            agent_id="a",
            session_id=session,
            iteration=number,
            step_token="t",
            status="running",
            text="A joke that is as long as jokes are.",
        )
        write = SessionWrite(
            session_id=session, epoch=state.epoch, owner=_OWNER, state=state, steps=(step,)
        )
        await store.write(write)


async def _fill(store: RuntimeStore, rows: int) -> None:
    """Rows that wait, in some sessions that this owner has."""
    for number in range(SESSIONS):
        session = f"{number}"
        state = AgentState(
            agent_id="a", session_id=session, moniker="joke", created_at=1.0, updated_at=1.0
        )
        creation = _make_action(f"create {session}", session, ActionKind.CREATE)
        await store.create(CreateAgentSession(state=state, action=creation))
        await _claim_and_end(store)
    for first in range(0, rows, _BATCH):
        inputs = [
            _make_action(f"{n}", f"{n % SESSIONS}") for n in range(first, min(first + _BATCH, rows))
        ]
        await store.enqueue(EnqueueActions(actions=tuple(inputs)))


async def _time_block(store: RuntimeStore, pairs: int) -> float:
    """Seconds of a claim with its end."""
    begin = time.perf_counter()
    for _ in range(pairs):
        await _claim_and_end(store)
    return (time.perf_counter() - begin) / pairs


async def _claim_and_end(store: RuntimeStore) -> None:
    found = await store.claim(ClaimAction(owner=_OWNER, now=1.0, lease_until=_LEASE))
    assert found.action is not None and found.state is not None
    await store.write(_make_completion(found.action, found.state, _OWNER))


# ---- actions ------------------------------------------------------------------------------------------


def _make_action(id: str, session: str, kind: ActionKind = ActionKind.INPUT) -> Action:
    return Action(
        id=id,
        created_at=1.0,
        kind=kind,
        agent_id="a",
        session_id=session,
        payload=_INPUT,
    )


def _make_completion(action: Action, state: AgentState, owner: str) -> SessionWrite:
    """That an action is done; a creation lets its session run."""
    begun = action.kind is ActionKind.CREATE
    return SessionWrite(
        session_id=state.session_id,
        epoch=state.epoch,
        owner=owner,
        state=replace(state, status=SessionStatus.RUNNING) if begun else None,
        finished=(
            ActionCompletion(
                id=action.id, owner=owner, status=ActionStatus.DONE, processed_at=time.time()
            ),
        ),
    )


if __name__ == "__main__":
    print(measure(BackgroundEffort()))
