"""An agent in a real debugger, with somebody at its view."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentstepper_nb import AsyncAgentStepper
from agentstepper_nb.coding.orchestrator import AgentOrchestrator, RunResult
from agentstepper_nb.coding.session_log import SessionLog
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.llm_wire.conversation import (
    ToolResultMessage,
)
from agentstepper_nb.llm_wire.events import AgentEvent, TraceEvent
from agentstepper_nb.protocol import ui
from tests.coding.playing import Box, Doing, Playing, Saying
from tests.sdk.person import Person

ASKS = ("1", "t", {"policy": "requires_approval", "n": 1})


class View(Person):
    """Somebody at the view, for asyncio."""

    async def at(self) -> Any:
        """Wait until the agent halts; what it halts at."""
        return await asyncio.to_thread(self._halted)

    def _halted(self) -> Any:
        halted = self.halted()
        return self.body(next(row for row in self.rows() if row.id == halted))

    async def steps(self, edit: Any = ...) -> None:
        await asyncio.to_thread(self.step, edit)

    async def approves(self, edit: Any = None, always: bool = False) -> None:
        await asyncio.to_thread(self._approve, edit, always)

    def _approve(self, edit: Any, always: bool) -> None:
        halted, text = self.halted(), None if edit is None else json.dumps(edit)
        meant = {"run": self.run.id, "breakpoint": halted, "revision": 1, "edit": text}
        self._command(ui.Approve(**meant, always=always, confirmed=True))

    async def denies(self, reason: str) -> None:
        await asyncio.to_thread(self._deny, reason)

    def _deny(self, reason: str) -> None:
        halted = self.halted()
        self._command(ui.Deny(run=self.run.id, breakpoint=halted, revision=1, reason=reason))


class Debugged:
    """An agent in the debugger, and all that it told."""

    def __init__(
        self, folder: Path, model: Playing, dbg: AsyncAgentStepper, **options: Any
    ) -> None:
        self.tool = Doing("t", options.pop("does", lambda args: args))
        self.events: list[AgentEvent] = []
        self.log = SessionLog(folder / "log.jsonl")
        root = folder / "root"
        root.mkdir()
        self.kept: list[Any] = []
        self.agent = AgentOrchestrator(
            model,
            "m",
            LocalWorkspace(root),
            Box([self.tool]),
            Saying(),
            dbg=dbg,
            session_log=self.log,
            listeners=[self.events.append],
            remember=lambda *rule: self.kept.append(rule),
            **options,
        )

    def traces(self, kind: str) -> list[Any]:
        events = [event for event in self.events if isinstance(event, TraceEvent)]
        return [event.data for event in events if event.kind == kind]

    def result(self, call_id: str = "1") -> ToolResultMessage:
        return next(
            message
            for message in self.agent.messages
            if isinstance(message, ToolResultMessage) and message.call_id == call_id
        )


#: Opens an agent in the debugger; see `conftest`.
Debug = Callable[..., Any]


def go(agent: AgentOrchestrator) -> asyncio.Task[RunResult]:
    return asyncio.create_task(agent.run("Go."))
