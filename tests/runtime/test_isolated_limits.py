"""Suspected sessions, each of whose steps has a process alone; and steps that take too long."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.runtime import AgentState, SessionStatus, StepLoss
from agentstepper_nb.protocol.runtime_store_messages import SessionWrite
from agentstepper_nb.runtime.monikers.registry import find_moniker
from tests.helpers.sampling import select_sample
from tests.runtime.live_sessions import SessionHarness
from tests.runtime.test_isolated_sessions import NOWHERE, a_home, monikers, pids, start, until  # noqa: F401
from tests.runtime.test_step_process import is_running

# ---- suspects ---------------------------------------------------------------------------------------


def a_loss(**given: Any) -> StepLoss:
    return StepLoss(worker="worker 0", at=1000.0, ending="was killed by signal 9", **given)


async def take_over_suspect(home: SessionHarness, moniker: str, config: Any) -> AgentState:
    """A session that the loop of a worker was lost with, as the next worker is given it."""
    state, finish = await home.create(moniker=moniker, config=config)
    agent = home.agent(state, find_moniker(moniker))
    await agent.record_created(finish)
    state = replace(
        await home.state(), losses=(a_loss(is_shared=True),), attempt=1, is_sharing=True
    )
    write = SessionWrite(
        session_id="s",
        epoch=state.epoch,
        owner=home.owner,
        state=replace(state, owner=None, lease_until=None),
    )
    await home.store.write(write)
    return await home.state()


async def test_a_suspect_has_its_step_alone_and_then_goes_back_to_the_loop() -> None:
    async with a_home(isolates=False) as (home, pool):
        state = await take_over_suspect(home, "cooperative", {"steps": 3})
        agent = home.agent(state, find_moniker("cooperative"))
        agent.start()
        await agent.join()
        first, *others = await home.steps()
        assert pids([first]) != {os.getpid()}
        assert pids(others) == {os.getpid()}
        sharing = [write.state.is_sharing for write in home.writes if write.state is not None]
        # Created; alone for the first step; beside others again for two.
        assert sharing == [True, False, False, True, True, True]
        assert (await home.state()).losses == ()
        assert pool.process_ids == ()


async def test_only_the_deaths_of_a_suspect_that_was_alone_count(tmp_path: Path) -> None:
    async with a_home(isolates=False) as (home, _):
        tally = tmp_path / "tally"
        config = {"harm": "kill", "at": 0, "tally": str(tally)}
        state = await take_over_suspect(home, "cooperative_harm", config)
        agent = home.agent(state, find_moniker("cooperative_harm"))
        agent.start()
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.ERROR
        assert [loss.is_shared for loss in state.losses] == [True, False, False, False]
        assert len(tally.read_text().split()) == 3


# ---- time -------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_step_that_takes_too_long_is_killed_and_tried_again(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        tally = tmp_path / "tally"
        config = {"harm": "block", "times": 1, "tally": str(tally)}
        limits = {"step_timeout_s": 1.0, "retries": 1, "backoff_s": 0}
        agent = await start(home, "harm", config, limits=limits)
        await agent.join()
        steps, state = await home.steps(), await home.state()
        assert state.status is SessionStatus.DONE
        assert len(tally.read_text().split()) == 2
        assert not is_running(int(tally.read_text().split()[0]))
        assert [step.error for step in steps] == [None] * 4
        assert state.losses == ()


@pytest.mark.slow
async def test_a_step_that_always_takes_too_long_is_an_error_step(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        config = {"harm": "block", "tally": str(tmp_path / "tally")}
        agent = await start(home, "harm", config, limits={"step_timeout_s": 0.5})
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.ERROR
        said = "The step took longer than step_timeout_s = 0.5 seconds and was cancelled."
        assert state.last_error == said


@pytest.mark.slow
@pytest.mark.parametrize("moniker", select_sample(("sleep", "cooperative_sleep"), "sleep"))
async def test_the_limit_of_a_session_bounds_a_step_under_way(tmp_path: Path, moniker: str) -> None:
    async with a_home() as (home, _):
        config = {"begun": str(tmp_path / "begun")}
        agent = await start(home, moniker, config, limits={"max_runtime_s": 1.0})
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.STOPPED
        assert "it has run for max_runtime_s = 1 seconds" in state.context["note"]
        assert len(await home.steps()) == 1


async def test_a_step_on_the_loop_is_cancelled(tmp_path: Path) -> None:
    async with a_home() as (home, _):
        config = {"begun": str(tmp_path / "begun")}
        agent = await start(home, "cooperative_sleep", config, limits={"step_timeout_s": 0.2})
        await agent.join()
        state = await home.state()
        assert "step_timeout_s = 0.2" in (state.last_error or "")
        assert state.status is SessionStatus.ERROR


async def test_a_process_that_ends_between_two_steps_is_replaced() -> None:
    async with a_home() as (home, pool):
        agent = await start(home, "count", {"interval_s": 3600})
        await home.wait_for_iteration(1)
        (pid,) = pool.process_ids
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not pool.process_ids)
        await home.input(agent, "on")
        state = await home.wait_for_iteration(2)
        assert (state.attempt, state.losses) == (0, ())
        assert pid not in pids([(await home.steps())[1]])
