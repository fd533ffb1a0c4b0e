"""Files on each step that can't be shown: it is said, and the agent goes on."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import ConnectionLostError
from agentstepper_nb.protocol.data_model import EventKind
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import AgentPeer, ScriptedCore
from tests.sdk.snapshots import list_commits, paths

AGENT_LOG = "agentstepper_nb.sdk"
CANT = "The files that this step changed can't be shown"


@both
def test_a_folder_that_is_gone_is_told_once_and_the_agent_goes_on(
    stepper_kind: str, core: ScriptedCore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> list[Any]:
        results = []

        async def step(act: Callable[[], object]) -> None:
            async with dbg.tool("write", {}) as t:
                act()
                t.result = "fine"
            results.append(t.result)

        await step(lambda: shutil.rmtree(folder))
        await step(lambda: None)
        await step(folder.mkdir)
        await step(lambda: (folder / "new.txt").write_text("new\n"))
        await step(lambda: shutil.rmtree(folder))
        return results

    with caplog.at_level(logging.WARNING, AGENT_LOG):
        assert run(stepper_kind, core, scenario, agent_workspace_path=folder) == ["fine"] * 5
    peer = core.wait_for_peer()
    assert [paths(each) for each in list_commits(peer)] == [["old.txt"], ["new.txt"]]
    said = [event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE]
    steps = [event for event in peer.events if event.kind is EventKind.TOOL_INVOCATION]
    assert [event.parent for event in said] == [steps[0].id, steps[4].id]
    assert all(CANT in bytes(event.data).decode() for event in said)  # type: ignore[arg-type]
    assert [record.message.startswith(CANT) for record in caplog.records] == [True, True]
    assert "Create the folder again" in caplog.text


@both
def test_a_redact_that_fails_at_a_snapshot_keeps_what_it_hides(
    stepper_kind: str, core: ScriptedCore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def redact(word: str, value: Any) -> Any:
        if word == "commit" and value["changes"]:
            raise KeyError("the secret")
        return value

    async def scenario(dbg: Any) -> Any:
        async with dbg.tool("write", {}) as t:
            (folder / "new.txt").write_text("the secret")
            t.result = "fine"
        return t.result

    assert run(stepper_kind, core, scenario, agent_workspace_path=folder, redact=redact) == "fine"
    peer = core.wait_for_peer()
    assert list_commits(peer) == []
    (said,) = (event for event in peer.events if event.kind is EventKind.DEBUG_MESSAGE)
    assert f'"{CANT}: KeyError (see the agent\'s log)"'.encode() == bytes(said.data)  # type: ignore[arg-type]
    assert "the secret" in caplog.text


@both
def test_a_lost_connection_is_said_by_the_end(
    stepper_kind: str, core: ScriptedCore, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(dbg: Any) -> AgentPeer:
        peer = core.wait_for_peer()
        with pytest.raises(ConnectionLostError, match="lost"):
            async with dbg.tool("write", {}):
                (folder / "new.txt").write_text("new\n")
                peer.break_connection()
                with pytest.raises(ConnectionLostError, match="lost"):
                    await dbg.begin_llm_query_breakpoint("is it gone?")
        return peer

    options = {"agent_workspace_path": folder, "on_disconnect": "raise"}
    assert list_commits(run(stepper_kind, core, scenario, **options)) == []
    assert CANT not in caplog.text
