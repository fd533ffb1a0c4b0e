"""Which agent an event of a framework belongs to, where it is, and how it ended: the same each time."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from agentstepper_nb.llm_wire.tool_names import find_called_tools
from agentstepper_nb.protocol.data_model import (
    EventKind,
    EventOutcome,
    EventSide,
    RunEnding,
)
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.agent_rows import (
    get_label,
    get_lane,
    list_begin_rows,
    list_event_contents,
    run_to_end,
)
from tests.frameworks.sampled_rows import FRAMEWORKS, each_framework, each_mode
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent
from tests.frameworks.unsupported_rows import separately_installed


@pytest.mark.parametrize("process", ["openai-agents"], indirect=True, scope="module")
def test_tracing_of_the_frameworks_own_changes_nothing(stepped_agent: SteppedAgent) -> None:
    plain, traced = (
        list_event_contents(stepped_agent, run_to_end(stepped_agent, mode, "team"))
        for mode in ("sync", "traced")
    )
    assert plain == traced


@each_mode
@each_framework
def test_a_call_has_the_id_that_the_model_gave_it(mode: str, stepped_agent: SteppedAgent) -> None:
    stepped_agent.start(mode, "delegate")
    stepped_agent.step(QUERY)
    (called,) = find_called_tools(stepped_agent.step(ANSWER))
    stepped_agent.person.resume()
    assert "output" in stepped_agent.end()
    inside = [
        row for row in list_begin_rows(stepped_agent) if f"tool:{called.id}" in (row.scope or ())
    ]
    assert [row.name for row in inside[1:]] == ["add", inside[0].name]


@each_mode
@each_framework
def test_parallel_sub_agents_are_told_apart(mode: str, stepped_agent: SteppedAgent) -> None:
    rows = run_to_end(stepped_agent, mode, "team")
    lanes = Counter(get_lane(row) for row in rows if get_label(row)[1] == "main")
    assert list(lanes.values()) == [3, 3]


@pytest.mark.parametrize(
    "process",
    [*FRAMEWORKS, *map(separately_installed, ["google-adk", "agent-framework"])],
    indirect=True,
    scope="module",
)
def test_agents_side_by_side_are_told_apart(
    process: AgentProcess, stepped_agent: SteppedAgent
) -> None:
    parent = "both" if process.framework == "google-adk" else None
    rows = run_to_end(stepped_agent, "side_by_side", "please add")
    lanes = Counter((get_lane(row), get_label(row)) for row in rows)
    assert len({path for path, _ in lanes}) == 2
    assert sorted(names for _, names in lanes) == [("left", parent), ("right", parent)]
    assert list(lanes.values()) == [3, 3]
    before = list_event_contents(stepped_agent, rows)
    assert (
        list_event_contents(stepped_agent, run_to_end(stepped_agent, "side_by_side", "please add"))
        == before
    )


@each_mode
@each_framework
def test_a_run_is_where_it_was_before(mode: str, stepped_agent: SteppedAgent) -> None:
    first, second = (
        list_event_contents(stepped_agent, run_to_end(stepped_agent, mode, "team"))
        for _ in range(2)
    )
    assert len(first) == 10
    assert first == second


@pytest.mark.parametrize("process", ["langgraph"], indirect=True, scope="module")
def test_waits_for_a_streams_chunks_are_not_numbered(stepped_agent: SteppedAgent) -> None:
    rows = run_to_end(stepped_agent, "asynchronous_stream", "team")
    assert len(rows) == 10
    numbers = sorted(
        {
            int(scope[1].removeprefix("task:"))
            for scope, *_ in list_event_contents(stepped_agent, rows)
        }
    )
    assert numbers == list(range(numbers[0], numbers[0] + 4))  # the graph's nodes, and no waits


#: How an agent of each framework hands over: in which mode, at which text, and the next agent's parent.
HANDOFFS = {
    "langgraph": ("handoff", "expert", None),
    "openai-agents": ("sync", "expert", None),
    # The next agent runs inside of the one that hands over:
    "pydantic-ai": ("handoff", "expert", "main"),
    "google-adk": ("handoff", "move", None),
}


@pytest.mark.parametrize(
    "process", [*FRAMEWORKS, separately_installed("google-adk")], indirect=True, scope="module"
)
def test_after_a_handoff_events_are_the_next_agents(
    process: AgentProcess, stepped_agent: SteppedAgent
) -> None:
    mode, text, parent = HANDOFFS[process.framework]
    asked, handed_over, said = run_to_end(stepped_agent, mode, text)
    assert str(handed_over.name).startswith("transfer_to_")
    assert get_label(asked) == get_label(handed_over) == ("main", None)
    assert get_label(said) == ("expert", parent)
    assert get_lane(said) != get_lane(asked)


@pytest.mark.parametrize("process", ["pydantic-ai"], indirect=True, scope="module")
def test_a_denied_handoff_is_read_by_the_model(stepped_agent: SteppedAgent) -> None:
    stepped_agent.start("handoff", "expert")
    stepped_agent.step(QUERY)
    stepped_agent.step(ANSWER)
    stepped_agent.wait_for_halt("transfer_to_expert")
    stepped_agent.person.deny("Too dear.")
    assert "Too dear." in json.dumps(stepped_agent.step(QUERY))
    stepped_agent.step(ANSWER)
    assert "Too dear." in stepped_agent.end()["output"]


#: Exceptions by which a framework's own tools wait for a person.
SIGNALS = {"langgraph": "GraphInterrupt(", "pydantic-ai": "CallDeferred("}


@pytest.mark.parametrize("process", SIGNALS, indirect=True, scope="module")
def test_a_tool_that_waits_for_a_person_has_not_failed(
    process: AgentProcess, stepped_agent: SteppedAgent
) -> None:
    stepped_agent.start("confirming", "please confirm")
    for name in (QUERY, ANSWER, "confirm"):
        stepped_agent.step(name)
    assert stepped_agent.end() == {"output": "Really?"}
    rows = [
        row for row in stepped_agent.person.list_rows() if row.kind is EventKind.TOOL_INVOCATION
    ]
    assert [row.side for row in rows] == [EventSide.BEGIN, EventSide.END]
    assert (rows[1].outcome, rows[1].failure) == (EventOutcome.OK, None)
    assert rows[1].summary.startswith(SIGNALS[process.framework])
    assert stepped_agent.person.wait_until_ended().ending is RunEnding.FINISHED
