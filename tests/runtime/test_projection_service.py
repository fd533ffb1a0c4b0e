"""A projection at the other end of a worker's line: it follows the Core's store, and is searched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from agentstepper_nb.errors import CommandError, StoreError
from agentstepper_nb.protocol.runtime_requests import (
    PROJECTION_SERVICE,
    AgentSearch,
    AgentSearchResult,
    NewConversation,
    NewMessage,
)
from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.runtime.projection_service import ProjectionService
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from agentstepper_nb.store.lance.projection import Projection
from tests.helpers.lance_tables import connect
from tests.hub.runtime_hosts import LOG, RuntimeHostHarness, open_runtime_host

pytestmark = pytest.mark.slow


@asynccontextmanager
async def projecting(
    core: RuntimeHostHarness, open: Callable[[str], Awaitable[Projection]], *, once: bool = True
) -> AsyncIterator[ProjectionService]:
    """A worker that projects, until the block ends."""
    caller = ReconnectingCaller()
    service = ProjectionService(RemoteQueue(caller), open, LOG, 0.01, once=once)
    worker = core.worker(**{PROJECTION_SERVICE: service})
    caller.attach(worker.line)
    try:
        yield service
    finally:
        await service.close()
        worker.break_off()


async def post(core: RuntimeHostHarness, *texts: str) -> None:
    runtime = core.host.runtime
    await runtime.create_conversation(NewConversation(conversation_id="c"))
    for text in texts:
        await runtime.say(NewMessage(conversation_id="c", text=text))


async def search(core: RuntimeHostHarness, text: str) -> list[str]:
    request = AgentSearch(text=text)
    found = await core.client().request("search", request, AgentSearchResult)
    return [hit.message.text for hit in found.hits if hit.message is not None]


async def test_clients_of_the_core_search_there(tmp_path: Path) -> None:
    async with open_runtime_host() as core:
        await post(core, "A red fox", "A grey owl")
        with pytest.raises(CommandError, match="no projection runs"):
            await search(core, "owl")
        async with projecting(core, partial(Projection.open, str(tmp_path))) as service:
            await service.following
            assert await search(core, "owl") == ["A grey owl"]
        with pytest.raises(CommandError, match="no projection runs"):
            await search(core, "owl")
        assert core.starter.started == 0  # no worker is started for a search


async def test_until_it_is_open_nothing_is_searched(tmp_path: Path) -> None:
    may_open = asyncio.Event()

    async def open(place: str) -> Projection:
        await may_open.wait()
        return await Projection.open(str(tmp_path), place)

    async with open_runtime_host() as core:
        await post(core, "A red fox")
        async with projecting(core, open) as service:
            with pytest.raises(CommandError, match="isn't open yet"):
                await search(core, "fox")
            may_open.set()
            await service.following
            assert await search(core, "fox") == ["A red fox"]


async def test_what_fits_into_no_message_together_comes_in_parts(tmp_path: Path) -> None:
    async with open_runtime_host() as core:
        await post(core, *(f"{number} {'x' * 999_000}" for number in range(70)))  # 64 MiB at most
        async with projecting(core, partial(Projection.open, str(tmp_path))) as service:
            await service.following
        table = connect(tmp_path).open_table("conversation_messages")
        assert table.count_rows() == 70


async def test_a_store_that_is_older_than_the_tables_is_refused(tmp_path: Path) -> None:
    open = partial(Projection.open, str(tmp_path))
    async with open_runtime_host() as core:
        await post(core, "one", "two", "three")
        async with projecting(core, open) as service:
            await service.following
    async with open_runtime_host() as core:
        await post(core, "one")
        async with projecting(core, open) as service:
            with pytest.raises(StoreError, match=r"is older than the projection.*--rebuild"):
                await service.following
        async with projecting(core, partial(open, rebuild=True)) as service:
            await service.following
            assert await search(core, "one") == ["one"]
            assert await search(core, "two") == []


@pytest.mark.parametrize(("method", "params"), [("delete", b"{}"), ("search", b'{"text": ""}')])
async def test_what_is_no_search_is_refused(tmp_path: Path, method: str, params: bytes) -> None:
    async with open_runtime_host() as core:
        async with projecting(core, partial(Projection.open, str(tmp_path))) as service:
            with pytest.raises((CommandError, ValueError)):
                await service.call(method, params)  # type: ignore[arg-type]
            with pytest.raises(CommandError, match="no stream"):
                service.stream(method, params)  # type: ignore[arg-type]
