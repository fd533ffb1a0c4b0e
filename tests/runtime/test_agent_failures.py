"""What becomes of a session whose step, or whose moniker, fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import AgentStopped, InjectedError
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.runtime.frame import FrameIn
from tests.runtime.live_sessions import ManualSteps, count, harness


async def test_a_failing_step_is_tried_again_and_kept_once(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        tries = iter([OSError("no net"), InjectedError("try"), None])

        async def flaky(frame: FrameIn) -> Any:
            if error := next(tries):
                raise error
            return count(frame, done=True)

        agent = await home.start_agent(flaky, limits={"retries": 2, "backoff_s": 0})
        await agent.join()
        assert [row.status for row in await home.steps()] == ["done"]


async def test_a_step_that_goes_on_failing_is_an_error_step(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        tried = []

        async def broken(frame: FrameIn) -> Any:
            tried.append(frame)
            raise ValueError("it \ud800 broke")

        agent = await home.start_agent(
            broken, limits={"retries": 2, "backoff_s": 0}, conversation_id="c", state={"kept": 1}
        )
        await agent.join()
        state, (row,), (message,) = await home.state(), await home.steps(), await home.messages()
        assert len(tried) == 3
        assert (state.status, state.iteration) == (SessionStatus.ERROR, 1)
        assert state.last_error == row.error == message.text == "ValueError: it ? broke"
        assert (row.status, row.state, row.next_step_token) == ("error", {"kept": 1}, None)


@pytest.mark.parametrize(
    ("gives", "why"),
    [
        (lambda frame: None, "no StepFrame"),
        (lambda frame: {"step": frame.step, "done": True}, "next_step"),
        (lambda frame: count(frame, step="other"), "a frame of step 'other'"),
        (lambda frame: count(frame, next_step=""), "length >= 1"),
        (lambda frame: count(frame, state={1, 2}), "$.state is"),
        (lambda frame: count(frame, data=float("nan")), "$.data is"),
        (lambda frame: count(frame, text="\ud800"), "JSON can't carry"),
        (lambda frame: count(frame, text="x" * 1_000_001), "longer than 1,000,000"),
        (lambda frame: count(frame, data="x" * 8_000_001), "the limit is 8,000,000"),
        (lambda frame: exec("raise SystemExit(3)"), "tried to end the process"),
        (
            lambda frame: _raise(BaseExceptionGroup("all", [SystemExit(1)])),
            "BaseExceptionGroup: all",
        ),
        (
            lambda frame: exec("raise __import__('asyncio').CancelledError"),
            "by code that it called",
        ),
    ],
)
async def test_what_is_no_frame_is_an_error_step(tmp_path: Path, gives: Any, why: str) -> None:
    async with harness(tmp_path) as home:

        async def step(frame: FrameIn) -> Any:
            return gives(frame)

        agent = await home.start_agent(step)
        await agent.join()
        (row,) = await home.steps()
        assert why in (row.error or "")
        assert (await home.state()).status is SessionStatus.ERROR


def _raise(error: BaseException) -> None:
    raise error


async def test_stop_is_heard_among_several_tasks_of_a_step(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:

        async def stopped() -> None:
            raise AgentStopped

        async def step(frame: FrameIn) -> Any:
            async with asyncio.TaskGroup() as group:
                group.create_task(stopped())
                group.create_task(asyncio.Event().wait())  # type: ignore[arg-type]

        agent = await home.start_agent(step)
        await agent.join()
        assert (await home.state()).status is SessionStatus.STOPPED


async def test_a_dict_is_a_frame_too_and_is_kept_as_it_was_given(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        held: dict[str, Any] = {"deep": [1]}

        async def step(frame: FrameIn) -> Any:
            held["deep"].append(2)
            done = len(held["deep"]) > 2
            return {"step": frame.step, "next_step": "x", "state": held, "done": done}

        agent = await home.start_agent(step)
        await agent.join()
        assert [row.state for row in await home.steps()] == [{"deep": [1, 2]}, {"deep": [1, 2, 2]}]


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("no luck"),
        SystemExit("no luck"),
        AgentStopped("no luck"),
        asyncio.CancelledError("no luck"),
    ],
)
async def test_a_moniker_that_can_not_be_made_ends_the_session_with_a_step(
    tmp_path: Path, error: BaseException
) -> None:
    class Broken:
        def __init__(self, task: Any) -> None:
            raise error

    async with harness(tmp_path) as home:
        agent = await home.start_agent(Broken)  # type: ignore[arg-type]
        await agent.join()
        state, (row,) = await home.state(), await home.steps()
        assert state.status is SessionStatus.ERROR
        assert "no luck" in (state.last_error or "")
        assert row.error == state.last_error


@pytest.mark.parametrize("error", [ValueError(), SystemExit(), asyncio.CancelledError()])
async def test_a_moniker_that_does_not_close_hinders_no_end(
    tmp_path: Path, error: BaseException
) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()

        async def close() -> None:
            raise error

        assert home.moniker is not None
        home.moniker.close = close  # type: ignore[method-assign]
        steps.finish_step(lambda frame: count(frame, done=True))
        await agent.join()
        assert not agent.running
        assert (await home.state()).status is SessionStatus.DONE


async def test_a_stop_ends_a_backoff(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, limits={"retries": 1, "backoff_s": 1e6})

        def fails(frame: FrameIn) -> Any:
            raise OSError("no net")

        await steps.run_step(fails)
        await home.destroy(agent)
        assert (await home.state()).status is SessionStatus.STOPPED
        assert await home.steps() == []


async def test_a_backoff_ends_with_a_pause_and_its_resume(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, limits={"retries": 1, "backoff_s": 1e6})

        def fails(frame: FrameIn) -> Any:
            raise OSError("no net")

        await steps.run_step(fails)
        await home.pause(agent)
        await home.resume(agent)
        await steps.run_step(lambda frame: count(frame, done=True))
        await agent.join()
        assert [row.status for row in await home.steps()] == ["done"]
