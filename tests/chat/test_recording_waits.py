"""A chat between its turns, as the debugger shows it."""

from __future__ import annotations

import asyncio

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.protocol.values import AgentState
from tests.chat.debugged import debugged
from tests.chat.house import Actor
from tests.coding.debugged import View
from tests.helpers.loops import on_loop


@on_loop
async def test_between_turns_nothing_is_said_to_run(core: AgentStepperCore, view: View) -> None:
    async with debugged(Actor(), step=False) as home:
        await home.ask()
        run = await asyncio.to_thread(view.until, lambda run: run.agent_state is AgentState.WAITING)
        assert run.rows >= 2  # the turn's begin and end
