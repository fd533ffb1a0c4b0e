"""A conversation that a test leads, in the place of a coding session."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentstepper_nb.coding.approvals import ApprovalDecision, ApprovalRequest
from agentstepper_nb.coding.hosted_session import SessionOpening
from agentstepper_nb.coding.tool import Risk
from agentstepper_nb.errors import CommandError, ModelError
from agentstepper_nb.llm_wire.conversation import ChatMessage, UserMessage
from agentstepper_nb.llm_wire.events import AgentEvent, TextDelta
from agentstepper_nb.protocol.coding_api import SandboxReport
from agentstepper_nb.protocol.data_model import Usage


@dataclass(frozen=True)
class Result:
    reason: str = "done"
    usage: Usage | None = None


SANDBOX = SandboxReport(mode="workspace-write", name="bubblewrap")


@dataclass
class ScriptedCodingSession:
    """Answers a prompt as the prompt says.

    Attributes:
        decisions: What it was answered.
        elsewhere: Set: what is asked was already answered elsewhere.
    """

    id: str
    opening: SessionOpening
    run_id: str | None = "run-1"
    messages: Sequence[ChatMessage] = ()
    decisions: list[ApprovalDecision] = field(default_factory=list)
    elsewhere: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    closed: bool = False
    sandbox: SandboxReport = SANDBOX
    risk: Risk = Risk.HIGH  # of what it asks for

    def emit(self, *events: AgentEvent) -> None:
        for event in events:
            self.opening.listener(event)

    async def run(self, prompt: str) -> Result:
        self.messages = (*self.messages, UserMessage(content=prompt))
        word, _, rest = prompt.partition(" ")
        match word:
            case "say":
                self.emit(*(TextDelta(each) for each in rest.split()))
            case "wait":
                self.emit(TextDelta("waiting"))
                await self.over.wait()
                return Result("cancelled")
            case "ask":
                await self._request_approval(rest)
            case "break":
                raise ZeroDivisionError("a bug")
        return Result(usage=Usage(input_tokens=3, output_tokens=2))

    async def _request_approval(self, call: str) -> None:
        request = ApprovalRequest(
            call_id=call,
            tool="run_command",
            args={"command": "rm -r build"},
            risk=self.risk,
            policy_reason="it deletes files",
        )
        asking = asyncio.ensure_future(self.opening.approver.request_decision(request))
        elsewhere = asyncio.ensure_future(self.elsewhere.wait())
        await asyncio.wait((asking, elsewhere), return_when=asyncio.FIRST_COMPLETED)
        elsewhere.cancel()
        if asking.done():
            self.decisions.append(asking.result())
            self.emit(TextDelta(f"approved={asking.result().approved}"))
            return
        asking.cancel()
        await asyncio.wait((asking,))
        self.emit(TextDelta("already answered elsewhere"))

    async def cancel(self) -> None:
        self.over.set()

    async def close(self) -> None:
        self.closed = True
        self.over.set()


@dataclass
class ScriptedSessionOpener:
    """Opens conversations, and keeps those that were there.

    Attributes:
        led: All that are open, by id.
    """

    sessions: dict[str, ScriptedCodingSession] = field(default_factory=dict)
    stored_ids: set[str] = field(default_factory=set)

    async def __call__(
        self, opening: SessionOpening, kept: str | None
    ) -> Any:  # in a session's place
        if opening.request.provider == "nobody":
            raise ModelError("unknown", "There is no provider “nobody”.")
        if kept is not None and kept not in self.stored_ids:
            raise CommandError("unknown_session", f"There is no {kept}.")
        id = kept or f"s{len(self.stored_ids) + 1}"
        self.stored_ids.add(id)
        self.sessions[id] = ScriptedCodingSession(id, opening)
        return self.sessions[id]
