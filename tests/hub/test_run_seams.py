"""What agents send of their seams, as the Core records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentstepper_nb.hub import Hub
from agentstepper_nb.protocol.data_model import Run
from agentstepper_nb.protocol.header_limits import MAX_FOUND_TOOLS, MAX_SEAMS
from agentstepper_nb.protocol.seams import RunSeams
from agentstepper_nb.store import open_store
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub


def seams_of(run: Run) -> RunSeams:
    assert isinstance(run.seams, RunSeams)
    return run.seams


def names(hub: Hub) -> list[str]:
    return [tool.name for tool in seams_of(hub.run("r")).tools]


def make_seams(*tools: str, libraries: int = 1) -> dict[str, Any]:
    seam = {"kind": "queries", "version": "1.0", "is_active": True}
    return {
        "seams": [{"library": f"library {number}", **seam} for number in range(libraries)],
        "tools": [{"name": name, "found_by": "adapter"} for name in tools],
    }


async def test_they_outlive_connections_and_the_core(tmp_path: Path) -> None:
    hub, agent = await open_hub(open_store(tmp_path)), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("e", kind="debug_message", data="Halting", seams=make_seams("ls"))
    agent.disconnect()
    await agent.connect(hub)
    assert names(hub) == ["ls"]
    await hub.wait_recorded()
    agent.disconnect()
    await hub.close()

    hub = await open_hub(open_store(tmp_path))
    assert names(hub) == ["ls"]
    await agent.connect(hub)
    agent.begin(
        "t", kind="tool_invocation", name="cat", found_by="wire", seams=make_seams("ls", "cat")
    )
    agent.send_bye()
    assert names(hub) == ["ls", "cat"]  # also of a run that has ended
    await hub.wait_recorded()
    await hub.close()

    hub = await open_hub(open_store(tmp_path))
    person = ScriptedView(hub)
    opened = (await person.request("open_run", run="r"))["body"]
    assert [tool["name"] for tool in opened["run"]["seams"]["tools"]] == ["ls", "cat"]
    history = await hub.history("r")
    assert {event.id: event.found_by for event in history.events}["t"] == "wire"
    await hub.close()


async def test_messages_in_another_order_lose_no_tool() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("a", kind="tool_invocation", name="cat", seams=make_seams("ls", "cat"))
    agent.begin("b", kind="tool_invocation", name="ls", seams=make_seams("ls"))
    assert names(hub) == ["ls", "cat"]
    await hub.close()


async def test_headers_stay_small() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    tools = ["x" * 1000, *(f"tool {number}" for number in range(500))]
    agent.begin("a", kind="debug_message", data="Halting", seams=make_seams(*tools, libraries=500))
    seams = seams_of(hub.run("r"))
    assert (len(seams.seams), len(seams.tools)) == (MAX_SEAMS, MAX_FOUND_TOOLS)
    assert seams.tools[0].name == "x" * 199 + "…"
    await hub.close()


async def test_a_run_of_which_nothing_is_said_has_none() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("t", kind="tool_invocation", name="ls")
    person = ScriptedView(hub)
    opened = (await person.request("open_run", run="r"))["body"]
    assert "seams" not in opened["run"]
    await hub.close()
