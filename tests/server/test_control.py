"""Stops and prices from programs: the control token sets them, the agents' token doesn't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from agentstepper_nb import (
    Breakpoint,
    add_breakpoint,
    delete_price,
    dry_run,
    list_breakpoints,
    list_prices,
    set_price,
)
from agentstepper_nb.errors import CommandError
from tests.server.conftest import CONTROL_TOKEN

#: Seconds that a kernel has.
TIMEOUT_S = 60

CELL = f"""
import os
%load_ext agentstepper_nb
%agentstepper break before tool open
%agentstepper price gpt-mini 1 2
assert os.environ["AGENTSTEPPER_TOKEN"]
assert "AGENTSTEPPER_CONTROL_TOKEN" not in os.environ
assert {CONTROL_TOKEN!r} not in os.environ.values()
"""


@asynccontextmanager
async def begun(server: Any) -> AsyncIterator[None]:
    """Announced, as a server is that listens."""
    await server.extension_manager.start_all_extensions()
    try:
        yield
    finally:
        await server.extension_manager.stop_all_extensions()


def controls() -> list[Callable[[], object]]:
    """One call for each message that takes the control token."""
    return [
        lambda: add_breakpoint("any for nobody"),
        lambda: dry_run("any"),
        lambda: set_price("gpt-mini", 1, 2),
        lambda: delete_price("gpt-mini"),
        lambda: [stop.delete() for stop in list_breakpoints()],
    ]


async def test_who_controls(
    extension: Any,
    http_server_client: Any,
    jp_serverapp: Any,
    jp_runtime_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with begun(jp_serverapp):
        for call in controls():  # by the token of the runtime file
            await asyncio.to_thread(call)
        (file,) = jp_runtime_dir.glob("agentstepper*")
        file.unlink()  # as for an agent on another machine: its environment names Core and token
        for call in (*controls()[:4], Breakpoint("any").delete):
            with pytest.raises(CommandError, match="AGENTSTEPPER_CONTROL_TOKEN") as refused:
                await asyncio.to_thread(call)
            assert refused.value.code == "watch_only"
        assert (
            await asyncio.to_thread(list_breakpoints),
            await asyncio.to_thread(list_prices),
        ) == (
            [],
            [],
        )
        monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", CONTROL_TOKEN)
        for call in controls():
            await asyncio.to_thread(call)
        monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "wrong")
        with pytest.raises(
            ConnectionError, match="for breakpoints and prices AGENTSTEPPER_CONTROL_TOKEN"
        ):
            await asyncio.to_thread(list_breakpoints)
        monkeypatch.delenv("AGENTSTEPPER_CONTROL_TOKEN")


@pytest.fixture
def without_tokens(jp_server_config: Any) -> None:
    """Before the server starts, which depends on the order of the arguments."""
    jp_server_config.AgentStepperExtension |= {"agent_token": "", "control_token": ""}


async def test_an_empty_token_lets_nobody_in(without_tokens: None, connect: Any) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await connect("agent", {"Authorization": "Bearer"})
    assert refused.value.code == 401


async def test_a_kernel_of_the_server_sets_them(
    extension: Any, http_server_client: Any, jp_serverapp: Any
) -> None:
    async with begun(jp_serverapp):
        kernels = jp_serverapp.kernel_manager
        kernel = await kernels.start_kernel(kernel_name="python3")
        client = kernels.get_kernel(kernel).client()
        client.start_channels()
        try:
            await client.wait_for_ready(timeout=TIMEOUT_S)
            reply = await client.execute_interactive(CELL, timeout=TIMEOUT_S)
        finally:
            client.stop_channels()
            await kernels.shutdown_kernel(kernel, now=True)
    assert reply["content"]["status"] == "ok", reply["content"]
    debugger = extension.hub.debugger
    assert [(stop.name, stop.enabled) for stop in debugger.breakpoints] == [("open", True)]
    assert [price.model for price in debugger.prices] == ["gpt-mini"]
