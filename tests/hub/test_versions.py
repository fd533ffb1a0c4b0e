"""Any version of UI controls any version of agent."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import Agent, AgentV1, AgentV2, Json
from tests.hub.socket_uis import Ui, UiV1, UiV2

pytestmark = pytest.mark.parametrize("agent_version", [1, 2], ids=["agent 1", "agent 2"])
for_each_ui = pytest.mark.parametrize("ui_version", [1, 2], ids=["UI 1", "UI 2"])


@for_each_ui
def test_a_run_is_stepped_edited_continued_and_halted(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version, "fix_tests")
    run = ui.find("fix_tests")
    agent.reach("fix_tests")
    ui.halted(run)
    ui.step(run)
    assert agent.answer() == "fix_tests"

    prompt = {"messages": [{"role": "user", "content": "Write b.txt"}]}
    asked = agent.ask(prompt)
    assert ui.halted(run) == asked
    ui.edit(run, asked, {"messages": []})
    ui.step(run)
    assert agent.answer() == {"messages": []}

    answered = agent.reach({"content": "done"})
    assert ui.halted(run) == answered
    ui.resume(run)
    assert agent.answer() == {"content": "done"}

    for number in range(3):
        agent.call("ls", number)
        assert agent.answer() == {"Tool": "ls", "Argument": number}
        agent.reach("a.txt")
        assert agent.answer() == "a.txt"

    ui.halt(run)
    called = agent.call("write", {"path": "b.txt"})
    assert ui.halted(run) == called
    ui.edit(run, called, {"Tool": "read", "Argument": None})
    ui.step(run)
    assert agent.answer() == {"Tool": "read", "Argument": None}

    agent.finish()
    assert ui.until(run, "idle")["state"] == "idle"


@for_each_ui
@pytest.mark.parametrize("value", ["", {}, [], 0, False], ids=repr)
def test_an_empty_edit_is_an_edit(
    socket_harness: SocketHarness, agent_version: int, ui_version: int, value: object
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run, asked = ui.find("P"), agent.ask()
    assert ui.halted(run) == asked
    ui.edit(run, asked, value)
    ui.step(run)
    assert agent.answer() == value


def test_an_edit_to_null_is_none_only_in_version_1(
    socket_harness: SocketHarness, agent_version: int
) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    assert isinstance(ui, UiV2)
    run, asked = ui.find("P"), agent.ask("x")
    ui.halted(run)
    ui.edit(run, asked, None)
    ui.step(run)
    assert agent.answer() == (None if agent_version == 2 else "x")


def test_contents_and_edits_travel_to_the_letter(
    socket_harness: SocketHarness, agent_version: int
) -> None:
    """JavaScript would lose the large integer, 1.0 and the order of numbers as keys."""
    ui, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    assert isinstance(ui, UiV2)
    run = ui.find("P")
    text = '{"2": 1.0, "1": 12345678901234567890123, "spaced" : [ ] }'
    agent.begin()
    agent.say(json.dumps(marked(agent)).replace('"DATA"', text))
    asked = ui.halted(run)
    body = ui.command("get_message", run=run, message=asked)
    assert body["data"] == text
    assert body["strict"] is True
    edit = ' {"9": 1.50, "8": -0.0}'
    ui.command("step", run=run, breakpoint=asked, revision=1, edit=edit)
    assert edit in agent.hear_text()


def marked(agent: Agent) -> Json:
    """A halt point whose data is to be replaced by what no JSON library would write."""
    if isinstance(agent, AgentV1):
        point = {"uuid": "u", "event_id": agent.event, "time": 1.0, "original_data": "DATA"}
        return {"message": "breakpoint", "data": point}
    point = {"id": "u", "event": agent.event, "side": "begin", "waits": True, "data": "DATA"}
    assert isinstance(agent, AgentV2)
    return {
        "n": agent.next_number(),
        "type": "breakpoint",
        "body": point | {"at": 1.0, "clock": 1.0},
    }


@for_each_ui
@pytest.mark.parametrize("leaves", ["hangs up", "finishes"])
def test_an_agent_that_leaves_while_it_is_halted(
    socket_harness: SocketHarness, agent_version: int, ui_version: int, leaves: str
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run = ui.find("P")
    agent.ask()
    ui.halted(run)
    does: dict[str, Callable[[], None]] = {"hangs up": agent.hang_up, "finishes": agent.finish}
    does[leaves]()
    if agent_version == 2 and leaves == "hangs up":
        goes_on_without_its_agent(socket_harness, ui, run)
        return
    ended = ui.until(run, "idle")
    assert ui.pending(run) is None
    if isinstance(ui, UiV2):
        assert ended["ending"] == "finished"
        assert [row["answer"] for row in ui.open(run)["rows"]] == ["withdrawn", "resume"]
    assert ui.refused("step", run=run)["code"] == "run_is_over"


def goes_on_without_its_agent(socket_harness: SocketHarness, ui: Ui, run: str) -> None:
    """It may come back: what is pending can be answered, and a UI of version 1 sees no difference."""
    other = socket_harness.ui(2)
    away = other.until(run, "detached")
    assert (away["ending"], other.pending(run)) == (None, ui.pending(run))
    ui.barrier()
    assert ui.runs[run]["state"] == ("detached" if isinstance(ui, UiV2) else "halted")
    ui.step(run)
    ui.barrier()
    assert ui.pending(run) is None


@for_each_ui
def test_messages_and_commits_are_shown(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run = ui.find("P")
    if isinstance(ui, UiV2):
        ui.open(run)
    agent.post("look ✓")
    agent.commit("Add b.txt")
    asked = agent.ask("hi")
    ui.halted(run)
    if isinstance(ui, UiV1):
        told = ui.runs[run]
        assert [message["summary"] for message in told["messages"]] == ["look ✓", None]
        assert [commit["title"] for commit in told["commits"]] == ["Add b.txt"]
        assert told["messages"][1]["uuid"] == asked
    elif isinstance(ui, UiV2):
        ui.barrier()
        rows = sorted(ui.rows.values(), key=lambda row: row["seq"])
        assert [(row["seq"], row["summary"]) for row in rows] == [(1, "look ✓"), (2, "hi")]
        assert [(commit["title"], commit["seq"]) for commit in ui.commits] == [("Add b.txt", 1)]
        said = ui.command("get_message", run=run, message=rows[0]["id"])
        assert (said["data"], said["edit"], said["strict"]) == ('"look \\u2713"', None, True)


@for_each_ui
def test_a_ui_that_comes_later_sees_all(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    first, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    agent.post("look")
    asked = agent.ask("hi")
    run = first.find("P")
    first.halted(run)
    late = socket_harness.ui(ui_version)
    assert late.pending(run) == asked
    if isinstance(late, UiV1):
        assert (late.active, late.halted_at) == (run, asked)
        assert [message["summary"] for message in late.runs[run]["messages"]] == ["look", None]
    elif isinstance(late, UiV2):
        assert [row["pending"] for row in late.open(run)["rows"]] == [False, True]
    late.step(run)
    assert agent.answer() == "hi"


@for_each_ui
def test_agents_of_version_1_cannot_be_stopped(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    """Stop is version 2's; version 1's UI has no such command."""
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run = ui.find("P")
    agent.ask("x")
    ui.halted(run)
    if ui_version == 1:
        assert ui.refused("stop", run=run)["code"] == "unknown_command"
    elif agent_version == 1:
        error = ui.refused("stop", run=run)
        assert (error["code"], error["run"]) == ("cannot_stop", run)
    else:
        ui.act("stop", run=run)
        assert isinstance(agent, AgentV2)
        assert agent.answered()["answer"] == {"kind": "stop"}
        return
    ui.step(run)
    assert agent.answer() == "x"
