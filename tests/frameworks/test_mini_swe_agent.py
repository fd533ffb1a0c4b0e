"""mini-swe-agent, whose one tool is bash, and whose answer is a command that it runs."""

from __future__ import annotations

import json
import threading

import pytest

from agentstepper_nb.protocol.data_model import EventOutcome, RunEnding
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, replace
from tests.frameworks.unsupported_rows import separately_installed

pytestmark = pytest.mark.parametrize(
    "process", [separately_installed("mini-swe-agent")], indirect=True, scope="module"
)
TOOL, RESULT = "bash", "bash's result"


def step_to_end(stepped_agent: SteppedAgent) -> object:
    """Step to the end from the query for the answer; what the last command raises halts nobody."""
    for name in (QUERY, ANSWER, TOOL):
        stepped_agent.step(name)
    return stepped_agent.end()


def step_to_tool(stepped_agent: SteppedAgent) -> None:
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt(TOOL)


def test_the_seams_are_active(process: AgentProcess) -> None:
    assert {"mini-swe-agent", "httpx"} <= set(process.seams)


@pytest.mark.parametrize("mode", ["sync", "asynchronous", "stream"])
def test_six_edits_take_effect(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "please add")
    stepped_agent.edit(QUERY, replace("please add", "kindly add"))
    stepped_agent.edit(ANSWER, replace("b=3", "b=4"))
    stepped_agent.edit(TOOL, replace("b=4", "b=10"))
    stepped_agent.edit(RESULT, replace("12\n", "99\n"))
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("The tools say: 99", "Edited."))
    stepped_agent.edit(TOOL, replace("Edited.", "Edited again."))
    assert stepped_agent.end() == {"output": "Edited again."}
    first, second = stepped_agent.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)


def test_the_normal_end_is_no_failure(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "hello")
    assert step_to_end(stepped_agent) == {"output": "Well: hello"}
    assert stepped_agent.list_halts() == [QUERY, ANSWER, TOOL, RESULT]
    last = [row for row in stepped_agent.person.list_rows() if row.name == TOOL][-1]
    assert (last.outcome, last.failure) == (EventOutcome.OK, None)
    assert stepped_agent.person.wait_until_ended().ending is RunEnding.FINISHED


def test_stop_ends_the_agent(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    step_to_tool(stepped_agent)
    stepped_agent.person.stop()
    assert stepped_agent.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert len(stepped_agent.requests) == 1


def test_stop_at_a_query_ends_the_agent_that_retries(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.stop()
    assert stepped_agent.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert stepped_agent.requests == []


def test_the_model_reads_that_a_tool_was_denied(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    step_to_tool(stepped_agent)
    stepped_agent.person.deny("Too dear.")
    assert step_to_end(stepped_agent) == {"output": "The tools say: Too dear."}


def test_a_denied_query_is_not_repeated(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.deny("Not today.")
    assert "Not today." in stepped_agent.end()["message"]
    assert stepped_agent.requests == []


def test_stop_ends_an_agent_that_repeats_a_denied_query(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "please add")
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.deny("Not today.")
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.stop()
    assert stepped_agent.end()["error"] == "RepeatedStop"
    assert stepped_agent.requests == []


def test_several_calls_are_made_one_after_the_other(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "both")
    stepped = [stepped_agent.step(name) for name in (QUERY, ANSWER, TOOL, RESULT, TOOL, RESULT)]
    assert [set(body["Argument"]) for body in stepped[2::2]] == [{"command"}, {"command"}]
    assert step_to_end(stepped_agent) == {"output": "The tools say: 5, found boats"}


def test_a_sub_agent_halts_inside_of_its_call(stepped_agent: SteppedAgent) -> None:
    raise AssertionError("It is skipped.")


def test_a_query_that_the_client_repeats_is_one(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "busy")
    stepped_agent.edit(QUERY, replace("busy", "busy, kindly"))
    stepped_agent.step(ANSWER)
    stepped_agent.step(TOOL)
    assert stepped_agent.end() == {"output": "Well: busy, kindly"}
    assert all("kindly" in json.dumps(each) for each in stepped_agent.requests)
    assert len(stepped_agent.requests) == 2


def test_the_agents_timer_does_not_count_the_persons_pause(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("sync", "work")
    step_to_tool(stepped_agent)
    threading.Event().wait(1.2)  # the pause is what is tested: the agent's own limit is a second
    stepped_agent.person.step()
    stepped_agent.step(RESULT)
    assert step_to_end(stepped_agent) == {"output": "The tools say: worked"}
