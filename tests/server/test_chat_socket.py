"""`/agentstepper/chat/ID`: a chat's clients come by the chat's own tokens, and no login."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from agentstepper_nb.chat.remote.client import AsyncChatClient
from agentstepper_nb.errors import ConnectionLostError
from agentstepper_nb.hub.chat_registry import ClientLimits
from agentstepper_nb.server_ext import AgentStepperExtension
from tests.chat.chats import within_timeout
from tests.chat.remote_harness import RemoteHarness, no_core, remote_harness
from tests.server.conftest import AGENT_TOKEN, CONTROL_TOKEN
from tests.server.peers import SocketClosed
from tests.server.test_runtime_sockets import RuntimeSocket
from tests.server.test_sockets import fetch_refusal

Chat = Callable[[], AbstractAsyncContextManager[RemoteHarness]]

NOBODYS = "chat/0123456789abcdefghijkl"


@pytest.fixture(autouse=True)
def no_worker_starts(extension: AgentStepperExtension) -> None:
    extension.host.runtime.on_worker_needed = lambda: None


@pytest.fixture
def chat(
    extension: AgentStepperExtension,
    http_server_client: Any,
    jp_base_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Chat:
    """Opens a chat that has dialled the server."""
    no_core(monkeypatch, tmp_path)
    port = http_server_client.get_http_port()
    url = f"ws://127.0.0.1:{port}{jp_base_url}agentstepper/worker"
    monkeypatch.setenv("AGENTSTEPPER_WORKER_URL", url)
    monkeypatch.setenv("AGENTSTEPPER_WORKER_TOKEN", extension.tokens.worker)

    @asynccontextmanager
    async def opened() -> AsyncIterator[RemoteHarness]:
        async with remote_harness(tmp_path) as harness:
            await within_timeout(harness.remote_access.open())
            yield harness

    return opened


def path(harness: RemoteHarness) -> str:
    assert harness.remote_access.address is not None
    return harness.remote_access.address.partition("/agentstepper/")[2]


def bearing(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_script_and_an_agent(chat: Chat) -> None:
    async with chat() as harness:
        agent = await harness.client("answer", agent_name="poet")
        attending = asyncio.ensure_future(agent.serve_agent(lambda message: f"Roses, {message}"))
        await harness.wait_for_agents("parrot", "poet")
        talker = await harness.client("talk")
        (said,) = await within_timeout(talker.send("Hello", agent="poet"))
        assert (said.agent_name, said.content) == ("poet", "Roses, Hello")
        attending.cancel()
        await asyncio.wait((attending,))


async def test_who_has_no_token_of_the_chats(
    chat: Chat, connect: Any, extension: AgentStepperExtension, jp_auth_header: dict[str, str]
) -> None:
    """Neither a login nor any other token does; and no token does for another socket."""
    async with chat() as harness:
        token = harness.tokens.issue(harness.session)
        no_token = [{}, dict(jp_auth_header), {"Authorization": f"Basic {token}"}]
        others = [bearing(each) for each in (AGENT_TOKEN, CONTROL_TOKEN, extension.tokens.worker)]
        for headers in (*no_token, *others):
            assert await fetch_refusal(connect, path(harness), headers) == (401, "invalid_token")
        assert await fetch_refusal(connect, f"{path(harness)}?token={token}", {}) == (
            401,
            "invalid_token",
        )
        harness.tokens.revoke(token)
        assert await fetch_refusal(connect, path(harness), bearing(token)) == (401, "invalid_token")
        for socket in ("agent", "worker", "runtime", "ui"):
            with pytest.raises(HTTPClientError) as caught:
                await connect(socket, bearing(harness.tokens.issue(harness.session)))
            assert caught.value.code in (401, 403)


async def test_a_chat_that_isnt_there(chat: Chat, connect: Any) -> None:
    async with chat() as harness:
        token = harness.tokens.issue(harness.session)
        assert await fetch_refusal(connect, NOBODYS, bearing(token)) == (404, "unknown_service")
        address = await harness.remote_access.open()
        await harness.remote_access.close()
        with pytest.raises(
            ConnectionLostError, match=r"\(404\): No chat is served at this address"
        ):
            await within_timeout(AsyncChatClient.connect(address, token))


async def test_a_web_page_with_a_token(chat: Chat, connect: Any, http_server_client: Any) -> None:
    async with chat() as harness:
        token = harness.tokens.issue(harness.session)
        own = f"http://127.0.0.1:{http_server_client.get_http_port()}"
        for origin in (own, "http://evil.example", "null"):
            headers = {**bearing(token), "Origin": origin}
            assert await fetch_refusal(connect, path(harness), headers) == (403, "foreign_origin")


async def test_too_many_clients(chat: Chat, connect: Any, extension: AgentStepperExtension) -> None:
    extension.host.chats.limits = ClientLimits(max_clients=1)
    async with chat() as harness:
        client = await harness.client("talk")
        headers = bearing(harness.tokens.issue(harness.session))
        assert await fetch_refusal(connect, path(harness), headers) == (429, "too_many")
        await client.close()


@asynccontextmanager
async def a_line(harness: RemoteHarness, connect: Any) -> AsyncIterator[RuntimeSocket]:
    line = RuntimeSocket(
        await connect(path(harness), bearing(harness.tokens.issue(harness.session)))
    )
    await line.send_hello()
    yield line
    line.socket.close()


async def test_a_client_asks_the_chat_and_nothing_else(chat: Chat, connect: Any) -> None:
    async with chat() as harness:
        async with a_line(harness, connect) as line:
            answer = await line.request("states", b"{}")  # of `runtime`
            assert answer.code == "unknown_service"  # type: ignore[union-attr]


@pytest.mark.parametrize("max_message_bytes", [10_000])
async def test_an_oversized_message_closes_with_1009(
    chat: Chat, connect: Any, max_message_bytes: int
) -> None:
    async with chat() as harness:
        async with a_line(harness, connect) as line:
            await line.socket.write_message("x" * (max_message_bytes + 1))
            with pytest.raises(SocketClosed) as caught:
                await line.receive()
            assert caught.value.code == 1009


async def test_it_closes_with_the_server(
    chat: Chat, connect: Any, extension: AgentStepperExtension
) -> None:
    async with chat() as harness:
        async with a_line(harness, connect) as line:
            await extension.host.close()
            with pytest.raises(SocketClosed) as caught:
                await line.receive()
            assert (caught.value.code, caught.value.reason) == (1001, "The Core is stopping.")
