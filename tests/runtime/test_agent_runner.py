"""The loop: what a step is given, what of it is kept, and what ends a session."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NoReturn

import pytest
from msgspec import UNSET

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import ActionKind, SenderType, SessionStatus
from agentstepper_nb.runtime.frame import FIRST_STEP, FrameIn
from tests.runtime.live_sessions import ManualSteps, SessionHarness, count, harness


async def counts(frame: FrameIn) -> Any:
    return count(frame)


async def test_each_step_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        for _ in range(3):
            await steps.run_step()
        await home.wait_for_iteration(3)
        assert [frame.step for frame in steps.frames[:3]] == [FIRST_STEP, "n/1", "n/2"]
        assert [frame.state for frame in steps.frames[:3]] == [None, 1, 2]
        assert all(frame.guidance is UNSET for frame in steps.frames)
        state, rows = await home.state(), await home.steps()
        assert (state.status, state.iteration) == (SessionStatus.RUNNING, 3)
        assert (state.step_token, state.next_step_token, state.state) == ("n/2", "n/3", 3)
        assert state.result == {"text": "step 3", "data": None, "done": False}
        assert [(row.iteration, row.step_token, row.next_step_token) for row in rows] == [
            (0, FIRST_STEP, "n/1"),
            (1, "n/1", "n/2"),
            (2, "n/2", "n/3"),
        ]
        assert [row.text for row in rows] == ["step 1", "step 2", "step 3"]
        assert not await home.open_actions()
        assert agent.running


async def test_a_step_is_one_write_with_all_that_it_changes(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:

        async def slow(frame: FrameIn) -> Any:
            home.now += 0.25
            return count(frame, data={"n": 1}, notes="noted", done=True)

        agent = await home.start_agent(slow, conversation_id="c")
        await agent.join()
        (write,) = [write for write in home.writes if write.steps]
        (step,), (message,) = write.steps, write.messages
        assert write.state is not None
        assert (write.state.status, write.state.iteration) == (SessionStatus.DONE, 1)
        assert step.latency_ms == 250
        assert (step.data, step.notes, step.status) == ({"n": 1}, "noted", "done")
        assert (message.sender_type, message.event_type) == (SenderType.AGENT, "step")
        assert (message.text, message.iteration, message.step_token) == ("step 1", 0, FIRST_STEP)
        assert await home.messages() == [message]


async def test_a_first_step_may_be_named(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        await home.start_agent(steps, config={"first_step": "plan"})
        assert (await steps.wait_for_begin()).step == "plan"


# ---- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "moniker", "status"),
    [
        (None, True, "done"),
        (None, False, "stopped"),
        (True, False, "done"),
        (False, True, "stopped"),
    ],
)
async def test_done_ends_a_session_that_stops_on_it(
    tmp_path: Path, limit: bool | None, moniker: bool, status: str
) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, limits={"stop_on_done": limit, "max_steps": 2})
        await steps.wait_for_begin()
        assert home.moniker is not None
        home.moniker.stop_on_done = moniker  # type: ignore[misc]
        for _ in range(2):
            steps.finish_step(lambda frame: count(frame, done=True))
        await agent.join()
        assert (await home.state()).status == status
        assert home.moniker.closed


async def test_max_steps_stops_it_and_says_so(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        agent = await home.start_agent(counts, limits={"max_steps": 3})
        await agent.join()
        state, rows = await home.state(), await home.steps()
        assert (state.status, state.iteration, len(rows)) == (SessionStatus.STOPPED, 3, 3)
        assert rows[-1].status == "stopped"
        assert rows[-1].notes == "Stopped: it has done max_steps = 3 steps."
        assert state.context == {"note": rows[-1].notes}


async def test_max_runtime_counts_all_lives_and_no_pause(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, limits={"max_runtime_s": 10})

        def takes(seconds: float) -> Any:
            def gives(frame: FrameIn) -> Any:
                home.now += seconds
                return count(frame)

            return gives

        await steps.run_step(takes(4))
        await steps.wait_for_begin()
        await home.pause(agent)
        steps.finish_step(takes(2))
        await home.wait_for_iteration(2)
        # Until it has seen that it is to pause.
        while agent._session_writer.stopwatch._since is not None:
            await asyncio.sleep(0)
        home.now += 50
        await home.resume(agent)
        await steps.wait_for_begin()
        await home.pause(agent)
        assert (await home.state()).ran_s == 6
        await agent.suspend()
        home.now += 100
        again = home.agent(await home.take_over(), steps)
        again.start()
        await home.resume(again)
        await steps.run_step(takes(3))
        await steps.run_step(takes(3))
        await again.join()
        state, rows = await home.state(), await home.steps()
        assert (state.status, state.ran_s) == (SessionStatus.STOPPED, 12)
        assert "max_runtime_s = 10" in (rows[-1].notes or "")


async def test_max_runtime_ends_a_wait(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        agent = await home.start_agent(counts, wait=1e6, limits={"max_runtime_s": 0.001})
        await agent.join()
        state = await home.state()
        assert (state.status, state.iteration) == (SessionStatus.STOPPED, 1)
        assert "max_runtime_s" in state.context["note"]


# ---- whose session it is -----------------------------------------------------------------------------


async def test_an_older_epoch_ends_without_a_word(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        old = await home.start_agent(steps)
        await steps.run_step()
        await steps.wait_for_begin()
        taken = await home.take_over()
        steps.finish_step()
        await old.join()
        assert not old.running
        kept, before = await home.state(), len(home.writes)
        assert (kept.epoch, kept.iteration) == (taken.epoch, 1)
        new = home.agent(taken, steps)
        new.start()
        frame = await steps.run_step()
        assert (frame.step, frame.state) == ("n/1", 1)
        await home.wait_for_iteration(2)
        assert [row.iteration for row in await home.steps()] == [0, 1]
        assert len(home.writes) == before + 1


async def test_an_action_that_finds_the_session_gone_ends_the_step_under_way(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        old = await home.start_agent(steps)
        await steps.wait_for_begin()
        finish = home.finish("none")
        await home.take_over()
        before = len(home.writes)
        with pytest.raises(CommandError) as caught:
            await old.pause(finish)
        assert caught.value.code == "stale_epoch"
        await old.join()
        assert not old.running
        assert len(home.writes) == before


async def test_another_step_at_its_place_ends_it_as_an_error(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.run_step()
        await steps.wait_for_begin()
        write = home.writes[-1]
        state = await home.state()
        (other,) = write.steps
        stray = [
            write.__class__(
                session_id="s",
                epoch=state.epoch,
                owner=home.owner,
                steps=(other.__class__(**_fields(other) | {"id": "stray", "iteration": 1}),),
            )
        ]
        await home.store.write(stray[0])
        steps.finish_step()
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.ERROR
        assert "another step" in (state.last_error or "").lower()


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


# ---- actions -----------------------------------------------------------------------------------------


async def test_a_paused_session_keeps_the_step_that_was_under_way(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await home.pause(agent)
        await home.pause(agent)
        pausing = await home.state()
        assert (pausing.status, pausing.is_pausing) == (SessionStatus.RUNNING, True)
        steps.finish_step()
        paused = await home.wait_for_iteration(1)
        assert (paused.status, paused.is_pausing) == (SessionStatus.PAUSED, False)
        assert (await home.steps())[0].status == "paused"
        steps.finish_step()  # nobody takes it: nothing begins
        assert len(steps.frames) == 1
        await home.resume(agent)
        await home.wait_for_iteration(2)
        assert (await home.steps())[1].status == "running"


async def test_a_session_that_waits_between_two_steps_is_paused_at_once(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, wait=3600)
        await steps.run_step()
        await home.wait_for_iteration(1)
        await home.pause(agent)
        paused = await home.state()
        assert (paused.status, paused.is_pausing) == (SessionStatus.PAUSED, False)


async def test_a_pause_is_withdrawn_while_the_step_is_under_way(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await home.pause(agent)
        await home.resume(agent)
        going = await home.state()
        assert (going.status, going.is_pausing) == (SessionStatus.RUNNING, False)
        steps.finish_step()
        await steps.run_step()  # the next one begins
        await home.wait_for_iteration(2)
        assert [step.status for step in await home.steps()] == ["running", "running"]


def fail(frame: FrameIn) -> NoReturn:
    raise RuntimeError("too busy")


async def test_a_step_that_failed_and_is_to_be_tried_again_is_none_under_way(
    tmp_path: Path,
) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, limits={"retries": 1, "backoff_s": 3600})
        await steps.wait_for_begin()
        await home.pause(agent)
        steps.finish_step(fail)
        paused = await home.wait_for_status(SessionStatus.PAUSED)
        assert (paused.is_pausing, paused.attempt, paused.iteration) == (False, 1, 0)
        await home.resume(agent)  # which ends the wait
        await steps.run_step()
        await home.wait_for_iteration(1)
        assert [step.status for step in await home.steps()] == ["running"]


async def begins_paused(home: SessionHarness, steps: ManualSteps) -> Any:
    agent = await home.start_agent(steps)
    await steps.wait_for_begin()
    await home.pause(agent)
    await agent.suspend()
    again = home.agent(await home.take_over(), steps)
    again.start()
    return again


async def test_a_session_comes_back_paused(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        again = await begins_paused(home, steps)
        assert (again.epoch, again.running) == (2, True)
        await home.resume(again)
        assert (await steps.run_step()).step == FIRST_STEP


async def test_a_session_that_was_stopping_comes_back_to_stop(tmp_path: Path) -> None:
    async with harness(tmp_path) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        finish = await home.action(ActionKind.DESTROY)
        destroying = asyncio.create_task(agent.destroy(60, finish))
        await home.wait_for_status(SessionStatus.STOPPING)
        await agent.suspend()
        await asyncio.wait({destroying})
        assert destroying.exception() is not None
        again = home.agent(await home.take_over(), steps)
        again.start()
        await again.join()
        assert (await home.state()).status is SessionStatus.STOPPED
        assert len(steps.frames) == 1
