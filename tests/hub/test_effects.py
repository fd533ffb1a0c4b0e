"""Marks and overviews at a Core: stored, pushed, counted, read once, and the same after a restart."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.extend import EffectInput, Extension
from agentstepper_nb.hub.extensions import Extensions
from agentstepper_nb.hub.overviews import read_overview
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import EventSide, RunMode
from agentstepper_nb.protocol.effects import EffectCounts
from agentstepper_nb.protocol.overview import GetOverview
from agentstepper_nb.store import MemoryStore, open_store
from tests.hub.harness import TIMEOUT_S, ScriptedAgent, ScriptedView, open_hub

WRITE = {"path": "a.py", "content": "x = 1\n"}
CONTINUE = {"mode": "continue"}


def commit(agent: ScriptedAgent, id: str, *paths: str, event: str | None = None) -> None:
    changes = [{"path": path, "kind": "changed"} for path in paths]
    snapshot = event is not None
    agent.send("commit", id=id, at=1.0, title="t", changes=changes, event=event, snapshot=snapshot)


def call(agent: ScriptedAgent, id: str, tool: str, args: Any, result: Any, *paths: str) -> None:
    """A tool's call that doesn't halt."""
    agent.begin(id, "tool_invocation", name=tool)
    goes_on = {"waits": False, "epoch": 1}
    agent.reach(f"{id}-begin", {"Tool": tool, "Argument": args}, id, **goes_on)
    if paths:
        commit(agent, f"c-{id}", *paths, event=id)
    agent.reach(f"{id}-end", result, id, side="end", outcome="ok", **goes_on)


async def test_marks_are_stored_counted_and_outlive_the_core(tmp_path: Path) -> None:
    hub, agent = await open_hub(open_store(tmp_path)), ScriptedAgent(**CONTINUE)
    await agent.connect(hub)
    commit(agent, "c0")
    call(agent, "one", "write_file", WRITE, "wrote 6 characters", "a.py")
    call(agent, "two", "write_file", WRITE | {"path": "b.py"}, "wrote 6 characters")
    counts = EffectCounts(rows=1, warnings=1, first=4)
    assert hub.run("r").effects == counts
    await hub.wait_recorded()
    agent.disconnect()
    await hub.close()

    hub = await open_hub(open_store(tmp_path))
    assert hub.run("r").effects == counts
    await agent.connect(hub)
    call(agent, "three", "write_file", WRITE | {"path": "b.py"}, "wrote 6 characters")
    agent.send_bye()
    async with asyncio.timeout(TIMEOUT_S):
        while hub.run("r").live:  # it reads what came before first
            await asyncio.sleep(0.01)
    assert hub.run("r").effects == EffectCounts(rows=2, warnings=2, first=4)
    person = ScriptedView(hub)
    opened = (await person.request("open_run", run="r"))["body"]
    marked = {row["seq"]: row["effects"] for row in opened["rows"] if "effects" in row}
    assert [mark["check"] for mark in marked[4]["marks"]] == ["no_effect"]
    # The Core that came later knows what was called before.
    assert marked[6]["repetition"] == {"count": 2, "first": 4, "last": 4, "is_unchanged": True}
    await hub.close()


async def test_an_overview_is_read_on_where_the_run_goes_on(monkeypatch: Any) -> None:
    hub, agent = await open_hub(MemoryStore()), ScriptedAgent(**CONTINUE)
    await agent.connect(hub)
    commit(agent, "c0")
    read: list[tuple[int, int]] = []
    visit = hub.store.visit_rows

    async def visit_rows(run: str, first: int, last: int, *args: Any) -> Any:
        read.append((first, last))
        return await visit(run, first, last, *args)

    monkeypatch.setattr(hub.store, "visit_rows", visit_rows)
    for number in range(300):
        call(agent, f"e{number}", "read_file", {"path": f"{number}.py"}, "text")
    person = ScriptedView(hub)
    made = (await person.request("get_overview", run="r"))["body"]
    assert (made["rows"], made["outcome"]) == (600, "running")
    assert (made["tools"][0]["name"], made["tools"][0]["calls"]) == ("read_file", 300)
    assert {check["name"] for check in made["checks"]} >= {"no_effect", "exit_code"}
    assert read == [(0, 500), (500, 600)]
    call(agent, "last", "write_file", WRITE, "wrote", "a.py")
    made = (await person.request("get_overview", run="r"))["body"]
    assert made["files"][0]["path"] == "a.py"
    assert (made["files"][0]["first"], made["rows"]) == (602, 602)
    assert read[2:] == [(600, 602)]
    agent.send_bye()
    await hub.close()


async def test_an_overview_stops_at_the_first_row_that_waits() -> None:
    hub, agent = await open_hub(MemoryStore()), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("e", "tool_invocation", name="ls")
    agent.reach("b", {"Tool": "ls", "Argument": {}}, "e")
    made = await read_overview(hub, GetOverview(run="r"))
    assert (made.rows, made.tools) == (0, ())
    hub.perform(hub.commands.step("r", 1.0))
    agent.reach("d", "files", "e", side="end", outcome="ok")
    hub.perform(hub.commands.step("r", 1.0))
    made = await read_overview(hub, GetOverview(run="r"))
    assert (made.rows, made.tools[0].calls) == (2, 1)
    await hub.close()


async def test_a_breakpoint_may_ask_for_marks_at_the_core() -> None:
    """Of agents without a lease, whose breakpoints the Core evaluates."""
    hub, agent = await open_hub(MemoryStore()), ScriptedAgent(**CONTINUE)
    rule = BreakpointRule(id="lie", side=EventSide.END, condition="'no_effect' in effect")
    hub.perform(hub.commands.rules.set_breakpoint(rule))
    await agent.connect(hub)
    commit(agent, "c0")
    for id, paths in (("one", ("a.py",)), ("two", ())):
        agent.begin(id, "tool_invocation", name="write_file")
        arguments = WRITE | {"path": f"{id}.py"} if not paths else WRITE
        agent.reach(f"{id}-b", {"Tool": "write_file", "Argument": arguments}, id)
        if paths:
            commit(agent, f"c-{id}", *paths, event=id)
        agent.reach(f"{id}-d", "wrote 6 characters", id, side="end", outcome="ok")
    assert hub.run("r").pending == ("two-d",)
    assert hub.run("r").mode is RunMode.STEP
    await hub.close()


async def test_a_person_s_edit_is_the_call_that_was_made() -> None:
    hub, agent = await open_hub(MemoryStore()), ScriptedAgent()
    await agent.connect(hub)
    commit(agent, "c0")
    agent.begin("e", "tool_invocation", name="write_file")
    agent.reach("b", {"Tool": "write_file", "Argument": WRITE}, "e")
    edit = '{"Tool":"write_file","Argument":{"path":"b.py","content":"y"}}'
    hub.perform(hub.commands.step("r", 1.0, "b", 1, edit))
    commit(agent, "c1", "b.py", event="e")
    agent.reach("d", "wrote 1 character to b.py", "e", side="end", outcome="ok")
    assert not hub.run("r").effects
    await hub.close()


def test_extensions_add_checks_and_the_environment_switches_them_off() -> None:
    extension = Extension("prayers")

    @extension.effect_check("prays", "A tool prays")
    def prays(call: EffectInput) -> str | None:
        return "It prays." if call.tool == "pray" else None

    with pytest.raises(ValueError, match="isn't a valid name"):
        extension.effect_check("No Name", "")
    log = logging.getLogger("test")
    made = Extensions([extension], log, frozenset({"exit_code"})).event_registry.effect_checks
    shown = {check.name: check.enabled for check in made.describe()}
    assert shown["prays"]
    assert not shown["exit_code"]


async def test_the_lease_says_which_checks_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_EFFECT_CHECKS_OFF", "no_effect, named_files")
    hub, agent = await open_hub(MemoryStore()), ScriptedAgent(**CONTINUE)
    await agent.connect(hub)
    lease = await agent.connection.receive("lease")
    assert lease["disabled_checks"] == ["named_files", "no_effect"]
    commit(agent, "c0")
    call(agent, "one", "write_file", WRITE, "wrote 6 characters")
    assert not hub.run("r").effects
    await hub.close()
