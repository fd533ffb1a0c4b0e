"""Random agents, recorded at a real Core and replayed."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.errors import Divergence
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.replay_marks import ReplayRole
from agentstepper_nb.replay.recordings import Recording, make_recording
from agentstepper_nb.replay.replayer import ForkPoint, Replayer
from agentstepper_nb.sdk.run_session import set_next_replay

#: What an agent may do next.
_KINDS = ("ask", "tool", "gather", "agent", "tasks", "threads", "pool")


class World:
    """What an agent's calls reach: it counts them, and answers each otherwise."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.calls = 0
        self._lock = threading.Lock()

    async def answer(self, request: Any) -> Any:
        await asyncio.sleep(self.chance.random() / 1000)
        return self._decide(request)

    def answer_thread(self, request: Any) -> Any:
        time.sleep(self.chance.random() / 1000)
        return self._decide(request)

    def _decide(self, request: Any) -> Any:
        with self._lock:
            self.calls += 1
            if self.chance.random() < 0.1:
                raise ValueError(f"no {self.calls}")
            return {"answer": self.chance.randint(0, 10**9), "of": request}


class RandomAgent:
    """An agent whose program follows from its seed, and whose world doesn't.

    Args:
        seed: Of its program: sequences, gathered branches, groups of tasks, threads, pools, sub-agents,
            prompts of which many are equal.
        world: What its calls reach.
        offset: Is added to each request.
    """

    def __init__(self, seed: int, world: World, offset: int = 0) -> None:
        self.seed = seed
        self.offset = offset
        self.world = world
        self.log: list[Any] = []

    async def run(self, dbg: AsyncAgentStepper) -> list[Any]:
        tool = dbg.traced_tool(self.world.answer, name="ls")

        async def ask(request: Any) -> Any:
            return await self.world.answer(request)

        self.ask, self.tool = dbg.traced_llm(ask, model="m"), tool
        self.tool_of_thread = dbg.traced_tool(self.world.answer_thread, name="ls")
        self.dbg = dbg
        return await self._branch(random.Random(self.seed), 3)

    async def _branch(self, program: random.Random, depth: int) -> list[Any]:
        results: list[Any] = []
        for _ in range(program.randint(1, 3)):
            kind = program.choice(_KINDS if depth else ["ask"])
            if kind in ("ask", "tool"):
                call = self.ask if kind == "ask" else self.tool
                try:
                    results.append(await call(program.randint(1, 2) + self.offset))
                except ValueError as error:
                    results.append(repr(error))
            elif kind == "agent":
                with self.dbg.agent("helper"):
                    results.append(await self._branch(program, depth - 1))
            else:
                seeds = [program.random() for _ in range(program.randint(1, 3))]
                results.append(await self._run_together(kind, seeds, depth - 1))
        return results

    async def _run_together(self, kind: str, seeds: list[float], depth: int) -> list[Any]:
        if kind == "threads":
            jobs = [asyncio.to_thread(self._call_in_thread, seed) for seed in seeds]
            return await asyncio.gather(*jobs)
        if kind == "pool":
            with ThreadPoolExecutor(2) as pool:
                futures = [pool.submit(self._call_in_thread, seed) for seed in seeds]
                return await asyncio.gather(*map(asyncio.wrap_future, futures))
        branches = [self._branch(random.Random(seed), depth) for seed in seeds]
        if kind == "gather":
            return await asyncio.gather(*branches)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(branch) for branch in branches]
        return [task.result() for task in tasks]

    def _call_in_thread(self, seed: float) -> list[Any]:
        program = random.Random(seed)
        results: list[Any] = []
        for _ in range(program.randint(1, 3)):
            try:
                results.append(self.tool_of_thread(program.randint(1, 2) + self.offset))
            except ValueError as error:
                results.append(repr(error))
        return results


def execute(
    live: AgentStepperCore, agent: RandomAgent, source: Replayer | None = None
) -> tuple[str, Any]:
    """Run an agent: its run's id, and what it came to."""

    async def main() -> tuple[str, Any]:
        options = {"stop_on_entry": False, "mode": "continue"}
        async with AsyncAgentStepper("Random", "127.0.0.1", live.client_port, **options) as dbg:
            return dbg.run_id, await agent.run(dbg)

    if source is not None:
        set_next_replay(source)
    return asyncio.run(main())


def record(live: AgentStepperCore, run: str) -> Recording:
    history, key = load(live, run)
    return make_recording(history, key)


def load(live: AgentStepperCore, run: str) -> tuple[RunHistory, str | None]:
    async def read() -> tuple[RunHistory, str | None]:
        history = await live.hub.history(run)
        credentials = live.hub.debugger.agent_credentials(run)
        return history, None if credentials is None else credentials.hash_key

    return asyncio.run_coroutine_threadsafe(read(), live.loop).result(30)


#: Seeds of each part; all but the first are the soak's.
SEEDS = [
    range(5),
    pytest.param(range(5, 10), marks=pytest.mark.soak),
    *(
        pytest.param(range(start, start + 10), marks=pytest.mark.soak)
        for start in range(10, 100, 10)
    ),
    *(
        pytest.param(range(start, start + 50), marks=[pytest.mark.soak, pytest.mark.timeout(600)])
        for start in range(100, 1000, 50)
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS)
def test_strict_replays_equal_their_records(live: AgentStepperCore, seeds: range) -> None:
    for seed in seeds:
        check_replay(live, seed)


def check_replay(live: AgentStepperCore, seed: int) -> None:
    world = World(seed)
    run, wanted = execute(live, RandomAgent(seed, world))
    other = World(seed + 1000)
    replayer = Replayer(record(live, run), halts=False)
    replayed, came = execute(live, RandomAgent(seed, other), replayer)
    assert came == wanted
    assert other.calls == 0
    assert replayer.remaining == ()
    history, _ = load(live, replayed)
    roles = [point.replay.role for point in history.halt_points if point.replay]
    assert roles == [ReplayRole.SERVED] * world.calls


@pytest.mark.slow
@pytest.mark.parametrize("seeds", SEEDS)
def test_forks_serve_exactly_what_precedes_them(live: AgentStepperCore, seeds: range) -> None:
    for seed in seeds:
        check_forks(live, seed, list(EventSide)[seed % 2])


def check_forks(live: AgentStepperCore, seed: int, side: EventSide) -> None:
    run, _ = execute(live, RandomAgent(seed, World(seed)))
    recording = record(live, run)
    ends = {
        point.event: point.seq
        for point in load(live, run)[0].halt_points
        if point.side is EventSide.END
    }
    # One agent in ten is forked at each of its events.
    count = len(recording.events) if seed % 10 < 2 else 1
    for event in random.Random(seed).sample(recording.events, min(count, len(recording.events))):
        world = World(seed + 1000)
        fork = ForkPoint(event.id, side, make_edit(event.key.kind, side))
        forked, _ = execute(live, RandomAgent(seed, world), Replayer(recording, fork))
        points = load(live, forked)[0].halt_points
        begins = [point for point in points if point.replay and point.side is EventSide.BEGIN]
        served = {p.replay.event for p in begins if p.replay.role is ReplayRole.SERVED}
        made = [p for p in begins if p.replay.role in (ReplayRole.LIVE, ReplayRole.FORKED)]
        assert world.calls == len(made)
        before = {each.id for each in recording.events if ends[each.id] < event.seq}
        assert before <= served
        after = {
            each.id
            for each in recording.events
            if each.key.scope == event.key.scope and each.seq > event.seq
        }
        assert not after & served
        marks = [point.replay for point in points if point.replay]
        forks = [mark for mark in marks if mark.role is ReplayRole.FORKED]
        assert [mark.event for mark in forks] == [event.id]


def make_edit(kind: EventKind, side: EventSide) -> str:
    """An edited request or result, as JSON."""
    if side is EventSide.END:
        return '{"answer": 0}'
    arguments = '{"request": 99}'
    is_tool = kind is EventKind.TOOL_INVOCATION
    return f'{{"Tool": "ls", "Argument": {arguments}}}' if is_tool else arguments


def test_a_changed_program_diverges(live: AgentStepperCore) -> None:
    run, _ = execute(live, RandomAgent(3, World(3)))
    with pytest.RaisesGroup(Divergence, allow_unwrapped=True, flatten_subgroups=True) as raised:
        execute(live, RandomAgent(3, World(3), 5), Replayer(record(live, run), halts=False))
    divergence = raised.value
    while isinstance(divergence, BaseExceptionGroup):  # of groups of tasks
        divergence = divergence.exceptions[0]
    assert isinstance(divergence, Divergence)
    assert divergence.expected is not None
    assert "--- recorded" in divergence.diff


def test_without_scope_paths_replays_are_wrong(live: AgentStepperCore) -> None:
    """What the property rests on: by contents alone, branches get each other's outcomes."""
    for seed in range(10):
        run, wanted = execute(live, RandomAgent(seed, World(seed)))
        recording = record(live, run)
        blind = replace(
            recording,
            events=tuple(
                msgspec.structs.replace(event, key=event.key._replace(scope=("gone",)))
                for event in recording.events
            ),
        )
        _, came = execute(live, RandomAgent(seed, World(seed)), Replayer(blind, halts=False))
        if came != wanted:
            return
    pytest.fail("Each replay was right.")
