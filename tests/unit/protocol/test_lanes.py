"""The lanes of a run: whose a row is, and what each is called."""

from __future__ import annotations

import pytest
from msgspec import UNSET

from agentstepper_nb.protocol.data_model import (
    Actor,
    AgentLabel,
    EventKind,
    EventSide,
    TimelineRow,
)
from agentstepper_nb.protocol.lanes import find_label, find_lane, name_lanes


def row(seq: int, *scope: str, label: AgentLabel | None = None) -> TimelineRow:
    return TimelineRow(
        id=f"r{seq}",
        seq=seq,
        event=f"e{seq}",
        kind=EventKind.LLM_QUERY,
        side=EventSide.BEGIN,
        source=Actor.AGENT,
        target=Actor.LLM,
        summary="Hello",
        at=1.0,
        size=2,
        scope=scope or UNSET,
        label=label or UNSET,
    )


@pytest.mark.parametrize(
    ("scope", "lane"),
    [
        ((), ()),
        (("task:1", "tool:agent:x"), ()),
        (("agent:a:1",), ("agent:a:1",)),
        (("task:1", "agent:a:1", "tool:c"), ("task:1", "agent:a:1")),
        (("agent:a:1", "task:2", "agent:b:1", "pool:1"), ("agent:a:1", "task:2", "agent:b:1")),
    ],
)
def test_a_lane_ends_with_the_innermost_agent(
    scope: tuple[str, ...], lane: tuple[str, ...]
) -> None:
    assert find_lane(row(1, *scope)) == lane


def test_lanes_of_one_name_are_numbered_as_they_begin() -> None:
    label = AgentLabel(name="researcher")
    rows = [
        row(1),
        row(2, "task:2", "agent:researcher:1", label=label),
        row(3, "task:1", "agent:researcher:1", label=label),
        row(4, "agent:writer:1"),
        row(5, "task:2", "agent:researcher:1", "tool:x", label=label),
    ]
    assert name_lanes(rows) == {
        ("task:2", "agent:researcher:1"): "researcher",
        ("task:1", "agent:researcher:1"): "researcher 2",
        ("agent:writer:1",): "writer",
    }
    assert [find_label(each) for each in rows[:2]] == [None, label]
