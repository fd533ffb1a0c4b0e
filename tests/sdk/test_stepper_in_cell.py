"""An AgentStepper made inside a cell that has a run already."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper, DiscoveryError
from agentstepper_nb.protocol.agent import Bye, CommitMade
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.sdk import set_current_stepper
from tests.sdk.scripted_core import ScriptedCore


def test_without_an_address_it_is_that_run(core: ScriptedCore) -> None:
    with AgentStepper("Cell", "127.0.0.1", core.port) as cell, set_current_stepper(cell):
        with AgentStepper("Agent") as dbg, dbg.tool("outer", {}):
            with cell.llm("p"):
                pass
        cell.post_debug_message("the run goes on")
        del dbg
    assert len(core.peers) == 1
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    _, outer, query, message = peer.events
    assert query.parent == outer.id
    assert bytes(message.data) == b'"the run goes on"'


def test_async_inside_sync(core: ScriptedCore) -> None:
    async def agent() -> None:
        async with AsyncAgentStepper("Agent") as dbg, dbg.llm("p"):
            pass

    with AgentStepper("Cell", "127.0.0.1", core.port) as cell, set_current_stepper(cell):
        asyncio.run(agent())
    assert len(core.peers) == 1


def test_with_an_address_it_is_a_run_of_its_own(core: ScriptedCore) -> None:
    with AgentStepper("Cell", "127.0.0.1", core.port) as cell, set_current_stepper(cell):
        AgentStepper("Agent", "127.0.0.1", core.port).close()
    assert len(core.peers) == 2


def test_outside_and_after_its_end_it_is_not(core: ScriptedCore) -> None:
    with AgentStepper("Cell", "127.0.0.1", core.port) as cell, set_current_stepper(cell):
        cell.close()
        with pytest.raises(DiscoveryError):
            AgentStepper("Agent")
    with pytest.raises(DiscoveryError):
        AgentStepper("Agent")


def test_a_workspace_comes_along(core: ScriptedCore, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    with (
        AgentStepper("Cell", "127.0.0.1", core.port) as cell,
        set_current_stepper(cell),
        AgentStepper("Agent", agent_workspace_path=folder) as dbg,
    ):
        (folder / "a.txt").write_text("a")
        assert dbg.commit_agent_changes("Add a")
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    commits = [message for message in peer.received if isinstance(message, CommitMade)]
    assert [commit.title for commit in commits] == ["Initialized repository", "Add a"]
