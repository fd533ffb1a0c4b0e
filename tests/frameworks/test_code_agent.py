"""smolagents' CodeAgent, whose model writes code that calls tools: each call in it halts."""

from __future__ import annotations

import json
import threading

import pytest

from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts, replace
from tests.frameworks.test_agents import label, read, run
from tests.frameworks.unsupported_rows import installed_apart

pytestmark = pytest.mark.parametrize(
    "process", [installed_apart("smolagents")], indirect=True, scope="module"
)
FINAL, FINAL_RESULT = "final_answer", "final_answer's result"


def end(halts: AtHalts) -> object:
    """Step to the end from the query for the final answer, which is a tool that code calls."""
    for name in (QUERY, ANSWER, FINAL, FINAL_RESULT):
        halts.step(name)
    return halts.end()


def test_six_edits_take_effect(halts: AtHalts) -> None:
    halts.start("code", "please add")
    halts.edit(QUERY, replace("please add", "kindly add"))
    halts.edit(ANSWER, replace("b=3", "b=4"))
    halts.edit("add", lambda call: {**call, "Argument": {**call["Argument"], "b": 10}})
    halts.edit("add's result", lambda result: result + 87)
    halts.step(QUERY)
    halts.edit(ANSWER, replace("The tools say: 99", "Edited."))
    halts.edit(FINAL, replace("Edited.", "Edited again."))
    halts.edit(FINAL_RESULT, replace("again", "thrice"))
    assert halts.end() == {"output": "Edited thrice."}
    first, second = halts.requests
    assert "kindly add" in json.dumps(first)
    assert "99" in json.dumps(second)


def test_events_of_code_say_whose_they_are(halts: AtHalts) -> None:
    rows = run(halts, "code", "delegate")
    names = [label(row) for row in rows]
    assert names == [("main", None)] * 2 + [("delegate", "main")] * 4 + [("main", None)] * 2
    before = read(halts, rows)
    assert read(halts, run(halts, "code", "delegate")) == before


def test_stop_ends_the_agent(halts: AtHalts) -> None:
    halts.start("code", "please add")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("add")
    halts.person.stop()
    assert halts.end()["error"] in ("AgentStopped", "RepeatedStop")
    assert len(halts.requests) == 1


def test_the_code_reads_that_a_tool_was_denied(halts: AtHalts) -> None:
    halts.start("code", "please add")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("add")
    halts.person.deny("Too dear.")
    assert end(halts) == {"output": "The tools say: Too dear."}


def test_calls_in_one_code_have_their_names(halts: AtHalts) -> None:
    halts.start("code", "both")
    for name in (QUERY, ANSWER, "add", "add's result", "search", "search's result"):
        halts.step(name)
    assert end(halts) == {"output": "The tools say: 5, found boats"}


def test_a_sub_agent_halts_inside_of_its_call(halts: AtHalts) -> None:
    halts.start("code", "delegate")
    for name in (QUERY, ANSWER, "delegate", QUERY, ANSWER, "add", "add's result"):
        halts.step(name)
    for name in (QUERY, ANSWER, FINAL, FINAL_RESULT):
        halts.step(name)
    assert halts.step("delegate's result") == "The tools say: 5"
    assert end(halts) == {"output": "The tools say: The tools say: 5"}
    depths = [row.depth for row in halts.person.list_rows() if row.name == "add"]
    assert depths == [1, 1]


def test_the_codes_timer_does_not_count_the_persons_pause(halts: AtHalts) -> None:
    halts.start("code", "work")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("slow")
    threading.Event().wait(1.2)  # the pause is what is tested: the code's own limit is a second
    halts.person.step()
    assert halts.step("slow's result") == "worked"
    assert end(halts) == {"output": "The tools say: worked"}


def test_code_that_takes_too_long_fails(halts: AtHalts) -> None:
    halts.start("code", "please add")
    halts.step(QUERY)
    halts.edit(ANSWER, replace("print(", "import time\ntime.sleep(1.2)\nprint("))
    halts.step("add")
    halts.step("add's result")
    assert "longer than its limit of 1 seconds" in json.dumps(halts.step(QUERY))
    halts.at(ANSWER)
    halts.person.stop()
    assert "error" in halts.end()
