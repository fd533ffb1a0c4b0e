"""What the Core keeps of scopes, agents and hashes, and to whom it gives a run's key."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec import UNSET

from agentstepper_nb.core.timeline_rows import make_row
from agentstepper_nb.protocol.data_model import AgentLabel
from agentstepper_nb.protocol.v1.runfile import dump_run, load_run
from agentstepper_nb.store import MemoryStore, Store, archive, open_store
from tests.hub.harness import ScriptedAgent, open_hub

LABEL = {"name": "writer", "node": None, "parent": "editor"}
SCOPE = ["agent:editor:1", "tool:call_1", "agent:writer:1"]


async def key_of(store: Store, agent: ScriptedAgent) -> str:
    """The key that an agent is given, with the same after it was away."""
    hub = await open_hub(store)
    key = (await agent.connect(hub))["hash_key"]
    agent.begin("e", scope=SCOPE, label=LABEL, content_hash="5ca1ab1e")
    agent.reach("b", event="e")
    agent.disconnect()
    assert (await agent.connect(hub, waiting=["b"]))["hash_key"] == key
    await hub.wait_recorded()
    await hub.close()
    return str(key)


async def test_a_run_has_one_key_of_its_own() -> None:
    keys = {await key_of(MemoryStore(), ScriptedAgent(wants_hash_key=True)) for _ in range(2)}
    assert len(keys) == 2
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)


async def test_an_agent_that_asks_for_no_key_gets_none() -> None:
    hub = await open_hub()
    assert "hash_key" not in await ScriptedAgent().connect(hub)
    await hub.close()


async def test_the_key_outlives_the_core_and_no_export_has_it(tmp_path: Path) -> None:
    agent = ScriptedAgent(wants_hash_key=True)
    key = await key_of(open_store(tmp_path), agent)
    hub = await open_hub(open_store(tmp_path))
    assert (await agent.connect(hub, waiting=["b"]))["hash_key"] == key
    history = await hub.history("r")
    for data in (archive.dump_archive(history), dump_run(history)):
        assert key.encode() not in data
    await hub.close()


async def test_an_event_s_scope_agent_and_hash_are_kept(tmp_path: Path) -> None:
    await key_of(open_store(tmp_path), ScriptedAgent(wants_hash_key=True))
    hub = await open_hub(open_store(tmp_path))
    history = await hub.history("r")
    imported = [
        archive.load_archive(archive.dump_archive(history)),
        load_run(dump_run(history)),
    ]
    for each in (history, *imported):
        (event,), (point,) = each.events, each.halt_points
        label = AgentLabel(name="writer", parent="editor")
        assert (event.scope, event.label, event.content_hash) == (tuple(SCOPE), label, "5ca1ab1e")
        row = make_row(point)
        assert (row.scope, row.label) == (tuple(SCOPE), label)
    await hub.close()


async def test_a_row_without_them_says_nothing_of_them() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b")
    (point,) = hub.debugger.pending("r")
    row = make_row(point)
    assert (row.scope, row.label) == (UNSET, UNSET)
    await hub.close()


async def test_a_path_beyond_its_bounds_is_refused() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.begin("e", scope=["task:1"] * 101)
    assert "scope" in (await agent.connection.receive("error"))["message"]
    await hub.close()
