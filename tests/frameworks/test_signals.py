"""Exceptions by which frameworks wait for a person, raised by their own tools: nothing has failed."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, RunEnding
from tests.frameworks.stepped_agent import ANSWER, QUERY, SteppedAgent


@pytest.mark.parametrize(
    ("process", "signal"),
    [("langgraph", "GraphInterrupt("), ("pydantic-ai", "CallDeferred(")],
    indirect=["process"],
    scope="module",
)
def test_a_tool_that_waits_for_a_person_has_not_failed(
    stepped_agent: SteppedAgent, signal: str
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
    assert rows[1].summary.startswith(signal)
    assert stepped_agent.person.wait_until_ended().ending is RunEnding.FINISHED
