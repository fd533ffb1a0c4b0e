"""Approvals between agents and people, in each kind of store, across a restart, and in version 1."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import AnswerKind, ApprovalPrompt, Risk, RunMode, RunState
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import MemoryStore, Store, archive, open_store
from tests.hub.conftest import SocketHarness
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub
from tests.hub.socket_agents import AgentV2
from tests.hub.socket_uis import ViewV1
from tests.hub.test_slow_reads import settle

Json = Any

CALL = {"Tool": "shell", "Argument": "rm -r build"}
EDITED = {"Tool": "shell", "Argument": "ls"}
EDIT = '{"Tool":"shell","Argument":"ls"}'
ASKS = {"risk": "high", "why": "It deletes files.", "rule": "rm -r *"}


def request_approval(agent: ScriptedAgent, id: str = "b", **fields: Json) -> None:
    """Reach a call that asks for an approval."""
    agent.begin(f"e-{id}", "tool_invocation", name="shell")
    agent.reach(id, CALL, f"e-{id}", approval=ASKS, **fields)


async def a_run(store: Store | None = None) -> tuple[Any, ScriptedAgent]:
    """A run that began by continuing, and asks."""
    hub, agent = await open_hub(store), ScriptedAgent()
    await agent.connect(hub, mode="continue")
    request_approval(agent)
    await hub.wait_recorded()
    return hub, agent


async def the_answer(agent: ScriptedAgent) -> Json:
    return (await agent.connection.receive("answer"))["answer"]


# ---- version 2 --------------------------------------------------------------------------------------


async def test_a_run_that_begins_by_continuing_is_leased_so() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub, mode="continue")
    assert (await agent.connection.receive("lease"))["mode"] == "continue"
    agent.reach("passed")
    assert await the_answer(agent) == {"kind": "resume"}
    assert hub.run("r").state is RunState.CONTINUE
    await hub.close()


async def test_approved_edited_and_for_always() -> None:
    hub, agent = await a_run()
    assert (hub.run("r").state, hub.run("r").mode) == (RunState.HALTED, RunMode.CONTINUE)
    person = ScriptedView(hub)
    await person.request("open_run", run="r")
    body = (await person.request("get_message", run="r", message="b"))["body"]
    assert (body["approval"], body["reason"], body["always"]) == (ASKS, None, False)
    said = {"run": "r", "breakpoint": "b", "revision": 1, "edit": EDIT, "always": True}
    refused = await person.request("approve", **said)
    assert (refused["body"]["code"], refused["body"]["run"]) == ("needs_confirmation", "r")
    said["confirmed"] = True
    assert (await person.request("approve", **said))["type"] == "ok"
    assert await the_answer(agent) == {
        "kind": "resume",
        "data": EDITED,
        "approved": True,
        "always": True,
    }
    assert hub.run("r").state is RunState.CONTINUE
    body = (await person.request("get_message", run="r", message="b"))["body"]
    assert (body["approval"], body["always"]) == (ASKS, True)
    await hub.close()


async def test_a_step_of_an_approval_is_refused_however_it_comes() -> None:
    hub, agent = await a_run()
    person = ScriptedView(hub)
    named = {"run": "r", "breakpoint": "b", "revision": 1}
    for said in [{"run": "r"}, named, named | {"edit": EDIT}] * 7:
        refused = (await person.request("step", **said))["body"]
        assert (refused["code"], refused["run"]) == ("needs_approval", "r")
        assert "the call shell(rm -r build) asks for approval" in refused["message"]
    for said in [{"run": "r"}, named]:
        assert (await person.request("continue", **said))["type"] == "ok"
    await settle()
    assert agent.connection.take_bodies("answer") == []
    (pending,) = hub.debugger.pending("r")
    assert (pending.id, pending.revision, pending.edit) == ("b", 1, None)
    await hub.close()


async def test_denied_with_a_reason_that_everybody_reads() -> None:
    hub, agent = await a_run()
    person = ScriptedView(hub)
    await person.request("open_run", run="r")
    person.connection.sent.clear()
    said = {"run": "r", "breakpoint": "b", "revision": 1, "reason": "Not today."}
    assert (await person.request("deny", **said))["type"] == "ok"
    assert await the_answer(agent) == {"kind": "deny", "reason": "Not today."}
    row = (await person.connection.receive("row"))["row"]
    assert (row["answer"], row["reason"], row["approval"]) == ("deny", "Not today.", True)
    assert row["summary"] == "Denied: Not today."
    await hub.close()


async def test_who_may_only_watch_decides_nothing() -> None:
    hub, _ = await a_run()
    person = ScriptedView(hub, control=False)
    for name, said in (("approve", {}), ("deny", {"reason": "No."})):
        refused = await person.request(name, run="r", breakpoint="b", revision=1, **said)
        assert refused["body"]["code"] == "watch_only"
    assert hub.run("r").pending == ("b",)
    await hub.close()


async def test_refusals_say_what_to_do_instead() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b")
    person = ScriptedView(hub)
    refused = await person.request("approve", run="r", breakpoint="b", revision=1)
    assert (refused["body"]["code"], refused["body"]["run"]) == ("cannot_approve", "r")
    stale = await person.request("deny", run="r", breakpoint="b", revision=2, reason="No.")
    assert stale["body"]["code"] == "stale"
    request_approval(agent, "c")
    agent.send("decide", breakpoint="b", approved=True)
    agent.send("decide", breakpoint="c", approved=True, data=None)
    errors = [error["code"] for error in agent.connection.take_bodies("error")]
    assert errors == ["cannot_approve", "invalid_edit"]
    assert hub.run("r").pending == ("b", "c")
    await hub.close()


async def test_what_is_decided_at_the_agent_comes_back_as_the_answer() -> None:
    hub, agent = await a_run()
    agent.send("decide", breakpoint="b", approved=True, data=EDITED, always=True)
    assert await the_answer(agent) == {
        "kind": "resume",
        "data": EDITED,
        "approved": True,
        "always": True,
    }
    request_approval(agent, "c")
    agent.send("decide", breakpoint="c", approved=False, reason="Not today.")
    agent.send("decide", breakpoint="c", approved=True)  # crosses
    assert await the_answer(agent) == {"kind": "deny", "reason": "Not today."}
    await settle()
    assert agent.connection.take_bodies("error") == agent.connection.take_bodies("answer") == []
    await hub.close()


async def test_the_ok_of_a_view_that_was_second_is_an_error() -> None:
    hub, agent = await a_run()
    first, second = ScriptedView(hub), ScriptedView(hub)
    deny = {"run": "r", "breakpoint": "b", "revision": 1, "reason": "Not today."}
    one = first.send_command("approve", run="r", breakpoint="b", revision=1, confirmed=True)
    other = second.send_command("deny", **deny)
    assert (await first.wait_for_answer(one))["type"] == "ok"
    assert (await second.wait_for_answer(other))["body"]["code"] == "stale"
    assert (await the_answer(agent))["kind"] == "resume"
    await hub.close()


# ---- what is kept -----------------------------------------------------------------------------------


def memory(folder: Path) -> Store:
    return MemoryStore()


def sqlite(folder: Path) -> Store:
    return open_store(folder, Durability.DURABLE)


@pytest.mark.parametrize("opened", [memory, sqlite])
async def test_all_of_it_is_kept_and_travels(
    opened: Callable[[Path], Store], tmp_path: Path
) -> None:
    hub, agent = await a_run(opened(tmp_path))
    hub.perform(hub.commands.approve("r", hub.clock(), "b", 1, EDIT, always=True, confirmed=True))
    request_approval(agent, "c")
    hub.perform(hub.commands.deny("r", hub.clock(), "c", 1, "Not today."))
    agent.send_bye()
    await hub.wait_recorded()
    history = await hub.history("r")
    approved, denied = (point for point in history.halt_points if point.approval is not None)
    asks = ApprovalPrompt(risk=Risk.HIGH, why="It deletes files.", rule="rm -r *")
    assert (approved.approval, approved.always, approved.reason) == (asks, True, None)
    assert (denied.answer, denied.reason) == (AnswerKind.DENY, "Not today.")
    _, exported = await hub.export("r", "archive")
    again = archive.load_archive(exported)
    assert again.halt_points == history.halt_points
    _, exported = await hub.export("r")
    assert len(runfile.load_run(exported, "x").halt_points) == len(history.halt_points)
    await hub.close()


async def test_it_is_still_asked_after_a_restart(tmp_path: Path) -> None:
    hub, agent = await a_run(sqlite(tmp_path))
    agent.reach("passed")  # by another thread: it goes on
    await hub.close()
    agent.disconnect()

    hub = await open_hub(sqlite(tmp_path))
    assert (hub.run("r").state, hub.run("r").pending) == (RunState.DETACHED, ("b",))
    await agent.connect(hub, waiting=["b"])
    assert (hub.run("r").state, hub.run("r").mode) == (RunState.HALTED, RunMode.CONTINUE)
    person = ScriptedView(hub)
    body = (await person.request("get_message", run="r", message="b"))["body"]
    assert body["approval"] == ASKS
    await person.request("approve", run="r", breakpoint="b", revision=1, confirmed=True)
    assert await the_answer(agent) == {"kind": "resume", "approved": True}
    await hub.close()


async def test_a_denial_while_it_is_away_reaches_it_when_it_is_back(tmp_path: Path) -> None:
    hub, agent = await a_run(sqlite(tmp_path))
    agent.disconnect()
    hub.perform(hub.commands.deny("r", hub.clock(), "b", 1, "Not today."))
    await agent.connect(hub, waiting=["b"])
    assert await the_answer(agent) == {"kind": "deny", "reason": "Not today."}
    await hub.close()


async def test_an_approval_the_store_lost_is_not_given() -> None:
    """The agent waits for what nobody knows of: it is let go on, but not told that it was approved."""
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    agent.disconnect()
    await agent.connect(hub, waiting=["lost"])
    async with asyncio.timeout(30):
        assert await the_answer(agent) == {"kind": "resume"}
    await hub.close()


# ---- version 1 --------------------------------------------------------------------------------------


ELSEWHERE = (
    "The call shell(rm -r build) asks for approval, and a view of version 1 can't approve: nothing was "
    "done. Approve or deny the call in the notebook's view, with `agentstepper step`, or in the agent's "
    "own terminal."
)


def asked_in_version_1(socket_harness: SocketHarness) -> tuple[AgentV2, ViewV1, str, str]:
    """An agent that asks, and a view of version 1 that is told of it: its run and the message."""
    agent, ui = socket_harness.agent(), socket_harness.ui(1)
    assert isinstance(agent, AgentV2)
    assert isinstance(ui, ViewV1)
    agent.start()
    run = ui.find_run("P")
    agent.begin("tool_invocation", name="shell")
    asked = agent.reach(CALL, approval=ASKS)
    assert ui.wait_until_halted(run) == asked
    return agent, ui, run, asked


def test_a_view_of_version_1_approves_nothing_by_step(socket_harness: SocketHarness) -> None:
    agent, ui, run, asked = asked_in_version_1(socket_harness)
    for _ in range(20):
        refused = ui.expect_refusal("step", run=run)
        assert refused == {"code": "needs_approval", "message": ELSEWHERE, "run": run}
    ui.resume(run)
    assert ui.pending(run) == asked
    agent.begin_query()
    assert agent.receive_answer_body()["answer"] == {"kind": "resume"}, "it continues all the same"
    assert ui.pending(run) == asked
    person = socket_harness.ui(2)
    person.wait_until_halted(run, asked)
    person.run_command("deny", run=run, breakpoint=asked, revision=1, reason="Not today.")
    assert agent.receive_answer_body() == {
        "breakpoint": asked,
        "answer": {"kind": "deny", "reason": "Not today."},
    }


@pytest.mark.parametrize("content", [EDITED, None])
def test_a_view_of_version_1_edits_nothing_that_asks(
    socket_harness: SocketHarness, content: Json
) -> None:
    agent, ui, run, asked = asked_in_version_1(socket_harness)
    refused = ui.expect_refusal("update_msg_content", run=run, message=asked, content=content)
    assert refused == {"code": "needs_approval", "message": ELSEWHERE, "run": run}
    person = socket_harness.ui(2)
    person.wait_until_halted(run, asked)
    person.run_command("approve", run=run, breakpoint=asked, revision=1, confirmed=True)
    assert agent.receive_answer_body()["answer"] == {"kind": "resume", "approved": True}, (
        "as it was sent"
    )


def test_a_step_of_version_1_goes_on_from_what_does_not_ask(socket_harness: SocketHarness) -> None:
    agent, ui, run, asked = asked_in_version_1(socket_harness)
    query = agent.begin_query()
    ui.step(run)
    assert agent.receive_answer_body() == {"breakpoint": query, "answer": {"kind": "resume"}}
    assert ui.pending(run) == asked
