"""An agent made of given parts, alone or in a real debugger with somebody at its view.

Its log is held against its conversation.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentstepper_nb import AsyncAgentStepper
from agentstepper_nb.coding.orchestrator import AgentOrchestrator, TurnResult
from agentstepper_nb.coding.session_log import SessionLog
from agentstepper_nb.coding.transcript import find_open_calls, load_messages
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.llm_wire.conversation import (
    ToolResultMessage,
)
from agentstepper_nb.llm_wire.events import AgentEvent, TraceEvent
from agentstepper_nb.protocol import ui
from tests.coding.scripted_parts import FakePolicy, FakeProvider, FakeTool, registry
from tests.sdk.person import LiveView

T = TypeVar("T")

ASKS = ("1", "t", {"policy": "requires_approval", "n": 1})


class AsyncLiveView(LiveView):
    """Somebody at the view, for asyncio."""

    async def wait_for_halt(self) -> Any:
        """Wait until the agent halts; what it halts at."""
        return await asyncio.to_thread(self._find_halted_row)

    def _find_halted_row(self) -> Any:
        halted = self.wait_until_halted()
        return self.get_data(next(row for row in self.list_rows() if row.id == halted))

    async def step_async(self, edit: Any = ...) -> None:
        await asyncio.to_thread(self.step, edit)

    async def approve_async(self, edit: Any = None, always: bool = False) -> None:
        await asyncio.to_thread(self._approve, edit, always)

    def _approve(self, edit: Any, always: bool) -> None:
        halted, text = self.wait_until_halted(), None if edit is None else json.dumps(edit)
        meant = {"run": self.run.id, "halt_point": halted, "revision": 1, "edit": text}
        self._request(ui.ApproveCall(**meant, always=always, confirmed=True))

    async def deny_async(self, reason: str) -> None:
        await asyncio.to_thread(self._deny, reason)

    def _deny(self, reason: str) -> None:
        halted = self.wait_until_halted()
        self._request(ui.DenyCall(run=self.run.id, halt_point=halted, revision=1, reason=reason))


class AgentHarness:
    """An agent, and all that it told."""

    def __init__(
        self, tmp_path: Path, model: FakeProvider, *tools: FakeTool, **options: Any
    ) -> None:
        self.events: list[AgentEvent] = []
        self.path = tmp_path / "log.jsonl"
        self.log = SessionLog(self.path)
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        self.agent = AgentOrchestrator(
            model,
            "m",
            LocalWorkspace(root),
            registry(tools),
            FakePolicy(),
            session_log=self.log,
            listeners=[self.events.append],
            **options,
        )

    def __enter__(self) -> AgentHarness:
        return self

    def __exit__(self, *error: object) -> None:
        """Whatever happened: log and conversation agree, and no call is without a result."""
        self.log.close()
        assert load_messages(self.path, pytest.fail) == list(self.agent.messages)
        assert not find_open_calls(list(self.agent.messages))

    def list_events(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def list_traces(self, kind: str) -> list[Any]:
        return [event.data for event in self.list_events(TraceEvent) if event.kind == kind]

    def results_by_call(self) -> dict[str, ToolResultMessage]:
        return {m.call_id: m for m in self.agent.messages if isinstance(m, ToolResultMessage)}


class DebuggedAgentHarness(AgentHarness):
    """An agent in the debugger, with one tool, and what a person always allows."""

    def __init__(
        self, folder: Path, model: FakeProvider, dbg: AsyncAgentStepper, **options: Any
    ) -> None:
        self.tool = FakeTool("t", options.pop("does", lambda args: args))
        self.kept: list[Any] = []

        def save_rule(*rule: Any) -> None:
            self.kept.append(rule)

        super().__init__(folder, model, self.tool, dbg=dbg, save_rule=save_rule, **options)

    def result(self, call_id: str = "1") -> ToolResultMessage:
        return self.results_by_call()[call_id]


#: Opens an agent in the debugger; see `conftest`.
Debug = Callable[..., Any]


def start_agent(agent: AgentOrchestrator) -> asyncio.Task[TurnResult]:
    return asyncio.create_task(agent.run("Go."))


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
