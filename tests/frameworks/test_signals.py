"""Exceptions by which frameworks wait for a person, raised by their own tools: nothing has failed."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, RunEnding
from tests.frameworks.halt_edits import ANSWER, QUERY, AtHalts


@pytest.mark.parametrize(
    ("process", "signal"),
    [("langgraph", "GraphInterrupt("), ("pydantic-ai", "CallDeferred(")],
    indirect=["process"],
    scope="module",
)
def test_a_tool_that_waits_for_a_person_has_not_failed(halts: AtHalts, signal: str) -> None:
    halts.start("confirming", "please confirm")
    for name in (QUERY, ANSWER, "confirm"):
        halts.step(name)
    assert halts.end() == {"output": "Really?"}
    rows = [row for row in halts.person.list_rows() if row.kind is EventKind.TOOL_INVOCATION]
    assert [row.side for row in rows] == [EventSide.BEGIN, EventSide.END]
    assert (rows[1].outcome, rows[1].failure) == (EventOutcome.OK, None)
    assert rows[1].summary.startswith(signal)
    assert halts.person.wait_until_ended().ending is RunEnding.FINISHED
