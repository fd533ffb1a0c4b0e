"""Approvals in the debugger, and beside it: whoever is first."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentstepper_nb.coding.approvals import ApprovalDecision
from agentstepper_nb.coding.options import CodingLimits
from tests.coding.debugged_agent import ASKS, AsyncLiveView, Debug, start_agent
from tests.coding.scripted_parts import (
    FakeApprover,
    FakeProvider,
    make_text_answer,
    make_tool_calls,
)


@pytest.mark.parametrize("mode", ["step", "continue"])
async def test_the_view_approves_with_an_edit_and_always(
    view: AsyncLiveView, debug: Debug, mode: str
) -> None:
    person = FakeApprover(None)
    async with debug(
        FakeProvider(make_tool_calls(ASKS), make_text_answer("Done.")), mode, approver=person
    ) as made:
        running = start_agent(made.agent)
        if mode == "step":
            await view.step_async()
            await view.wait_for_halt()
            await view.step_async()
        assert (await view.wait_for_halt())["Argument"] == ASKS[2]
        await person.waiting.wait()
        await view.approve_async({"Tool": "t", "Argument": {"n": 2}}, always=True)
        await person.taken_back.wait()
        if mode == "step":
            await view.wait_for_halt()
            await asyncio.to_thread(view.resume)
        assert (await running).reason == "done"
        assert made.tool.calls == [{"n": 2}]
        assert made.kept == [("t", {"n": 2}, True)]
        assert made.list_traces("approval") == [
            {
                "call_id": "1",
                "decision": "approved",
                "reason": "",
                "why": "So it is said.",
                "risk": "high",
                "by": "debugger",
                "always": "all of it",
            }
        ]


async def test_the_view_denies_with_a_reason(view: AsyncLiveView, debug: Debug) -> None:
    person = FakeApprover(None)
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    async with debug(model, "continue", approver=person) as made:
        running = start_agent(made.agent)
        await person.waiting.wait()
        await view.deny_async("not today")
        assert (await running).reason == "done"
        assert person.taken_back.is_set()
        assert made.tool.calls == []
        assert "A person denied this: not today" in made.result().content
        (said,) = made.list_traces("approval")
        assert (said["decision"], said["reason"]) == ("denied", "not today")
        assert (said["by"], said["why"]) == ("debugger", "So it is said.")


@pytest.mark.parametrize(
    ("decision", "did"),
    [
        (ApprovalDecision(approved=True), [ASKS[2]]),
        (ApprovalDecision(approved=True, edited=True, args={"n": 3}, always=True), [{"n": 3}]),
        (ApprovalDecision(approved=False, reason="no"), []),
    ],
)
async def test_somebody_else_is_faster(
    view: AsyncLiveView, debug: Debug, decision: ApprovalDecision, did: list[Any]
) -> None:
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    async with debug(model, "continue", approver=FakeApprover(decision)) as made:
        assert (await start_agent(made.agent)).reason == "done"
        assert made.tool.calls == did
        assert bool(made.kept) == decision.always
        (said,) = made.list_traces("approval")
        assert (said["by"], said["reason"]) == ("approver", decision.reason)
    await asyncio.to_thread(view.wait_until_ended)
    (asked,) = [row for row in await asyncio.to_thread(view.list_rows) if row.approval]
    assert asked.reason == (None if decision.approved else "no")
    assert asked.edited == decision.edited


async def test_nobody_answers_in_time(view: AsyncLiveView, debug: Debug) -> None:
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    limits = CodingLimits(approval_timeout_s=0.01)
    async with debug(model, "continue", limits=limits) as made:
        assert (await start_agent(made.agent)).reason == "done"
        assert made.tool.calls == []
        assert "Nobody answered within 0.01 seconds." in made.result().content


async def test_an_approver_that_fails_leaves_it_to_the_view(
    view: AsyncLiveView, debug: Debug
) -> None:
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    broken = FakeApprover(EOFError("gone"))
    async with debug(model, "continue", approver=broken) as made:
        running = start_agent(made.agent)
        await view.approve_async()
        assert (await running).reason == "done"
        assert made.tool.calls == [ASKS[2]]


async def test_a_denial_without_a_reason_is_one_sentence(view: AsyncLiveView, debug: Debug) -> None:
    model = FakeProvider(make_tool_calls(ASKS), make_text_answer("I see."))
    async with debug(model, "continue") as made:
        running = start_agent(made.agent)
        await view.wait_for_halt()
        await view.deny_async("")
        assert (await running).reason == "done"
        assert '"error":"A person denied this."' in made.result().content


async def test_an_approver_whose_answer_is_no_json_leaves_it_to_the_view(
    view: AsyncLiveView, debug: Debug
) -> None:
    broken = FakeApprover(ApprovalDecision(approved=True, edited=True, args=object()))
    async with debug(
        FakeProvider(make_tool_calls(ASKS), make_text_answer("Done.")), "continue", approver=broken
    ) as made:
        running = start_agent(made.agent)
        await view.wait_for_halt()
        await view.approve_async()
        assert (await running).reason == "done"
        assert made.tool.calls == [ASKS[2]]
