"""Whatever goes wrong with a call is a result, and the loop goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from agentstepper_nb.coding.options import CodingLimits
from agentstepper_nb.coding.policy.engine import PolicyEvaluation
from tests.coding.debugged_agent import AgentHarness, run
from tests.coding.scripted_parts import (
    FakeProvider,
    FakeTool,
    make_text_answer,
    make_tool_calls,
)


def test_whatever_goes_wrong_with_a_call_is_a_result_and_the_loop_goes_on(tmp_path: Path) -> None:
    def breaks(args: Any) -> None:
        raise KeyError("inside")

    model = FakeProvider(
        make_tool_calls(
            ("1", "nothing", {}),
            ("2", "t", '{"half": '),
            ("3", "t", {"policy": "denied"}),
            ("4", "breaks", {}),
            ("5", "odd", {}),
            ("6", "t", ""),
        ),
        make_text_answer("I see."),
    )
    odd = FakeTool("odd", lambda args: {"set": {1, 2}, "what": object()})
    with AgentHarness(tmp_path, model, FakeTool("t"), FakeTool("breaks", breaks), odd) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    results = made.results_by_call()
    assert [results[id].ok for id in "123456"] == [False] * 5 + [True]
    assert "There is no tool 'nothing'. There are: t, breaks, odd." in results["1"].content
    assert "not JSON" in results["2"].content
    assert "The policy denies this call: So it is said." in results["3"].content
    assert "breaks failed: 'inside'" in results["4"].content
    assert "JSON" in results["5"].content
    assert results["6"].content == "{}"


def test_a_timeout_of_a_tool_or_a_provider_is_told_from_ours(tmp_path: Path) -> None:
    def late(args: Any) -> Any:
        raise TimeoutError("their own")

    unlimited = CodingLimits(tool_timeout_s=None, idle_timeout_s=None)
    model = FakeProvider(make_tool_calls(("1", "t", {})), late)
    with AgentHarness(tmp_path, model, FakeTool("t", late), limits=unlimited) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "TimeoutError: their own")
    assert "t failed: their own" in made.results_by_call()["1"].content


def test_a_tool_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    async def forever(args: Any) -> None:
        await asyncio.Event().wait()

    model = FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("I see."))
    with AgentHarness(
        tmp_path, model, FakeTool("t", forever), limits=CodingLimits(tool_timeout_s=0.01)
    ) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert "took longer than 0.01 seconds" in made.results_by_call()["1"].content


def test_something_of_a_tools_own_that_is_cancelled_is_a_failure(tmp_path: Path) -> None:
    async def leaks(args: Any) -> None:
        raise asyncio.CancelledError

    model = FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("I see."))
    with AgentHarness(tmp_path, model, FakeTool("t", leaks)) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert "t failed: CancelledError" in made.results_by_call()["1"].content


@pytest.mark.parametrize("said", [None, "perhaps", PolicyEvaluation(decision=cast(Any, "perhaps"))])
def test_a_policy_that_says_nothing_that_is_known_asks(tmp_path: Path, said: Any) -> None:
    model, tool = (
        FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("I see.")),
        FakeTool("t"),
    )
    with AgentHarness(tmp_path, model, tool) as made:
        made.agent._policy = ConstantPolicy(said)
        run(made.agent.run("Go."))
    assert tool.calls == []
    assert (
        "This call was denied. The call needs a person's approval"
        in made.results_by_call()["1"].content
    )


@pytest.mark.parametrize("said", ["denied", PolicyEvaluation(decision=cast(Any, "denied"))])
def test_a_policy_may_say_it_by_a_word(tmp_path: Path, said: Any) -> None:
    model, tool = (
        FakeProvider(make_tool_calls(("1", "t", {})), make_text_answer("I see.")),
        FakeTool("t"),
    )
    with AgentHarness(tmp_path, model, tool) as made:
        made.agent._policy = ConstantPolicy(said)
        run(made.agent.run("Go."))
    assert tool.calls == []
    assert "The policy denies this" in made.results_by_call()["1"].content


class ConstantPolicy:
    """A policy of somebody's own, that says one thing, whatever it is."""

    def __init__(self, said: Any) -> None:
        self._said = said

    async def evaluate(self, tool: Any, args_json: str) -> Any:
        return self._said
