"""Sessions in a real debugger: steps are halted, edited, refused and stopped by a person."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.protocol.data_model import Actor, RunEnding, RunState
from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.runtime.frame import FrameIn
from agentstepper_nb.runtime.monikers.joke import JokeMoniker
from tests.coding.debugged_agent import AsyncLiveView
from tests.runtime.live_sessions import ManualSteps, count, harness

NOWHERE = Path("nowhere")


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[AsyncLiveView]:
    with AsyncLiveView(core.ui_port) as view:
        yield view


async def once(frame: FrameIn) -> Any:
    return count(frame, done=True)


async def test_a_session_is_a_run_that_goes_on_by_itself(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once)
        await agent.join()
        run = await asyncio.to_thread(view.wait_until_ended)
        state = await home.state()
        assert (run.program, run.ending) == ("a · test", RunEnding.FINISHED)
        assert state.run_id == run.id
        rows = await asyncio.to_thread(view.list_rows)
        (result,) = [row for row in rows if row.source is Actor.TOOLS]
        assert (await asyncio.to_thread(view.get_data, result))["text"] == "step 1"


async def test_the_run_is_known_while_the_first_step_is_halted(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once, step=True)
        assert await view.wait_for_halt() == {
            "Tool": "test",
            "Argument": {"step": "start", "state": None},
        }
        assert (await home.state()).run_id == view.run.id
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async()
        await agent.join()


async def test_an_edited_frame_is_what_the_step_is_given_and_what_is_kept(
    view: AsyncLiveView,
) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        given = []

        async def step(frame: FrameIn) -> Any:
            given.append(frame)
            return count(frame, done=True)

        agent = await home.start_agent(step, step=True)
        await view.wait_for_halt()
        edited = {"step": "here", "state": 40, "guidance": {"do": "it"}}
        await view.step_async({"Tool": "test", "Argument": edited})
        result = await view.wait_for_halt()
        assert (result["step"], result["state"]) == ("here", 41)
        await view.step_async(result | {"state": 42, "text": "by hand"})
        await agent.join()
        assert given == [FrameIn(step="here", state=40, guidance={"do": "it"})]
        (row,), state = await home.steps(), await home.state()
        assert (row.step_token, row.guidance, row.text) == ("here", {"do": "it"}, "by hand")
        assert (row.state, state.state, state.status) == (42, 42, SessionStatus.DONE)


@pytest.mark.parametrize(
    ("begin", "end", "why"),
    [
        ({"Tool": "test", "Argument": {"stepp": "x"}}, None, "edited frame can't be used"),
        ({"Tool": "test", "Argument": {"step": ""}}, None, "edited frame can't be used"),
        ({"Tool": "other", "Argument": {"step": "start"}}, None, "replaced by a step of 'other'"),
        (None, {"done": True}, "edited result can't be used"),
        (None, "done", "edited result can't be used"),
        (None, {"step": "x", "next_step": "y", "done": True}, "a frame of step 'x'"),
    ],
)
async def test_a_bad_edit_is_an_error_step_and_is_not_tried_again(
    view: AsyncLiveView, begin: Any, end: Any, why: str
) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once, step=True, limits={"retries": 5, "backoff_s": 0})
        await view.wait_for_halt()
        if begin is None:
            await view.step_async()
            await view.wait_for_halt()
            await view.step_async(end)
        else:
            await view.step_async(begin)
            await asyncio.to_thread(view.resume)
        await agent.join()
        (row,) = await home.steps()
        assert row.status == "error"
        assert why in (row.error or "")


async def test_a_denied_step_is_an_error_step(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, step=True, limits={"retries": 5})
        await view.wait_for_halt()
        await view.deny_async("not today")
        await agent.join()
        (row,) = await home.steps()
        assert (row.status, row.error) == ("error", "not today")
        assert steps.frames == []


async def test_a_failing_step_may_be_given_its_result(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:

        async def broken(frame: FrameIn) -> Any:
            raise OSError("no net")

        agent = await home.start_agent(broken, step=True)
        await view.wait_for_halt()
        await view.step_async()
        await view.wait_for_halt()
        await view.step_async({"step": "start", "next_step": "x", "done": True, "text": "saved"})
        await agent.join()
        (row,) = await home.steps()
        assert (row.status, row.text) == ("done", "saved")


async def test_stop_ends_the_session(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once, step=True)
        await view.wait_for_halt()
        await asyncio.to_thread(view.stop)
        await agent.join()
        state = await home.state()
        assert state.status is SessionStatus.STOPPED
        assert "pressed Stop" in state.context["note"]
        assert (await asyncio.to_thread(view.wait_until_ended)).ending is RunEnding.STOPPED
        assert await home.steps() == []


async def test_destroy_withdraws_what_halts(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once, step=True)
        await view.wait_for_halt()
        await home.destroy(agent, timeout_s=0)
        await agent.join()
        run = await asyncio.to_thread(view.wait_until_ended)
        assert (run.pending, run.ending) == ((), RunEnding.STOPPED)
        assert (await home.state()).status is SessionStatus.STOPPED


async def test_a_halted_session_is_paused_and_goes_on_in_its_step(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(once, step=True)
        await view.wait_for_halt()
        await home.pause(agent)
        halted = await home.state()  # its step is under way
        assert (halted.status, halted.is_pausing) == (SessionStatus.RUNNING, True)
        await asyncio.to_thread(view.resume)
        await agent.join()
        assert (await home.state()).status is SessionStatus.DONE


async def test_each_life_is_a_run_of_its_own(view: AsyncLiveView) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        first = (await home.state()).run_id
        await agent.suspend()
        again = home.agent(await home.take_over(), steps)
        again.start()
        await steps.run_step(lambda frame: count(frame, done=True))
        await again.join()
        second = (await home.state()).run_id
        await asyncio.to_thread(view.wait_until, lambda run: run.id == second)
        await asyncio.to_thread(view.wait_until_ended)
        assert first != second
        assert view.runs[str(first)].state is RunState.IDLE


async def test_without_a_debugger_it_goes_on_and_says_so_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    with caplog.at_level(logging.WARNING, "agentstepper_nb.test"):
        async with harness(NOWHERE, debugger=True) as home:
            agent = await home.start_agent(once)
            await agent.join()
            assert (await home.state()).status is SessionStatus.DONE
            assert (await home.state()).run_id is None
    assert len([r for r in caplog.records if "the debugger doesn't show" in r.message]) == 1


async def test_a_core_that_goes_away_hinders_no_end(core: AgentStepperCore) -> None:
    async with harness(NOWHERE, debugger=True, run_close_timeout_s=0.0) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await asyncio.to_thread(core.stop)
        await home.destroy(agent, timeout_s=0)
        await agent.join()
        assert (await home.state()).status is SessionStatus.STOPPED


# ---- what a step asks of a model ---------------------------------------------------------------------


async def test_the_model_s_question_stands_inside_the_step_and_can_be_edited(
    view: AsyncLiveView,
) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        config = {"subject": "cats", "interval_s": 0}
        agent = await home.start_agent(
            JokeMoniker, moniker="joke", config=config, step=True, limits={"max_steps": 1}
        )
        await view.wait_for_halt()
        await view.step_async()
        question = await view.wait_for_halt()
        assert question["messages"][-1]["content"] == "Tell me joke number 1 about cats."
        question["messages"][-1]["content"] = "Tell me joke number 2 about dogs."
        await view.step_async(question)
        answer = await view.wait_for_halt()
        assert "dogs" in answer["content"].lower()
        await view.step_async({"role": "assistant", "content": "Knock, knock."})
        assert (await view.wait_for_halt())["text"] == "Knock, knock."
        await view.step_async()
        await agent.join()
        assert [row.text for row in await home.steps()] == ["Knock, knock."]
        rows = await asyncio.to_thread(view.list_rows)
        (step,) = [row for row in rows if row.name == "joke" and row.target is Actor.TOOLS]
        (asked,) = [row for row in rows if row.target is Actor.LLM]
        assert asked.depth == step.depth + 1


@pytest.mark.parametrize(
    ("edits", "why"),
    [([{"model": 1}], "edited prompt can't be sent"), ([..., [1]], "edited answer can't be used")],
)
async def test_an_edit_that_is_no_question_or_answer_is_an_error_step(
    view: AsyncLiveView, edits: list[Any], why: str
) -> None:
    async with harness(NOWHERE, debugger=True) as home:
        agent = await home.start_agent(JokeMoniker, moniker="joke", step=True)
        await view.wait_for_halt()
        await view.step_async()
        for edit in edits:
            await view.wait_for_halt()
            await view.step_async(edit)
        await asyncio.to_thread(view.wait_until_halted)
        await asyncio.to_thread(view.resume)
        await agent.join()
        (row,) = await home.steps()
        assert why in (row.error or "")


# ---- a debugger that ends a run ----------------------------------------------------------------------


@pytest.mark.parametrize("when", ["between", "during"])
async def test_a_run_that_is_lost_is_gone_on_without(
    view: AsyncLiveView, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    """A run ends for its agent where its Core doesn't want it any more."""
    with caplog.at_level(logging.WARNING, "agentstepper_nb.test"):
        async with harness(NOWHERE, debugger=True) as home:
            steps = ManualSteps()
            agent = await home.start_agent(steps, wait=1e6 if when == "between" else 0)
            await steps.wait_for_begin()
            assert home.moniker is not None
            context = home.moniker.task
            dbg = context.dbg
            assert dbg is not None
            if when == "between":
                steps.finish_step()
                await home.wait_for_iteration(1)
                await dbg.close()
                await home.interrupt(agent, "now")
                await steps.wait_for_begin()
            else:
                await dbg.close()
            steps.finish_step(lambda frame: count(frame, done=True))
            await agent.join()
            assert (await home.state()).status is SessionStatus.DONE
            assert context.dbg is None
    said = [record for record in caplog.records if "no longer" in record.message]
    assert len(said) == 1
