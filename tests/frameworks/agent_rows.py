"""What an agent's row did, and where: read from its timeline."""

from __future__ import annotations

import json
from typing import Any

from agentstepper_nb.protocol.data_model import AgentLabel, EventKind, EventSide, TimelineRow
from tests.frameworks.stepped_agent import QUERY, SteppedAgent


def run_to_end(stepped_agent: SteppedAgent, mode: str, text: str) -> list[TimelineRow]:
    """Run the agent to its end; the begins of what it did."""
    stepped_agent.start(mode, text)
    stepped_agent.wait_for_halt(QUERY)
    stepped_agent.person.resume()
    end = stepped_agent.end()
    assert "output" in end, end
    return list_begin_rows(stepped_agent)


def list_begin_rows(stepped_agent: SteppedAgent) -> list[TimelineRow]:
    kinds = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION)
    rows = stepped_agent.person.list_rows()
    return [row for row in rows if row.kind in kinds and row.side is EventSide.BEGIN]


def get_label(row: TimelineRow) -> tuple[str, str | None]:
    assert isinstance(row.label, AgentLabel), row
    return row.label.name, row.label.parent


def get_lane(row: TimelineRow) -> tuple[str, ...]:
    """The path up to the innermost agent."""
    parts = list(row.scope or ())
    while parts and not parts[-1].startswith("agent:"):
        parts.pop()
    return tuple(parts)


def list_event_contents(stepped_agent: SteppedAgent, rows: list[TimelineRow]) -> list[Any]:
    """Where each event is, and what it begins with, in the order of the places."""
    return sorted(
        (row.scope or (), row.kind, row.name, json.dumps(stepped_agent.person.get_data(row)))
        for row in rows
    )
