"""Which call of a model's a tool call is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore
from agentstepper_nb.instrument.called_tools import (
    find_call_id,
    pop_called_tool,
    record_called_tools,
    restore_called_tools,
)
from agentstepper_nb.llm_wire.tool_names import CalledTool, find_called_tools


@pytest.fixture
def stepper(live: AgentStepperCore) -> Iterator[AgentStepper]:
    options: dict[str, Any] = {"stop_on_entry": False, "mode": "continue"}
    with AgentStepper("loop", "127.0.0.1", live.client_port, **options) as stepper:
        yield stepper


def call(id: str | None, name: str = "add", **args: int) -> dict[str, Any]:
    return {"id": id, "function": {"name": name, "arguments": json.dumps(args)}}


def answer(*calls: dict[str, Any]) -> dict[str, Any]:
    return {"choices": [{"message": {"tool_calls": list(calls)}}]}


def test_the_id_is_that_of_the_call_with_the_arguments(stepper: AgentStepper) -> None:
    record_called_tools(stepper, answer(call("c1", a=1), call("c2", a=2), call("c3", "sub", a=2)))
    run = stepper.run_id
    assert find_call_id(run, "add", {"a": 2}, None) == "c2"
    assert find_call_id(run, "sub", {"a": 2}, None) == "c3"
    assert find_call_id(run, "add", {"a": 7}, None) is None
    assert find_call_id(run, "add", {"a": 1}, None) == "c1"
    assert find_call_id(run, "add", {"a": 1}, None) is None


def test_a_call_of_another_context_is_found_in_the_run(stepper: AgentStepper) -> None:
    copy_context().run(record_called_tools, stepper, answer(call("c1", a=1)))
    copy_context().run(record_called_tools, stepper, answer(call("c2", a=2)))
    record_called_tools(stepper, answer(call("c3", a=1)))
    assert find_call_id(stepper.run_id, "add", {"a": 1}, None) == "c3"
    assert find_call_id(stepper.run_id, "add", {"a": 1}, None) == "c1"
    assert find_call_id(stepper.run_id, "add", {"a": 2}, None) == "c2"


def test_the_id_that_a_framework_hands_over_is_the_models(stepper: AgentStepper) -> None:
    record_called_tools(stepper, answer(call("c1", a=1), call("c2", a=1)))
    assert find_call_id(stepper.run_id, "add", {"a": 1}, "c2") == "c2"
    assert find_call_id(stepper.run_id, "add", {"a": 1}, None) == "c1"


def test_an_id_that_a_framework_makes_up_is_not_used(stepper: AgentStepper) -> None:
    part = {"functionCall": {"name": "add", "args": {"a": 1}}}
    record_called_tools(stepper, {"candidates": [{"content": {"parts": [part]}}]})
    assert find_call_id(stepper.run_id, "add", {"a": 1}, "made-up") is None


def test_a_framework_whose_answers_are_not_seen_is_believed(stepper: AgentStepper) -> None:
    assert find_call_id(stepper.run_id, "add", {"a": 1}, "c9") == "c9"
    record_called_tools(stepper, answer(call("c1", "sub")))
    assert find_call_id(stepper.run_id, "add", {"a": 1}, "c9") == "c9"


def test_arguments_that_compare_with_nothing_fail_no_call(stepper: AgentStepper) -> None:
    class Table:
        def __eq__(self, other: object) -> bool:
            raise ValueError("The truth value of an array is ambiguous.")

        __hash__ = None

    record_called_tools(stepper, answer(call("c1", a=1)))
    assert find_call_id(stepper.run_id, "add", {"a": Table()}, None) is None


def test_of_several_calls_the_one_with_the_arguments_is_taken(stepper: AgentStepper) -> None:
    record_called_tools(stepper, answer(call("c1", a=1), call("c2", a=2)))
    run = stepper.run_id
    assert pop_called_tool(run, "add", {"a": 2}) == CalledTool("add", {"a": 2}, "c2")
    assert pop_called_tool(run, "add", {"a": 9}) == CalledTool("add", {"a": 1}, "c1")
    assert pop_called_tool(run, "add", {"a": 1}) is None


def test_calls_of_another_run_are_none_of_this_one(
    stepper: AgentStepper, live: AgentStepperCore
) -> None:
    record_called_tools(stepper, answer(call("c1", a=1)))
    stepper.__exit__(None, None, None)
    options: dict[str, Any] = {"stop_on_entry": False, "mode": "continue"}
    with AgentStepper("next", "127.0.0.1", live.client_port, **options) as later:
        assert pop_called_tool(later.run_id, "add", {"a": 1}) is None


def test_what_a_tool_asks_leaves_the_calls_around_it(stepper: AgentStepper) -> None:
    record_called_tools(stepper, answer(call("c1", a=1)))
    with restore_called_tools():
        record_called_tools(stepper, answer(call("c2", a=2)))
    assert pop_called_tool(stepper.run_id, "add", {}) == CalledTool("add", {"a": 1}, "c1")


def test_nothing_is_remembered_of_a_run_that_is_over(stepper: AgentStepper) -> None:
    record_called_tools(stepper, answer(call("c1", a=1)))
    run = stepper.run_id
    stepper.__exit__(None, None, None)
    assert find_call_id(run, "add", {"a": 1}, None) is None


@pytest.mark.parametrize(
    ("found", "called"),
    [
        (answer(call("c1", a=1)), CalledTool("add", {"a": 1}, "c1")),
        (
            {"choices": [{"message": {"tool_calls": [{"custom": {"name": "run", "input": "1"}}]}}]},
            CalledTool("run", "1", None),
        ),
        (
            {
                "output": [
                    {
                        "type": "function_call",
                        "name": "add",
                        "id": "fc",
                        "call_id": "c",
                        "arguments": "",
                    }
                ]
            },
            CalledTool("add", {}, "c"),
        ),
        (
            {"content": [{"type": "tool_use", "name": "add", "id": "t1", "input": {"a": 1}}]},
            CalledTool("add", {"a": 1}, "t1"),
        ),
        (answer({"function": {"name": "add", "arguments": "{"}}), CalledTool("add", "{", None)),
    ],
)
def test_a_call_is_read_in_each_api(found: Any, called: CalledTool) -> None:
    assert find_called_tools(found) == [called]
