"""The two WebSockets: who gets in, what each may do, and what bad input does."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from agentstepper_nb.hub.sockets import MESSAGES_PER_YIELD, FairScheduler
from agentstepper_nb.protocol import agent as agent_wire
from agentstepper_nb.protocol import ui as ui_wire
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.server_ext import socket_outbox
from tests.server.conftest import AGENT_TOKEN
from tests.server.peers import SocketClosed

BEARER = {"Authorization": f"Bearer {AGENT_TOKEN}"}


async def fetch_refusal(connect: Any, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """The status and code that a handshake is refused with."""
    with pytest.raises(HTTPClientError) as caught:
        await connect(path, headers)
    response = caught.value.response
    assert response is not None
    return caught.value.code, json.loads(response.body)["code"]


# ---- who gets in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Basic {AGENT_TOKEN}", AGENT_TOKEN, "Bearer ä"],
)
async def test_agent_without_its_token(connect: Any, authorization: str) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    assert await fetch_refusal(connect, "agent", headers) == (401, "unauthorized")


async def test_agent_with_jupyters_token(connect: Any, jp_auth_header: dict[str, str]) -> None:
    assert await fetch_refusal(connect, "agent", jp_auth_header) == (401, "unauthorized")


async def test_agent_from_a_web_page(connect: Any, http_server_client: Any) -> None:
    own = f"http://127.0.0.1:{http_server_client.get_http_port()}"
    for origin in ("http://evil.example", own, "null"):
        headers = {**BEARER, "Origin": origin}
        assert await fetch_refusal(connect, "agent", headers) == (403, "foreign_origin")


async def test_ui_without_login(connect: Any) -> None:
    assert await fetch_refusal(connect, "ui", {}) == (403, "unauthorized")


async def test_agents_token_opens_no_other_door(connect: Any, jp_fetch: Any) -> None:
    assert await fetch_refusal(connect, "ui", BEARER) == (403, "unauthorized")
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("agentstepper", "api", "runs", headers=dict(BEARER))
    assert caught.value.code == 403


async def test_ui_from_a_foreign_page(jp_serverapp: Any, connect: Any, jp_fetch: Any) -> None:
    response = await jp_fetch("api", "status")
    cookies = response.headers.get_list("Set-Cookie")
    cookie = "; ".join(each.partition(";")[0] for each in cookies)
    with pytest.raises(HTTPClientError) as caught:
        await connect("ui", {"Cookie": cookie, "Origin": "http://evil.example"})
    assert caught.value.code == 403


@pytest.mark.parametrize("granted", [set(), {"execute"}])
async def test_ui_without_the_right_to_read(connect: Any, jp_auth_header: dict[str, str]) -> None:
    assert await fetch_refusal(connect, "ui", jp_auth_header) == (403, "watch_only")


# ---- what they do ----------------------------------------------------------------------------------


async def test_a_step_with_an_edit(new_agent: Any, new_ui: Any) -> None:
    ui, agent = await new_ui(), await new_agent()
    hello = await ui.exchange_hello()
    assert hello.control
    assert [run.id for run in hello.runs] == [agent.run]

    halt_point = await agent.begin_query({"n": 10**30})
    await ui.wait_until_pending(halt_point)
    await ui.send(
        ui_wire.StepRun(run=agent.run, halt_point=halt_point, revision=1, edit='{"n": 1.0}'), "c1"
    )
    answer = await agent.expect(agent_wire.AnswerMessage)
    assert answer.halt_point == halt_point
    assert bytes(answer.answer.data) == b'{"n": 1.0}'
    await ui.expect(ui_wire.CommandDone)


@pytest.mark.parametrize("granted", [{"read"}])
async def test_a_login_that_may_only_watch(new_agent: Any, new_ui: Any) -> None:
    ui, agent = await new_ui(), await new_agent()
    assert not (await ui.exchange_hello()).control
    await agent.begin_query()
    await ui.send(ui_wire.OpenRun(run=agent.run))
    await ui.expect(ui_wire.RunOpened)
    await ui.send(ui_wire.StepRun(run=agent.run))
    assert (await ui.expect(ui_wire.UiError)).code == "watch_only"


async def test_version_1_is_spoken_without_a_subprotocol(
    connect: Any, jp_auth_header: dict[str, str]
) -> None:
    ui = await connect("ui", jp_auth_header, version=1)
    assert json.loads(await ui.read_message())["event"] == "init_app_state"
    agent = await connect("agent", BEARER, version=1)
    assert agent.selected_subprotocol is None
    await agent.write_message("{}")
    assert json.loads(await agent.read_message())["message"] == "error"


async def test_many_of_both(new_agent: Any, new_ui: Any) -> None:
    agents = [await new_agent() for _ in range(3)]
    uis = [await new_ui() for _ in range(3)]
    for ui in uis:
        assert len((await ui.exchange_hello()).runs) == 3
    for ui, agent in zip(uis, agents, strict=True):
        halt_point = await agent.begin_query()
        await ui.wait_until_pending(halt_point)
        await ui.send(ui_wire.StepRun(run=agent.run))
        assert (await agent.expect(agent_wire.AnswerMessage)).halt_point == halt_point


async def test_an_agent_that_hangs_up_may_come_back(
    new_agent: Any, new_ui: Any, extension: Any
) -> None:
    ui, agent = await new_ui(), await new_agent()
    await ui.exchange_hello()
    agent.socket.close()
    while (await ui.expect(ui_wire.RunChanged)).run.state is not RunState.DETACHED:
        pass
    assert extension.hub.run(agent.run).live


# ---- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", ["", "{", "[]", '{"n": 1, "type": "nonsense", "body": {}}', b"\0"])
async def test_bad_messages_are_answered_and_all_goes_on(
    new_agent: Any, new_ui: Any, bad: str | bytes
) -> None:
    ui, agent = await new_ui(), await new_agent()
    await ui.exchange_hello()
    await agent.socket.write_message(bad, binary=isinstance(bad, bytes))
    assert await agent.expect(agent_wire.AgentError)
    await ui.socket.write_message(bad, binary=isinstance(bad, bytes))
    assert await ui.expect(ui_wire.UiError)

    halt_point = await agent.begin_query()
    await ui.wait_until_pending(halt_point)
    await ui.send(ui_wire.StepRun(run=agent.run))
    assert (await agent.expect(agent_wire.AnswerMessage)).halt_point == halt_point


async def test_who_sends_without_end_lets_others_have_their_turn(
    new_agent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[FairScheduler] = []
    gives_way = FairScheduler._yield_turn

    async def counted(turns: FairScheduler) -> None:
        ways.append(turns)
        await gives_way(turns)

    monkeypatch.setattr(FairScheduler, "_yield_turn", counted)
    agent = await new_agent()
    for _ in range(3 * MESSAGES_PER_YIELD):
        await agent.socket.write_message("no JSON")
    for _ in range(3 * MESSAGES_PER_YIELD):
        await agent.expect(agent_wire.AgentError)
    assert len(ways) >= 3


@pytest.mark.parametrize("max_message_bytes", [10_000])
async def test_oversized_messages_close_with_1009(
    new_agent: Any, new_ui: Any, max_message_bytes: int
) -> None:
    ui, agent, other = await new_ui(), await new_agent(), await new_agent()
    await ui.exchange_hello()
    await agent.socket.write_message("x" * max_message_bytes)
    assert await agent.expect(agent_wire.AgentError)  # at the limit: read, and no message
    for peer in (agent, ui):
        await peer.socket.write_message("x" * (max_message_bytes + 1))
        with pytest.raises(SocketClosed) as caught:
            await peer.expect(type(None))
        assert caught.value.code == 1009
        assert f"limit of {max_message_bytes} bytes" in (caught.value.reason or "")
    await other.begin_query()  # everyone else goes on
    other_ui = await new_ui()
    assert len((await other_ui.exchange_hello()).runs) == 2


@pytest.mark.parametrize("max_message_bytes", [10_000])
async def test_who_still_sends_is_heard_out(http_server_client: Any, jp_base_url: str) -> None:
    """A server that hung up at once would reset the connection, and the close frame be lost."""
    size = 50_000_000  # more than the system's buffers hold
    port = http_server_client.get_http_port()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET {jp_base_url}agentstepper/agent HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Authorization: Bearer {AGENT_TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n".encode()
    )
    assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    writer.write(struct.pack(">BBQ4x", 0x81, 0xFF, size))
    opcode, length, code = struct.unpack(">BBH", await reader.readexactly(4))
    assert (opcode, code) == (0x88, 1009)
    assert await reader.readexactly(length - 2) == b"message exceeds limit of 10000 bytes"
    writer.write(bytes(size))
    await writer.drain()
    assert await reader.read() == b""  # closed, not reset
    writer.close()


async def test_large_messages_pass_uncompressed(
    new_agent: Any, new_ui: Any, jp_serverapp: Any
) -> None:
    ui, agent = await new_ui(), await new_agent()
    await ui.exchange_hello()
    prompt = "x" * (20 * 1024 * 1024)  # above tornado's own limit of 10 MiB
    halt_point = await agent.begin_query(prompt)
    await ui.wait_until_pending(halt_point)
    assert "Sec-Websocket-Extensions" not in ui.socket.headers
    await ui.send(ui_wire.OpenRun(run=agent.run))
    await ui.expect(ui_wire.RunOpened)
    await ui.send(ui_wire.GetMessage(run=agent.run, message=halt_point))
    assert len((await ui.expect(ui_wire.MessageBody)).data) == len(prompt) + 2


async def test_a_ui_that_does_not_read_is_let_go(
    new_agent: Any, new_ui: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ui, agent = await new_ui(), await new_agent()
    await ui.exchange_hello()
    await ui.send(ui_wire.OpenRun(run=agent.run))
    await ui.expect(ui_wire.RunOpened)
    monkeypatch.setattr(
        socket_outbox.SocketOutbox, "waiting_bytes", socket_outbox.MAX_PENDING_BYTES
    )  # as if so much did
    halt_point = await agent.begin_query()
    with pytest.raises(SocketClosed) as caught:
        await ui.expect(type(None))
    assert caught.value.code == 1013

    monkeypatch.undo()
    other = await new_ui()
    await other.exchange_hello()
    await other.send(ui_wire.StepRun(run=agent.run))
    assert (await agent.expect(agent_wire.AnswerMessage)).halt_point == halt_point
