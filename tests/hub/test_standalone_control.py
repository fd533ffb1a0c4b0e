"""The Core as a class: the control of its runs from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

from agentstepper_nb.errors import CommandError, NeedsApprovalError, ProtocolError, StaleError
from agentstepper_nb.hub import AgentStepperCore
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2

Given = TypeVar("Given")


def run_on(core: AgentStepperCore, work: Coroutine[Any, Any, Given]) -> Given:
    return asyncio.run_coroutine_threadsafe(work, core.loop).result(30)


def test_control_without_a_run_means_the_one_that_halted_last(
    socket_harness: SocketHarness,
) -> None:
    core, ui = socket_harness.core, socket_harness.ui(2)
    first, second = socket_harness.started(1, "A"), socket_harness.started(2, "B")
    runs = [ui.find_run("A"), ui.find_run("B")]
    second.begin_query("b")
    ui.wait_until_halted(runs[1])
    first.begin_query("a")
    ui.wait_until_halted(runs[0])

    run_on(core, core.step_over({"edited": True}))
    assert first.receive_answer() == {"edited": True}
    run_on(core, core.step_over(None, runs[1]))
    assert second.receive_answer() == "b"

    ui.wait_until_halted(runs[1], second.reach("answer"))
    run_on(core, core.continue_execution())
    assert second.receive_answer() == "answer"
    second.begin_query("more")
    assert second.receive_answer() == "more"
    run_on(core, core.halt_execution(runs[1]))
    asked = second.begin_query("halts")
    assert ui.wait_until_halted(runs[1], asked) == asked


def test_step_over_keeps_the_edit_that_was_made(socket_harness: SocketHarness) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started()
    run, asked = ui.find_run("P"), agent.begin_query("hi")
    ui.wait_until_halted(run)
    ui.edit(run, asked, "edited")
    run_on(socket_harness.core, socket_harness.core.step_over(None))
    assert agent.receive_answer() == "edited"


@pytest.mark.parametrize("data", ["", {}, [], 0, False], ids=repr)
def test_step_over_takes_empty_values(socket_harness: SocketHarness, data: object) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started(1)
    agent.begin_query("hi")
    ui.wait_until_halted(ui.find_run("P"))
    run_on(socket_harness.core, socket_harness.core.step_over(data))
    assert agent.receive_answer() == data


def test_step_over_where_nothing_is_halted(socket_harness: SocketHarness) -> None:
    core, ui = socket_harness.core, socket_harness.ui(2)
    with pytest.raises(RuntimeError, match="no run is halted"):
        run_on(core, core.step_over(None))
    agent = socket_harness.started()
    run = ui.find_run("P")
    for named in (None, run):
        with pytest.raises(RuntimeError, match="no run is halted"):
            run_on(core, core.step_over(None, named))
    agent.finish()
    ui.wait_for_state(run, "idle")
    with pytest.raises(RuntimeError, match="no run is halted"):
        run_on(core, core.step_over(None, run))


@pytest.mark.parametrize("name", ["continue_execution", "halt_execution"])
def test_control_of_what_is_not_there(socket_harness: SocketHarness, name: str) -> None:
    core = socket_harness.core
    does: Callable[..., Coroutine[Any, Any, None]] = getattr(core, name)
    with pytest.raises(CommandError, match=r"No run is live\. Start an agent first") as refused:
        run_on(core, does())
    assert refused.value.code == "unknown_run"
    with pytest.raises(CommandError) as refused:
        run_on(core, does("none"))
    assert refused.value.code == "unknown_run"


def test_step_over_refuses_what_the_agent_could_not_take(socket_harness: SocketHarness) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started()
    agent.begin_tool_call("ls")
    ui.wait_until_halted(ui.find_run("P"))
    for data in ("ls", float("nan")):
        with pytest.raises(ProtocolError) as refused:
            run_on(socket_harness.core, socket_harness.core.step_over(data))
        assert refused.value.code == "invalid_edit"
    run_on(socket_harness.core, socket_harness.core.step_over(None))
    assert agent.receive_answer() == {"Tool": "ls", "Argument": None}


CALL = {"Tool": "shell", "Argument": "rm -r build"}


def an_approval(socket_harness: SocketHarness, risk: str) -> tuple[AgentV2, str]:
    """An agent whose call asks for an approval, and the call's halt point."""
    agent, ui = socket_harness.started(2), socket_harness.ui(2)
    assert isinstance(agent, AgentV2)
    run = ui.find_run("P")
    agent.begin("tool_invocation", name="shell")
    asked = agent.reach(CALL, approval={"risk": risk, "why": "It deletes files."})
    ui.wait_until_halted(run, asked)
    return agent, asked


@pytest.mark.parametrize("data", [None, CALL, {"Tool": "shell", "Argument": "ls"}])
def test_step_over_never_approves(socket_harness: SocketHarness, data: Any) -> None:
    core = socket_harness.core
    agent, asked = an_approval(socket_harness, "low")
    for _ in range(20):
        with pytest.raises(NeedsApprovalError, match="approve the call, or deny it") as refused:
            run_on(core, core.step_over(data))
        assert (refused.value.call, refused.value.halt_point) == ("shell(rm -r build)", asked)
    run_on(core, core.continue_execution())
    (call,) = run_on(core, core.approvals())
    assert (call.id, call.edit, call.revision) == (asked, None, 1)
    query = agent.begin_query()  # now it continues
    assert agent.receive_answer_body() == {"breakpoint": query, "answer": {"kind": "resume"}}


def test_step_over_goes_on_from_what_does_not_ask(socket_harness: SocketHarness) -> None:
    agent, _ = an_approval(socket_harness, "low")
    query = agent.begin_query("hi")
    socket_harness.ui(2).wait_for_state(next(iter(socket_harness.core.hub.runs())).id, "halted")
    run_on(socket_harness.core, socket_harness.core.step_over("bye"))
    assert agent.receive_answer_body() == {
        "breakpoint": query,
        "answer": {"kind": "resume", "data": "bye"},
    }


def test_a_program_approves_what_it_has_seen(socket_harness: SocketHarness) -> None:
    core = socket_harness.core
    agent, asked = an_approval(socket_harness, "high")
    (seen,) = run_on(core, core.approvals())
    (same,) = run_on(core, core.approvals(seen.run))
    assert (same, seen.approval and seen.approval.risk) == (seen, "high")
    with pytest.raises(CommandError, match="of high risk") as refused:
        run_on(core, core.approve(seen))
    assert refused.value.code == "needs_confirmation"
    with pytest.raises(ProtocolError, match="A tool call must stay"):
        run_on(core, core.approve(seen, "ls", confirmed=True))
    edited = {"Tool": "shell", "Argument": "ls"}
    run_on(core, core.approve(seen, edited, always=True, confirmed=True))
    answer = {"kind": "resume", "data": edited, "approved": True, "always": True}
    assert agent.receive_answer_body() == {"breakpoint": asked, "answer": answer}
    for late in (core.approve(seen, confirmed=True), core.deny(seen, "No.")):
        with pytest.raises(StaleError):
            run_on(core, late)
    assert run_on(core, core.approvals()) == []


def test_a_program_denies(socket_harness: SocketHarness) -> None:
    core = socket_harness.core
    agent, asked = an_approval(socket_harness, "high")
    (seen,) = run_on(core, core.approvals())
    run_on(core, core.deny(seen, "Not today."))
    answer = {"kind": "deny", "reason": "Not today."}
    assert agent.receive_answer_body() == {"breakpoint": asked, "answer": answer}
