"""Snapshots of the workspace, as the Core hands them on."""

from __future__ import annotations

import pytest

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import ViewV1, ViewV2


@pytest.mark.parametrize("ui_version", [1, 2])
def test_snapshots_are_shown_where_there_is_a_word_for_them(
    socket_harness: SocketHarness, ui_version: int
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(2)
    run = ui.find_run("P")
    if isinstance(ui, ViewV2):
        ui.open_run(run)
    asked = agent.begin_tool_call("write")
    ui.wait_until_halted(run)
    ui.step(run)
    agent.receive_answer()
    assert isinstance(agent, AgentV2)
    agent.commit("Change a", snapshot=True, event=agent.event)
    agent.commit("Named")
    agent.reach("done", side="end")
    ui.wait_until_halted(run)
    late = socket_harness.ui(ui_version)
    if isinstance(ui, ViewV1) and isinstance(late, ViewV1):
        for each in (ui, late):
            assert [commit["title"] for commit in each.runs[run]["commits"]] == ["Named"]
    elif isinstance(ui, ViewV2) and isinstance(late, ViewV2):
        ui.barrier()
        for told in (ui.commits, late.open_run(run)["commits"]):
            assert [(c["title"], c["snapshot"]) for c in told] == [
                ("Change a", True),
                ("Named", False),
            ]
            assert told[0]["event"] == agent.event
        assert ui.runs[run]["commits"] == 1
        assert asked in ui.rows
