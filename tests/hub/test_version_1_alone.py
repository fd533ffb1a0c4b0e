"""A UI of version 1 without a token: it knows and steps the runs of version 1's agents alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.hub.conftest import SocketHarness
from tests.hub.socket_uis import ViewV1

NO_TOKEN: dict[str, str] = {}
SECRET = "the prompt of a version 2 agent"


@pytest.fixture
def stranger(socket_harness: SocketHarness) -> ViewV1:
    """Whoever reaches the port, as another account of the machine does."""
    ui = socket_harness.ui(1, additional_headers=NO_TOKEN)
    assert isinstance(ui, ViewV1)
    return ui


def received(ui: ViewV1) -> Iterator[Any]:
    """All that a UI is told until what it asks for now is answered."""
    ui.send_event("barrier", {})
    while (message := ui.receive())["event"] != "error":
        yield message


def test_it_steps_and_edits_an_agent_of_version_1(
    socket_harness: SocketHarness, stranger: ViewV1
) -> None:
    agent = socket_harness.agent(1, additional_headers=NO_TOKEN)
    agent.start("Original")
    asked = agent.begin_query("hello")
    run = stranger.find_run("Original")
    stranger.wait_until_halted(run, asked)
    stranger.edit(run, asked, "edited")
    stranger.step(run)
    assert agent.receive_answer() == "edited"
    agent.begin_query("bye")
    stranger.run_command("rename_run", run=run, name="Mine")
    assert [each["name"] for each in socket_harness.ui(2).runs.values()] == ["Mine"]


def test_it_is_told_nothing_of_other_agents(
    socket_harness: SocketHarness, stranger: ViewV1
) -> None:
    agent, view = socket_harness.started(2, "Ours"), socket_harness.ui(2)
    run = view.find_run("Ours")
    agent.post_debug_message(SECRET)
    asked = agent.begin_query(SECRET)
    view.wait_until_halted(run, asked)
    view.step(run)
    agent.receive_answer()
    agent.commit(SECRET)
    view.run_command("rename_run", run=run, name=SECRET)
    assert list(received(stranger)) == []
    late = socket_harness.ui(1, additional_headers=NO_TOKEN)
    assert isinstance(late, ViewV1)
    assert (late.runs, late.active, late.halted_at) == ({}, None, None)
    with_token = socket_harness.ui(1)
    assert list(with_token.runs) == [run]
    assert SECRET in json.dumps(with_token.runs)


COMMANDS: list[tuple[str, dict[str, Any]]] = [
    ("step", {}),
    ("continue", {}),
    ("halt", {}),
    ("rename_run", {"name": "x"}),
    ("delete_run", {}),
    ("download_run_request", {}),
    ("update_msg_content", {"message": "m", "content": "x"}),
]


@pytest.mark.parametrize(("command", "fields"), COMMANDS, ids=[each[0] for each in COMMANDS])
def test_it_controls_no_other_agent(
    socket_harness: SocketHarness, stranger: ViewV1, command: str, fields: dict[str, Any]
) -> None:
    agent, view = socket_harness.started(2, "Ours"), socket_harness.ui(2)
    run = view.find_run("Ours")
    asked = agent.begin_query("hello")
    view.wait_until_halted(run, asked)
    fields = {key: asked if key == "message" else value for key, value in fields.items()}
    refused = stranger.expect_refusal(command, run=run, **fields)
    unknown = stranger.expect_refusal(command, run="none", **fields)
    assert refused["code"] == unknown["code"] == "unknown_run"
    assert refused["message"] == unknown["message"]  # it can't tell which runs there are
    assert "?token=" in refused["message"]
    view.step(run)
    assert agent.receive_answer() == "hello"


def test_a_run_of_its_own_does_not_open_the_messages_of_others(
    socket_harness: SocketHarness, stranger: ViewV1
) -> None:
    """The run that a command names is its own, the message another's."""
    agent, view = socket_harness.started(2, "Ours"), socket_harness.ui(2)
    asked = agent.begin_query("hello")
    view.wait_until_halted(view.find_run("Ours"), asked)
    original = socket_harness.agent(1, additional_headers=NO_TOKEN)
    original.start("Original")
    own = stranger.find_run("Original")
    stranger.send_event("update_msg_content", {"run": own, "message": asked, "content": "evil"})
    with suppress(AssertionError):  # refused, or passed over
        stranger.barrier()
    view.step(view.find_run("Ours"))
    assert agent.receive_answer() == "hello"


def test_it_imports_nothing(socket_harness: SocketHarness, stranger: ViewV1, wire: Path) -> None:
    recorded = (wire / "recorded.run").read_text(encoding="latin-1")
    refused = stranger.expect_refusal("import_run", data=recorded)
    assert (refused["code"], "?token=" in refused["message"]) == ("watch_only", True)
    assert socket_harness.ui(2).runs == {}


def test_an_imported_run_is_none_of_its_own(
    socket_harness: SocketHarness, stranger: ViewV1, wire: Path
) -> None:
    socket_harness.core.import_file(wire / "recorded.run")
    assert len(socket_harness.ui(1).runs) == 1
    assert list(received(stranger)) == []
    assert socket_harness.ui(1, additional_headers=NO_TOKEN).runs == {}


def test_runs_that_have_ended_are_still_its_own(socket_harness: SocketHarness) -> None:
    for version in (1, 2):
        agent = socket_harness.started(version, f"version {version}")
        agent.finish()
    view = socket_harness.ui(2)
    for version in (1, 2):
        view.wait_for_state(view.find_run(f"version {version}"), "idle")
    late = socket_harness.ui(1, additional_headers=NO_TOKEN)
    assert [each["programName"] for each in late.runs.values()] == ["version 1"]
