"""Sessions in processes, in a real debugger: all their runs reach the Core by one connection."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.discover import discover
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.runtime.monikers.registry import find_moniker
from agentstepper_nb.runtime.process_executor import ProcessPool
from agentstepper_nb.runtime.session_agent import SessionAgent
from agentstepper_nb.runtime.step_executor import StepSettings
from agentstepper_nb.worker.run_relay import RunRelay
from tests.coding.debugged_agent import AsyncLiveView
from tests.runtime.isolated_monikers import install
from tests.runtime.live_sessions import SessionHarness
from tests.runtime.test_step_process import LOG

NOWHERE = Path("nowhere")


@pytest.fixture(autouse=True)
def monikers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[AsyncLiveView]:
    with AsyncLiveView(core.ui_port) as view:
        yield view


class Worker:
    """Sessions of one worker, each with a store of its own.

    Args:
        limit: How many processes it may have.
    """

    def __init__(self, limit: int) -> None:
        self.pool = ProcessPool(
            StepSettings(NOWHERE, debugger=True, log=LOG),
            lambda: self.relay.find_endpoint(),
            limit=limit,
        )
        self.relay = RunRelay(lambda: discover(None, None), self.pool.find_exit_code, LOG)
        self.homes: list[SessionHarness] = []

    async def start(
        self, moniker: str, config: Any = None, **given: Any
    ) -> tuple[SessionHarness, SessionAgent]:
        """Start a session."""
        home = SessionHarness(NOWHERE, debugger=True, pool=self.pool)
        self.homes.append(home)
        found = find_moniker(moniker)
        return home, await home.start_agent(found, moniker=moniker, config=config, **given)

    async def close(self) -> None:
        """End all of it."""
        for home in self.homes:
            for agent in home.agents:
                await agent.suspend()
            await home.store.close()
        await self.pool.close()
        await self.relay.close()


@asynccontextmanager
async def a_worker(limit: int = 4) -> AsyncIterator[Worker]:
    worker = Worker(limit)
    try:
        yield worker
    finally:
        await worker.close()


async def test_a_step_in_a_process_is_halted_edited_and_continued(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        home, agent = await worker.start("count", {"steps": 41}, step=True)
        halted = await view.wait_for_halt()
        assert halted == {"Tool": "count", "Argument": {"step": "start", "state": None}}
        assert (await home.state()).run_id == view.run.id
        edited = {"step": "here", "state": {"count": 40}, "guidance": "do it"}
        await view.step_async({"Tool": "count", "Argument": edited})
        result = await view.wait_for_halt()
        assert (result["state"], result["text"]) == ({"count": 41}, "do it")
        assert result["data"]["pid"] != os.getpid()
        await view.step_async(result | {"text": "by hand"})
        await agent.join()
        (row,) = await home.steps()
        assert (row.step_token, row.guidance, row.text) == ("here", "do it", "by hand")
        run = await asyncio.to_thread(view.wait_until_ended)
        assert (run.program, run.ending) == ("a · count", RunEnding.FINISHED)


async def test_a_denied_step_in_a_process_is_an_error_step(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        home, agent = await worker.start("count", step=True, limits={"retries": 5})
        await view.wait_for_halt()
        await view.deny_async("not today")
        await agent.join()
        (row,) = await home.steps()
        assert (row.status, row.error) == ("error", "not today")


async def test_stop_ends_a_session_in_a_process(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        home, agent = await worker.start("count", step=True)
        await view.wait_for_halt()
        await asyncio.to_thread(view.stop)
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.STOPPED
        assert "pressed Stop" in state.context["note"]
        assert (await asyncio.to_thread(view.wait_until_ended)).ending is RunEnding.STOPPED


@pytest.mark.slow
async def test_the_time_of_a_person_counts_for_no_limit(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        limits = {"step_timeout_s": 1.0, "max_runtime_s": 3.0}
        home, agent = await worker.start("count", {"steps": 1}, step=True, limits=limits)
        await view.wait_for_halt()
        await asyncio.sleep(1.5)  # a person looks for longer than the step may take
        await view.step_async()
        await view.wait_for_halt()
        await asyncio.sleep(1.0)
        await view.step_async()
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.DONE
        assert [step.error for step in await home.steps()] == [None]


@pytest.mark.slow
async def test_a_step_that_halts_its_loop_is_not_too_slow(view: AsyncLiveView) -> None:
    """Its tool is called synchronously: what blocks the process' loop is a person who looks."""
    async with a_worker() as worker:
        limits = {"step_timeout_s": 2.0}
        home, agent = await worker.start("blocking_halt", step=True, limits=limits)
        await view.wait_for_halt()
        await view.step_async()
        assert await view.wait_for_halt() == {"Tool": "inner", "Argument": {}}
        await asyncio.sleep(3.5)  # longer than the step may take, and than the worker's grace
        await asyncio.to_thread(view.resume)
        await agent.join()
        (step,) = await home.steps()
        assert (step.text, step.error) == ("seen", None)


@pytest.mark.slow
async def test_the_time_of_a_person_counts_for_no_limit_on_the_loop(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        limits = {"step_timeout_s": 1.0, "max_runtime_s": 3.0}
        config = {"steps": 1}
        home, agent = await worker.start("cooperative", config, step=True, limits=limits)
        await view.wait_for_halt()
        await asyncio.sleep(1.5)
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async()
        await agent.join()
        assert (await home.state()).status is SessionStatus.DONE


async def test_a_process_that_ends_while_a_person_looks_is_not_the_steps_doing(
    view: AsyncLiveView,
) -> None:
    async with a_worker() as worker:
        limits = {"max_attempts": 1}
        home, agent = await worker.start("count", {"steps": 1}, step=True, limits=limits)
        await view.wait_for_halt()
        (pid,) = worker.pool.process_ids
        os.kill(pid, signal.SIGKILL)
        run = await asyncio.to_thread(view.wait_until_ended)
        assert run.ending is RunEnding.CRASHED
        assert run.exit_code == -9
        state = await home.wait_until(lambda state: state.run_id != run.id)
        assert (state.status, state.losses) == (SessionStatus.RUNNING, ())
        assert agent.running


async def test_all_runs_share_one_connection(core: AgentStepperCore, view: AsyncLiveView) -> None:
    async with a_worker(8) as worker:
        started = [await worker.start("count", {"interval_s": 3600}) for _ in range(6)]
        for home, _ in started:
            await home.wait_for_iteration(1)
        assert len(worker.pool.process_ids) == 6
        assert len(agent_connections(core)) == 1
        # The run whose hello opened the connection ends: the others go on over it.
        for home, agent in started[:3]:
            await home.destroy(agent)
            await agent.join()
        for home, agent in started[3:]:
            await home.input(agent, "on")
            await home.wait_for_iteration(2)
        assert len(agent_connections(core)) == 1
        assert len({(await home.state()).run_id for home, _ in started}) == 6


@pytest.mark.slow
async def test_large_frames_cross_the_relay(view: AsyncLiveView) -> None:
    async with a_worker() as worker:
        home, agent = await worker.start("large", {"chars": 1_500_000})
        other, _ = await worker.start("large", {"chars": 1_500_000})
        await home.wait_for_iteration(2)
        await other.wait_for_iteration(2)
        assert len((await home.steps())[1].text or "") == 1_000_000
        await home.destroy(agent)


async def test_a_session_without_a_core_goes_on_without_a_debugger(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    async with a_worker() as worker:
        home, agent = await worker.start("count", {"steps": 2})
        await agent.join()
        state = await home.state()
        assert (state.status, state.run_id) == (SessionStatus.DONE, None)


def agent_connections(core: AgentStepperCore) -> set[Any]:
    """The connections of agents that a Core has."""
    assert core._hub is not None
    return {session.connection for session in core._hub._agents.values()}
