"""Approvals where no debugger is there: who is asked, and what their answer comes to."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.approvals import ApprovalDecision
from agentstepper_nb.coding.options import CodingLimits
from agentstepper_nb.errors import PolicyRulesError
from agentstepper_nb.sdk.approvals import NO_APPROVER_REASON
from agentstepper_nb.sdk.flow_effects import DENIED_MESSAGE
from tests.coding.debugged_agent import AgentHarness, run
from tests.coding.scripted_parts import (
    FakeApprover,
    FakeProvider,
    FakeTool,
    make_text_answer,
    make_tool_calls,
)

ASKS = ("1", "t", {"policy": "requires_approval", "n": 1})


def run_approved_call(
    tmp_path: Path, answering: FakeApprover | None, **options: Any
) -> tuple[AgentHarness, FakeTool]:
    tool = FakeTool("t")
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    with AgentHarness(tmp_path, model, tool, approver=answering, **options) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    return made, tool


def test_approved(tmp_path: Path) -> None:
    person = FakeApprover(ApprovalDecision(approved=True))
    made, tool = run_approved_call(tmp_path, person)
    assert tool.calls == [ASKS[2]]
    (request,) = person.requests
    assert (request.call_id, request.tool, request.args) == ASKS
    assert (request.risk, request.policy_reason, request.rule) == (
        "high",
        "So it is said.",
        "all of it",
    )
    (required,) = made.list_traces("approval_required")
    assert required["why"] == "So it is said."
    assert made.list_traces("approval") == [
        {
            "call_id": "1",
            "decision": "approved",
            "reason": "",
            "why": "So it is said.",
            "risk": "high",
            "by": "approver",
        }
    ]


def test_denied(tmp_path: Path) -> None:
    made, tool = run_approved_call(
        tmp_path, FakeApprover(ApprovalDecision(approved=False, reason="not today"))
    )
    assert tool.calls == []
    assert "A person denied this: not today" in made.results_by_call()["1"].content
    assert made.list_traces("approval")[0]["decision"] == "denied"


def test_edited_and_approved_runs_as_edited_and_the_model_is_told(tmp_path: Path) -> None:
    edit = ApprovalDecision(approved=True, edited=True, args={"n": 2})
    made, tool = run_approved_call(tmp_path, FakeApprover(edit))
    assert tool.calls == [{"n": 2}]
    assert made.list_traces("edited") == [
        {"what": "call", "call_id": "1", "name": "t", "args": {"n": 2}}
    ]
    assert (
        '"edited_by_a_person":{"name":"t","arguments":{"n":2}}'
        in made.results_by_call()["1"].content
    )


def test_an_edit_is_judged_again_and_a_denial_holds(tmp_path: Path) -> None:
    kept: list[Any] = []
    edit = ApprovalDecision(approved=True, edited=True, args={"policy": "denied"}, always=True)
    made, tool = run_approved_call(
        tmp_path, FakeApprover(edit), save_rule=lambda *rule: kept.append(rule)
    )
    assert tool.calls == []
    assert kept == []
    assert "The policy denies this" in made.results_by_call()["1"].content


def test_an_edit_that_asks_is_approved_by_who_made_it(tmp_path: Path) -> None:
    args = {"policy": "requires_approval", "n": 3}
    person = FakeApprover(ApprovalDecision(approved=True, edited=True, args=args))
    _, tool = run_approved_call(tmp_path, person)
    assert tool.calls == [args]
    assert len(person.requests) == 1


def test_always_writes_a_rule(tmp_path: Path) -> None:
    kept: list[Any] = []
    person = FakeApprover(ApprovalDecision(approved=True, always=True))
    run_approved_call(tmp_path, person, save_rule=lambda *rule: kept.append(rule))
    assert kept == [("t", ASKS[2], True)]


def test_always_writes_no_rule_where_none_was_offered(tmp_path: Path) -> None:
    """Such a rule would allow every call of the tool: this question is about one file, or a failure."""
    kept: list[Any] = []
    broken = ("1", "t", {"policy": "broken"})
    model = FakeProvider(make_tool_calls(broken), make_text_answer("I see."))
    person, tool = FakeApprover(ApprovalDecision(approved=True, always=True)), FakeTool("t")
    with AgentHarness(
        tmp_path, model, tool, approver=person, save_rule=lambda *rule: kept.append(rule)
    ) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert [request.rule for request in person.requests] == [None]
    assert (tool.calls, kept) == ([broken[2]], [])


def test_a_rule_that_cannot_be_written_is_told_and_the_call_is_made(tmp_path: Path) -> None:
    def full(tool: str, args: Any, has_shell: bool) -> None:
        raise PolicyRulesError("The rules can't be written.")

    made, tool = run_approved_call(
        tmp_path, FakeApprover(ApprovalDecision(approved=True, always=True)), save_rule=full
    )
    assert tool.calls == [ASKS[2]]
    assert made.list_traces("warning") == [{"message": "The rules can't be written."}]


def test_with_nobody_to_ask_it_is_denied_and_says_how_to_be_asked(tmp_path: Path) -> None:
    made, tool = run_approved_call(tmp_path, None)
    assert tool.calls == []
    assert "nobody can be asked: run `agentstepper code`" in made.results_by_call()["1"].content


async def test_no_answer_in_time_is_a_denial(tmp_path: Path) -> None:
    person, tool = FakeApprover(None), FakeTool("t")
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    limits = CodingLimits(approval_timeout_s=0.01)
    with AgentHarness(tmp_path, model, tool, approver=person, limits=limits) as made:
        assert (await made.agent.run("Go.")).reason == "done"
    assert tool.calls == []
    assert person.taken_back.is_set()
    assert "Nobody answered within 0.01 seconds." in made.results_by_call()["1"].content


def test_an_approver_that_fails_denies(tmp_path: Path) -> None:
    made, tool = run_approved_call(tmp_path, FakeApprover(EOFError("gone")))
    assert tool.calls == []
    assert (
        "This call was denied. The approval could not be requested: gone"
        in made.results_by_call()["1"].content
    )


@pytest.mark.parametrize(
    "reason", [NO_APPROVER_REASON, DENIED_MESSAGE, "Nobody answered within 0 seconds."]
)
def test_whatever_words_a_person_chooses_it_is_a_person_who_denies(
    tmp_path: Path, reason: str
) -> None:
    made, _ = run_approved_call(
        tmp_path, FakeApprover(ApprovalDecision(approved=False, reason=reason))
    )
    assert f"A person denied this: {reason}" in made.results_by_call()["1"].content
    assert made.list_traces("approval")[0]["by"] == "approver"


def test_a_policy_that_fails_asks(tmp_path: Path) -> None:
    person, tool = FakeApprover(ApprovalDecision(approved=True)), FakeTool("t")
    model = FakeProvider(
        make_tool_calls(("1", "t", {"policy": "broken"})), make_text_answer("I see.")
    )
    with AgentHarness(tmp_path, model, tool, approver=person) as made:
        run(made.agent.run("Go."))
    assert person.requests[0].policy_reason == "The policy failed: no idea"
    assert len(tool.calls) == 1


async def test_cancel_takes_the_question_back(tmp_path: Path) -> None:
    person = FakeApprover(None)
    model = FakeProvider(make_tool_calls(ASKS))
    with AgentHarness(tmp_path, model, FakeTool("t"), approver=person) as made:
        answering = asyncio.create_task(made.agent.run("Go."))
        await person.waiting.wait()
        made.agent.cancel()
        assert (await answering).reason == "cancelled"
        assert person.taken_back.is_set()
