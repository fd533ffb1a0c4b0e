"""Workers and Cores are killed and stopped: each session goes on, and each step is kept once."""

from __future__ import annotations

import os
import random
import signal
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, AgentState, SessionStatus
from tests.runtime.processes import CoreProcesses, RuntimeClient, kill, run
from tests.worker.processes import gone

SESSIONS = tuple(f"joke{number}" for number in range(3))
PAUSED, *GOING = SESSIONS
#: Jokes are told in the worker: it needs no processes for steps.
COOPERATIVE = ("--isolation", "none")

States = dict[str, AgentState]


def all_at(states: States, iteration: int, epoch: int = 0) -> bool:
    """Whether all that go on are that far, in that hold or a later one."""
    there = [states[id] for id in GOING if id in states]
    return len(there) == len(GOING) and all(
        state.iteration >= iteration and state.epoch >= epoch for state in there
    )


async def begin(client: RuntimeClient) -> None:
    """Sessions that tell jokes, of which one is paused."""
    for session in SESSIONS:
        await client.create(session)
    await client.wait_until(lambda states: all_at(states, 3) and PAUSED in states)
    await client.enqueue(ActionKind.PAUSE, PAUSED)
    await client.wait_until(lambda states: states[PAUSED].status is SessionStatus.PAUSED)


async def judge(client: RuntimeClient) -> None:
    """Each iteration stands once, and went on from the one before it."""
    for session in SESSIONS:
        steps = await client.steps(session)
        assert [step.iteration for step in steps] == list(range(len(steps)))
        assert [step.state["count"] for step in steps] == list(range(1, len(steps) + 1))
        tokens = ["start", *(f"joke/{number + 2}" for number in range(len(steps)))]
        passed = [(step.step_token, step.next_step_token) for step in steps]
        assert passed == list(pairwise(tokens))
        assert {step.error for step in steps} == {None}


async def farther(client: RuntimeClient, epoch: int) -> None:
    """Wait until those that go on have done some steps more, in that hold or a later one."""
    reached = max([(await client.state(id)).iteration for id in GOING])
    await client.wait_until(lambda states: all_at(states, reached + 3, epoch))


async def go_on(client: RuntimeClient) -> None:
    """What was paused stands as it did, is resumed, and nothing was doubled."""
    before = await client.state(PAUSED)
    assert before.status is SessionStatus.PAUSED
    assert before.iteration == len(await client.steps(PAUSED))
    await client.enqueue(ActionKind.RESUME, PAUSED)
    await client.wait_until(lambda states: states[PAUSED].iteration > before.iteration + 3)
    await judge(client)


@pytest.mark.slow
def test_a_core_and_its_worker_are_killed(tmp_path: Path) -> None:
    """Of a worker alone, test_moniker_messages tells."""

    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core() as core:
            async with place.client() as client:
                with place.worker(options=COOPERATIVE) as first:
                    await begin(client)
                    kill(core)
                    kill(first)
                with place.core(), place.worker(options=COOPERATIVE):
                    await farther(client, 2)
                    await client.wait_until(lambda states: states[PAUSED].epoch >= 2)
                    await go_on(client)

    run(test)


@pytest.mark.soak
def test_a_worker_that_is_stopped_for_long_starts_from_what_is_kept(tmp_path: Path) -> None:
    async def test() -> None:
        place = CoreProcesses(tmp_path)
        with place.core():
            async with place.client() as client:
                with place.worker() as first:
                    await begin(client)
                    first.send_signal(signal.SIGSTOP)
                    with place.worker() as second:
                        await farther(client, 2)
                        first.send_signal(signal.SIGCONT)
                        await farther(client, 2)
                        kill(second)
                        await farther(client, 3)  # the first one's again
                        await go_on(client)

    run(test)


@pytest.mark.soak
def test_a_core_keeps_a_worker_of_its_own(tmp_path: Path) -> None:
    """The installed product: leases last ten seconds, and nobody starts a worker by hand."""

    async def test() -> None:
        place = CoreProcesses(tmp_path, options=())
        with place.core() as core:
            async with place.client() as client:
                await begin(client)
                os.kill(await _worker_of(client), signal.SIGKILL)
                await farther(client, 2)
                worker = await _worker_of(client)
                kill(core)
                assert gone(worker)
                with place.core():
                    await farther(client, 3)
                    await go_on(client)

    run(test)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_whatever_dies_again_and_again(tmp_path: Path, seed: int) -> None:
    async def test() -> None:
        chance = random.Random(seed)
        place = CoreProcesses(tmp_path)
        async with AsyncExitStack() as stack:
            core = stack.enter_context(place.core())
            client = await stack.enter_async_context(place.client())
            worker = stack.enter_context(place.worker())
            await begin(client)
            for _ in range(8):
                dying = chance.choice([(core,), (worker,), (core, worker), (worker, core)])
                for each in dying:
                    kill(each)
                if core in dying:
                    core = stack.enter_context(place.core())
                if worker in dying:
                    worker = stack.enter_context(place.worker())
                await farther(client, 1)
            await go_on(client)

    run(test)


async def _worker_of(client: RuntimeClient) -> int:
    """The process that has the sessions."""
    owner = (await client.state(GOING[0])).owner
    assert owner is not None
    return int(owner.split(":")[1])
