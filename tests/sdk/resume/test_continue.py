"""Under `continue` an agent goes on without its Core; with a full buffer it waits after all."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb.protocol.agent import (
    HaltPointReached,
    Withdraw,
)
from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.sdk.connection_state import LinkLimits
from tests.sdk.both_steppers import both
from tests.sdk.resume.agents import FINISHED, ThreadAgent, query, wait_for_log
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, answer_all, make_edit_answer, waiting


@both
def test_it_goes_on_unedited_and_catches_up(agent: ThreadAgent, core: ScriptedCore) -> None:
    passed = threading.Event()

    async def scenario(dbg: Any) -> Any:
        first = await dbg.begin_llm_query_breakpoint("p")
        second = await dbg.end_llm_query_breakpoint("r")
        passed.set()
        await agent.wait_for_step(0)
        return first, second, await dbg.begin_tool_invocation_breakpoint("t", {"a": 1})

    working = agent.run(scenario, on_disconnect="continue")
    first = core.wait_for_peer()
    point = waiting(first)
    core.stop()
    assert passed.wait(TIMEOUT_S)  # with the Core back it would wait at the end, too
    core.start()
    second = core.wait_for_peer()
    assert second.hello is not None
    assert second.hello.waiting == ()
    assert second.receive(Withdraw).halt_point == point.id
    end = second.receive(HaltPointReached)
    assert (end.event, end.waits) == (point.event, False)
    agent.release_step()
    later = waiting(second)
    assert later.event != point.event, "with the Core back it waits again"
    second.answer(later.id, make_edit_answer('{"Tool": "t", "Argument": 2}'))
    assert working.result(TIMEOUT_S) == ("p", "r", ("t", 2))
    assert second.wait_until_gone() == FINISHED


@both
def test_every_wait_is_passed(agent: ThreadAgent, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        sync = getattr(dbg, "dbg", None)
        if sync is None:
            return await asyncio.gather(*(query(dbg) for _ in range(5)))
        with ThreadPoolExecutor(5) as threads:
            return list(threads.map(sync.begin_llm_query_breakpoint, "ppppp"))

    working = agent.run(scenario, on_disconnect="continue")
    first = core.wait_for_peer()
    points = {waiting(first).id for _ in range(5)}
    first.break_connection()
    second = core.wait_for_peer()
    assert {second.receive(Withdraw).halt_point for _ in range(5)} == points
    assert working.result(TIMEOUT_S) == list("ppppp")


# ---- what is full ----------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_where_the_buffer_is_full_the_agent_waits_and_nothing_is_dropped(
    agent: ThreadAgent,
    core: ScriptedCore,
    policy: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    said: list[int] = []
    said_when_full: list[int] = []

    async def scenario(dbg: Any) -> None:
        await agent.wait_for_step(0)
        watching = asyncio.create_task(watch())
        for n in range(60):
            await dbg.post_debug_message(str(n))
            said.append(n)
        await watching

    async def watch() -> None:
        """Runs meanwhile where the loop isn't blocked, and that is only where nobody awaits."""
        await asyncio.to_thread(wait_for_log, caplog, "The agent now waits")
        said_when_full.append(len(said))

    limits = LinkLimits(max_disconnected_bytes=5000)
    working = agent.run(scenario, on_disconnect=policy, limits=limits)
    first = core.wait_for_peer()
    first.receive(HaltPointReached)
    core.stop()
    agent.release_step()
    wait_for_log(caplog, "messages wait for the Core, which is still away. The agent now waits")
    assert 0 < len(said) < 60
    core.start()
    working.result(TIMEOUT_S)
    if agent.stepper_kind == "async":
        assert 0 < said_when_full[0] < 60
    else:
        assert said_when_full == [60]
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    messages = [event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE]
    assert [bytes(event.data) for event in messages] == [b'"%d"' % n for n in range(60)]  # type: ignore[arg-type]
    assert caplog.text.count("The agent now waits") == 1


@both
def test_at_a_breakpoint_continue_waits_where_the_buffer_is_full(
    agent: ThreadAgent, core: ScriptedCore, caplog: Any
) -> None:
    limits = LinkLimits(max_disconnected_bytes=2500)
    passed: list[int] = []

    async def scenario(dbg: Any) -> None:
        for n in range(20):
            await dbg.begin_llm_query_breakpoint("x" * 200)
            passed.append(n)

    working = agent.run(scenario, on_disconnect="continue", limits=limits)
    first = core.wait_for_peer()
    waiting(first)
    core.stop()
    wait_for_log(caplog, "The agent now waits")
    assert 0 < len(passed) < 10
    core.policy = answer_all
    core.start()
    working.result(TIMEOUT_S)
    assert core.wait_for_peer().wait_until_gone() == FINISHED
    assert passed == list(range(20))
