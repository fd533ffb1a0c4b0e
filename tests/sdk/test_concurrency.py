"""Threads and tasks: each waits on its own."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.protocol.agent import EventBegun, HaltPointReached, Withdraw
from agentstepper_nb.protocol.data_model import EventOutcome, EventSide
from tests.sdk.scripted_core import (
    TIMEOUT_S,
    AgentPeer,
    ScriptedCore,
    answer_all,
    answer_start,
    make_edit_answer,
)

MANY = 20


@pytest.fixture(autouse=True)
def held(core: ScriptedCore) -> None:
    core.policy = answer_start


def waiting_point(peer: AgentPeer) -> HaltPointReached:
    """The next halt point after the start."""
    point = peer.receive(HaltPointReached)
    return waiting_point(peer) if point.summary else point


def answer_out_of_order(peer: AgentPeer, side: EventSide) -> None:
    """Take all twenty, then answer them with twice their number, in a fixed disorder."""
    points = []
    while len(points) < MANY:
        point = peer.receive(HaltPointReached)
        if not point.summary:
            assert point.side is side
            points.append(point)
    random.Random(1).shuffle(points)
    for point in points:
        peer.answer(point.id, make_edit_answer(str(2 * msgspec.json.decode(point.data))))


def test_twenty_threads(core: ScriptedCore) -> None:
    def work(dbg: AgentStepper, n: int) -> Any:
        prompt = dbg.begin_llm_query_breakpoint(n)
        return prompt, dbg.end_llm_query_breakpoint(n + 100)

    with AgentStepper("T", "127.0.0.1", core.port) as dbg, ThreadPoolExecutor(MANY) as pool:
        results = [pool.submit(work, dbg, n) for n in range(MANY)]
        peer = core.wait_for_peer()
        answer_out_of_order(peer, EventSide.BEGIN)
        answer_out_of_order(peer, EventSide.END)
        assert [r.result(TIMEOUT_S) for r in results] == [
            (2 * n, 2 * (n + 100)) for n in range(MANY)
        ]
    assert len({point.event for point in peer.halt_points}) == MANY + 1


def test_twenty_tasks(core: ScriptedCore) -> None:
    async def work(dbg: AsyncAgentStepper, n: int) -> Any:
        async with dbg.tool("t", n) as t:
            t.result = n
        return t.result

    async def main() -> Any:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            return await asyncio.gather(*(work(dbg, n) for n in range(MANY)))

    def answer() -> None:
        peer = core.wait_for_peer()
        held = []
        while len(held) < MANY:
            point = peer.receive(HaltPointReached)
            if not point.summary:
                held.append(point)
        for point in reversed(held):
            peer.answer(point.id)
        answer_out_of_order(peer, EventSide.END)

    with ThreadPoolExecutor(1) as pool:
        answering = pool.submit(answer)
        assert asyncio.run(main()) == [2 * n for n in range(MANY)]
        answering.result(TIMEOUT_S)


async def test_the_loop_goes_on_while_a_task_waits(core: ScriptedCore) -> None:
    async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
        peer = core.wait_for_peer()
        waiting = asyncio.create_task(dbg.begin_llm_query_breakpoint("p"))
        point = await asyncio.to_thread(waiting_point, peer)
        assert not waiting.done()
        peer.answer(point.id, make_edit_answer('"q"'))
        assert await waiting == "q"


def test_a_cancelled_task_withdraws(core: ScriptedCore) -> None:
    async def main() -> Any:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            peer = core.wait_for_peer()
            task = asyncio.create_task(dbg.begin_tool_invocation_breakpoint("t", {}))
            await asyncio.to_thread(waiting_point, peer)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            core.policy = answer_all
            assert await dbg.begin_llm_query_breakpoint("again") == "again"
            return peer

    peer = asyncio.run(main())
    begin, withdraw, end = peer.received[3:6]
    assert withdraw == Withdraw(halt_point=begin.id)
    assert (end.event, end.outcome, end.waits) == (begin.event, EventOutcome.STOPPED, False)
    assert end.failure.type.endswith("CancelledError")
    assert peer.events[2].parent is None, "the cancelled event isn't open any more"


def test_a_time_limit_at_the_end_withdraws(core: ScriptedCore) -> None:
    async def main() -> AgentPeer:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            peer = core.wait_for_peer()
            core.policy = answer_all
            await dbg.begin_llm_query_breakpoint("p")
            core.policy = answer_start
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await dbg.end_llm_query_breakpoint("r")
            return peer

    peer = asyncio.run(main())
    peer.wait_until_gone()
    withdrawn = [message for message in peer.received if isinstance(message, Withdraw)]
    assert [w.halt_point for w in withdrawn] == [peer.halt_points[2].id]
    assert len(peer.halt_points) == 3


def test_cancelled_while_connecting_leaves_nothing(core: ScriptedCore) -> None:
    core.policy = lambda peer, point: None

    async def main() -> AgentPeer:
        task = asyncio.create_task(AsyncAgentStepper.connect("T", "127.0.0.1", core.port))
        peer = await asyncio.to_thread(core.wait_for_peer)
        await asyncio.to_thread(peer.receive, HaltPointReached)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return peer

    bye = asyncio.run(main()).wait_until_gone()
    assert bye is not None
    assert bye.ending.value == "stopped"


# ---- contexts ---------------------------------------------------------------------------------------


def test_events_belong_to_the_thread_that_began_them(core: ScriptedCore) -> None:
    core.policy = answer_all
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        dbg.begin_llm_query_breakpoint("p")
        with ThreadPoolExecutor(1) as pool:
            error = pool.submit(dbg.end_llm_query_breakpoint, "r").exception(TIMEOUT_S)
        assert isinstance(error, RuntimeError)
        assert dbg.end_llm_query_breakpoint("r") == "r"


def test_a_copied_context_names_the_parent(core: ScriptedCore) -> None:
    core.policy = answer_all
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        with dbg.tool("outer", {}):
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(_query, dbg))
            thread.start()
            thread.join(TIMEOUT_S)
        with dbg.llm("after"):
            pass
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    _, outer, inner, after = peer.events
    assert inner.parent == outer.id
    assert after.parent is None


def _query(dbg: AgentStepper) -> None:
    with dbg.llm("p"):
        pass


def test_tasks_inside_an_event_name_it_as_parent(core: ScriptedCore) -> None:
    core.policy = answer_all

    async def inner(dbg: AsyncAgentStepper) -> None:
        async with dbg.llm("p"):
            pass

    async def main() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            async with dbg.tool("outer", {}):
                async with asyncio.TaskGroup() as group:
                    for _ in range(3):
                        group.create_task(inner(dbg))

    asyncio.run(main())
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    _, outer, *tasks = peer.events
    assert [event.parent for event in tasks] == [outer.id] * 3


def test_two_agents_in_one_process_do_not_mix(core: ScriptedCore) -> None:
    core.policy = answer_all
    with (
        AgentStepper("A", "127.0.0.1", core.port) as a,
        AgentStepper("B", "127.0.0.1", core.port) as b,
    ):
        with a.tool("of a", {}), b.llm("of b"), pytest.raises(RuntimeError):
            b.end_tool_invocation_breakpoint("r")
    first, second = core.wait_for_peer(), core.wait_for_peer()
    first.wait_until_gone()
    second.wait_until_gone()
    of_b = first if first.hello and first.hello.program == "B" else second
    assert [e.parent for e in of_b.events if isinstance(e, EventBegun)] == [None, None]
