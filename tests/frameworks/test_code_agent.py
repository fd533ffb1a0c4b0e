"""smolagents' CodeAgent, whose model writes code that calls tools: each call in it halts."""

from __future__ import annotations

import json
import threading

import pytest

from tests.frameworks.agent_rows import get_label, list_event_contents, run_to_end
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent, replace
from tests.frameworks.unsupported_rows import separately_installed

pytestmark = pytest.mark.parametrize(
    "process", [separately_installed("smolagents")], indirect=True, scope="module"
)
FINAL, FINAL_RESULT = "final_answer", "final_answer's result"


def step_to_end(stepped_agent: SteppedAgent) -> object:
    """Step to the end from the query for the final answer, which is a tool that code calls."""
    for name in (QUERY, ANSWER, FINAL, FINAL_RESULT):
        stepped_agent.step(name)
    return stepped_agent.end()


def test_six_edits_take_effect(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "please add")
    stepped_agent.edit(QUERY, replace("please add", "kindly add"))
    stepped_agent.edit(ANSWER, replace("b=3", "b=4"))
    stepped_agent.edit("add", lambda call: {**call, "Argument": {**call["Argument"], "b": 10}})
    stepped_agent.edit("add's result", lambda result: result + 87)
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("The tools say: 99", "Edited."))
    stepped_agent.edit(FINAL, replace("Edited.", "Edited again."))
    stepped_agent.edit(FINAL_RESULT, replace("again", "thrice"))
    assert stepped_agent.end() == {"output": "Edited thrice."}
    first, second = stepped_agent.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)


def test_events_of_code_say_whose_they_are(stepped_agent: SteppedAgent) -> None:
    rows = run_to_end(stepped_agent, "code", "delegate")
    names = [get_label(row) for row in rows]
    assert names == [("main", None)] * 2 + [("delegate", "main")] * 4 + [("main", None)] * 2
    before = list_event_contents(stepped_agent, rows)
    assert (
        list_event_contents(stepped_agent, run_to_end(stepped_agent, "code", "delegate")) == before
    )


def test_stop_ends_the_agent(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "please add")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("add")
    stepped_agent.person.stop()
    assert stepped_agent.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert len(stepped_agent.requests) == 1


def test_the_code_reads_that_a_tool_was_denied(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "please add")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("add")
    stepped_agent.person.deny("Too dear.")
    assert step_to_end(stepped_agent) == {"output": "The tools say: Too dear."}


def test_calls_in_one_code_have_their_names(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "both")
    for name in (QUERY, ANSWER, "add", "add's result", "search", "search's result"):
        stepped_agent.step(name)
    assert step_to_end(stepped_agent) == {"output": "The tools say: 5, found boats"}


def test_a_sub_agent_halts_inside_of_its_call(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "delegate")
    for name in (QUERY, ANSWER, "delegate", QUERY, ANSWER, "add", "add's result"):
        stepped_agent.step(name)
    for name in (QUERY, ANSWER, FINAL, FINAL_RESULT):
        stepped_agent.step(name)
    assert stepped_agent.step("delegate's result") == "The tools say: 5"
    assert step_to_end(stepped_agent) == {"output": "The tools say: The tools say: 5"}
    depths = [row.depth for row in stepped_agent.person.list_rows() if row.name == "add"]
    assert depths == [1, 1]


def test_the_codes_timer_does_not_count_the_persons_pause(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "work")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("slow")
    threading.Event().wait(1.2)  # the pause is what is tested: the code's own limit is a second
    stepped_agent.person.step()
    assert stepped_agent.step("slow's result") == "worked"
    assert step_to_end(stepped_agent) == {"output": "The tools say: worked"}


def test_code_that_takes_too_long_fails(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("code", "please add")
    stepped_agent.step(QUERY)
    stepped_agent.edit(ANSWER, replace("print(", "import time\ntime.sleep(1.2)\nprint("))
    stepped_agent.step("add")
    stepped_agent.step("add's result")
    assert "longer than its limit of 1 seconds" in json.dumps(stepped_agent.step(QUERY))
    stepped_agent.wait_for_halt(ANSWER)
    stepped_agent.person.stop()
    assert "error" in stepped_agent.end()
