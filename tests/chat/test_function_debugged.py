"""A function in the debugger: what it does with an AgentStepper of its own stands within its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.chat.connectors.function import FunctionAgent
from agentstepper_nb.protocol.values import EventKind, Side
from agentstepper_nb.sdk import ambient
from tests.chat.answering import answered
from tests.coding.debugged import View
from tests.helpers.loops import on_loop


def plain(message: str) -> str:
    with AgentStepper("mine") as dbg, dbg.tool("inner", {"n": 1}) as tool:
        tool.result = tool.args
    return dbg.run_id


def generator(message: str) -> Iterator[str]:
    with AgentStepper("mine") as dbg:
        yield dbg.run_id
        with dbg.tool("outer", {}) as outer:
            yield ""
            with dbg.tool("inner", {}) as inner:
                inner.result = 1
            outer.result = 2


async def async_generator(message: str) -> AsyncIterator[str]:
    async with AsyncAgentStepper("mine") as dbg:
        yield dbg.run_id
        async with dbg.tool("outer", {}) as outer:
            yield ""
            async with dbg.tool("inner", {}) as inner:
                inner.result = 1
            outer.result = 2


ALONE = [(0, "function"), (1, "inner")]
NESTED = [(0, "function"), (1, "outer"), (2, "inner")]


def tools(view: View) -> list[tuple[int, str]]:
    """The tools that were called: how deep each stands, and its name."""
    begun = [row for row in view.rows() if row.side is Side.BEGIN and row.outcome is None]
    calls = [row for row in begun if row.kind is EventKind.TOOL_INVOCATION]
    return [(row.depth, view.body(row)["Tool"]) for row in calls]


@pytest.mark.parametrize(
    ("function", "shown"), [(plain, ALONE), (generator, NESTED), (async_generator, NESTED)]
)
@on_loop
async def test_its_own_agentstepper_is_the_sessions_run(
    function: Callable[..., Any], shown: list[tuple[int, str]]
) -> None:
    with (
        AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core,
        View(core.ui_port) as view,
    ):
        dbg = AsyncAgentStepper(
            "chat", "127.0.0.1", core.client_port, stop_on_entry=False, mode="continue"
        )
        async with dbg:
            async with dbg.tool("function", {}) as turn:
                with ambient(dbg):
                    got = await answered(FunctionAgent(function))
                turn.result = got
        assert "".join(got) == dbg.run_id
        await asyncio.to_thread(view.over)
        assert await asyncio.to_thread(tools, view) == shown
