"""Chats with sessions of the queue, on a Core in the test's own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from agentstepper_nb import AsyncAgents, discover
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.connectors.background_agent import BackgroundAgent
from agentstepper_nb.hub.runtime import MethodRight, RuntimeService
from agentstepper_nb.protocol.chat import AgentOutput, Message
from agentstepper_nb.protocol.runtime import AgentState
from agentstepper_nb.protocol.runtime_methods import Request, Result, RuntimeMethod
from agentstepper_nb.rpc.service_client import ServiceClient
from agentstepper_nb.runtime.service import create
from agentstepper_nb.worker.services import ServiceContext
from tests.runtime.breakable_connection import BreakableConnection
from tests.runtime.harness import RuntimeCore, a_core


@pytest.fixture(autouse=True)
def no_other_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Core is found but the test's."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delenv(discover.URL_VARIABLE, raising=False)


class InProcessConnection:
    """A client's line to a Core in the same loop."""

    url = "ws://core"

    def __init__(self, core: RuntimeCore) -> None:
        self._breakable = BreakableConnection(RuntimeService(core.runtime, MethodRight.CONTROL))
        self._breakable.connect()

    async def call(self, method: RuntimeMethod[Request, Result], request: Request) -> Result:
        return await self._breakable.connection.call("runtime", method.name, request, method.result)

    def stream_items(
        self, method: RuntimeMethod[Request, Result], request: Request
    ) -> AsyncGenerator[Result, None]:
        return self._breakable.connection.stream("runtime", method.name, request, method.result)

    async def close(self) -> None:
        pass


class QueueChat:
    """A chat with a session.

    Args:
        core: The Core in this loop that has it; None: the agent looks for one itself.
        queue: The agent.
        folder: For what is kept.

    Attributes:
        said: What was said in the newest turn.
    """

    def __init__(self, core: RuntimeCore | None, queue: BackgroundAgent, folder: Path) -> None:
        self.queue = queue
        if core is not None:
            self.core = core
            self.agents = queue._agents = AsyncAgents(
                cast(ServiceClient, InProcessConnection(core))
            )
        self.outputs: list[Item] = []
        self.turn = Turn(
            session_id="c1",
            window=(),
            confirm=cast(Any, None),
            dbg=None,
            workspace=None,
            data_dir=folder,
        )

    async def send(
        self, text: str, role: Any = "user", chat: str = "c1", *, is_continuation: bool = False
    ) -> list[Item]:
        self.outputs = []
        message = Message(id="m", session_id=chat, role=role, content=text, created_at=0)
        answer = self.queue.chat(
            message, replace(self.turn, session_id=chat, is_continuation=is_continuation)
        )
        async with aclosing(answer) as items:
            async for item in items:
                self.outputs.append(item)
        return self.outputs

    async def continue_automatically(self) -> list[Item]:
        """As AutoChat asks."""
        assert self.queue.continuation_prompt is not None
        return await self.send(self.queue.continuation_prompt, "system", is_continuation=True)

    def start_sending(self, text: str) -> asyncio.Task[list[Item]]:
        return asyncio.create_task(self.send(text))

    async def wait_for_input(self, text: str) -> AgentState:
        """Wait until the session was told something."""
        async with aclosing(self.agents.watch("session:s")) as notices:
            async for notice in notices:
                for state in notice.states:
                    if text in str(state.guidance):
                        return state
        raise AssertionError


@asynccontextmanager
async def counting_chat(folder: Path, **options: Any) -> AsyncGenerator[QueueChat, None]:
    """A chat with the session `s`, whose steps a test lets go, and which say what they are told."""
    async with a_core(folder) as core, core.worker():
        await core.wait_until_done(await core.create("s"))
        yield QueueChat(core, BackgroundAgent("s", **options), folder)


@asynccontextmanager
async def worker_chat(folder: Path, **options: Any) -> AsyncGenerator[QueueChat, None]:
    """A chat whose sessions live in a worker with all that is installed."""
    async with a_core(folder) as core:
        breakable = BreakableConnection(RuntimeService(core.runtime, MethodRight.WORK))
        breakable.connect()
        worker = create(ServiceContext(data_dir=folder, core_caller=breakable.connection))
        try:
            yield QueueChat(core, BackgroundAgent(**options), folder)
        finally:
            await worker.close()


def text(content: str) -> AgentOutput:
    return AgentOutput(content=content)
