"""Chats, their clients and the Core between them: each comes, goes and comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from agentstepper_nb.chat import ChatClient
from agentstepper_nb.chat.remote.client import AsyncChatClient
from agentstepper_nb.errors import ConnectionLostError, DiscoveryError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.chat import (
    ChatMessagePage,
    ChatSessionInfo,
    ChatSessionSnapshot,
    ClientAdmission,
    Message,
    NumberedChatEvent,
    SendChatMessage,
    State,
)
from tests.chat.chats import contents, within_timeout
from tests.chat.harness import expect_refusal
from tests.chat.remote_harness import announce_to_chat, make_core, no_core, remote_harness
from tests.worker.cores import WorkerPortCore


async def test_nobody_is_asked_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_core(monkeypatch, tmp_path)
    async with remote_harness(tmp_path) as harness:
        assert harness.remote_access.address is None
        with pytest.raises(DiscoveryError, match="Start `agentstepper serve`"):
            await harness.remote_access.open()
        monkeypatch.setenv("AGENTSTEPPER_WORKER_URL", "ws://127.0.0.1:9/worker")
        with pytest.raises(ConnectionLostError):
            await harness.remote_access.open()
        core = make_core(tmp_path)
        await asyncio.to_thread(core.start)
        try:
            announce_to_chat(monkeypatch, core)
            address = await harness.remote_access.open()
            assert address == harness.remote_access.address == await harness.remote_access.open()
            await (await harness.client()).close()
            await harness.remote_access.close()
        finally:
            await asyncio.to_thread(core.stop)


async def test_the_core_is_started_again(
    tmp_path: Path, worker_core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chat, script and agent come back by themselves, and the address stays."""
    async with remote_harness(tmp_path) as harness:
        talker = await harness.client("talk")
        agent = await harness.client("answer", agent_name="poet")
        attending = asyncio.ensure_future(agent.serve_agent(lambda message: f"Roses, {message}"))
        await harness.wait_for_agents("parrot", "poet")
        port, token = worker_core.client_port, worker_core.tokens.worker
        await asyncio.to_thread(worker_core.stop)
        await harness.wait_for_agents("parrot")
        again = AgentStepperCore("127.0.0.1", port, None, worker_token=token)
        await asyncio.to_thread(again.start)
        try:
            await harness.wait_for_agents("parrot", "poet")
            said = await within_timeout(talker.send("Hello", agent="poet"))
            assert contents(said) == ["Roses, Hello"]
        finally:
            attending.cancel()
            await asyncio.wait((attending,))
            await harness.remote_access.close()
            for client in harness.clients:
                await client.close()
            await asyncio.to_thread(again.stop)


async def test_two_chats_of_one_process(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """Each has a way in of its own, and neither takes the other's clients nor tokens' sessions."""
    async with remote_harness(tmp_path) as one, remote_harness(tmp_path) as two:
        first, second = await one.client("talk"), await two.client("talk")
        assert contents(await within_timeout(first.send("one"))) == ["You said: one"]
        assert contents(await within_timeout(second.send("two"))) == ["You said: two"]
        astray = await two.connect_client(one.tokens.issue(one.session))
        with expect_refusal("unknown_session"):
            await within_timeout(astray.send("Hello"))


async def test_it_is_no_worker_of_agents(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """A chat's process is connected as workers are, and yet nobody waits for it to dispatch."""
    async with remote_harness(tmp_path) as harness:
        await harness.client()
        host: Any = worker_core._host

        async def look() -> tuple[bool, int]:
            return bool(host.runtime.dispatchers), len(host.workers._sessions)

        looking = asyncio.run_coroutine_threadsafe(look(), worker_core.loop)
        assert await asyncio.wrap_future(looking) == (False, 1)


async def test_the_blocking_client_may_be_left_alone(
    tmp_path: Path, worker_core: AgentStepperCore
) -> None:
    """It connects from where a loop runs, and its thread ends with it."""

    async with remote_harness(tmp_path) as harness:
        address, token = await harness.remote_access.open(), harness.tokens.issue(harness.session)
        client = await asyncio.to_thread(ChatClient.connect, address, token)
        assert client.scope == ("talk",)
        assert contents(await asyncio.to_thread(client.send, "Hi")) == ["You said: Hi"]
        await asyncio.to_thread(client.close)
        with pytest.raises(RuntimeError, match="Connect again"):
            client.messages()


class BreakingService:
    """A chat whose connection breaks in the middle of each first request of a kind."""

    core: WorkerPortCore

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.sent: list[SendChatMessage] = []
        self.said: tuple[Message, ...] = ()

    async def call(self, method: str, params: Raw) -> Struct | None:
        self.requests.append(method)
        if method == "send":
            self.sent.append(msgspec.json.decode(params, type=SendChatMessage))
            self.said = tuple(
                Message(id=role, session_id="s", role=role, content=role, created_at=at)
                for at, role in enumerate(("user", "assistant"))
            )
        if method == "admit":
            return ClientAdmission(session="s", scope=("talk",), expires_at=1.0)
        if self.requests.count(method) == 1:
            self.core.sessions[-1].connection.close(1011, "it breaks")
            await asyncio.Event().wait()
        if method == "send":
            return self.said[0]
        return ChatMessagePage(messages=(), more=False) if method == "earlier" else None

    async def stream(self, method: str, params: Raw) -> Any:
        info = ChatSessionInfo(
            id="s", title="", state=State.STATE_STOP, created_at=0.0, updated_at=0.0
        )
        yield NumberedChatEvent(n=1, event=ChatSessionSnapshot(session=info, messages=self.said))
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing is kept."""


async def test_what_changes_something_is_asked_once() -> None:
    """What only reads is asked again where the connection broke."""
    breaking = BreakingService()
    async with WorkerPortCore({"chat": breaking}) as breaking.core:
        client = await within_timeout(AsyncChatClient.connect(breaking.core.endpoint.url, "t"))
        with pytest.raises(ConnectionLostError, match="broke before 'stop' was answered"):
            await within_timeout(client.stop())
        assert (await within_timeout(client.read_earlier_messages("m"))).messages == ()
        assert breaking.requests == ["admit", "stop", "earlier", "earlier"]
        await client.close()
        with pytest.raises(ConnectionLostError, match="This connection is closed"):
            await client.stop()


async def test_a_message_is_sent_again_and_said_once() -> None:
    """The connection breaks before it is answered: the chat knows it again by its key."""
    breaking = BreakingService()
    async with WorkerPortCore({"chat": breaking}) as breaking.core:
        client = await within_timeout(AsyncChatClient.connect(breaking.core.endpoint.url, "t"))
        assert contents(await within_timeout(client.send("Hello"))) == ["assistant"]
        first, second = breaking.sent
        assert first == second and first.key is not None
        await client.close()
