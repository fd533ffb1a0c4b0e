"""A session's log says why each call was asked for, who decided, and in which words."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.cli.code_approvals import TerminalApprover
from agentstepper_nb.cli.screen import Screen, ScreenPrompt
from agentstepper_nb.coding.approvals import ApprovalDecision, ApprovalRequest, HttpApprover
from agentstepper_nb.coding.policy import PolicyRulesFile
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.protocol.coding_api import ApprovalRequired, CodingApprovalBody, ServerEvent
from tests.coding.scripted_parts import (
    FakeApprover,
    FakeProvider,
    make_text_answer,
    make_tool_calls,
)
from tests.coding.session_helpers import entries, open_session

REMOVE = ("1", "run_command", {"command": "rm -rf build"})


async def decided(folder: Path, call: Any = REMOVE, **options: Any) -> list[dict[str, Any]]:
    """What the log has of approvals after a prompt whose answer makes a call."""
    (folder / "repo" / "build").mkdir(parents=True)
    async with await open_session(
        folder, FakeProvider(make_tool_calls(call), make_text_answer("I see.")), **options
    ) as session:
        assert (await session.run("Clean up.")).reason == "done"
    return entries(folder, session.id, "approval")


class TypedLines:
    """Lines that somebody has typed."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def discard_input(self) -> None:
        pass

    async def read_line(self, question: ScreenPrompt) -> str | None:
        return self._lines.pop(0)


async def test_a_denial_in_the_terminal_with_its_words(tmp_path: Path) -> None:
    screen = Screen(io.StringIO(), is_coloured=False, terminal=False)
    typed: Any = TypedLines("n keep the build")
    person = TerminalApprover(screen, typed, lambda text: text)
    (entry,) = await decided(tmp_path, approver=person)
    assert entry.pop("why").startswith("`rm -rf build` ")
    assert entry == {
        "type": "approval",
        "callId": "1",
        "decision": "denied",
        "reason": "keep the build",
        "risk": entry["risk"],
        "by": "terminal",
    }


@pytest.mark.parametrize("approved", [True, False])
async def test_an_answer_over_http_with_its_words(tmp_path: Path, approved: bool) -> None:
    asked: list[str] = []

    def hear(event: ServerEvent) -> None:
        assert isinstance(event, ApprovalRequired)
        asked.append(event.why)
        answer = CodingApprovalBody(approved=approved, confirmed=True, reason="as agreed")
        loop.call_soon(person.answer, "s", event.call_id, answer)

    loop, person = asyncio.get_running_loop(), HttpApprover(hear)
    (entry,) = await decided(tmp_path, approver=person)
    assert (entry["decision"], entry["reason"], entry["by"]) == (
        "approved" if approved else "denied",
        "as agreed",
        "http",
    )
    assert [entry["why"]] == asked


async def test_what_was_allowed_from_then_on(tmp_path: Path) -> None:
    requests: list[ApprovalRequest] = []

    class Always:
        async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
            requests.append(request)
            return ApprovalDecision(approved=True, always=True)

    (entry,) = await decided(tmp_path, approver=Always())
    assert (entry["by"], entry["always"]) == ("approver", requests[0].rule)
    assert entry["always"]


async def test_nobody_and_too_late(tmp_path: Path) -> None:
    (nobody,) = await decided(tmp_path / "a")
    assert (nobody["decision"], nobody["by"]) == ("denied", "nobody")
    assert "nobody can be asked" in nobody["reason"]
    (late,) = await decided(tmp_path / "b", approver=FakeApprover(None), approval_timeout=0.01)
    assert (late["decision"], late["by"]) == ("denied", "timeout")
    assert late["reason"] == "Nobody answered within 0.01 seconds."


async def test_what_is_approved_unseen_is_logged_as_that(tmp_path: Path) -> None:
    (entry,) = await decided(tmp_path, auto_approve=True)
    assert (entry["decision"], entry["reason"], entry["by"]) == ("approved", "", "auto_approve")
    assert "`rm -rf build`" in entry["why"]


@pytest.mark.parametrize(("effect", "decision"), [("allow", "approved"), ("deny", "denied")])
async def test_what_a_rule_decides(tmp_path: Path, effect: str, decision: str) -> None:
    rules = PolicyRulesFile(CodingDataPaths(tmp_path / "data").rules)
    if effect == "allow":
        rules.allow(command="rm -rf build")
    else:
        rules.deny(command="rm")
    (entry,) = await decided(tmp_path)
    assert (entry["decision"], entry["by"]) == (decision, "rule")
    assert entry["why"].startswith("A rule says: ")


async def test_what_nobody_has_to_decide_is_not_there(tmp_path: Path) -> None:
    assert await decided(tmp_path, ("1", "list_files", {})) == []
