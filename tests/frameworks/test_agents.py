"""Which agent an event of a framework belongs to, and where: the same each time that the agent runs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from agentstepper_nb.llm_wire.tool_names import find_called_tools
from agentstepper_nb.protocol.data_model import AgentLabel, EventKind, EventSide, TimelineRow
from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts
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
    halts.person.resume()
    end = halts.end()
    assert "output" in end, end
    return begins(halts)


def begins(halts: AtHalts) -> list[TimelineRow]:
    kinds = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION)
    rows = halts.person.list_rows()
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


@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_tracing_of_the_frameworks_own_changes_nothing(halts: AtHalts) -> None:
    plain, traced = (read(halts, run(halts, manner, "team")) for manner in ("sync", "traced"))
    assert plain == traced


def lane(row: TimelineRow) -> tuple[str, ...]:
    """The path up to the innermost agent."""
    parts = list(row.scope or ())
    while parts and not parts[-1].startswith("agent:"):
        parts.pop()
    return tuple(parts)


@each_manner
@each_framework
def test_a_call_has_the_id_that_the_model_gave_it(manner: str, halts: AtHalts) -> None:
    halts.start(manner, "delegate")
    halts.step(QUERY)
    (called,) = find_called_tools(halts.step(ANSWER))
    halts.person.resume()
    assert "output" in halts.end()
    inside = [row for row in begins(halts) if f"tool:{called.id}" in (row.scope or ())]
    assert [row.name for row in inside[1:]] == ["add", inside[0].name]


@each_manner
@each_framework
def test_parallel_sub_agents_are_told_apart(manner: str, halts: AtHalts) -> None:
    rows = run(halts, manner, "team")
    lanes = Counter(lane(row) for row in rows if label(row)[1] == "main")
    assert list(lanes.values()) == [3, 3]


@pytest.mark.parametrize(
    ("process", "parent"),
    [
        ("langgraph", None),
        ("openai-agents", None),
        ("pydantic-ai", None),
        pytest.param("google-adk", "both", marks=pytest.mark.frameworks),
        pytest.param("agent-framework", None, marks=pytest.mark.frameworks),
    ],
    indirect=["process"],
    scope="module",
)
def test_agents_side_by_side_are_told_apart(parent: str | None, halts: AtHalts) -> None:
    rows = run(halts, "side_by_side", "please add")
    lanes = Counter((lane(row), label(row)) for row in rows)
    assert len({path for path, _ in lanes}) == 2
    assert sorted(names for _, names in lanes) == [("left", parent), ("right", parent)]
    assert list(lanes.values()) == [3, 3]
    before = read(halts, rows)
    assert read(halts, run(halts, "side_by_side", "please add")) == before


@each_manner
@each_framework
def test_a_run_is_where_it_was_before(manner: str, halts: AtHalts) -> None:
    first, second = (read(halts, run(halts, manner, "team")) for _ in range(2))
    assert len(first) == 10
    assert first == second


@pytest.mark.parametrize("process", ["langgraph"], indirect=True, scope="module")
def test_waits_for_a_streams_chunks_are_not_numbered(halts: AtHalts) -> None:
    rows = run(halts, "asynchronous_stream", "team")
    assert len(rows) == 10
    numbers = sorted({int(scope[1].removeprefix("task:")) for scope, *_ in read(halts, rows)})
    assert numbers == list(range(numbers[0], numbers[0] + 4))  # the graph's nodes, and no waits


@pytest.mark.parametrize(
    ("process", "manner", "text", "parent"),
    [
        ("langgraph", "handoff", "expert", None),
        ("openai-agents", "sync", "expert", None),
        # The next agent runs inside of the one that hands over:
        ("pydantic-ai", "handoff", "expert", "main"),
        pytest.param("google-adk", "handoff", "move", None, marks=pytest.mark.frameworks),
    ],
    indirect=["process"],
    scope="module",
)
def test_after_a_handoff_events_are_the_next_agents(
    manner: str, text: str, parent: str | None, halts: AtHalts
) -> None:
    asked, handed_over, said = run(halts, manner, text)
    assert str(handed_over.name).startswith("transfer_to_")
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
        (row.scope or (), row.kind, row.name, json.dumps(halts.person.get_data(row)))
        for row in rows
    )
