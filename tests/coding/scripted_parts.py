"""A model that plays given answers, a tool and a policy that do as told, and somebody to ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any

from agentstepper_nb.coding.approvals import ApprovalDecision, ApprovalRequest
from agentstepper_nb.coding.policy.engine import PolicyDecision, PolicyEvaluation
from agentstepper_nb.coding.tool import Risk, Tool, ToolContext, ToolPolicy, ToolResult
from agentstepper_nb.coding.tools import ToolRegistry
from agentstepper_nb.llm_wire.conversation import ModelRequest
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)
from agentstepper_nb.protocol.data_model import Usage

Answer = Sequence[AgentEvent]

#: An answer that never goes on from here.
HANGS = TraceEvent("hangs")
USAGE = Usage(input_tokens=10, output_tokens=2)


def make_text_answer(text: str) -> Answer:
    words = [TextDelta(word) for word in text.split(" ")]
    return [*words, ResponseCompleted("stop", USAGE)]


def make_tool_calls(*each: tuple[str, str, Any], text: str = "") -> Answer:
    """Calls, each `(id, tool, arguments)`; arguments that are a text are sent as they are."""
    events: list[AgentEvent] = [TextDelta(text)] if text else []
    for id, name, args in each:
        args_json = args if isinstance(args, str) else json.dumps(args)
        events += [
            ToolCallStarted(id, name),
            ToolCallArgsDelta(id, args_json),
            ToolCallReady(id, name, args_json),
        ]
    return [*events, ResponseCompleted("tool_calls", USAGE)]


def make_failure(message: str) -> Answer:
    error = TraceEvent("error", {"kind": "refused", "message": message})
    return [error, ResponseCompleted("error", None)]


class FakeProvider:
    """Plays answers in their order, and keeps what it was asked."""

    name = "playing"

    def __init__(self, *answers: Answer | Callable[[ModelRequest], Answer]) -> None:
        self._answers = list(answers)
        self.requests: list[ModelRequest] = []
        self.hanging = asyncio.Event()
        self.closed_early = asyncio.Event()  # an answer was not heard to its end

    async def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        self.requests.append(request)
        answer = self._answers.pop(0)
        whole = False
        try:
            for event in answer(request) if callable(answer) else answer:
                if event is HANGS:
                    self.hanging.set()
                    await asyncio.Event().wait()
                yield event
            whole = True
        finally:
            if not whole:
                self.closed_early.set()

    async def close(self) -> None:
        pass


class FakeTool:
    """A tool that does what a function says."""

    description = "Does it."
    input_schema: dict[str, Any] = {"type": "object"}  # noqa: RUF012

    def __init__(
        self, name: str, does: Callable[[Any], Any] = lambda args: args, **policy: Any
    ) -> None:
        self.name = name
        self.policy = ToolPolicy(**policy)
        self.calls: list[Any] = []
        self._does = does

    async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
        self.calls.append(args)
        given = self._does(args)
        if asyncio.iscoroutine(given):
            given = await given
        return given if isinstance(given, ToolResult) else ToolResult.success(given)


def registry(tools: Iterable[Tool]) -> ToolRegistry:
    """Tools by name."""
    made = ToolRegistry()
    for tool in tools:
        made.register(tool)
    return made


class FakePolicy:
    """A policy: what a call's arguments say under `policy`, else allowed."""

    async def evaluate(self, tool: Tool, args_json: str) -> PolicyEvaluation:
        args = json.loads(args_json)
        said = args.get("policy", "allowed") if isinstance(args, dict) else "allowed"
        if said == "broken":
            raise ValueError("no idea")
        return PolicyEvaluation(
            decision=PolicyDecision(said), reason="So it is said.", risk=Risk.HIGH, rule="all of it"
        )


class FakeApprover:
    """Somebody who answers approvals with given decisions; None never answers."""

    def __init__(self, *decisions: ApprovalDecision | Exception | None) -> None:
        self._decisions = list(decisions)
        self.requests: list[ApprovalRequest] = []
        self.waiting = asyncio.Event()
        self.taken_back = asyncio.Event()

    async def request_decision(self, request: ApprovalRequest) -> ApprovalDecision:
        self.requests.append(request)
        decision = self._decisions.pop(0)
        if isinstance(decision, Exception):
            raise decision
        if decision is not None:
            return decision
        self.waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.taken_back.set()
        raise AssertionError
