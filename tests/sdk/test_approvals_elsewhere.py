"""Approvals and what surrounds them: secrets, no Core that could ask, and a real one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepperCore, Approval, ToolDeniedError
from agentstepper_nb.protocol.agent import DecideApproval, HaltPointReached, Withdraw
from agentstepper_nb.protocol.answers import DenyAnswer
from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    RunEnding,
    RunMode,
    RunState,
)
from agentstepper_nb.sdk.approvals import NO_APPROVER_REASON
from tests.sdk.approval_helpers import ApprovalDecider, call
from tests.sdk.both_steppers import both, run
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore, answer_start, waiting

SECRET = "sk-live-0123456789"


# ---- what leaves the process -----------------------------------------------------------------------


@both
def test_secrets_stay_here_and_come_back(
    stepper_kind: str, core: ScriptedCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    arbiter = ApprovalDecider(core)
    with ThreadPoolExecutor(1) as pool:
        approval = Approval(f"It sends {SECRET}." + "x" * 2000, rule=f"curl {SECRET}")
        approval.approve(f"curl -H {SECRET} other")
        working = pool.submit(run, stepper_kind, core, lambda dbg: call(dbg, approval))
        peer = core.wait_for_peer()
        said = arbiter.decisions(peer)
        assert working.result(TIMEOUT_S) == f"curl -H {SECRET} other"
    (asked,) = [point for point in peer.halt_points if point.approval is not None]
    assert asked.approval is not None
    assert asked.approval.why.startswith("It sends [masked MY_API_KEY].xx")
    assert len(asked.approval.why) == 1000
    assert asked.approval.rule == "curl [masked MY_API_KEY]"
    assert isinstance(said.data, Raw)
    assert json.loads(bytes(said.data))["Argument"] == "curl -H [masked MY_API_KEY] other"


@both
def test_redact_sees_what_is_asked_and_why_it_is_denied(
    stepper_kind: str, core: ScriptedCore
) -> None:
    seen: list[Any] = []

    def redact(word: str, value: Any) -> Any:
        if word == "approval":
            seen.append(value)
            return dict.fromkeys(value, "hidden")
        return value

    arbiter = ApprovalDecider(core)
    approval = Approval("It deletes files.")
    approval.deny("It would delete mine.")
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(
            run, stepper_kind, core, lambda dbg: call(dbg, approval), redact=redact
        )
        assert arbiter.decisions(core.wait_for_peer()).reason == "hidden"
        with pytest.raises(ToolDeniedError, match="hidden"):
            working.result(TIMEOUT_S)
    assert {"why": "It deletes files."} in seen
    assert {"reason": "It would delete mine."} in seen


# ---- no Core that could ask --------------------------------------------------------------------------


def deciding(decide: Callable[[Approval], None]) -> Approval:
    """An approval that is decided elsewhere as soon as it waits."""
    approval = Approval("It deletes files.")
    approval.on_waiting = lambda: decide(approval)
    return approval


@both
def test_version_1_has_no_word_for_it(stepper_kind: str) -> None:
    async def scenario(dbg: Any) -> Any:
        with pytest.raises(ToolDeniedError, match=NO_APPROVER_REASON):
            await call(dbg, Approval("It deletes files."))
        with pytest.raises(ToolDeniedError, match="Not here"):
            await call(dbg, deciding(lambda approval: approval.deny("Not here.")))
        return await call(dbg, deciding(lambda approval: approval.approve("ls")))

    with ScriptedCore(version=1) as core:
        assert run(stepper_kind, core, scenario) == "ls"


@both
def test_without_its_core_only_who_is_elsewhere_decides(stepper_kind: str) -> None:
    made = threading.Event()

    async def scenario(dbg: Any) -> Any:
        with pytest.raises(ToolDeniedError, match=NO_APPROVER_REASON):
            await call(dbg, Approval("It deletes files."))
        result = await call(dbg, deciding(lambda approval: approval.approve("ls", always=True)))
        made.set()
        return result

    with ScriptedCore(answer_start) as core, ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, stepper_kind, core, scenario, on_disconnect="continue")
        asked = waiting(core.wait_for_peer())
        core.stop()
        assert made.wait(TIMEOUT_S)
        core.start()
        assert working.result(TIMEOUT_S) == "ls"
        (kept,) = core.received.values()
    points = [m for m in kept if isinstance(m, HaltPointReached) and m.approval is not None]
    assert [point.waits for point in points] == [True, False]
    assert [m.halt_point for m in kept if isinstance(m, Withdraw)] == [asked.id]


@both
def test_who_waits_for_its_core_is_answered_when_it_is_back(stepper_kind: str) -> None:
    with ScriptedCore(answer_start) as core, ThreadPoolExecutor(1) as pool:
        approval = Approval("It deletes files.")
        working = pool.submit(run, stepper_kind, core, lambda dbg: call(dbg, approval))
        asked = waiting(core.wait_for_peer())
        core.stop()
        approval.approve("ls")
        core.start()
        back = core.wait_for_peer()
        assert back.hello is not None
        assert back.hello.waiting == (asked.id,)
        assert back.receive(DecideApproval).halt_point == asked.id
        back.answer(asked.id, DenyAnswer(reason="I was first."))
        with pytest.raises(ToolDeniedError, match="I was first"):
            working.result(TIMEOUT_S)


# ---- a real Core -------------------------------------------------------------------------------------


@both
def test_a_person_approves_an_edit_for_always(
    stepper_kind: str, live: AgentStepperCore, person: LiveView
) -> None:
    approval = Approval("It deletes files.", "high", "rm -r *")
    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(
            run, stepper_kind, where, lambda dbg: call(dbg, approval), mode="continue"
        )
        halted = person.wait_until(lambda run: run.state is RunState.HALTED)
        assert halted.mode is RunMode.CONTINUE
        person.resume()
        assert person.run.pending == halted.pending, "to continue approves nothing"
        person.approve({"Tool": "shell", "Argument": "ls"}, always=True)
        assert working.result(TIMEOUT_S) == "ls"
    person.wait_until_ended()
    assert approval.always
    (asked,) = [row for row in person.list_rows() if row.approval]
    assert (asked.edited, asked.answer, asked.summary) == (True, AnswerKind.RESUME, "shell(ls)")


@both
def test_a_person_denies(stepper_kind: str, live: AgentStepperCore, person: LiveView) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(ToolDeniedError, match="Not today"):
            await call(dbg, Approval("It deletes files."))
        with pytest.raises(ToolDeniedError, match="Nor any other"):
            async with dbg.llm("p"):
                raise AssertionError("unreachable")

    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(run, stepper_kind, where, scenario, mode="continue")
        person.wait_until_halted()
        person.halt()
        person.deny("Not today.")
        person.deny("Nor any other day.")
        working.result(TIMEOUT_S)
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    denied = [row.reason for row in person.list_rows() if row.reason]
    assert denied == ["Not today.", "Nor any other day."]


@both
def test_whoever_is_first_the_agent_does_what_is_recorded(
    stepper_kind: str, live: AgentStepperCore, person: LiveView
) -> None:
    rounds = 20
    waits, decided = Queue[Approval](), Queue[str]()

    async def scenario(dbg: Any) -> None:
        for _ in range(rounds):
            approval = Approval("It deletes files.")
            approval.on_waiting = partial(waits.put, approval)
            try:
                decided.put(await call(dbg, approval, "as it was"))
            except ToolDeniedError as error:
                decided.put(str(error))

    def elsewhere(approval: Approval, turn: int, together: threading.Barrier) -> None:
        together.wait(TIMEOUT_S)
        if turn % 2:
            approval.approve("edited there")
        else:
            approval.deny("denied there")

    where: Any = SimpleNamespace(port=live.client_port)
    with ThreadPoolExecutor(2) as pool:
        working = pool.submit(run, stepper_kind, where, scenario, mode="continue")
        acted = []
        for turn in range(rounds):
            together = threading.Barrier(2)
            other = pool.submit(elsewhere, waits.get(timeout=TIMEOUT_S), turn, together)
            person.wait_until_halted()
            together.wait(TIMEOUT_S)
            first = person.try_action(
                *((person.deny, "denied here") if turn % 3 else (person.approve,))
            )
            other.result(TIMEOUT_S)
            acted.append(decided.get(timeout=TIMEOUT_S))
            assert (acted[-1] in ("denied here", "as it was")) == first
            person.wait_until(lambda run: not run.pending)
        working.result(TIMEOUT_S)
    person.wait_until_ended()
    asked = [row for row in person.list_rows() if row.approval]
    recorded = [row.reason or ("edited there" if row.edited else "as it was") for row in asked]
    assert recorded == acted
