"""Calls that ask for an approval, and Cores that answer them."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from agentstepper_nb import Approval
from agentstepper_nb.protocol.agent import DecideApproval, HaltPointReached
from agentstepper_nb.protocol.answers import Answer, DenyAnswer, ResumeAnswer
from tests.sdk.scripted_core import AgentPeer, ScriptedCore


async def call(dbg: Any, approval: Approval, args: Any = "rm -r build") -> Any:
    async with dbg.tool("shell", args, approval=approval) as t:
        t.result = t.args
    return t.result


def is_approved(text: str | None = None, *, always: bool = False) -> ResumeAnswer:
    if text is None:
        return ResumeAnswer(approved=True, always=always)
    return ResumeAnswer(approved=True, always=always, data=Raw(text.encode()))


class ApprovalAnswers:
    """Answers what asks for an approval, and steps at all else."""

    def __init__(self, answer: Answer | None) -> None:
        self._answer = answer

    def __call__(self, peer: AgentPeer, point: HaltPointReached) -> Answer | None:
        return self._answer if point.approval is not None else ResumeAnswer()


class ApprovalDecider:
    """A Core that takes the agent's own decision for an answer."""

    def __init__(self, core: ScriptedCore) -> None:
        core.policy = ApprovalAnswers(None)
        self._core = core

    def decisions(self, peer: AgentPeer) -> DecideApproval:
        """Wait for a decision, and answer as it says."""
        said = peer.receive(DecideApproval)
        edit = said.data if isinstance(said.data, Raw) else None
        text = None if edit is None else bytes(edit).decode()
        yes = is_approved(text, always=said.always)
        peer.answer(said.halt_point, yes if said.approved else DenyAnswer(reason=said.reason))
        return said
