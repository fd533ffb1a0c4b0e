"""mini-swe-agent, whose one tool is bash, and whose answer is a command that it runs."""

from __future__ import annotations

import json
import threading

import pytest

from agentstepper_nb.protocol.data_model import EventOutcome, RunEnding
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts, replace
from tests.frameworks.unsupported_rows import installed_apart

pytestmark = pytest.mark.parametrize(
    "process", [installed_apart("mini-swe-agent")], indirect=True, scope="module"
)
TOOL, RESULT = "bash", "bash's result"


def end(halts: AtHalts) -> object:
    """Step to the end from the query for the answer; what the last command raises halts nobody."""
    for name in (QUERY, ANSWER, TOOL):
        halts.step(name)
    return halts.end()


def step_to_tool(halts: AtHalts) -> None:
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at(TOOL)


def test_the_seams_are_active(process: AgentProcess) -> None:
    assert {"mini-swe-agent", "httpx"} <= set(process.seams)


@pytest.mark.parametrize("manner", ["sync", "asynchronous", "stream"])
def test_six_edits_take_effect(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "please add")
    halts.edit(QUERY, replace("please add", "kindly add"))
    halts.edit(ANSWER, replace("b=3", "b=4"))
    halts.edit(TOOL, replace("b=4", "b=10"))
    halts.edit(RESULT, replace("12\n", "99\n"))
    halts.step(QUERY)
    halts.edit(ANSWER, replace("The tools say: 99", "Edited."))
    halts.edit(TOOL, replace("Edited.", "Edited again."))
    assert halts.end() == {"output": "Edited again."}
    first, second = halts.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)


def test_the_normal_end_is_no_failure(halts: AtHalts) -> None:
    halts.start("sync", "hello")
    assert end(halts) == {"output": "Well: hello"}
    assert halts.names() == [QUERY, ANSWER, TOOL, RESULT]
    last = [row for row in halts.person.list_rows() if row.name == TOOL][-1]
    assert (last.outcome, last.failure) == (EventOutcome.OK, None)
    assert halts.person.wait_until_ended().ending is RunEnding.FINISHED


def test_stop_ends_the_agent(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    step_to_tool(halts)
    halts.person.stop()
    assert halts.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert len(halts.requests) == 1


def test_stop_at_a_query_ends_the_agent_that_retries(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    halts.at(QUERY)
    halts.person.stop()
    assert halts.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert halts.requests == []


def test_the_model_reads_that_a_tool_was_denied(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    step_to_tool(halts)
    halts.person.deny("Too dear.")
    assert end(halts) == {"output": "The tools say: Too dear."}


def test_a_denied_query_is_not_repeated(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    halts.at(QUERY)
    halts.person.deny("Not today.")
    assert "Not today." in halts.end()["message"]
    assert halts.requests == []


def test_stop_ends_an_agent_that_repeats_a_denied_query(halts: AtHalts) -> None:
    halts.start("sync", "please add")
    halts.at(QUERY)
    halts.person.deny("Not today.")
    halts.at(QUERY)
    halts.person.stop()
    assert halts.end()["error"] == "RepeatedStop"
    assert halts.requests == []


def test_several_calls_are_made_one_after_the_other(halts: AtHalts) -> None:
    halts.start("sync", "both")
    stepped = [halts.step(name) for name in (QUERY, ANSWER, TOOL, RESULT, TOOL, RESULT)]
    assert [set(body["Argument"]) for body in stepped[2::2]] == [{"command"}, {"command"}]
    assert end(halts) == {"output": "The tools say: 5, found boats"}


def test_a_sub_agent_halts_inside_of_its_call(halts: AtHalts) -> None:
    raise AssertionError("It is skipped.")


def test_a_query_that_the_client_repeats_is_one(halts: AtHalts) -> None:
    halts.start("sync", "busy")
    halts.edit(QUERY, replace("busy", "busy, kindly"))
    halts.step(ANSWER)
    halts.step(TOOL)
    assert halts.end() == {"output": "Well: busy, kindly"}
    assert all("kindly" in json.dumps(each) for each in halts.requests)
    assert len(halts.requests) == 2


def test_the_agents_timer_does_not_count_the_persons_pause(halts: AtHalts) -> None:
    halts.start("sync", "work")
    step_to_tool(halts)
    threading.Event().wait(1.2)  # the pause is what is tested: the agent's own limit is a second
    halts.person.step()
    halts.step(RESULT)
    assert end(halts) == {"output": "The tools say: worked"}
