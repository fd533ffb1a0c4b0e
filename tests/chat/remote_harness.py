"""Who comes to a chat from outside, by a Core or straight to its service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.backend import UserInput
from agentstepper_nb.chat.connector import InterpreterABC
from agentstepper_nb.chat.interpreter import Interpreter
from agentstepper_nb.chat.remote.client import AsyncChatClient
from agentstepper_nb.chat.remote.service import RemoteChatAccess, RemoteChatService
from agentstepper_nb.chat.remote.tokens import ChatTokens
from agentstepper_nb.discover import to_worker_url
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.chat import (
    AgentOutput,
    AgentTurnRequest,
    ChatSessionInfo,
    ForwardedRequest,
    Message,
    OptionChosen,
    State,
)
from tests.chat.chats import interpreter, within_timeout
from tests.chat.harness import ChatHarness


def no_core(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing of whoever runs the tests is found."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(home / "runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(home / "jupyter"))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN", "WORKER_URL", "WORKER_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)


def make_core(home: Path, port: int = 0) -> AgentStepperCore:
    """A Core to be started.

    Args:
        home: Where it keeps its runs.
        port: Its port.
    """
    return AgentStepperCore("127.0.0.1", port, None, data=home / "kept", token="the-agents-own")


def announce_to_chat(monkeypatch: pytest.MonkeyPatch, core: AgentStepperCore) -> None:
    """Let whoever looks for a Core that takes workers find this one."""
    monkeypatch.setenv(
        "AGENTSTEPPER_WORKER_URL", to_worker_url(f"ws://127.0.0.1:{core.client_port}")
    )
    monkeypatch.setenv("AGENTSTEPPER_WORKER_TOKEN", core.tokens.worker)


class RemoteHarness(ChatHarness):
    """A chat with a way in.

    Args:
        interpreter: The chat's.
        folder: Where its keys are.
    """

    def __init__(self, interpreter: Interpreter, folder: Path) -> None:
        super().__init__(interpreter)
        self.tokens = ChatTokens(folder)
        self.remote_access = RemoteChatAccess(interpreter, self.tokens)
        self.clients: list[AsyncChatClient] = []

    async def client(self, *scope: str, **how: Any) -> AsyncChatClient:
        """Somebody from outside, with a token."""
        return await self.connect_client(self.tokens.issue(self.session, scope or ("talk",), **how))

    async def connect_client(self, token: str, **how: Any) -> AsyncChatClient:
        """Somebody from outside with this token."""
        client = await within_timeout(
            AsyncChatClient.connect(await self.remote_access.open(), token, **how)
        )
        self.clients.append(client)
        return client

    async def wait_for_agents(self, *agents: str) -> None:
        """Wait until the session has these agents."""
        await self.wait_until(lambda info: {each.name for each in info.agents} == set(agents))


@asynccontextmanager
async def remote_harness(
    folder: Path, *agents: InterpreterABC
) -> AsyncGenerator[RemoteHarness, None]:
    """A chat with a way in, and who came by it.

    Args:
        folder: Where it keeps what it keeps.
        agents: The chat's.
    """
    async with interpreter(folder, *agents) as made:
        found = RemoteHarness(made, folder)
        try:
            yield found
        finally:
            for client in found.clients:
                await client.close()
            await found.remote_access.close()


class DirectHarness(ChatHarness):
    """The way in, and tokens for it.

    Args:
        interpreter: Who is behind it.
        folder: Where the keys are.
    """

    def __init__(self, interpreter: Interpreter, folder: Path) -> None:
        super().__init__(interpreter, str(interpreter.create_session("one")))
        self.tokens = ChatTokens(folder)
        self.service = RemoteChatService(interpreter, self.tokens)
        self.other = str(interpreter.create_session("two"))

    def issue_token(self, *scope: str, **how: Any) -> str:
        if "answer" in scope:
            how.setdefault("agent_name", "poet")
        return self.tokens.issue(self.session, scope, **how)

    async def call_service(self, token: str, method: str, /, **params: Any) -> Any:
        return await self.service.call(method, with_token(token, params))

    def stream(self, token: str, method: str, /, **params: Any) -> AsyncGenerator[Any, None]:
        return self.service.stream(method, with_token(token, {"session": self.session, **params}))

    async def wait_until_stopped(self) -> tuple[Message, ...]:
        """What was said, once nobody answers any more."""
        await self.wait_until(lambda info: info.state is State.STATE_STOP)
        return self.messages


def with_token(token: str, params: dict[str, Any]) -> Raw:
    """What a request is, with its token."""
    return Raw(
        msgspec.json.encode(ForwardedRequest(token=token, params=Raw(msgspec.json.encode(params))))
    )


@asynccontextmanager
async def direct_harness(
    tmp_path: Path, *agents: InterpreterABC
) -> AsyncGenerator[DirectHarness, None]:
    """A chat with two sessions, and the way in."""
    async with interpreter(tmp_path, *agents) as made:
        yield DirectHarness(made, tmp_path)


async def read_error_code(call: Awaitable[Any]) -> str:
    """What a request is refused with."""
    with pytest.raises((CommandError, ProtocolError)) as caught:
        await call
    return str(caught.value.code)


def read_stream_refusal(stream: AsyncGenerator[Any, None]) -> Awaitable[str]:
    """What a stream is refused with."""
    return read_error_code(within_timeout(anext(stream)))


class RemotePoetAgent:
    """Who attends as an agent.

    Args:
        harness: Where.
        scope: What its token is for beside.
    """

    def __init__(self, harness: DirectHarness, *scope: str, **attend: Any) -> None:
        self.harness = harness
        self.token = harness.issue_token("answer", *scope)
        self.turns = harness.stream(self.token, "attend", **attend)
        self._next: asyncio.Future[AgentTurnRequest] | None = None

    async def join(self) -> None:
        """It is an agent of the session from now on."""
        self._next = asyncio.ensure_future(anext(self.turns))
        await self.harness.wait_until(lambda info: "poet" in [each.name for each in info.agents])

    async def wait_for_question(self) -> None:
        """A person is asked from now on."""
        await self.harness.wait_until(lambda info: info.waiting is not None)

    @property
    def info(self) -> ChatSessionInfo:
        return self.harness.info

    async def receive_turn(self) -> AgentTurnRequest:
        coming, self._next = self._next or asyncio.ensure_future(anext(self.turns)), None
        return await within_timeout(coming)

    async def send_user_message(self, content: str = "A poem") -> AgentTurnRequest:
        """Somebody says something to it."""
        self.harness.interpreter.post(
            self.harness.session, UserInput(content=content, agent_name="poet")
        )
        return await self.receive_turn()

    async def send_output(
        self, asked: AgentTurnRequest, piece: AgentOutput | str
    ) -> OptionChosen | None:
        given = outputs.text(piece) if isinstance(piece, str) else piece
        built = msgspec.to_builtins(given)
        answer = await within_timeout(
            self.harness.call_service(self.token, "give", turn=asked.turn, piece=built)
        )
        assert answer is None or isinstance(answer, OptionChosen)
        return answer

    async def end_turn(self, asked: AgentTurnRequest, **how: Any) -> None:
        await within_timeout(self.harness.call_service(self.token, "done", turn=asked.turn, **how))

    async def leave(self) -> None:
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait((self._next,))
        await self.turns.aclose()


@asynccontextmanager
async def open_asking_client(
    folder: Path, *scope: str, **attend: Any
) -> AsyncGenerator[tuple[DirectHarness, RemotePoetAgent, AgentTurnRequest], None]:
    """A chat in which somebody from outside is asked for a poem, and leaves at the end."""
    async with direct_harness(folder) as harness:
        poet = RemotePoetAgent(harness, *scope, **attend)
        await poet.join()
        yield harness, poet, await poet.send_user_message()
        await poet.leave()
