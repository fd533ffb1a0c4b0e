"""Blocks for `with` and `async with`, of both AgentSteppers, at a real Core."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore


def use_blocks(dbg: AgentStepper | AsyncAgentStepper) -> list[Any]:
    with dbg.llm("p") as q:
        q.response = "r"
    with dbg.tool("t", {"a": 1}) as t:
        t.result = t.args
    with dbg.event("plan") as e:
        e.result = 3
    return [q.response, t.result, e.result]


async def await_blocks(dbg: AgentStepper | AsyncAgentStepper) -> list[Any]:
    async with dbg.llm("p") as q:
        q.response = "r"
    async with dbg.tool("t", {"a": 1}) as t:
        t.result = t.args
    async with dbg.event("plan") as e:
        e.result = 3
    return [q.response, t.result, e.result]


RESULTS = ["r", {"a": 1}, 3]


def test_an_agent_stepper_s_blocks_let_the_loop_go_on(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    went_on = threading.Event()

    async def main() -> list[Any]:
        with AgentStepper("agent", port=live.client_port, stop_on_entry=False) as dbg:
            halted = asyncio.ensure_future(await_blocks(dbg))

            async def other() -> None:
                await asyncio.to_thread(entered.wait, TIMEOUT_S)
                assert not halted.done()
                went_on.set()

            await other()
            return await halted

    entered = threading.Event()
    working = pool.submit(lambda: asyncio.run(main()))
    person.wait_until_halted()
    entered.set()
    assert went_on.wait(TIMEOUT_S), "the loop goes on while the agent is halted"
    person.step("edited")
    person.resume()
    assert working.result(TIMEOUT_S) == RESULTS
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert person.get_data(person.list_rows()[1]) == "edited"


def test_an_async_agent_stepper_s_blocks_halt_a_thread(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def main() -> list[Any]:
        async with AsyncAgentStepper("agent", port=live.client_port, stop_on_entry=False) as dbg:
            return await asyncio.to_thread(use_blocks, dbg)

    working = pool.submit(lambda: asyncio.run(main()))
    person.step("edited")
    person.resume()
    assert working.result(TIMEOUT_S) == RESULTS
    person.wait_until_ended()
    assert [row.kind for row in person.list_rows()[1:-1:2]] == [
        EventKind.LLM_QUERY,
        EventKind.TOOL_INVOCATION,
        EventKind.CUSTOM,
    ]
    assert person.get_data(person.list_rows()[1]) == "edited"


@pytest.mark.parametrize("name", ["llm", "tool", "event"])
def test_with_in_a_coroutine_is_refused(core: ScriptedCore, name: str) -> None:
    arguments = {"llm": ("p",), "tool": ("t", {}), "event": ("plan",)}

    async def main(dbg: AgentStepper) -> None:
        with getattr(dbg, name)(*arguments[name]):
            raise AssertionError("not to be entered")

    async def generator(dbg: AgentStepper) -> AsyncIterator[None]:
        with getattr(dbg, name)(*arguments[name]):
            yield None

    async def iterate(dbg: AgentStepper) -> None:
        async for _ in generator(dbg):
            raise AssertionError("not to be entered")

    with AgentStepper("agent", port=core.port) as dbg:
        for run in (main, iterate):
            with pytest.raises(RuntimeError, match=rf"Write `async with dbg\.{name}\(…\)`"):
                asyncio.run(run(dbg))
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert len(peer.events) == 1, "nothing of it was sent"


def test_with_of_an_async_agent_stepper_is_refused_where_a_loop_runs(core: ScriptedCore) -> None:
    async def main() -> None:
        async with AsyncAgentStepper("agent", port=core.port) as dbg:
            with pytest.raises(RuntimeError, match=r"`await asyncio\.to_thread\(…\)`"):
                use_blocks(dbg)
            assert await await_blocks(dbg) == RESULTS

    asyncio.run(main())


def test_synchronous_code_below_a_loop_goes_on_as_it_did(core: ScriptedCore) -> None:
    """As in a notebook's cell, where the kernel's loop runs around it."""

    async def main() -> list[Any]:
        with AgentStepper("agent", port=core.port) as dbg:
            return use_blocks(dbg)

    assert asyncio.run(main()) == RESULTS
