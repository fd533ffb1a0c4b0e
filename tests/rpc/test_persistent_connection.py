"""Opening a line to a Core, and staying connected: what it says where that can't be, and coming back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import msgspec
import pytest

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import CommandError, ConnectionLostError, ProtocolError
from agentstepper_nb.rpc.backoff import Backoff
from agentstepper_nb.rpc.connection import RpcRefusedError, open_connection
from agentstepper_nb.rpc.persistent_connection import (
    REFUSAL_GRACE_S,
    FindEndpoint,
    ReconnectingCaller,
    maintain_connection,
)
from tests.worker.cores import WorkerPortCore, refuse
from tests.worker.worker_pair import LOG, EchoedText, EchoService


@asynccontextmanager
async def connected(
    find: FindEndpoint,
    services: dict[str, EchoService] | None = None,
    refusal_grace_s: float = REFUSAL_GRACE_S,
) -> AsyncGenerator[tuple[ReconnectingCaller, asyncio.Task[object]], None]:
    """A caller that dials again at once."""
    caller = ReconnectingCaller()
    staying = asyncio.create_task(
        maintain_connection(
            find,
            services or {},
            caller,
            LOG,
            backoff=Backoff(first_s=0.0),
            refusal_grace_s=refusal_grace_s,
        )
    )
    try:
        yield caller, staying
    finally:
        staying.cancel()
        with suppress(asyncio.CancelledError, ConnectionLostError):
            await staying


async def echo(caller: ReconnectingCaller, text: str = "hello") -> EchoedText:
    return await caller.call("echo", "echo", EchoedText(text), EchoedText)


async def test_both_ends_ask() -> None:
    async with WorkerPortCore() as core:
        served = EchoService()
        opened = await open_connection(core.endpoint, {"mine": served}, LOG)
        assert core.tokens == ["Bearer the token"]
        session = await core.connected()
        assert core.hello.services == ("mine",)
        answer = await opened.rpc_session.call("echo", "echo", EchoedText("to the Core"))
        assert msgspec.json.decode(answer, type=EchoedText) == EchoedText("to the Core")
        answer = await session.rpc_session.call("mine", "echo", EchoedText("back"))
        assert msgspec.json.decode(answer, type=EchoedText) == EchoedText("back")
        await opened.close()
        await opened.close()
        assert await opened.closed() in ("1000", "")


async def test_who_is_asked_when_the_line_is_gone_hears_of_it_after_the_door_is_shut() -> None:
    async with WorkerPortCore() as core:
        opened = await open_connection(core.endpoint, {}, LOG)
        shut: list[str] = []
        opened.on_lost = lambda: shut.append("shut")

        async def ask() -> list[str]:
            with pytest.raises(CommandError, check=lambda error: error.code == "worker_lost"):
                await opened.rpc_session.call("echo", "never", None)
            return list(shut)

        asking = asyncio.create_task(ask())
        await core.echo.reached.wait()
        core.sessions[-1].connection.close(1001, "The Core is stopping.")
        assert await opened.closed() == "The Core is stopping."
        assert await asking == ["shut"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("unauthorized: send the\ntoken.\n", r"\(401\): unauthorized: send the token\."),
        ('{"code": "unauthorized", "message": "Wrong token."}', r"\(401\): Wrong token\."),
        ("[1]", r"\(401\): \[1\]"),
        ("", r"\(401\): no reason was given"),
    ],
)
async def test_a_refusal_is_final_and_says_why(text: str, said: str) -> None:
    async with WorkerPortCore() as core:
        core.refuse = refuse(401, text)
        with pytest.raises(RpcRefusedError, match=said):
            await open_connection(core.endpoint, {}, LOG)


@pytest.mark.parametrize(
    ("greets", "said"),
    [
        ("{", "can't be decoded"),
        ('{"n": 1, "type": "result", "id": "1", "body": {}}', "isn't a welcome"),
        (
            '{"n": 1, "type": "failed", "body": {"code": "version_mismatch", "message": "Upgrade."}}',
            "refused this connection: Upgrade.",
        ),
    ],
)
async def test_an_answer_that_is_no_welcome(greets: str, said: str) -> None:
    async with WorkerPortCore() as core:
        core.greets = greets
        with pytest.raises(RpcRefusedError, match=said):
            await open_connection(core.endpoint, {}, LOG)


async def test_what_may_be_otherwise_the_next_time() -> None:
    core = WorkerPortCore()
    await core.start()
    core.refuse = refuse(503, "later")
    with pytest.raises(ConnectionLostError, match="can't be reached: ") as caught:
        await open_connection(core.endpoint, {}, LOG)
    assert not isinstance(caught.value, RpcRefusedError)
    await core.stop()
    with pytest.raises(ConnectionLostError, match="can't be reached: "):
        await open_connection(core.endpoint, {}, LOG)
    with pytest.raises(RpcRefusedError, match="isn't an address of a Core"):
        await open_connection(CoreEndpoint("gopher://x"), {}, LOG)


async def test_it_comes_back_with_the_token_of_the_new_start() -> None:
    async with WorkerPortCore() as core:
        tokens = iter(["first", "second", "third"])

        def find() -> CoreEndpoint:
            return CoreEndpoint(core.endpoint.url, next(tokens))

        async with connected(find) as (caller, _):
            await caller.wait_connected()
            assert await echo(caller) == EchoedText("hello")
            await core.stop()
            with pytest.raises(CommandError):
                await echo(caller)
            assert "connection to the Core" in caller.away_reason
            await core.start()
            await caller.wait_connected()
            assert await echo(caller) == EchoedText("hello")
        assert core.tokens[0] == "Bearer first"
        assert core.tokens[-1] in ("Bearer second", "Bearer third")
        assert not caller.is_open


async def test_a_core_that_starts_again_may_refuse_for_a_while() -> None:
    """It listens before its new token can be found."""

    async with WorkerPortCore() as core:
        async with connected(lambda: core.endpoint) as (caller, _):
            await caller.wait_connected()
            refused = asyncio.Event()

            def once(connection: object, request: object) -> object:
                core.refuse = lambda connection, request: None
                refused.set()
                return refuse(401, "not yet")(connection, request)  # type: ignore[arg-type]

            core.refuse = once  # type: ignore[assignment]
            core.sessions[-1].connection.close(1001, "")
            await refused.wait()
            await caller.wait_connected()
            assert await echo(caller) == EchoedText("hello")


async def test_a_refusal_after_that_while_is_final() -> None:
    async with WorkerPortCore() as core:
        async with connected(lambda: core.endpoint, refusal_grace_s=-1.0) as (caller, staying):
            await caller.wait_connected()
            core.refuse = refuse(401, "no more")
            core.sessions[-1].connection.close(1001, "")
            with pytest.raises(RpcRefusedError, match="no more"):
                await staying


async def test_a_door_says_what_it_can_not_read() -> None:
    async with WorkerPortCore() as core, connected(lambda: core.endpoint) as (caller, _):
        await caller.wait_connected()
        with pytest.raises(ProtocolError, match="have the same version"):
            await caller.call("echo", "echo", EchoedText("text"), int)
        items = [item async for item in caller.stream("echo", "three", None, EchoedText)]
        assert items == [EchoedText("0"), EchoedText("1"), EchoedText("2")]
