"""A chat that others come to from outside, through a Core that runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.connector import InterpreterABC
from agentstepper_nb.chat.interpreter import Interpreter
from agentstepper_nb.chat.outside.client import AsyncChatClient
from agentstepper_nb.chat.outside.door import Outside
from agentstepper_nb.chat.outside.tokens import TokenDesk
from agentstepper_nb.discover import worker_url
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.chat import Message
from tests.chat.talking import interpreter, soon


def no_core(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing of whoever runs the tests is found."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "jupyter"))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN", "WORKER_URL", "WORKER_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)


def running(home: Path, port: int = 0) -> AgentStepperCore:
    """A Core to be started.

    Args:
        home: Where it keeps its runs.
        port: Its port.
    """
    return AgentStepperCore("127.0.0.1", port, None, data=home / "kept", token="the-agents-own")


def found(monkeypatch: pytest.MonkeyPatch, core: AgentStepperCore) -> None:
    """Let whoever looks for a Core that takes workers find this one."""
    monkeypatch.setenv("AGENTSTEPPER_WORKER_URL", worker_url(f"ws://127.0.0.1:{core.client_port}"))
    monkeypatch.setenv("AGENTSTEPPER_WORKER_TOKEN", core.tokens.worker)


def a_core(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    """A Core that is found by who looks for one: a fixture's body."""
    no_core(monkeypatch, home)
    with running(home) as core:
        found(monkeypatch, core)
        yield core


class Inn:
    """A chat with a way in.

    Args:
        interpreter: The chat's.
        folder: Where its keys are.
    """

    def __init__(self, interpreter: Interpreter, folder: Path) -> None:
        self.interpreter = interpreter
        self.tokens = TokenDesk(folder)
        self.outside = Outside(interpreter, self.tokens)
        self.session = str(interpreter.create_session())
        self.clients: list[AsyncChatClient] = []

    async def client(self, *scope: str, **how: Any) -> AsyncChatClient:
        """Somebody from outside, with a token."""
        return await self.enter(self.tokens.issue(self.session, scope or ("talk",), **how))

    async def enter(self, token: str, **how: Any) -> AsyncChatClient:
        """Somebody from outside with this token."""
        client = await soon(AsyncChatClient.connect(await self.outside.open(), token, **how))
        self.clients.append(client)
        return client

    async def has(self, *agents: str) -> None:
        """Wait until the session has these agents."""
        there = asyncio.Event()

        def listen(event: object) -> None:
            if {each.name for each in self.interpreter.info(self.session).agents} == set(agents):
                there.set()

        detach = self.interpreter.attach(self.session, listen)
        await soon(there.wait())
        detach()


@asynccontextmanager
async def inn(folder: Path, *agents: InterpreterABC) -> AsyncGenerator[Inn, None]:
    """A chat with a way in, and who came by it.

    Args:
        folder: Where it keeps what it keeps.
        agents: The chat's.
    """
    async with interpreter(folder, *agents) as made:
        found = Inn(made, folder)
        try:
            yield found
        finally:
            for client in found.clients:
                await client.close()
            await found.outside.close()


def texts(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    """What messages say."""
    return [each.content for each in messages]
