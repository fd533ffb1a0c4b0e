"""`/agentstepper/runtime` and `/agentstepper/worker`: who gets in, and what each may ask."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw
from tornado.httpclient import HTTPClientError
from tornado.websocket import WebSocketClientConnection

from agentstepper_nb import AsyncAgents
from agentstepper_nb.errors import CommandError, ConnectionLostError
from agentstepper_nb.protocol.worker import (
    WORKER_VERSION,
    RpcFailure,
    RpcRequest,
    RpcResult,
    WorkerHello,
    WorkerWelcome,
    worker_messages,
)
from agentstepper_nb.server_ext import AgentStepperExtension
from tests.server.conftest import AGENT_TOKEN, CONTROL_TOKEN
from tests.server.peers import SocketClosed
from tests.server.test_sockets import fetch_refusal

CONTROL = {"Authorization": f"Bearer {CONTROL_TOKEN}"}
ASKS = {
    "watch": ("states", b"{}"),
    "control": ("create_conversation", b'{"title": "t"}'),
    "work": ("renew", b'{"owner": "w", "now": 1.0, "lease_until": 2.0}'),
}


@pytest.fixture(autouse=True)
def no_worker_starts(extension: AgentStepperExtension) -> None:
    extension.host.runtime.on_worker_needed = lambda: None


class RuntimeSocket:
    """The other end of a line."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        self.socket = socket
        self.control: bool | None = None
        self._sent = 0

    async def send_hello(self) -> None:
        hello = WorkerHello(version=WORKER_VERSION, worker="test", pid=1, services=())
        await self._send(hello)
        welcome = await self.receive()
        assert isinstance(welcome, WorkerWelcome)
        self.control = welcome.control

    async def request(self, method: str, params: bytes) -> RpcResult | RpcFailure:
        request = RpcRequest(service="runtime", method=method, params=Raw(params))
        await self._send(request)
        answer = await self.receive()
        assert isinstance(answer, RpcResult | RpcFailure)
        return answer

    async def is_allowed(self) -> set[str]:
        """What of the three it may."""
        answers = {name: await self.request(*ask) for name, ask in ASKS.items()}
        codes = {each.code for each in answers.values() if isinstance(each, RpcFailure)}
        assert codes <= {"watch_only"}
        granted = {name for name, each in answers.items() if isinstance(each, RpcResult)}
        assert self.control is ("control" in granted)  # as it was told in the beginning
        return granted

    async def receive(self) -> Any:
        text = await self.socket.read_message()
        if text is None:
            raise SocketClosed(self.socket.close_code, self.socket.close_reason)
        return worker_messages.decode(text)[1]

    async def _send(self, message: Any) -> None:
        self._sent += 1
        id = None if isinstance(message, WorkerHello) else str(self._sent)
        await self.socket.write_message(worker_messages.encode(message, self._sent, id))


async def greeted(connect: Any, path: str, headers: dict[str, str]) -> RuntimeSocket:
    line = RuntimeSocket(await connect(path, headers))
    await line.send_hello()
    return line


# ---- rights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("granted", "may"),
    [({"read"}, {"watch"}), ({"read", "execute"}, {"watch", "control"})],
)
async def test_a_login_may_what_the_authorizer_says(
    connect: Any, jp_auth_header: dict[str, str], may: set[str]
) -> None:
    line = await greeted(connect, "runtime", dict(jp_auth_header))
    assert await line.is_allowed() == may


@pytest.mark.parametrize("granted", [set()])
async def test_the_control_token_controls_whatever_logins_may(connect: Any) -> None:
    assert await (await greeted(connect, "runtime", CONTROL)).is_allowed() == {"watch", "control"}


async def test_the_workers_token_works(connect: Any, extension: AgentStepperExtension) -> None:
    workers = {"Authorization": f"Bearer {extension.tokens.worker}"}
    line = await greeted(connect, "worker", workers)
    assert await line.is_allowed() == {"watch", "control", "work"}
    assert await fetch_refusal(connect, "runtime", workers) == (403, "unauthorized")


async def test_a_page_of_the_server_with_a_login(
    connect: Any, jp_auth_header: dict[str, str], http_server_client: Any
) -> None:
    own = f"http://127.0.0.1:{http_server_client.get_http_port()}"
    line = await greeted(connect, "runtime", {**jp_auth_header, "Origin": own})
    assert await line.is_allowed() == {"watch", "control"}


# ---- who doesn't get in -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["runtime", "worker"])
async def test_the_agents_token_opens_neither(connect: Any, path: str) -> None:
    agents = {"Authorization": f"Bearer {AGENT_TOKEN}"}
    assert await fetch_refusal(connect, path, agents) == (401, "unauthorized")


@pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer wrong", f"Basic {CONTROL_TOKEN}"])
async def test_without_login_and_token(connect: Any, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    assert await fetch_refusal(connect, "runtime", headers) == (403, "unauthorized")
    assert await fetch_refusal(connect, "worker", headers) == (401, "unauthorized")


@pytest.mark.parametrize("granted", [{"execute"}])
async def test_a_login_that_may_not_watch(connect: Any, jp_auth_header: dict[str, str]) -> None:
    assert await fetch_refusal(connect, "runtime", dict(jp_auth_header)) == (403, "watch_only")


async def test_a_web_page_with_a_token(
    connect: Any, extension: AgentStepperExtension, http_server_client: Any
) -> None:
    """A token is a program's: a page that has one is a page."""
    own = f"http://127.0.0.1:{http_server_client.get_http_port()}"
    for origin in (own, "http://evil.example", "null"):
        headers = {**CONTROL, "Origin": origin}
        with pytest.raises(HTTPClientError) as caught:
            await connect("runtime", headers)
        assert caught.value.code == 403
    workers = {"Authorization": f"Bearer {extension.tokens.worker}", "Origin": own}
    assert await fetch_refusal(connect, "worker", workers) == (403, "foreign_origin")


async def test_a_foreign_page_with_a_login(connect: Any, jp_fetch: Any) -> None:
    response = await jp_fetch("api", "status")
    cookies = response.headers.get_list("Set-Cookie")
    cookie = "; ".join(each.partition(";")[0] for each in cookies)
    with pytest.raises(HTTPClientError) as caught:
        await connect("runtime", {"Cookie": cookie, "Origin": "http://evil.example"})
    assert caught.value.code == 403


# ---- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_message_bytes", [10_000])
async def test_an_oversized_message_closes_with_1009(connect: Any, max_message_bytes: int) -> None:
    line = await greeted(connect, "runtime", CONTROL)
    await line.socket.write_message("x" * max_message_bytes)
    answer = await line.receive()
    assert isinstance(answer, RpcFailure)
    assert answer.code == "malformed"
    await line.socket.write_message(b"binary", binary=True)
    answer = await line.receive()
    assert isinstance(answer, RpcFailure)
    assert answer.code == "binary_frame"
    await line.socket.write_message("x" * (max_message_bytes + 1))
    with pytest.raises(SocketClosed) as caught:
        await line.receive()
    assert caught.value.code == 1009


async def test_it_closes_with_the_server(connect: Any, extension: AgentStepperExtension) -> None:
    line = await greeted(connect, "runtime", CONTROL)
    await extension.host.close()
    with pytest.raises(SocketClosed) as caught:
        await line.receive()
    assert (caught.value.code, caught.value.reason) == (1001, "The Core is stopping.")


# ---- a program's client -----------------------------------------------------------------------------


async def test_a_client_with_each_token(
    extension: AgentStepperExtension, http_server_client: Any, jp_base_url: str
) -> None:
    port = http_server_client.get_http_port()
    url = f"http://127.0.0.1:{port}{jp_base_url}agentstepper/agent"
    async with AsyncAgents.connect(url, CONTROL_TOKEN) as agents:
        session = await agents.create_agent("a1", "joke")
        assert (await agents.state(session)).agent_id == "a1"
        with pytest.raises(CommandError, match="There is no session 'never'"):
            await agents.state("never")
    with pytest.raises(ConnectionLostError, match="The agent token doesn't grant access here"):
        await AsyncAgents.connect(url, AGENT_TOKEN)
    with pytest.raises(ConnectionLostError, match="Log in to the Jupyter server"):
        await AsyncAgents.connect(url, "wrong")
