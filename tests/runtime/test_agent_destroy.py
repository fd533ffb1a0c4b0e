"""Ends: a session is stopped by whoever asks for it, whatever it is at; or ends by itself before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import ActionKind, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import SessionWrite
from agentstepper_nb.runtime.frame import FrameIn
from agentstepper_nb.runtime.session_agent import SessionAgent
from tests.runtime.live_sessions import ManualSteps, SessionHarness, count, harness

NOWHERE = Path("nowhere")


def statuses(home: SessionHarness) -> list[str]:
    """The statuses that were kept, each once in a row."""
    kept = [write.state.status for write in home.writes if write.state is not None]
    return [status for n, status in enumerate(kept) if n == 0 or kept[n - 1] is not status]


async def test_destroy_lets_the_step_under_way_end() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        destroying = asyncio.create_task(home.destroy(agent))
        await home.wait_for_status(SessionStatus.STOPPING)
        steps.finish_step()
        await destroying
        await agent.join()
        assert statuses(home) == ["running", "stopping", "stopped"]
        assert [row.status for row in await home.steps()] == ["stopping"]
        assert not await home.open_actions()
        assert home.moniker is not None and home.moniker.closed


async def test_the_action_is_done_when_the_session_has_stopped_and_not_before() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        destroying = asyncio.create_task(home.destroy(agent))
        await home.wait_for_status(SessionStatus.STOPPING)
        assert [action.kind for action in await home.open_actions()] == [ActionKind.DESTROY]
        steps.finish_step()
        await destroying
        assert home.writes[-1].finished and home.writes[-1].state is not None
        assert home.writes[-1].state.status is SessionStatus.STOPPED


async def test_destroy_of_a_paused_session() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps, wait=1e6)
        await steps.run_step()
        await home.wait_for_iteration(1)
        await home.pause(agent)
        await home.destroy(agent)
        assert statuses(home) == ["running", "paused", "stopping", "stopped"]
        assert not agent.is_pause_requested
        assert len(steps.frames) == 1


async def test_a_step_that_does_not_end_is_cancelled() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        await home.destroy(agent, timeout_s=0)
        await agent.join()
        assert statuses(home) == ["running", "stopping", "stopped"]
        assert await home.steps() == []


async def test_a_step_that_swallows_its_cancellation_is_cancelled_again() -> None:
    begun, swallowed = asyncio.Event(), []

    async def stubborn(frame: FrameIn) -> Any:
        begun.set()
        for _ in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                swallowed.append(error)
        await asyncio.Event().wait()

    async with harness(NOWHERE, cancel_grace_s=0.0) as home:
        agent = await home.start_agent(stubborn)
        await begun.wait()
        await home.destroy(agent, timeout_s=0)
        await agent.join()
        assert len(swallowed) == 2
        assert (await home.state()).status is SessionStatus.STOPPED
        assert await home.steps() == []


async def test_a_step_that_never_ends_is_left_alone_and_nothing_of_it_is_kept() -> None:
    begun, end = asyncio.Event(), asyncio.Event()

    async def deaf(frame: FrameIn) -> Any:
        begun.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        return count(frame)

    async with harness(NOWHERE, cancel_grace_s=0.0) as home:
        try:
            agent = await home.start_agent(deaf)
            await begun.wait()
            await home.destroy(agent, timeout_s=0)
            await agent.join()
            assert (await home.state()).status is SessionStatus.STOPPED
        finally:
            end.set()
        assert agent._task is not None
        await agent._task
        assert await home.steps() == []
        assert (await home.state()).status is SessionStatus.STOPPED


async def test_a_session_that_ends_by_itself_meanwhile_ended_so() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        destroying = asyncio.create_task(home.destroy(agent))
        await home.wait_for_status(SessionStatus.STOPPING)
        steps.finish_step(lambda frame: count(frame, done=True))
        await destroying
        assert statuses(home) == ["running", "stopping", "done"]
        assert not await home.open_actions()


async def refuses_all(home: SessionHarness, agent: SessionAgent) -> None:
    """It takes no action but its end."""
    finish = home.finish("none")
    for refused in (
        agent.pause(finish),
        agent.resume(finish),
        agent.interrupt("x", finish),
        agent.input("x", finish),
    ):
        with pytest.raises(CommandError, match="has ended") as caught:
            await refused
        assert caught.value.code == "session_over"


async def test_a_session_that_has_ended_takes_a_destroy_and_nothing_else() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.run_step(lambda frame: count(frame, done=True))
        await agent.join()
        await refuses_all(home, agent)
        await home.destroy(agent)
        assert (await home.state()).status is SessionStatus.DONE
        assert not await home.open_actions()


async def test_a_session_that_is_stopping_takes_nothing_but_its_end() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        destroying = asyncio.create_task(home.destroy(agent))
        await home.wait_for_status(SessionStatus.STOPPING)
        await refuses_all(home, agent)
        steps.finish_step()
        await destroying


async def test_a_cancelled_step_whose_write_is_under_way_is_kept() -> None:
    """A write is kept or refused as a whole, and the snapshot goes on from what was kept."""
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        writing, go_on = asyncio.Event(), asyncio.Event()

        async def holds(ask: SessionWrite) -> None:
            if ask.steps:
                writing.set()
                await go_on.wait()

        home.on_write = holds
        agent = await home.start_agent(steps)
        await steps.run_step()
        await writing.wait()
        agent._cancel()  # as `destroy` does where its time is over
        await agent._steps_ended.wait()
        go_on.set()
        await home.destroy(agent)
        state, rows = await home.state(), await home.steps()
        assert (state.status, state.iteration, len(rows)) == (SessionStatus.STOPPED, 1, 1)


async def test_suspend_keeps_nothing() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        before, kept = len(home.writes), await home.state()
        await agent.suspend()
        await agent.join()
        assert not agent.running
        assert len(home.writes) == before
        assert await home.state() == kept
        assert home.moniker is not None and home.moniker.closed
        with pytest.raises(CommandError) as caught:
            await agent.pause(home.finish("none"))
        assert caught.value.code == "stale_epoch"


async def test_suspend_takes_back_a_write_that_waits_for_the_core() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        writing = asyncio.Event()

        async def away(ask: SessionWrite) -> None:
            writing.set()
            await asyncio.Event().wait()

        home.on_write = away
        steps.finish_step()
        await writing.wait()
        await agent.suspend()
        assert await home.steps() == []


async def test_an_action_of_another_owner_by_now_changes_nothing() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        finish = await home.action(ActionKind.PAUSE)

        async def stale(ask: SessionWrite) -> None:
            raise CommandError("stale_claim", "Somebody else does it.")

        home.on_write = stale
        with pytest.raises(CommandError, match="Somebody else"):
            await agent.pause(finish)
        home.on_write = None
        assert not agent.is_pause_requested
        assert agent.snapshot.status is SessionStatus.RUNNING
        steps.finish_step()
        await steps.wait_for_begin()


async def test_an_agent_that_was_never_started_can_be_destroyed() -> None:
    async with harness(NOWHERE) as home:
        state, finish = await home.create()
        agent = home.agent(state, ManualSteps())
        await agent.record_created(finish)
        await home.destroy(agent)
        await agent.join()
        assert (await home.state()).status is SessionStatus.STOPPED


async def test_a_destroy_that_is_another_owner_s_by_now_stops_the_session_all_the_same() -> None:
    async with harness(NOWHERE) as home:
        steps = ManualSteps()
        agent = await home.start_agent(steps)
        await steps.wait_for_begin()
        finish = await home.action(ActionKind.DESTROY)

        async def stale(ask: SessionWrite) -> None:
            if ask.finished:
                raise CommandError("stale_claim", "Somebody else does it.")

        home.on_write = stale
        with pytest.raises(CommandError, match="Somebody else"):
            await agent.destroy(0, finish)
        assert (await home.state()).status is SessionStatus.STOPPED
