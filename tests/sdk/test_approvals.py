"""`dbg.tool(…, approval=…)`: what waits for a yes, and whoever says it."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import Approval, NotJSONError, ToolDeniedError
from agentstepper_nb.protocol import data_model
from agentstepper_nb.protocol.agent import DecideApproval, LeaseMessage, Withdraw
from agentstepper_nb.protocol.answers import DenyAnswer, ResumeAnswer
from agentstepper_nb.protocol.data_model import (
    EventOutcome,
    EventSide,
    Risk,
    RunMode,
)
from agentstepper_nb.sdk.approvals import NO_APPROVER_REASON
from tests.sdk.approval_helpers import ApprovalAnswers, ApprovalDecider, call, is_approved
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, waiting

# ---- a person in the debugger -----------------------------------------------------------------------


@both
def test_it_waits_however_the_run_continues(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ApprovalAnswers(is_approved('{"Tool": "shell", "Argument": "ls"}', always=True))
    core.lease = LeaseMessage(epoch=1, mode=RunMode.CONTINUE)
    approval = Approval("It deletes files.", "high", "rm -r *")

    async def scenario(dbg: Any) -> Any:
        before = approval.always
        return before, await call(dbg, approval), approval.always

    assert run(stepper_kind, core, scenario) == (False, "ls", True)
    (asked,) = [point for point in core.wait_for_peer().halt_points if point.approval is not None]
    assert (asked.waits, asked.side) == (True, EventSide.BEGIN)
    assert asked.approval == data_model.ApprovalPrompt(
        risk=Risk.HIGH, why="It deletes files.", rule="rm -r *"
    )


@both
def test_a_denial_is_raised_with_its_reason(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ApprovalAnswers(DenyAnswer(reason="Not today."))

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match=r"^Not today\.$"):
            await call(dbg, Approval("It deletes files."))

    run(stepper_kind, core, scenario)
    ended = core.wait_for_peer().halt_points[-1]
    assert (ended.waits, ended.outcome) == (False, EventOutcome.ERROR)


@both
def test_a_no_is_not_swallowed_by_who_tries_again(stepper_kind: str, core: ScriptedCore) -> None:
    """What fails for the moment is worth another try: a file, a network, a time limit. A No is none."""
    core.policy = ApprovalAnswers(DenyAnswer(reason="Not today."))
    tried: list[int] = []

    async def scenario(dbg: Any) -> None:
        for attempt in range(3):
            try:
                tried.append(attempt)
                await call(dbg, Approval("It deletes files."))
            except (OSError, RuntimeError, ValueError, LookupError, TypeError):
                continue

    with pytest.raises(ToolDeniedError, match=r"^Not today\.$"):
        run(stepper_kind, core, scenario)
    assert tried == [0]


@both
def test_a_denial_without_a_reason_says_at_least_that(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.policy = ApprovalAnswers(DenyAnswer(reason=""))

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match="The person denied this call"):
            await call(dbg, Approval("It deletes files."))

    run(stepper_kind, core, scenario)


@both
def test_who_goes_on_without_a_yes_is_denied(stepper_kind: str, core: ScriptedCore) -> None:
    """A Core that doesn't know of approvals, or lost this one."""
    core.policy = ApprovalAnswers(ResumeAnswer())

    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match=NO_APPROVER_REASON):
            await call(dbg, Approval("It deletes files."))

    run(stepper_kind, core, scenario)


@both
def test_how_a_run_begins_is_said_in_its_hello(stepper_kind: str, core: ScriptedCore) -> None:
    async def nothing(dbg: Any) -> None:
        """End at once."""

    for mode in RunMode:
        run(stepper_kind, core, nothing, mode=mode.value)
        hello = core.wait_for_peer().hello
        assert hello is not None
        assert hello.mode is mode
    with pytest.raises(
        ValueError, match=r"mode='run' isn't allowed\. Use one of 'step', 'continue'"
    ):
        run(stepper_kind, core, nothing, mode="run")


# ---- somebody else ----------------------------------------------------------------------------------


@both
def test_somebody_elsewhere_is_asked_once_it_waits(stepper_kind: str, core: ScriptedCore) -> None:
    arbiter = ApprovalDecider(core)
    asked = threading.Event()
    approval = Approval("It deletes files.", on_waiting=asked.set)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, stepper_kind, core, lambda dbg: call(dbg, approval))
        assert asked.wait(TIMEOUT_S)
        approval.approve("ls", always=True)
        approval.deny("Too late.")
        said = arbiter.decisions(peer := core.wait_for_peer())
        assert working.result(TIMEOUT_S) == "ls"
    (point,) = [point for point in peer.halt_points if point.approval is not None]
    assert (said.halt_point, said.approved, said.always) == (point.id, True, True)
    assert isinstance(said.data, Raw)
    assert json.loads(bytes(said.data)) == {"Tool": "shell", "Argument": "ls"}
    assert len([message for message in peer.received if isinstance(message, DecideApproval)]) == 1
    assert approval.always


@both
@pytest.mark.parametrize("how", ["approve", "deny"])
def test_what_was_decided_before_follows_at_once(
    stepper_kind: str, how: str, core: ScriptedCore
) -> None:
    arbiter, asked = ApprovalDecider(core), threading.Event()
    approval = Approval("It deletes files.", on_waiting=asked.set)
    if how == "approve":
        approval.approve()
    else:
        approval.deny("Not today.")
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, stepper_kind, core, lambda dbg: call(dbg, approval))
        peer = core.wait_for_peer()
        arbiter.decisions(peer)
        if how == "approve":
            assert working.result(TIMEOUT_S) == "rm -r build"
        else:
            with pytest.raises(ToolDeniedError, match="Not today"):
                working.result(TIMEOUT_S)
    names = [type(message).__name__ for message in peer.received]
    assert names[names.index("DecideApproval") - 1] == "HaltPointReached"
    assert not asked.is_set()


@both
def test_the_debuggers_answer_holds_where_both_decide(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.policy = ApprovalAnswers(None)
    with ThreadPoolExecutor(1) as pool:
        approval = Approval("It deletes files.")
        working = pool.submit(run, stepper_kind, core, lambda dbg: call(dbg, approval))
        peer = core.wait_for_peer()
        asked = waiting(peer)
        approval.approve("ls")
        peer.receive(DecideApproval)
        peer.answer(asked.id, DenyAnswer(reason="I was first."))
        with pytest.raises(ToolDeniedError, match="I was first"):
            working.result(TIMEOUT_S)


@both
def test_a_decision_after_the_answer_is_not_sent(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ApprovalAnswers(is_approved())

    async def scenario(dbg: Any) -> Any:
        approval = Approval("It deletes files.")
        async with dbg.tool("shell", "ls", approval=approval) as t:
            approval.deny("Too late.")
            t.result = "made"
        return t.result

    assert run(stepper_kind, core, scenario) == "made"
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert not any(isinstance(message, DecideApproval) for message in peer.received)


@both
def test_an_interrupted_wait_is_withdrawn_and_not_decided(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.policy = ApprovalAnswers(None)

    def interrupt() -> None:
        raise KeyboardInterrupt

    approval = Approval("It deletes files.", on_waiting=interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(stepper_kind, core, lambda dbg: call(dbg, approval))
    approval.approve()
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    (asked,) = [point for point in peer.halt_points if point.approval is not None]
    assert [m.halt_point for m in peer.received if isinstance(m, Withdraw)] == [asked.id]
    assert not any(isinstance(message, DecideApproval) for message in peer.received)


# ---- what can't be ----------------------------------------------------------------------------------


@both
def test_one_approval_is_for_one_call(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ApprovalAnswers(is_approved())

    async def scenario(dbg: Any) -> None:
        approval = Approval("It deletes files.")
        await call(dbg, approval)
        with pytest.raises(RuntimeError, match="Create one Approval for each call"):
            await call(dbg, approval)

    run(stepper_kind, core, scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert len(peer.events) == 2  # the program's start, and one call


def test_there_are_three_risks() -> None:
    with pytest.raises(ValueError, match="huge"):
        Approval("It deletes files.", "huge")  # type: ignore[arg-type]


@both
def test_arguments_that_are_no_json_are_refused_where_they_are_given(
    stepper_kind: str, core: ScriptedCore
) -> None:
    core.policy = ApprovalAnswers(is_approved())
    refused: list[str] = []
    approval = Approval("It deletes files.")

    def ask() -> None:
        with pytest.raises(NotJSONError):
            approval.approve({1: object()})
        refused.append("while it waits")

    approval.on_waiting = ask
    assert run(stepper_kind, core, lambda dbg: call(dbg, approval)) == "rm -r build"
    assert refused
    early = Approval("It deletes files.")
    early.approve(object())
    with pytest.raises(NotJSONError):
        run(stepper_kind, core, lambda dbg: call(dbg, early))
    core.wait_for_peer()
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert len(peer.events) == 1, "nothing of the call was sent"
