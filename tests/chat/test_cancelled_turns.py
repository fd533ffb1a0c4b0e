"""Turns that are stopped at each of their steps: they end, and leave nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Handoff, TextReplacement, Turn
from agentstepper_nb.protocol.chat import Message, State, TurnEnding
from agentstepper_nb.protocol.data_model import RunEnding as RunEnding
from tests.chat.harness import NOWHERE, ChatHarness, ScriptedAgent, harness
from tests.coding.debugged_agent import AsyncLiveView


async def says_all(message: Message, turn: Turn) -> AsyncIterator[Any]:
    """One of everything that an answer may be made of, with waits between."""
    await asyncio.sleep(0)
    yield "Some "
    yield "text."
    await asyncio.sleep(0)
    yield TextReplacement("Another text.")
    yield outputs.call("look", {"at": 1}, call_id="c1")
    await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
    yield outputs.console("out")
    yield outputs.result("c1", "seen")
    yield f"It is {(yield outputs.confirmation('Shall I?'))}. "
    yield f"And {await turn.confirm('Really?')}."
    try:
        yield outputs.code("1", "python")
    finally:
        await asyncio.sleep(0)
    yield Handoff("last", "Your turn.")


async def says_last(message: Message, turn: Turn) -> AsyncIterator[Any]:
    await asyncio.sleep(0)
    yield "That "
    await asyncio.sleep(0)
    yield "was all."


def actors() -> tuple[ScriptedAgent, ...]:
    return ScriptedAgent(says_all, "first", role="SUPERVISOR"), ScriptedAgent(says_last, "last")


def agreeing(home: ChatHarness) -> Callable[[], None]:
    """Says yes to whatever is asked."""

    def agree(event: Any) -> None:
        if (waiting := home.info.waiting) is not None:
            home.interpreter.choose(home.session, waiting, "Yes")

    return home.interpreter.attach(home.session, agree)


async def steps_of(home: ChatHarness) -> int:
    """The steps of the loop that a turn takes that nobody stops."""
    detach = agreeing(home)
    home.send("Go.")
    steps = 0
    while home.info.state is not State.STATE_STOP:
        await asyncio.sleep(0)
        steps += 1
    detach()
    assert home.info.ending is TurnEnding.DONE
    assert home.messages[-1].content == "That was all."
    return steps


def check_ended(home: ChatHarness) -> None:
    """Nothing is left of a turn."""
    info = home.info
    assert (info.state, info.speaking, info.waiting) == (State.STATE_STOP, None, None)
    assert all(message.final for message in home.messages)
    assert home.fold.messages == home.messages
    assert home.fold.info == info
    assert not [each for each in home.fold.states[1:] if each is State.STATE_INIT]
    assert {agent.phase.value for agent in info.agents} <= {"created", "ended"}


async def stop(home: ChatHarness, stream: Any) -> None:
    await home.stop()


async def close_stream(home: ChatHarness, stream: Any) -> None:
    await stream.aclose()
    await home.wait_for_user_turn()


async def stop_beside_others(home: ChatHarness, stream: Any) -> None:
    """Several at once, of which one loses its patience."""
    stops = [asyncio.ensure_future(home.stop()) for _ in range(3)]
    await asyncio.sleep(0)
    stops[0].cancel()
    await asyncio.gather(*stops, stream.aclose(), return_exceptions=True)
    await home.wait_for_user_turn()


@pytest.mark.slow
@pytest.mark.parametrize("end", [stop, close_stream, stop_beside_others])
async def test_a_turn_is_stopped_at_each_step(end: Callable[[ChatHarness, Any], Any]) -> None:
    async with harness(NOWHERE, *actors(), store=False) as home:
        steps = await steps_of(home)
    assert steps > 20
    for step in range(steps + 1):
        async with harness(NOWHERE, *actors(), store=False) as home:
            before = asyncio.all_tasks()
            detach = agreeing(home)
            stream = home.send("Go.")
            for _ in range(step):
                await asyncio.sleep(0)
            await end(home, stream)
            detach()
            check_ended(home)
            assert asyncio.all_tasks() == before
            if step < steps and end is stop:
                assert home.info.ending is TurnEnding.STOPPED
            again = await home.send_and_read("Again.", "last")
            assert [each.content for each in again] == ["That was all."]
            check_ended(home)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["remove", "close", "remove, cancelled", "close beside remove"])
async def test_a_session_is_ended_at_each_step(tmp_path: Path, how: str) -> None:
    async with harness(NOWHERE, *actors(), store=False) as home:
        steps = await steps_of(home)
    for step in range(steps + 1):
        before = asyncio.all_tasks()
        acting = actors()
        async with harness(tmp_path / str(step), *acting) as home:
            detach = agreeing(home)
            home.send("Go.")
            for _ in range(step):
                await asyncio.sleep(0)
            if how == "close":
                await home.interpreter.close()
            else:
                removing = asyncio.ensure_future(home.interpreter.remove(home.session))
                await asyncio.sleep(0)
                if how == "remove, cancelled":
                    removing.cancel()
                    await asyncio.wait({removing})
                if how != "remove":
                    await home.interpreter.close()
                elif not removing.done():
                    await removing
            detach()
        assert asyncio.all_tasks() == before
        assert [actor.ended_in for actor in acting] == [[home.session]] * 2
        files = list((tmp_path / str(step)).rglob("*.jsonl"))
        assert len(files) == (1 if how == "close" else 0)


# ---- in the debugger --------------------------------------------------------------------------------


async def in_the_debugger(message: Message, turn: Turn) -> AsyncIterator[Any]:
    """Says something, with a question and a call of its own."""
    assert turn.dbg is not None
    async with turn.dbg.llm("prompt") as query:
        await asyncio.sleep(0)
        query.response = "answer"
    yield "Some "
    async with turn.dbg.tool("look", {"at": 1}) as call:
        call.result = f"It is {await turn.confirm('Shall I?')}."
    yield call.result
    yield Handoff("last")


async def test_a_turn_in_the_debugger_is_stopped_at_each_step(core: AgentStepperCore) -> None:
    acting = ScriptedAgent(in_the_debugger, "first", role="CREW"), ScriptedAgent(says_last, "last")
    async with harness(NOWHERE, *acting, store=False, debugger=True) as home:
        before = asyncio.all_tasks()
        await home.send_and_read("Are you there?", "last")
        step, ending = 0, None
        while ending is not TurnEnding.DONE:
            detach = agreeing(home)
            home.send(f"Go {step}.")
            for _ in range(step):
                await asyncio.sleep(0)
            # A message from the Core, or none, as it may be: then it stops at that.
            await home.stop()
            detach()
            check_ended(home)
            assert asyncio.all_tasks() == before
            ending, step = home.info.ending, step + 1
            assert home.info.run_id is not None and home.info.no_debugger is None
        again = await home.send_and_read("Again.", "last")
        assert [each.content for each in again] == ["That was all."]
    with AsyncLiveView(core.ui_port) as view:
        run = await asyncio.to_thread(view.wait_until_ended)
    assert run.ending is RunEnding.FINISHED
    assert not run.pending
