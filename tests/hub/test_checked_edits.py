"""An edit that the agent doesn't take is refused: nothing is set, and the agent stays halted."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from agentstepper_nb.hub import agents_v2
from agentstepper_nb.hub.agent_messages import PendingEditChecks
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import UiV1, UiV2

Json = Any


def halted(socket_harness: SocketHarness, *, checks: bool = True) -> tuple[AgentV2, str]:
    """An agent that waits at a query, and the query's halt point."""
    agent = socket_harness.agent(2)
    assert isinstance(agent, AgentV2)
    agent.hello("P", checks=checks)
    assert agent.hear()["type"] == "welcome"
    agent.begin("program_started", "P")
    return agent, agent.ask("hello")


def a_person(socket_harness: SocketHarness, agent: AgentV2, asked: str) -> tuple[UiV2, str]:
    ui = socket_harness.ui(2)
    assert isinstance(ui, UiV2)
    run = ui.find("P")
    ui.halted(run, asked)
    return ui, run


def question(agent: AgentV2, asked: str, edit: Json) -> str:
    """The next message asks whether the agent takes an edit: the question."""
    message = agent.hear()
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
    told = ui.give(command, run=run, breakpoint=asked, revision=1, edit='"no"')
    agent.send("edit_checked", check=question(agent, asked, "no"), refusal="age: it is negative.")
    answer = ui.result(told)
    assert answer["type"] == "error"
    assert (answer["body"]["code"], answer["body"]["message"]) == (
        "invalid_edit",
        "age: it is negative.",
    )
    body = ui.command("get_message", run=run, message=asked)
    assert (body["edit"], body["revision"]) == (None, 1)
    assert ui.pending(run) == asked, "the agent still halts there"
    ui.give("step", run=run, breakpoint=asked, revision=1, edit='"yes"')
    agent.send("edit_checked", check=question(agent, asked, "yes"))
    assert agent.answer() == "yes"


def test_commands_on_what_is_pending_stay_in_their_order(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    edits = ui.give("edit", run=run, breakpoint=asked, revision=1, edit='"yes"')
    steps = ui.give("step", run=run)
    check = question(agent, asked, "yes")
    ui.command("get_message", run=run, message=asked)  # what reads isn't kept waiting
    agent.send("edit_checked", check=check)
    assert agent.answer() == "yes"
    assert [ui.result(edits)["type"], ui.result(steps)["type"]] == ["ok", "ok"]


def test_an_approval_with_an_edit_is_asked_about_too(socket_harness: SocketHarness) -> None:
    agent, first = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, first)
    ui.step(run)
    agent.answer()
    agent.begin("tool_invocation", name="shell")
    asks = {"risk": "high", "why": "It deletes files."}
    asked = agent.reach({"Tool": "shell", "Argument": "rm"}, approval=asks)
    ui.halted(run, asked)
    edit = {"Tool": "shell", "Argument": "ls"}
    told = ui.give(
        "approve", run=run, breakpoint=asked, revision=1, edit=json.dumps(edit), confirmed=True
    )
    agent.send("edit_checked", check=question(agent, asked, edit), refusal="No.")
    assert ui.result(told)["body"]["code"] == "invalid_edit"
    assert ui.pending(run) == asked


def test_what_is_no_edit_is_refused_without_a_question(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    refused = ui.refused("edit", run=run, breakpoint=asked, revision=1, edit="{")
    assert refused["code"] == "invalid_edit"
    refused = ui.refused("edit", run=run, breakpoint=asked, revision=7, edit="1")
    assert refused["code"] == "stale"
    ui.act("edit", run=run, breakpoint=asked, revision=1, edit='"hello"')
    ui.act("step", run=run)
    assert agent.answer() == "hello", "it was asked nothing"


def test_who_is_faster_meanwhile_is_heard(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    other, _ = a_person(socket_harness, agent, asked)
    told = ui.give("step", run=run, breakpoint=asked, revision=1, edit='"mine"')
    check = question(agent, asked, "mine")
    other.step(run)
    assert agent.answer() == "hello"
    agent.send("edit_checked", check=check)
    assert ui.result(told)["body"]["code"] == "stale"


@pytest.mark.parametrize("how", ["hangs up", "says bye"])
def test_an_agent_that_is_lost_meanwhile_refuses(socket_harness: SocketHarness, how: str) -> None:
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    told = ui.give("edit", run=run, breakpoint=asked, revision=1, edit='"x"')
    question(agent, asked, "x")
    if how == "hangs up":
        agent.hang_up()
    else:
        agent.finish()
    answer = ui.result(told)["body"]
    assert answer["code"] == "invalid_edit"
    assert "The agent disconnected before" in answer["message"]


def test_an_agent_that_does_not_say_refuses(
    socket_harness: SocketHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agents_v2, "PendingEditChecks", partial(PendingEditChecks, timeout_s=0.01))
    agent, asked = halted(socket_harness)
    ui, run = a_person(socket_harness, agent, asked)
    refused = ui.refused("edit", run=run, breakpoint=asked, revision=1, edit='"x"')
    assert refused["code"] == "invalid_edit"
    assert "didn't say within 10 s" in refused["message"]
    agent.send("edit_checked", check=question(agent, asked, "x"))  # too late: nobody asks any more
    ui.step(run)
    assert agent.answer() == "hello"


def test_older_agents_are_not_asked(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness, checks=False)
    ui, run = a_person(socket_harness, agent, asked)
    ui.act("step", run=run, breakpoint=asked, revision=1, edit='"x"')
    assert agent.answer() == "x"


def test_a_ui_of_version_1_keeps_its_order(socket_harness: SocketHarness) -> None:
    agent, asked = halted(socket_harness)
    ui = socket_harness.ui(1)
    assert isinstance(ui, UiV1)
    run = ui.find("P")
    ui.halted(run, asked)
    ui.send("update_msg_content", {"run": run, "message": asked, "content": "x"})
    ui.send("step", {"run": run})
    agent.send("edit_checked", check=question(agent, asked, "x"))
    assert agent.answer() == "x"
    asked = agent.ask("again")
    ui.halted(run, asked)
    ui.send("update_msg_content", {"run": run, "message": asked, "content": "y"})
    agent.send("edit_checked", check=question(agent, asked, "y"), refusal="It isn't x.")
    assert ui.error()["message"] == "It isn't x."
