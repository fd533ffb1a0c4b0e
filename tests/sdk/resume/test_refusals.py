"""A Core that doesn't take a run up again, and what a person is told of it all."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb import ConnectionLostError
from agentstepper_nb.protocol.agent import (
    AgentError,
)
from tests.sdk.both_steppers import both, run
from tests.sdk.resume.agents import ThreadAgent, query, wait_for_log
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, answer_all, answer_start, waiting

REFUSALS = ["unknown_run", "run_ended", "unauthorized", "version_mismatch"]


@both
@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_ends_the_wait(agent: ThreadAgent, core: ScriptedCore, code: str) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ConnectionLostError, match=r"refused to continue this run.*Because\."):
            await dbg.begin_llm_query_breakpoint("p")
        with pytest.raises(ConnectionLostError, match="Start the agent again"):
            await dbg.post_debug_message("m")

    working = agent.run(scenario)
    first = core.wait_for_peer()
    waiting(first)
    core.welcome = AgentError(code=code, message="Because.")
    first.break_connection()
    working.result(TIMEOUT_S)


@both
@pytest.mark.parametrize("code", REFUSALS)
def test_under_continue_the_agent_goes_on_alone(
    agent: ThreadAgent, core: ScriptedCore, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> Any:
        values = [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]
        await agent.wait_for_step(0)
        values += [await dbg.begin_llm_query_breakpoint(n) for n in range(10)]
        await dbg.post_debug_message("m")
        return values

    working = agent.run(scenario, on_disconnect="continue")
    first = core.wait_for_peer()
    waiting(first)
    core.welcome = AgentError(code=code, message="Because.")
    first.break_connection()
    wait_for_log(caplog, "The agent continues without the Core")
    agent.release_step()
    assert working.result(TIMEOUT_S) == [*range(10), *range(10)]
    assert caplog.text.count("continues without the Core") == 1
    assert "delivered" not in caplog.text


@both
@pytest.mark.parametrize("code", ["internal", "store_failed"])
def test_what_may_pass_is_tried_again(agent: ThreadAgent, core: ScriptedCore, code: str) -> None:
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    core.welcome = AgentError(code=code, message="Not now.")
    first.break_connection()
    refused = core.wait_for_peer()
    core.welcome = None
    refused.break_connection()
    second = core.wait_for_peer()
    second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"


@both
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_the_original_can_t_take_up_a_run(
    stepper_kind: str, policy: str, pool: ThreadPoolExecutor
) -> None:
    with ScriptedCore(answer_start) as core:
        working = pool.submit(run, stepper_kind, core, query, on_disconnect="wait")
        waiting(core.wait_for_peer())
        core.stop()
        core.version = 1
        core.start()
        with pytest.raises(
            ConnectionLostError, match="The original AgentStepper runs at this address"
        ):
            working.result(TIMEOUT_S)
    with ScriptedCore(version=1) as original:
        original.policy = lambda peer, point: (
            answer_all(peer, point) if point.summary else peer.break_connection()
        )
        with pytest.raises(ConnectionLostError, match="Start the agent again"):
            run(stepper_kind, original, query, on_disconnect=policy)


# ---- what a person is told ---------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("policy", "advice"),
    [
        ("wait", "waits for the Core at the next halt point"),
        ("continue", "continues without edits"),
    ],
)
def test_an_outage_is_told_once_and_its_end_too(
    agent: ThreadAgent,
    core: ScriptedCore,
    policy: str,
    advice: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    working = agent.run(query, on_disconnect=policy)
    point = waiting(core.wait_for_peer())
    core.stop()
    wait_for_log(caplog, advice)
    core.start()
    second = core.wait_for_peer()
    if policy == "wait":
        second.answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    second.wait_until_gone()
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert caplog.text.count("Connection lost to the Core at") == 1
    assert caplog.text.count(f"The Core is back at {core.url}, and the run continues.") == 1


@both
def test_a_short_outage_is_not_told(
    agent: ThreadAgent, core: ScriptedCore, caplog: pytest.LogCaptureFixture
) -> None:
    working = agent.run(query)
    first = core.wait_for_peer()
    point = waiting(first)
    first.break_connection()
    core.wait_for_peer().answer(point.id)
    assert working.result(TIMEOUT_S) == "p"
    assert caplog.records == []
