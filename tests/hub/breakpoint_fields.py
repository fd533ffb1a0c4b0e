"""Stops as they travel, and agents with a lease."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.hub import Hub
from tests.hub.harness import Json, ScriptedAgent

BREAKPOINT = {"id": "s", "kind": "tool_invocation", "name": "run_*"}
#: What the header of each run says, whatever the run.
EVERY_RUNS = ("agent_state", "mode", "can_stop")
PRICES = [{"model": "gpt-*", "input": 1.0, "output": 2.0}]


def fill_breakpoint(breakpoint: Json) -> Json:
    """A breakpoint with all of its fields, as it travels."""
    fields = {"program": "*", "kind": None, "side": None, "name": None, "on_error": False}
    fields |= {"condition": None, "watch": None, "nth": 1, "once": False, "then": "halt"}
    return fields | {"enabled": True} | breakpoint


def lease(epoch: int, mode: str, *breakpoints: Json, prices: Any = ()) -> Json:
    said = {
        "epoch": epoch,
        "mode": mode,
        "stops": [fill_breakpoint(breakpoint) for breakpoint in breakpoints],
    }
    return said | {"prices": list(prices)}


def read_leases_and_answers(line: Any) -> list[Json]:
    """Leases and answers in the order in which they came; the rest is dropped."""
    messages, line.sent = line.sent, []
    return [
        each["body"]["mode"] if each["type"] == "lease" else each["body"]["breakpoint"]
        for each in messages
        if each["type"] in ("lease", "answer")
    ]


async def start_leased_agent(hub: Hub, run: str = "r", **hello: Json) -> ScriptedAgent:
    """An agent that has its first lease."""
    agent = ScriptedAgent(run, **hello)
    await agent.connect(hub)
    await agent.connection.receive("lease")
    return agent
