"""Which calls of CrewAI's tools are one event, and which are two."""

from __future__ import annotations

import pytest

from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent
from tests.frameworks.unsupported_rows import separately_installed

pytestmark = pytest.mark.parametrize(
    "process", [separately_installed("crewai")], indirect=True, scope="module"
)


def test_a_call_through_two_layers_is_one_event(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("layered", "")
    stepped_agent.step("add")
    stepped_agent.step("add's result")
    assert stepped_agent.end() == {"output": "5"}


def test_a_sub_agents_call_of_the_same_tool_is_an_event(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("nested", "please add")
    for name in (QUERY, ANSWER, "add", QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        stepped_agent.step(name)
    assert stepped_agent.step("add's result") == "The tools say: 5"
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    assert stepped_agent.end() == {"output": "The tools say: The tools say: 5"}
