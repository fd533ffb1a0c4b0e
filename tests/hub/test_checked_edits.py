"""An edit that the agent doesn't take is refused: nothing is set, and the agent stays halted."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from agentstepper_nb.hub import agents_v2
from agentstepper_nb.hub.agent_questions import AgentQuestions
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import ViewV1, ViewV2

Json = Any


def halted(socket_harness: SocketHarness, *, checks: bool = True) -> tuple[AgentV2, str]:
    """An agent that waits at a query, and the query's halt point."""
    agent = socket_harness.agent(2)
    assert isinstance(agent, AgentV2)
    agent.send_hello("P", checks=checks)
    assert agent.receive()["type"] == "welcome"
    agent.begin("program_started", "P")
    return agent, agent.begin_query("hello")


def a_person(socket_harness: SocketHarness, agent: AgentV2, asked: str) -> tuple[ViewV2, str]:
    ui = socket_harness.ui(2)
    assert isinstance(ui, ViewV2)
    run = ui.find_run("P")
    ui.wait_until_halted(run, asked)
    return ui, run


def question(agent: AgentV2, asked: str, edit: Json) -> str:
    """The next message asks whether the agent takes an edit: the question."""
    message = agent.receive()
    assert message["type"] == "check_edit", message
    body = message["body"]
    assert (body["breakpoint"], body["data"]) == (asked, edit)
    return str(body["check"])


@pytest.mark.parametrize("command", ["edit", "step", "continue"])
def test_an_edit_that_the_agent_refuses_is_not_set(
    socket_harness: SocketHarness, command: str
) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    told = ui.send_command(command, run=run, breakpoint=asked, revision=1, edit='"no"')
    agent.send_message(
        "edit_checked", check=question(agent, asked, "no"), refusal="age: it is negative."
    )
    answer = ui.receive_result(told)
    assert answer["type"] == "error"
    assert (answer["body"]["code"], answer["body"]["message"]) == (
        "invalid_edit",
        "age: it is negative.",
    )
    body = ui.request("get_message", run=run, message=asked)
    assert (body["edit"], body["revision"]) == (None, 1)
    assert ui.pending(run) == asked, "the agent still halts there"
    ui.send_command("step", run=run, breakpoint=asked, revision=1, edit='"yes"')
    agent.send_message("edit_checked", check=question(agent, asked, "yes"))
    assert agent.receive_answer() == "yes"


def test_commands_on_what_is_pending_stay_in_their_order(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    edits = ui.send_command("edit", run=run, breakpoint=asked, revision=1, edit='"yes"')
    steps = ui.send_command("step", run=run)
    check = question(agent, asked, "yes")
    ui.request("get_message", run=run, message=asked)  # what reads isn't kept waiting
    agent.send_message("edit_checked", check=check)
    assert agent.receive_answer() == "yes"
    assert [ui.receive_result(edits)["type"], ui.receive_result(steps)["type"]] == ["ok", "ok"]


def test_an_approval_with_an_edit_is_asked_about_too(socket_harness: SocketHarness) -> None:
    agent, first = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, first)
    ui.step(run)
    agent.receive_answer()
    agent.begin("tool_invocation", name="shell")
    asks = {"risk": "high", "why": "It deletes files."}
    asked = agent.reach({"Tool": "shell", "Argument": "rm"}, approval=asks)
    ui.wait_until_halted(run, asked)
    edit = {"Tool": "shell", "Argument": "ls"}
    told = ui.send_command(
        "approve", run=run, breakpoint=asked, revision=1, edit=json.dumps(edit), confirmed=True
    )
    agent.send_message("edit_checked", check=question(agent, asked, edit), refusal="No.")
    assert ui.receive_result(told)["body"]["code"] == "invalid_edit"
    assert ui.pending(run) == asked


def test_what_is_no_edit_is_refused_without_a_question(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    refused = ui.expect_refusal("edit", run=run, breakpoint=asked, revision=1, edit="{")
    assert refused["code"] == "invalid_edit"
    refused = ui.expect_refusal("edit", run=run, breakpoint=asked, revision=7, edit="1")
    assert refused["code"] == "stale"
    ui.run_command("edit", run=run, breakpoint=asked, revision=1, edit='"hello"')
    ui.run_command("step", run=run)
    assert agent.receive_answer() == "hello", "it was asked nothing"


def test_who_is_faster_meanwhile_is_heard(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    other, _ = a_person(socket_harness, agent, asked)
    told = ui.send_command("step", run=run, breakpoint=asked, revision=1, edit='"mine"')
    check = question(agent, asked, "mine")
    other.step(run)
    assert agent.receive_answer() == "hello"
    agent.send_message("edit_checked", check=check)
    assert ui.receive_result(told)["body"]["code"] == "stale"


@pytest.mark.parametrize("how", ["hangs up", "says bye"])
def test_an_agent_that_is_lost_meanwhile_refuses(socket_harness: SocketHarness, how: str) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    told = ui.send_command("edit", run=run, breakpoint=asked, revision=1, edit='"x"')
    question(agent, asked, "x")
    if how == "hangs up":
        agent.disconnect()
    else:
        agent.finish()
    answer = ui.receive_result(told)["body"]
    assert answer["code"] == "invalid_edit"
    assert "The agent disconnected before" in answer["message"]


def test_an_agent_that_does_not_say_refuses(
    socket_harness: SocketHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_v2, "AgentQuestions", partial(AgentQuestions, timeout_s=0.01))
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    refused = ui.expect_refusal("edit", run=run, breakpoint=asked, revision=1, edit='"x"')
    assert refused["code"] == "invalid_edit"
    assert "didn't say within" in refused["message"]
    agent.send_message(
        "edit_checked", check=question(agent, asked, "x")
    )  # too late: nobody asks any more
    ui.step(run)
    assert agent.receive_answer() == "hello"


def test_older_agents_are_not_asked(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness, checks=False)
    ui, run = a_person(socket_harness, agent, asked)
    ui.run_command("step", run=run, breakpoint=asked, revision=1, edit='"x"')
    assert agent.receive_answer() == "x"


def test_a_ui_of_version_1_keeps_its_order(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui = socket_harness.ui(1)
    assert isinstance(ui, ViewV1)
    run = ui.find_run("P")
    ui.wait_until_halted(run, asked)
    ui.send_event("update_msg_content", {"run": run, "message": asked, "content": "x"})
    ui.send_event("step", {"run": run})
    agent.send_message("edit_checked", check=question(agent, asked, "x"))
    assert agent.receive_answer() == "x"
    asked = agent.begin_query("again")
    ui.wait_until_halted(run, asked)
    ui.send_event("update_msg_content", {"run": run, "message": asked, "content": "y"})
    agent.send_message("edit_checked", check=question(agent, asked, "y"), refusal="It isn't x.")
    assert ui.receive_error()["message"] == "It isn't x."
