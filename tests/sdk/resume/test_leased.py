"""A lease outlives its connection: an agent goes on without its Core, as far as there is room."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import ConnectionLostError
from agentstepper_nb.protocol.agent import (
    HaltPointReached,
    LeaseMessage,
    MessagesAcknowledged,
    Withdraw,
)
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import EventSide, RunMode
from agentstepper_nb.sdk.connection_state import LinkLimits
from agentstepper_nb.sdk.send_queue import FutureKind, PendingFutures
from tests.sdk.both_steppers import both, limited_stepper, run
from tests.sdk.resume.agents import FINISHED, ThreadAgent, wait_for_log
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, make_edit_answer

CONTINUE_LEASE = LeaseMessage(epoch=1, mode=RunMode.CONTINUE)


async def query_model(dbg: Any, prompt: Any) -> None:
    await dbg.begin_llm_query_breakpoint(prompt)
    await dbg.end_llm_query_breakpoint("r")


def size(point: HaltPointReached) -> int:
    return 0 if point.data is UNSET else len(bytes(point.data))


@both
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_the_lease_outlives_its_connection(
    agent: ThreadAgent,
    core: ScriptedCore,
    policy: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    core.lease = CONTINUE_LEASE

    async def scenario(dbg: Any) -> None:
        await query_model(dbg, "before")
        await agent.wait_for_step(0)
        for n in range(20):
            await query_model(dbg, n)
        core.start()

    working = agent.run(scenario, stop_on_entry=True, on_disconnect=policy)
    peer = core.wait_for_peer()
    for _ in range(3):
        peer.receive(HaltPointReached)
    core.stop()
    wait_for_log(caplog, "The agent continues")
    agent.release_step()
    working.result(TIMEOUT_S)
    later = core.wait_for_peer()
    assert later.wait_until_gone() == FINISHED
    assert [(point.waits, point.epoch) for point in later.halt_points] == [(False, 1)] * 40


@both
def test_where_a_stop_halts_it_waits_for_its_core(agent: ThreadAgent, core: ScriptedCore) -> None:
    core.lease = LeaseMessage(
        epoch=1,
        mode=RunMode.CONTINUE,
        breakpoints=(BreakpointRule(id="s", name="t", side=EventSide.BEGIN),),
    )
    ahead: list[int] = []

    async def scenario(dbg: Any) -> Any:
        await agent.wait_for_step(0)
        for n in range(5):
            await query_model(dbg, n)
            ahead.append(n)
        agent.release_step()
        return await dbg.begin_tool_invocation_breakpoint("t", 1)

    working = agent.run(scenario, stop_on_entry=True)
    core.wait_for_peer().receive(HaltPointReached)
    core.stop()
    agent.release_step()
    assert agent._gates[1].wait(TIMEOUT_S)
    core.start()
    peer = core.wait_for_peer()
    while not (point := peer.receive(HaltPointReached)).breakpoints:
        assert not point.waits
    assert point.waits
    peer.answer(point.id, make_edit_answer('{"Tool":"t","Argument":2}'))
    assert working.result(TIMEOUT_S) == ("t", 2)
    assert ahead == list(range(5))


# ---- room -------------------------------------------------------------------------------------------


@both
def test_it_waits_for_a_core_that_keeps_nothing(
    agent: ThreadAgent, core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    core.lease, core.acknowledges = CONTINUE_LEASE, False
    passed: list[int] = []
    crowded, expect = threading.Event(), PendingFutures.expect

    def expecting(self: PendingFutures, key: str, kind: FutureKind, check: Any) -> Any:
        if kind == "room":
            crowded.set()
        return expect(self, key, kind, check)

    monkeypatch.setattr(PendingFutures, "expect", expecting)

    async def scenario(dbg: Any) -> None:
        for n in range(100):
            await dbg.begin_llm_query_breakpoint(f"{n:04} " * 200)
            passed.append(n)
            await dbg.end_llm_query_breakpoint(f"{-n:05} " * 200)

    limits = LinkLimits(max_connected_bytes=50_000)
    working = agent.run(scenario, stop_on_entry=True, limits=limits)
    peer = core.wait_for_peer()
    assert crowded.wait(TIMEOUT_S)
    assert 0 < len(passed) < 50, "it has no room for more"
    core.acknowledges = True
    peer.send(MessagesAcknowledged(received=1 + len(peer.received)))
    working.result(TIMEOUT_S)
    assert peer.wait_until_gone() == FINISHED
    assert passed == list(range(100))


def test_a_cancelled_task_waits_for_no_room(core: ScriptedCore) -> None:
    core.lease, core.acknowledges = CONTINUE_LEASE, False

    async def scenario(dbg: Any) -> None:
        peer = core.wait_for_peer()
        await dbg.begin_llm_query_breakpoint("x" * 10_000)
        task = asyncio.create_task(dbg.end_llm_query_breakpoint("r"))
        point = await asyncio.to_thread(peer.receive, HaltPointReached)
        while point.side is EventSide.BEGIN:
            point = await asyncio.to_thread(peer.receive, HaltPointReached)
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await asyncio.to_thread(peer.receive, Withdraw)).halt_point == point.id
        core.acknowledges = True
        peer.send(MessagesAcknowledged(received=1 + len(peer.received)))
        assert await dbg.begin_llm_query_breakpoint("q") == "q"

    run("async", core, scenario, LinkLimits(max_connected_bytes=8_000))


def test_who_waits_for_room_hears_that_the_run_is_over(core: ScriptedCore) -> None:
    limits = LinkLimits(max_connected_bytes=8_000, max_disconnected_bytes=8_000)
    core.lease, core.acknowledges = CONTINUE_LEASE, False
    dbg = limited_stepper(limits)("T", "127.0.0.1", core.port, on_disconnect="raise")
    peer = core.wait_for_peer()
    with ThreadPoolExecutor(1) as pool:
        dbg.begin_llm_query_breakpoint("x" * 10_000)
        waits = pool.submit(dbg.begin_llm_query_breakpoint, "y")
        while size(peer.receive(HaltPointReached)) != len('"y"'):
            pass
        assert not waits.done()
        peer.break_connection()
        assert isinstance(waits.exception(TIMEOUT_S), ConnectionLostError)
    dbg.close()
