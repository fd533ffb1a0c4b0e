"""Sessions whose steps run in processes: what ends one, what reaches the session, and who waits."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import SessionWrite
from agentstepper_nb.runtime.monikers.registry import find_moniker
from agentstepper_nb.runtime.process_executor import ProcessPool
from agentstepper_nb.runtime.session_agent import SessionAgent
from agentstepper_nb.runtime.step_executor import StepSettings
from tests.helpers.sampling import select_sample
from tests.runtime.isolated_monikers import install
from tests.runtime.live_sessions import SessionHarness, harness
from tests.runtime.test_step_process import LOG, is_running

NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def monikers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))


@asynccontextmanager
async def a_home(
    limit: int = 4, *, isolates: bool = True
) -> AsyncIterator[tuple[SessionHarness, ProcessPool]]:
    settings = StepSettings(NOWHERE, debugger=False, log=LOG)
    pool = ProcessPool(settings, isolates=isolates, limit=limit)
    try:
        async with harness(NOWHERE, pool=pool) as home:
            yield home, pool
    finally:
        await pool.close()


async def start(
    home: SessionHarness, moniker: str, config: Any = None, **given: Any
) -> SessionAgent:
    return await home.start_agent(find_moniker(moniker), moniker=moniker, config=config, **given)


async def until(true: Callable[[], object]) -> None:
    """Wait until something outside of this process is so."""
    while not true():
        await asyncio.sleep(0.01)


def pids(steps: list[Any]) -> set[int]:
    return {step.data["pid"] for step in steps}


async def test_a_session_keeps_its_process() -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "count", {"steps": 3})
        await agent.join()
        steps, state = await home.steps(), await home.state()
        assert [step.state["count"] for step in steps] == [1, 2, 3]
        assert len(pids(steps)) == 1
        assert os.getpid() not in pids(steps)
        assert (state.status, state.is_sharing) == (SessionStatus.DONE, False)
        assert pool.process_ids == ()


async def test_a_cooperative_moniker_runs_on_the_loop() -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "cooperative", {"steps": 2})
        await agent.join()
        assert pids(await home.steps()) == {os.getpid()}
        assert (await home.state()).is_sharing
        assert pool.process_ids == ()


async def test_without_isolation_all_run_on_the_loop() -> None:
    async with a_home(isolates=False) as (home, _):
        agent = await start(home, "count", {"steps": 2})
        await agent.join()
        assert pids(await home.steps()) == {os.getpid()}


@pytest.mark.parametrize("harm", select_sample(("exit", "kill", "crash"), "kill"))
async def test_a_step_that_ends_its_process_is_tried_again_in_a_fresh_one(
    tmp_path: Path, harm: str
) -> None:
    async with a_home() as (home, _):
        config = {"harm": harm, "times": 2, "tally": str(tmp_path / "tally")}
        agent = await start(home, "harm", config)
        await agent.join()
        steps, state = await home.steps(), await home.state()
        assert [step.state["count"] for step in steps] == [1, 2, 3, 4]
        assert (state.status, state.attempt, state.losses) == (SessionStatus.DONE, 0, ())
        assert len(set((tmp_path / "tally").read_text().split())) == 3
        assert len(pids(steps)) == 2


async def test_a_step_that_always_ends_its_process_ends_its_session(tmp_path: Path) -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "harm", {"harm": "kill", "tally": str(tmp_path / "tally")})
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.ERROR
        assert "Step 1 was begun 3 times" in (state.last_error or "")
        assert (state.last_error or "").count("was killed by signal 9") == 3
        assert len((tmp_path / "tally").read_text().split()) == 3
        for pid in (tmp_path / "tally").read_text().split():
            assert f"process {pid} of {home.owner}" in (state.last_error or "")
        assert [loss.is_shared for loss in state.losses] == [False] * 3
        assert pool.process_ids == ()


async def test_max_attempts_counts(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        config = {"harm": "exit", "tally": str(tmp_path / "tally")}
        agent = await start(home, "harm", config, limits={"max_attempts": 1})
        await agent.join()
        assert "exited with 3" in ((await home.state()).last_error or "")
        assert len((tmp_path / "tally").read_text().split()) == 1


async def test_retries_of_a_step_that_raises_stay_in_its_process() -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "raising", "value", limits={"retries": 2, "backoff_s": 0})
        await agent.join()
        (step,) = await home.steps()
        assert (step.status, step.error) == ("error", "ValueError: no")
        assert pool.process_ids == ()


async def test_a_moniker_that_cannot_be_made_ends_its_session() -> None:
    async with a_home() as (home, _):
        agent = await start(home, "broken")
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.ERROR
        assert state.last_error == "The session can't continue: ValueError: It is broken."


# ---- actions ----------------------------------------------------------------------------------------


async def test_guidance_a_pause_and_the_end_reach_a_session_in_a_process() -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "count", {"interval_s": 3600})
        await home.wait_for_iteration(1)
        await home.interrupt(agent, "say this")
        await home.wait_for_iteration(2)
        assert (await home.steps())[1].text == "say this"
        await home.pause(agent)
        await home.input(agent, "and that")
        await home.resume(agent)
        await home.wait_for_iteration(3)
        steps = await home.steps()
        assert steps[2].text == "and that"
        assert len(pids(steps)) == 1
        await home.destroy(agent)
        assert (await home.state()).status is SessionStatus.STOPPED
        await agent.join()
        assert not is_running(steps[0].data["pid"])
        assert pool.process_ids == ()


@pytest.mark.slow
async def test_destroy_ends_a_step_that_blocks(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        tally = tmp_path / "tally"
        agent = await start(home, "harm", {"harm": "block", "tally": str(tally)})
        await until(tally.exists)
        await home.destroy(agent, timeout_s=0)
        await agent.join()
        assert (await home.state()).status is SessionStatus.STOPPED
        assert not is_running(int(tally.read_text()))


async def test_a_session_is_paused_where_the_process_of_its_last_step_ends(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        tally = tmp_path / "tally"
        agent = await start(
            home, "harm", {"harm": "block", "tally": str(tally), "at": 0, "times": 1}
        )
        await until(lambda: tally.exists() and tally.read_text())
        await home.pause(agent)
        pausing = await home.state()
        assert (pausing.status, pausing.is_pausing) == (SessionStatus.RUNNING, True)
        os.kill(int(tally.read_text()), signal.SIGKILL)
        paused = await home.wait_for_status(SessionStatus.PAUSED)
        assert (paused.is_pausing, paused.iteration, len(paused.losses)) == (False, 0, 1)
        await home.resume(agent)  # its step is begun again
        await home.wait_for_iteration(2)


async def test_a_suspended_session_goes_on_in_another_process() -> None:
    async with a_home() as (home, _):
        agent = await start(home, "count", {"interval_s": 3600})
        await home.wait_for_iteration(1)
        await agent.suspend()
        state = await home.take_over()
        again = home.agent(state, find_moniker("count"))
        again.start()
        await home.input(again, "on")
        await home.wait_for_iteration(2)
        steps = await home.steps()
        assert [step.state["count"] for step in steps] == [1, 2]
        assert len(pids(steps)) == 2


# ---- fewer processes than sessions ------------------------------------------------------------------


@asynccontextmanager
async def homes(number: int, pool: ProcessPool) -> AsyncIterator[list[SessionHarness]]:
    """So many sessions' homes, each with a store of its own, that share a pool."""
    made = [SessionHarness(NOWHERE, pool=pool) for _ in range(number)]
    try:
        yield made
    finally:
        for home in made:
            for agent in home.agents:
                await agent.suspend()
            await home.store.close()
        await pool.close()


def a_pool(limit: int) -> ProcessPool:
    return ProcessPool(StepSettings(NOWHERE, debugger=False, log=LOG), limit=limit)


async def test_more_sessions_than_processes_all_come_to_their_end() -> None:
    pool = a_pool(2)
    running: list[int] = []

    async def note(_: SessionWrite) -> None:
        running.append(len(pool.process_ids))

    async with homes(7, pool) as made:
        for home in made:
            home.on_write = note
        agents = [await start(home, "count", {"steps": 4, "interval_s": 0.01}) for home in made]
        for agent in agents:
            await agent.join()
        for home in made:
            assert [step.state["count"] for step in await home.steps()] == [1, 2, 3, 4]
        assert max(running) == 2


async def test_the_session_that_is_idle_longest_gives_up_its_process() -> None:
    pool = a_pool(2)
    async with homes(3, pool) as made:
        first, second, third = made
        agents = []
        for home in made:
            agents.append(await start(home, "count", {"interval_s": 3600}))
            await home.wait_for_iteration(1)
        (one,), (two,), (three,) = [list(pids(await home.steps())) for home in made]
        assert set(pool.process_ids) == {two, three}
        assert not is_running(one)
        assert (await first.state()).status is SessionStatus.RUNNING
        await first.input(agents[0], "wake")  # it comes back in a process of its own
        await first.wait_for_iteration(2)
        assert (await first.steps())[1].text == "wake"
        assert len(pids(await first.steps())) == 2
        assert not is_running(two)
        assert third.session_id == second.session_id == "s"


@pytest.mark.slow
async def test_a_session_that_never_waits_lets_others_have_their_turn() -> None:
    pool = a_pool(1)
    pool.slots._turn_s = 0.0
    async with homes(2, pool) as made:
        for home in made:
            await start(home, "count")
        for home in made:
            await home.wait_for_iteration(3)
            assert len(pids(await home.steps())) > 1


@pytest.mark.slow
async def test_a_session_without_a_process_is_paused_told_and_ended(tmp_path: Path) -> None:
    pool = a_pool(1)
    async with homes(2, pool) as (busy, waiting):
        tally = tmp_path / "tally"
        await start(busy, "harm", {"harm": "block", "tally": str(tally), "at": 0})
        await until(tally.exists)
        agent = await start(waiting, "count")
        await waiting.pause(agent)
        assert (await waiting.state()).status is SessionStatus.PAUSED
        await waiting.input(agent, "later")
        await waiting.resume(agent)
        assert (await waiting.state()).guidance == "later"
        assert (await waiting.state()).is_sharing  # what ends the worker now isn't its doing
        assert agent.running
        await waiting.destroy(agent)
        assert (await waiting.state()).status is SessionStatus.STOPPED
        assert await waiting.steps() == []
