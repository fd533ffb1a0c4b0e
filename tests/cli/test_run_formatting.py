"""A run as one line."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.cli.run_formatting import describe_run_state, format_row
from agentstepper_nb.protocol.data_model import (
    Actor,
    AgentLabel,
    EventKind,
    EventSide,
    Failure,
    Run,
    RunEnding,
    RunState,
    TimelineRow,
    Usage,
)


@pytest.mark.parametrize(
    ("pending", "words"),
    [
        ((), "its agent is away"),
        (("b",), "its agent is away, a message waits"),
        (("b", "c"), "its agent is away, 2 messages wait"),
    ],
)
def test_a_run_whose_agent_is_away(pending: tuple[str, ...], words: str) -> None:
    run = Run(
        id="r", name="R", program="P", started_at=1.0, state=RunState.DETACHED, pending=pending
    )
    assert describe_run_state(run) == words


def test_a_run_whose_process_was_killed() -> None:
    failure = Failure(type="ProcessEnded", message="The agent's process was killed by SIGKILL.")
    run = Run(
        id="r",
        name="R",
        program="P",
        started_at=1.0,
        state=RunState.IDLE,
        ending=RunEnding.CRASHED,
        failure=failure,
    )
    assert describe_run_state(run).startswith(
        "crashed (ProcessEnded: The agent's process was killed"
    )


def a_row(**fields: Any) -> TimelineRow:
    usual: dict[str, Any] = {
        "kind": EventKind.LLM_QUERY,
        "side": EventSide.END,
        "source": Actor.LLM,
    }
    usual |= {"target": Actor.AGENT, "summary": "Hello", "at": 1.0, "size": 9}
    return TimelineRow(id="b", seq=7, event="e", **usual | fields)


@pytest.mark.parametrize(
    ("fields", "figures"),
    [
        ({}, ""),
        ({"duration": 0.0042}, "  (4 ms)"),
        ({"duration": 1.844}, "  (1.84 s)"),
        ({"duration": 12.34}, "  (12.3 s)"),
        ({"duration": 187.4}, "  (187 s)"),
        ({"usage": Usage(input_tokens=1204, output_tokens=96)}, "  (1,204 → 96 tokens)"),
        ({"usage": Usage(output_tokens=96, cost=0.0)}, "  (? → 96 tokens, $0)"),
        ({"usage": Usage(cost=0.0184), "edited": True}, "  (edited, $0.018)"),
        ({"usage": Usage(cost=1234.5, estimated=True)}, "  (≈$1,234.50)"),
        ({"usage": Usage(cost=1e-9)}, "  (<$0.000001)"),
        (
            {"usage": Usage(input_tokens=1, output_tokens=2, cost=0.00042), "duration": 2.0},
            "  (1 → 2 tokens, $0.00042, 2.00 s)",
        ),
    ],
)
def test_what_a_row_took(fields: dict[str, Any], figures: str) -> None:
    assert format_row(a_row(**fields)) == f"   7  LLM → Agent     Hello{figures}"


def test_the_end_of_a_tool_call_names_its_tool() -> None:
    fields = {"kind": EventKind.TOOL_INVOCATION, "source": Actor.TOOLS, "name": "search"}
    assert format_row(a_row(**fields)) == "   7  Tools → Agent   search → Hello"
    assert format_row(a_row(**fields, summary="search found")).endswith("   search found")
    assert format_row(a_row(**fields, side=EventSide.BEGIN)).endswith("   Hello")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (AgentLabel(name="researcher", parent="planner"), "[researcher] Hello"),
        (AgentLabel(name="researcher", node="look up"), "[researcher at look up] Hello"),
        (AgentLabel(name="", node="look up"), "[at look up] Hello"),
        (AgentLabel(name="\x1b[2J\n"), r"[\x1b[2J\n] Hello"),
        (AgentLabel(name="x" * 40), f"[{'x' * 29}…] Hello"),
    ],
)
def test_whose_a_row_is(label: AgentLabel, words: str) -> None:
    assert format_row(a_row(label=label)) == f"   7  LLM → Agent     {words}"


def test_an_agent_s_name_leaves_room_for_what_the_row_says() -> None:
    row = replace(a_row(label=AgentLabel(name="x" * 40)), summary="Hello " * 9)
    assert format_row(row, 30).endswith("…] Hello Hello Hello H…")


def test_what_a_run_took() -> None:
    usage = Usage(input_tokens=9812, output_tokens=400, cost=0.02, estimated=True)
    run = Run(
        id="r",
        name="R",
        program="P",
        started_at=1.0,
        state=RunState.IDLE,
        ending=RunEnding.FINISHED,
        usage=usage,
    )
    assert describe_run_state(run) == "finished, 9,812 → 400 tokens, ≈$0.020"
