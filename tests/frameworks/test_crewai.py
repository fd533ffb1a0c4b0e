"""Which calls of CrewAI's tools are one event, and which are two."""

from __future__ import annotations

import pytest

from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts
from tests.frameworks.unsupported_rows import installed_apart

pytestmark = pytest.mark.parametrize(
    "process", [installed_apart("crewai")], indirect=True, scope="module"
)


def test_a_call_through_two_layers_is_one_event(halts: AtHalts) -> None:
    halts.start("layered", "")
    halts.step("add")
    halts.step("add's result")
    assert halts.end() == {"output": "5"}


def test_a_sub_agents_call_of_the_same_tool_is_an_event(halts: AtHalts) -> None:
    halts.start("nested", "please add")
    for name in (QUERY, ANSWER, "add", QUERY, ANSWER, "add", "add's result", QUERY, ANSWER):
        halts.step(name)
    assert halts.step("add's result") == "The tools say: 5"
    halts.step(QUERY)
    halts.step(ANSWER)
    assert halts.end() == {"output": "The tools say: The tools say: 5"}
