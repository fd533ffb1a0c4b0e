"""Which agent an event of a framework belongs to, and where: the same each time that the agent runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import AgentLabel, EventKind, EventSide, TimelineRow
from tests.frameworks.at_halts import ANSWER, QUERY, AtHalts
from tests.frameworks.test_matrix import each_framework, each_manner

MAIN = AgentLabel(name="main")
#: The sub-agents' names, where they aren't `helper`: these are called by their own names.
SUB_AGENTS = {"smolagents": "delegate", "google-adk": "delegate"}


@pytest.fixture
def helper(request: pytest.FixtureRequest) -> str:
    framework = request.node.callspec.params["process"]
    return SUB_AGENTS.get(framework, "helper")


def run(halts: AtHalts, manner: str, text: str) -> list[TimelineRow]:
    """Run the agent to its end; the begins of what it did."""
    halts.start(manner, text)
    halts.at(QUERY)
    halts.person.go_on()
    end = halts.end()
    assert "output" in end, end
    kinds = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION)
    rows = halts.person.rows()
    return [row for row in rows if row.kind in kinds and row.side is EventSide.BEGIN]


def label(row: TimelineRow) -> tuple[str, str | None]:
    assert isinstance(row.label, AgentLabel), row
    return row.label.name, row.label.parent


@each_manner
@each_framework
def test_events_say_whose_they_are(manner: str, halts: AtHalts, helper: str) -> None:
    rows = run(halts, manner, "delegate")
    asked, delegated, *inside, said = rows
    assert {label(row) for row in (asked, delegated, said)} == {("main", None)}
    assert {label(row) for row in inside} == {(helper, "main")}
    assert lane(asked) == lane(delegated) == lane(said)
    assert lane(asked)[-1].startswith("agent:main:")
    assert len(inside) == 3
    for row in inside:
        assert row.scope[: len(lane(row))] == lane(inside[0]), inside
        assert lane(row) != lane(asked)


def lane(row: TimelineRow) -> tuple[str, ...]:
    """The path up to the innermost agent."""
    parts = list(row.scope or ())
    while parts and not parts[-1].startswith("agent:"):
        parts.pop()
    return tuple(parts)


@each_manner
@each_framework
def test_parallel_sub_agents_are_told_apart(manner: str, halts: AtHalts) -> None:
    rows = run(halts, manner, "team")
    lanes = Counter(lane(row) for row in rows if label(row)[1] == "main")
    assert list(lanes.values()) == [3, 3]


@each_manner
@each_framework
def test_a_run_is_where_it_was_before(manner: str, halts: AtHalts) -> None:
    first, second = (read(halts, run(halts, manner, "team")) for _ in range(2))
    assert len(first) == 10
    assert first == second


@pytest.mark.parametrize(
    ("process", "manner", "parent"),
    [("openai-agents", "sync", None), ("pydantic-ai", "handoff", "main")],
    indirect=["process"],
    scope="module",
)
def test_after_a_handoff_events_are_the_next_agents(
    manner: str, parent: str | None, halts: AtHalts
) -> None:
    asked, handed_over, said = run(halts, manner, "expert")
    assert handed_over.name == "transfer_to_expert"
    assert label(asked) == label(handed_over) == ("main", None)
    assert label(said) == ("expert", parent)
    assert lane(said) != lane(asked)


@pytest.mark.parametrize("process", ["pydantic-ai"], indirect=True, scope="module")
def test_a_denied_handoff_is_read_by_the_model(halts: AtHalts) -> None:
    halts.start("handoff", "expert")
    halts.step(QUERY)
    halts.step(ANSWER)
    halts.at("transfer_to_expert")
    halts.person.deny("Too dear.")
    assert "Too dear." in json.dumps(halts.step(QUERY))
    halts.step(ANSWER)
    assert "Too dear." in halts.end()["output"]


def read(halts: AtHalts, rows: list[TimelineRow]) -> list[Any]:
    """Where each event is, and what it begins with, in the order of the places."""
    return sorted(
        (row.scope, row.kind, row.name, json.dumps(halts.person.body(row))) for row in rows
    )
