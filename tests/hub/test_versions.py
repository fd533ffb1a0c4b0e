"""Any version of UI controls any version of agent."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV1, AgentV2, Json, SocketAgent
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2

pytestmark = pytest.mark.parametrize("agent_version", [1, 2], ids=["agent 1", "agent 2"])
for_each_ui = pytest.mark.parametrize("ui_version", [1, 2], ids=["UI 1", "UI 2"])


@for_each_ui
def test_a_run_is_stepped_edited_continued_and_halted(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version, "fix_tests")
    run = ui.find_run("fix_tests")
    agent.reach("fix_tests")
    ui.wait_until_halted(run)
    ui.step(run)
    assert agent.receive_answer() == "fix_tests"

    prompt = {"messages": [{"role": "user", "content": "Write b.txt"}]}
    asked = agent.begin_query(prompt)
    assert ui.wait_until_halted(run) == asked
    ui.edit(run, asked, {"messages": []})
    ui.step(run)
    assert agent.receive_answer() == {"messages": []}

    answered = agent.reach({"content": "done"})
    assert ui.wait_until_halted(run) == answered
    ui.resume(run)
    assert agent.receive_answer() == {"content": "done"}

    for number in range(3):
        agent.begin_tool_call("ls", number)
        assert agent.receive_answer() == {"Tool": "ls", "Argument": number}
        agent.reach("a.txt")
        assert agent.receive_answer() == "a.txt"

    ui.halt(run)
    called = agent.begin_tool_call("write", {"path": "b.txt"})
    assert ui.wait_until_halted(run) == called
    ui.edit(run, called, {"Tool": "read", "Argument": None})
    ui.step(run)
    assert agent.receive_answer() == {"Tool": "read", "Argument": None}

    agent.finish()
    assert ui.wait_for_state(run, "idle")["state"] == "idle"


@for_each_ui
@pytest.mark.parametrize(
    "value",
    [{}, False, *(pytest.param(each, marks=pytest.mark.soak) for each in ("", [], 0))],
    ids=repr,
)
def test_an_empty_edit_is_an_edit(
    socket_harness: SocketHarness, agent_version: int, ui_version: int, value: object
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run, asked = ui.find_run("P"), agent.begin_query()
    assert ui.wait_until_halted(run) == asked
    ui.edit(run, asked, value)
    ui.step(run)
    assert agent.receive_answer() == value


def test_an_edit_to_null_is_none_only_in_version_1(
    socket_harness: SocketHarness, agent_version: int
) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    assert isinstance(ui, ViewV2)
    run, asked = ui.find_run("P"), agent.begin_query("x")
    ui.wait_until_halted(run)
    ui.edit(run, asked, None)
    ui.step(run)
    assert agent.receive_answer() == (None if agent_version == 2 else "x")


def test_contents_and_edits_travel_to_the_letter(
    socket_harness: SocketHarness, agent_version: int
) -> None:
    """JavaScript would lose the large integer, 1.0 and the order of numbers as keys."""
    ui, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    text = '{"2": 1.0, "1": 12345678901234567890123, "spaced" : [ ] }'
    agent.begin()
    agent.send(json.dumps(marked(agent)).replace('"DATA"', text))
    asked = ui.wait_until_halted(run)
    body = ui.request("get_message", run=run, message=asked)
    assert body["data"] == text
    assert body["strict"] is True
    edit = ' {"9": 1.50, "8": -0.0}'
    ui.request("step", run=run, breakpoint=asked, revision=1, edit=edit)
    assert edit in agent.receive_text()


def marked(agent: SocketAgent) -> Json:
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
    run = ui.find_run("P")
    agent.begin_query()
    ui.wait_until_halted(run)
    does: dict[str, Callable[[], None]] = {"hangs up": agent.disconnect, "finishes": agent.finish}
    does[leaves]()
    if agent_version == 2 and leaves == "hangs up":
        check_continues_without_agent(socket_harness, ui, run)
        return
    ended = ui.wait_for_state(run, "idle")
    assert ui.pending(run) is None
    if isinstance(ui, ViewV2):
        assert ended["ending"] == "finished"
        assert [row["answer"] for row in ui.open_run(run)["rows"]] == ["withdrawn", "resume"]
    assert ui.expect_refusal("step", run=run)["code"] == "run_is_over"


def check_continues_without_agent(socket_harness: SocketHarness, ui: SocketView, run: str) -> None:
    """It may come back: what is pending can be answered, and a UI of version 1 sees no difference."""
    other = socket_harness.ui(2)
    away = other.wait_for_state(run, "detached")
    assert (away["ending"], other.pending(run)) == (None, ui.pending(run))
    ui.barrier()
    assert ui.runs[run]["state"] == ("detached" if isinstance(ui, ViewV2) else "halted")
    ui.step(run)
    ui.barrier()
    assert ui.pending(run) is None


@for_each_ui
def test_messages_and_commits_are_shown(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run = ui.find_run("P")
    if isinstance(ui, ViewV2):
        ui.open_run(run)
    agent.post_debug_message("look ✓")
    agent.commit("Add b.txt")
    asked = agent.begin_query("hi")
    ui.wait_until_halted(run)
    if isinstance(ui, ViewV1):
        told = ui.runs[run]
        assert [message["summary"] for message in told["messages"]] == ["look ✓", None]
        assert [commit["title"] for commit in told["commits"]] == ["Add b.txt"]
        assert told["messages"][1]["uuid"] == asked
    elif isinstance(ui, ViewV2):
        ui.barrier()
        rows = sorted(ui.rows.values(), key=lambda row: row["seq"])
        assert [(row["seq"], row["summary"]) for row in rows] == [(1, "look ✓"), (2, "hi")]
        assert [(commit["title"], commit["seq"]) for commit in ui.commits] == [("Add b.txt", 1)]
        said = ui.request("get_message", run=run, message=rows[0]["id"])
        assert (said["data"], said["edit"], said["strict"]) == ('"look \\u2713"', None, True)


@for_each_ui
def test_a_ui_that_comes_later_sees_all(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    first, agent = socket_harness.ui(2), socket_harness.started(agent_version)
    agent.post_debug_message("look")
    asked = agent.begin_query("hi")
    run = first.find_run("P")
    first.wait_until_halted(run)
    late = socket_harness.ui(ui_version)
    assert late.pending(run) == asked
    if isinstance(late, ViewV1):
        assert (late.active, late.halted_at) == (run, asked)
        assert [message["summary"] for message in late.runs[run]["messages"]] == ["look", None]
    elif isinstance(late, ViewV2):
        assert [row["pending"] for row in late.open_run(run)["rows"]] == [False, True]
    late.step(run)
    assert agent.receive_answer() == "hi"


@for_each_ui
def test_agents_of_version_1_cannot_be_stopped(
    socket_harness: SocketHarness, agent_version: int, ui_version: int
) -> None:
    """Stop is version 2's; version 1's UI has no such command."""
    ui, agent = socket_harness.ui(ui_version), socket_harness.started(agent_version)
    run = ui.find_run("P")
    agent.begin_query("x")
    ui.wait_until_halted(run)
    if ui_version == 1:
        assert ui.expect_refusal("stop", run=run)["code"] == "unknown_command"
    elif agent_version == 1:
        error = ui.expect_refusal("stop", run=run)
        assert (error["code"], error["run"]) == ("cannot_stop", run)
    else:
        ui.run_command("stop", run=run)
        assert isinstance(agent, AgentV2)
        assert agent.receive_answer_body()["answer"] == {"kind": "stop"}
        return
    ui.step(run)
    assert agent.receive_answer() == "x"
