"""Frameworks' agents under the debugger, without a changed line of theirs."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.protocol.seams import FoundBy, FoundTool, RunSeams
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts, change_argument, replace
from tests.frameworks.unsupported_rows import installed_apart

FRAMEWORKS = ("langgraph", "openai-agents", "pydantic-ai")
#: `make frameworks` has these besides.
MORE_FRAMEWORKS = ("agent-framework", "anthropic", "crewai", "google-adk", "mcp", "smolagents")
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
MANNERS = ("sync", "asynchronous", "stream")

each_framework = pytest.mark.parametrize(
    "process", [*FRAMEWORKS, *map(installed_apart, MORE_FRAMEWORKS)], indirect=True, scope="module"
)
each_manner = pytest.mark.parametrize("manner", MANNERS)


@each_framework
def test_the_seams_are_active(process: AgentProcess, request: pytest.FixtureRequest) -> None:
    framework = request.node.callspec.params["process"]
    assert SEAMS[framework] <= set(process.seams)


@each_framework
def test_the_run_records_its_seams_and_how_its_tool_was_found(
    halts: AtHalts, request: pytest.FixtureRequest
) -> None:
    framework = request.node.callspec.params["process"]
    halts.start(halts.find_manner("sync", "asynchronous"), "please add")
    for name in (QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        halts.step(name)
    halts.end()
    seams = halts.person.wait_until_ended().seams
    assert isinstance(seams, RunSeams)
    versions = {seam.library: seam.version for seam in seams.seams if seam.is_active}
    assert SEAMS[framework] <= {library for library, version in versions.items() if version}
    assert seams.tools == (FoundTool(name="add", found_by=FoundBy.ADAPTER),)
    said = [row for row in halts.person.list_rows() if row.kind is EventKind.DEBUG_MESSAGE]
    assert [row.summary[:22] for row in said] == ["Halting at queries of "]


@each_manner
@each_framework
def test_five_edits_take_effect(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "please add")
    halts.edit(QUERY, replace("please add", "kindly add"))
    halts.edit(ANSWER, change_argument("b", 4))
    halts.edit("add", lambda call: {**call, "Argument": {**call["Argument"], "b": 10}})
    result = halts.person.get_data(halts.at("add's result"))
    assert "12" in json.dumps(result)
    halts.person.step("99" if isinstance(result, str) else 99)
    halts.step(QUERY)
    halts.edit(ANSWER, replace("The tools say: 99", "Edited."))
    assert halts.end() == {"output": "Edited."}
    first, second = halts.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)
    assert halts.names() == [QUERY, ANSWER, "add", "add's result", QUERY, ANSWER]


@each_manner
@each_framework
def test_stop_ends_the_agent(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "please add")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("add")
    halts.person.stop()
    end = halts.end()
    assert end["error"] in ("AgentStopped", "RepeatedStop")
    assert len(halts.requests) == 1


@each_manner
@each_framework
def test_the_model_reads_that_a_tool_was_denied(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "please add")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("add")
    halts.person.deny("Too dear.")
    halts.step(QUERY)
    halts.step(ANSWER)
    assert halts.end() == {"output": "The tools say: Too dear."}


@each_framework
def test_a_denied_query_is_not_repeated(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    halts.at(QUERY)
    halts.person.deny("Not today.")
    end = halts.end()
    assert "Not today." in end["message"]
    assert halts.requests == []


@each_manner
@each_framework
def test_parallel_calls_have_their_names(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "both")
    halts.step(QUERY)
    halts.step(ANSWER)
    ends = ("add", "search", "add's result", "search's result")
    for _ in ends:
        halts.step(*ends)
    halts.step(QUERY)
    halts.step(ANSWER)
    assert halts.end() == {"output": "The tools say: 5, found boats"}
    assert sorted(halts.names()[2:6]) == sorted(ends)


@each_manner
@each_framework
def test_a_sub_agent_halts_inside_of_its_call(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "delegate")
    for name in (QUERY, ANSWER, "delegate", QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        halts.step(name)
    assert "The tools say: 5" in json.dumps(halts.step("delegate's result"))
    halts.step(QUERY)
    halts.step(ANSWER)
    assert halts.end() == {"output": "The tools say: The tools say: 5"}
    depths = [row.depth for row in halts.person.list_rows() if row.name == "add"]
    assert depths == [1, 1]


@each_framework
def test_a_query_that_the_client_repeats_is_one(halts: AtHalts) -> None:
    halts.start("sync", "busy")
    halts.edit(QUERY, replace("busy", "busy, kindly"))
    halts.step(ANSWER)
    assert halts.end() == {"output": "Well: busy, kindly"}
    assert halts.names() == [QUERY, ANSWER]
    assert all("kindly" in json.dumps(each) for each in halts.requests)
    assert len(halts.requests) == 2


@each_framework
def test_the_tools_timer_does_not_count_the_persons_pause(halts: AtHalts) -> None:
    halts.start(halts.find_manner("asynchronous", "sync"), "work")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("slow")
    pause_longer_than_a_second()
    halts.person.step()
    assert "worked" in json.dumps(halts.step("slow's result"))
    halts.step(QUERY)
    halts.step(ANSWER)
    assert halts.end() == {"output": "The tools say: worked"}


def pause_longer_than_a_second() -> None:
    """The pause is what is tested: the tools' own limit is a second."""
    threading.Event().wait(1.2)


@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_a_handoff_is_an_event(halts: AtHalts) -> None:
    halts.start("sync", "expert")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.step("transfer_to_expert")
    assert halts.step("transfer_to_expert's result") == {"agent": "expert"}
    answers: list[Any] = [halts.step(QUERY), halts.step(ANSWER)]
    assert answers
    assert "output" in halts.end()


@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_a_tool_over_mcp_is_one_event(halts: AtHalts) -> None:
    halts.start("over_mcp", "please add")
    for name in (QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        halts.step(name)
    assert "5" in halts.end()["output"]
    assert halts.names() == [QUERY, ANSWER, "add", "add's result", QUERY, ANSWER]
