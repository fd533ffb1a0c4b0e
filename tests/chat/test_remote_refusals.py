"""Who comes to a chat from outside and is turned away: at the handshake, or in the middle."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, Struct
from websockets.asyncio.client import connect

from agentstepper_nb.chat.remote.client import AsyncChatClient
from agentstepper_nb.chat.remote.tokens import ChatTokens
from agentstepper_nb.errors import CommandError, ConnectionLostError
from agentstepper_nb.hub import AgentStepperCore, chat_registry
from tests.chat.chats import contents, within_timeout
from tests.chat.harness import expect_refusal
from tests.chat.remote_harness import RemoteHarness, remote_harness


async def turned_away(harness: RemoteHarness, token: str) -> str:
    with pytest.raises(ConnectionLostError) as caught:
        await harness.connect_client(token)
    return str(caught.value)


async def test_inv_session_002_at_the_door(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """A session is entered by a good token of its own alone: all others aren't let in at all."""
    async with remote_harness(tmp_path) as harness:
        revoked = harness.tokens.issue(harness.session)
        harness.tokens.revoke(revoked)
        foreign = ChatTokens(tmp_path / "elsewhere").issue(harness.session)
        for token, why in {
            revoked: "was revoked",
            foreign: "wasn't issued by this chat",
            "nonsense": "wasn't issued by this chat",
            "x" * 3000: "wasn't issued by this chat",
            "": "wasn't issued by this chat",
            worker_core.tokens.worker: "wasn't issued by this chat",
        }.items():
            said = await turned_away(harness, token)
            assert f"(401): invalid_token: The chat token {why}. Create a new token" in said


async def test_inv_session_002_in_the_middle(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    """A session is entered by a good token of its own alone: who is in is turned out when it counts no
    more.
    """
    async with remote_harness(tmp_path) as harness:
        client = await harness.client("talk", "answer", agent_name="poet")
        attending = asyncio.ensure_future(client.serve_agent(lambda message: "Roses"))
        await harness.wait_for_agents("parrot", "poet")
        async with aclosing(client.watch()) as events:
            await within_timeout(anext(events))
            harness.tokens.rotate(drop_old=True)
            with expect_refusal("invalid_token"):
                while True:
                    await within_timeout(anext(events))
        with pytest.raises(CommandError, match="wasn't issued by this chat"):
            await within_timeout(attending)
        with pytest.raises(CommandError, match="wasn't issued by this chat"):
            await within_timeout(client.send("Hello"))
        await harness.wait_for_agents("parrot")
        again = await harness.client("talk")
        assert contents(await within_timeout(again.send("Hello"))) == ["You said: Hello"]


async def test_after_a_rotation_who_is_in_stays(
    tmp_path: Path, worker_core: AgentStepperCore
) -> None:
    async with remote_harness(tmp_path) as harness:
        client = await harness.client("talk")
        harness.tokens.rotate()
        assert contents(await within_timeout(client.send("Hello"))) == ["You said: Hello"]
        await harness.client("talk")


async def test_an_address_of_nobody(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    async with remote_harness(tmp_path) as harness:
        address = await harness.remote_access.open()
        token = harness.tokens.issue(harness.session)
        nobody = address[:-3] + "abc"
        with pytest.raises(
            ConnectionLostError, match=r"\(404\): unknown_service: No chat is served"
        ):
            await within_timeout(AsyncChatClient.connect(nobody, token))
        for path in ("/chat/", "/chat", "/chat/a/b", "/chat/%2e%2e", f"/chat/{'x' * 101}"):
            elsewhere = address.partition("/chat/")[0] + path
            with pytest.raises(ConnectionLostError, match=r"\(401\): unauthorized"):
                await within_timeout(AsyncChatClient.connect(elsewhere, token))
        await harness.remote_access.close()
        with pytest.raises(ConnectionLostError, match=r"\(404\): unknown_service"):
            await within_timeout(AsyncChatClient.connect(address, token))


async def test_a_web_page_with_a_token(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    async with remote_harness(tmp_path) as harness:
        address = await harness.remote_access.open()
        token = harness.tokens.issue(harness.session)
        headers = {"Authorization": f"Bearer {token}"}
        for origin in ("http://localhost", "null", address.partition("/chat/")[0]):
            with pytest.raises(Exception, match="HTTP 403"):
                await within_timeout(
                    connect(address, additional_headers=headers, origin=origin, proxy=None)
                )  # type: ignore[arg-type]


async def test_so_many_clients_and_no_more(tmp_path: Path, worker_core: AgentStepperCore) -> None:
    assert worker_core._host is not None
    worker_core._host.chats.limits = chat_registry.ClientLimits(
        max_clients=2, max_open_requests=3, max_request_bytes=20_000
    )
    async with remote_harness(tmp_path) as harness:
        first, _ = await harness.client("talk"), await harness.client("talk")
        with pytest.raises(ConnectionLostError, match="has its limit of 2 clients"):
            await harness.client("talk")
        watches = [first.watch() for _ in range(3)]
        for each in watches:
            await within_timeout(anext(each))
        with pytest.raises(CommandError, match="its limit of 3 open requests"):
            await within_timeout(first.info())
        for each in watches:
            await each.aclose()
        with expect_refusal("too_large"):
            await within_timeout(first.send("x" * 20_000))
        assert contents(await within_timeout(first.send("x"))) == ["You said: x"]


class SlowService:
    """A chat whose process takes its time to say who may come in."""

    def __init__(self) -> None:
        self.requests = asyncio.Semaphore(0)
        self.go = asyncio.Event()

    def find(self, service: str) -> Any:
        return self

    async def call(self, service: str, method: str, params: Struct) -> Raw:
        self.requests.release()
        await self.go.wait()
        raise CommandError("invalid_token", "It is none of ours.")


async def test_a_flood_of_those_whom_nobody_knows_is_bounded() -> None:
    """A chat's process is asked about a few of them at once, and about others again after that."""
    slow: Any = SlowService()
    core = chat_registry.ChatRegistry(slow, logging.getLogger())
    coming = [
        asyncio.ensure_future(core.admit("c", str(n)))
        for n in range(chat_registry.MAX_PENDING_ADMISSIONS)
    ]
    for _ in coming:
        await within_timeout(slow.requests.acquire())
    with expect_refusal("too_many", "Too many clients connect to this chat"):
        await within_timeout(core.admit("c", "one more"))
    other = asyncio.ensure_future(core.admit("another", "t"))
    await within_timeout(slow.requests.acquire())
    slow.go.set()
    for each in (*coming, other, core.admit("c", "again")):
        with expect_refusal("invalid_token"):
            await within_timeout(each)
