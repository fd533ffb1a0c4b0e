"""An agent that is made of given parts, and whose log is held against its conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentstepper_nb.coding.log_reader import load_messages, open_calls
from agentstepper_nb.coding.orchestrator import AgentOrchestrator
from agentstepper_nb.coding.session_log import SessionLog
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.llm_wire.conversation import (
    ToolResultMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    TraceEvent,
)
from tests.coding.playing import (
    Box,
    Doing,
    Playing,
    Saying,
)

T = TypeVar("T")


class Made:
    """An agent, and all that it told."""

    def __init__(self, tmp_path: Path, model: Playing, *tools: Doing, **options: Any) -> None:
        self.events: list[AgentEvent] = []
        self.path = tmp_path / "log.jsonl"
        self.log = SessionLog(self.path)
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        self.agent = AgentOrchestrator(
            model,
            "m",
            LocalWorkspace(root),
            Box(tools),
            Saying(),
            session_log=self.log,
            listeners=[self.events.append],
            **options,
        )

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *error: object) -> None:
        """Whatever happened: log and conversation agree, and no call is without a result."""
        self.log.close()
        assert load_messages(self.path, pytest.fail) == list(self.agent.messages)
        assert not open_calls(list(self.agent.messages))

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def traces(self, kind: str) -> list[Any]:
        return [event.data for event in self.of(TraceEvent) if event.kind == kind]

    def results(self) -> dict[str, ToolResultMessage]:
        return {m.call_id: m for m in self.agent.messages if isinstance(m, ToolResultMessage)}


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)
