"""Frameworks' agents under the debugger, without a changed line of theirs.

The tests of `agent_scopes` and `replays` are of this file, too: to start a framework takes seconds.
"""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.protocol.seams import FoundBy, FoundTool, RunSeams
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.agent_rows import get_label, get_lane, run_to_end
from tests.frameworks.agent_scopes import *  # noqa: F403  # here, they have the same processes
from tests.frameworks.replays import *  # noqa: F403
from tests.frameworks.sampled_rows import each_framework, each_mode
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, change_argument, replace

#: Of each framework, the seams of its tools and of its model's client.
SEAMS = {
    "langgraph": {"langchain-core", "httpx2"},
    "openai-agents": {"openai-agents", "httpx2"},
    "pydantic-ai": {"pydantic-ai", "httpx2"},
    "anthropic": {"anthropic", "httpx2"},
    "mcp": {"mcp", "httpx2"},
    "google-adk": {"google-adk", "httpx2"},
    "agent-framework": {"agent-framework", "httpx2"},
    "crewai": {"crewai", "httpx"},
    "smolagents": {"smolagents", "httpx2"},
}

#: The sub-agents' names, where they aren't `helper`: these are called by their own names.
SUB_AGENTS = {"smolagents": "delegate", "google-adk": "delegate"}


@pytest.fixture
def helper(request: pytest.FixtureRequest) -> str:
    framework = request.node.callspec.params["process"]
    return SUB_AGENTS.get(framework, "helper")


@each_framework
def test_the_seams_are_active(process: AgentProcess, request: pytest.FixtureRequest) -> None:
    framework = request.node.callspec.params["process"]
    assert SEAMS[framework] <= set(process.seams)


@each_framework
def test_the_run_records_its_seams_and_how_its_tool_was_found(
    stepped_agent: SteppedAgent, request: pytest.FixtureRequest
) -> None:
    framework = request.node.callspec.params["process"]
    stepped_agent.start(stepped_agent.find_mode("sync", "asynchronous"), "please add")
    for name in (QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        stepped_agent.step(name)
    stepped_agent.end()
    seams = stepped_agent.person.wait_until_ended().seams
    assert isinstance(seams, RunSeams)
    versions = {seam.library: seam.version for seam in seams.seams if seam.is_active}
    assert SEAMS[framework] <= {library for library, version in versions.items() if version}
    assert seams.tools == (FoundTool(name="add", found_by=FoundBy.ADAPTER),)
    said = [row for row in stepped_agent.person.list_rows() if row.kind is EventKind.DEBUG_MESSAGE]
    assert [row.summary[:22] for row in said] == ["Halting at queries of "]


@each_mode
@each_framework
def test_five_edits_take_effect(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "please add")
    stepped_agent.edit(QUERY, replace("please add", "kindly add"))
    stepped_agent.edit(ANSWER, change_argument("b", 4))
    stepped_agent.edit("add", lambda call: {**call, "Argument": {**call["Argument"], "b": 10}})
    result = stepped_agent.person.get_data(stepped_agent.wait_for_halt("add's result"))
    assert "12" in json.dumps(result)
    stepped_agent.person.step("99" if isinstance(result, str) else 99)
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("The tools say: 99", "Edited."))
    assert stepped_agent.end() == {"output": "Edited."}
    first, second = stepped_agent.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)
    assert stepped_agent.list_halts() == [QUERY, ANSWER, "add", "add's result", QUERY, ANSWER]


@each_mode
@each_framework
def test_stop_ends_the_agent(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "please add")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("add")
    stepped_agent.person.stop()
    end = stepped_agent.end()
    assert end["error"] in ("AgentStopped", "RepeatedStop")
    assert len(stepped_agent.requests) == 1


@each_mode
@each_framework
def test_the_model_reads_that_a_tool_was_denied(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "please add")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("add")
    stepped_agent.person.deny("Too dear.")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "The tools say: Too dear."}


@each_framework
def test_a_denied_query_is_not_repeated(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.deny("Not today.")
    end = stepped_agent.end()
    assert "Not today." in end["message"]
    assert stepped_agent.requests == []


@each_mode
@each_framework
def test_parallel_calls_have_their_names(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "both")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    ends = ("add", "search", "add's result", "search's result")
    for _ in ends:
        stepped_agent.step(*ends)
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "The tools say: 5, found boats"}
    assert sorted(stepped_agent.list_halts()[2:6]) == sorted(ends)


@each_mode
@each_framework
def test_a_sub_agent_halts_inside_of_its_call(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "delegate")
    for name in (QUERY, ANSWER, "delegate", QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        stepped_agent.step(name)
    assert "The tools say: 5" in json.dumps(stepped_agent.step("delegate's result"))
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "The tools say: The tools say: 5"}
    depths = [row.depth for row in stepped_agent.person.list_rows() if row.name == "add"]
    assert depths == [1, 1]


@each_mode
@each_framework
def test_events_say_whose_they_are(mode: str, stepped_agent: SteppedAgent, helper: str) -> None:
    rows = run_to_end(stepped_agent, mode, "delegate")
    asked, delegated, *inside, said = rows
    assert {get_label(row) for row in (asked, delegated, said)} == {("main", None)}
    assert {get_label(row) for row in inside} == {(helper, "main")}
    assert get_lane(asked) == get_lane(delegated) == get_lane(said)
    assert get_lane(asked)[-1].startswith("agent:main:")
    assert len(inside) == 3
    for row in inside:
        assert row.scope[: len(get_lane(row))] == get_lane(inside[0]), inside
        assert get_lane(row) != get_lane(asked)


@each_framework
def test_a_query_that_the_client_repeats_is_one(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "busy")
    stepped_agent.edit(QUERY, replace("busy", "busy, kindly"))
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "Well: busy, kindly"}
    assert stepped_agent.list_halts() == [QUERY, ANSWER]
    assert all("kindly" in json.dumps(each) for each in stepped_agent.requests)
    assert len(stepped_agent.requests) == 2


@each_framework
def test_the_tools_timer_does_not_count_the_persons_pause(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(stepped_agent.find_mode("asynchronous", "sync"), "work")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("slow")
    pause_longer_than_a_second()
    stepped_agent.person.step()
    assert "worked" in json.dumps(stepped_agent.step("slow's result"))
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "The tools say: worked"}


def pause_longer_than_a_second() -> None:
    """The pause is what is tested: the tools' own limit is a second."""
    threading.Event().wait(1.2)


@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_a_handoff_is_an_event(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "expert")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.step("transfer_to_expert")
    assert stepped_agent.step("transfer_to_expert's result") == {"agent": "expert"}
    answers: list[Any] = [stepped_agent.step(QUERY), stepped_agent.step(ANSWER)]
    assert answers
    assert "output" in stepped_agent.end()


@pytest.mark.frameworks
@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_a_tool_over_mcp_is_one_event(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("over_mcp", "please add")
    for name in (QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        stepped_agent.step(name)
    assert "5" in stepped_agent.end()["output"]
    assert stepped_agent.list_halts() == [QUERY, ANSWER, "add", "add's result", QUERY, ANSWER]
