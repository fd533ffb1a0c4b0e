"""An agent with a lease: where it goes on by itself, where it waits, and what it says of that."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStopped, AsyncAgentStepper
from agentstepper_nb.protocol.agent import (
    LeaseMessage,
)
from agentstepper_nb.protocol.answers import StopAnswer
from agentstepper_nb.protocol.data_model import RunEnding, RunMode
from tests.sdk.both_steppers import both, run, transcript
from tests.sdk.lease_helpers import (
    CONTINUE_LEASE,
    HALT,
    list_waits_and_epochs,
    make_timeline_answerer,
    query,
    wait_for_lease,
)
from tests.sdk.resume.agents import FINISHED
from tests.sdk.scripted_core import ScriptedCore, answer_all, answer_start

# ---- going on ---------------------------------------------------------------------------------------


@both
def test_while_it_continues_it_waits_for_nobody(stepper_kind: str, core: ScriptedCore) -> None:
    core.lease, core.policy = CONTINUE_LEASE, answer_start
    prompt, arguments, result = ["p"], {"a": 1}, ["result"]

    async def scenario(dbg: Any) -> None:
        assert await dbg.begin_llm_query_breakpoint(prompt) is prompt
        assert await dbg.end_llm_query_breakpoint(result) is result
        async with dbg.tool("t", arguments) as tool:
            assert tool.args is arguments
            tool.result = result
        assert tool.result is result
        async with dbg.event("plan"):
            pass
        with pytest.raises(LookupError, match="its own"):
            async with dbg.tool("t", {}):
                raise LookupError("its own")

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() == FINISHED
    assert list_waits_and_epochs(peer) == [(False, 1)] * 8


def test_a_task_that_waits_for_nothing_can_be_cancelled(core: ScriptedCore) -> None:
    core.lease = CONTINUE_LEASE
    passed: list[int] = []

    async def work() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            for n in range(100):
                await dbg.begin_llm_query_breakpoint(n)
                await dbg.end_llm_query_breakpoint(n)
                passed.append(n)
                if n == 1:
                    asyncio.get_running_loop().call_soon(working.cancel)

    async def scenario() -> None:
        nonlocal working
        working = asyncio.ensure_future(work())
        with pytest.raises(asyncio.CancelledError):
            await working

    working: asyncio.Future[None]
    asyncio.run(scenario())
    assert passed == [0, 1]
    peer = core.wait_for_peer()
    assert peer.wait_until_gone().ending is RunEnding.STOPPED


@both
def test_both_agentsteppers_say_the_same(stepper_kind: str, core: ScriptedCore) -> None:
    """Word for word what an agent says that waits everywhere, but for whether it waits."""

    async def scenario(dbg: Any) -> None:
        await query(dbg)
        async with dbg.tool("t", {"a": 1}) as tool:
            await dbg.post_debug_message("m")
            tool.result = 1

    run(stepper_kind, core, scenario)
    core.lease = CONTINUE_LEASE
    run(stepper_kind, core, scenario)
    waiting, leased = transcript(core.wait_for_peer()), transcript(core.wait_for_peer())
    for _, message in waiting + leased:
        message.pop("waits", None)
        message.pop("epoch", None)
    assert waiting == leased


@both
def test_where_it_steps_it_waits_everywhere(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> None:
        await query(dbg)

    core.lease = HALT
    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert peer.halt_points[0].waits
    assert list_waits_and_epochs(peer) == [(True, 2)] * 2


@both
def test_after_a_revoke_was_read_the_next_breakpoint_waits(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.lease = CONTINUE_LEASE

    async def scenario(dbg: Any) -> None:
        await query(dbg)
        core.requests = make_timeline_answerer(HALT)
        await wait_for_lease(dbg)
        await query(dbg)
        core.requests = make_timeline_answerer(LeaseMessage(epoch=3, mode=RunMode.CONTINUE))
        await wait_for_lease(dbg)
        await query(dbg)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert list_waits_and_epochs(peer) == [(False, 1)] * 2 + [(True, 2)] * 2 + [(False, 3)] * 2


@both
def test_who_is_stopped_hears_of_it_at_the_next_breakpoint(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.lease = CONTINUE_LEASE
    core.requests = make_timeline_answerer(HALT)
    core.policy = lambda peer, point: answer_all(peer, point) if point.summary else StopAnswer()

    async def scenario(dbg: Any) -> None:
        await query(dbg)
        await wait_for_lease(dbg)
        await query(dbg)

    with pytest.raises(AgentStopped):
        run(stepper_kind, core, scenario)


def test_in_version_1_the_core_decides() -> None:
    with ScriptedCore(version=1) as core, AgentStepper("T", "127.0.0.1", core.port) as dbg:
        assert dbg.begin_llm_query_breakpoint("p") == "p"
        assert dbg._current_session().link._halt_lease._early == deque()
