"""Providers of all APIs, asked by tests at a server that says what it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from agentstepper_nb.llm_wire.conversation import ModelRequest, ToolSpec, UserMessage
from agentstepper_nb.llm_wire.events import AgentEvent, ResponseCompleted, TraceEvent
from agentstepper_nb.models.anthropic import AnthropicProvider
from agentstepper_nb.models.http_provider import HTTPProvider, TimeoutPolicy
from agentstepper_nb.models.openai import OpenAIProvider
from agentstepper_nb.models.provider import ModelProvider
from tests.models.byte_server import BytesAnswer, PieceServer
from tests.models.recorded import APIS

READ: Final = ToolSpec(name="read_file", description="Read.", input_schema={"type": "object"})
REQUEST: Final = ModelRequest(
    model="some-model", messages=(UserMessage(content="Fix it. 🙂"),), tools=(READ,), system="Do."
)
ONCE: Final = TimeoutPolicy(max_retries=0)

every_api = pytest.mark.parametrize("api", APIS)


@asynccontextmanager
async def open_provider(
    api: str, url: str, timeouts: TimeoutPolicy | None = None
) -> AsyncIterator[HTTPProvider]:
    provider: HTTPProvider
    if api == "messages":
        provider = AnthropicProvider(url, "a-key", timeouts=timeouts)
    else:
        assert api in ("chat", "responses")
        provider = OpenAIProvider(api, f"{url}/v1", "a-key", timeouts=timeouts)  # type: ignore[arg-type]
    try:
        yield provider
    finally:
        await provider.close()


async def collect_events(provider: ModelProvider) -> list[AgentEvent]:
    return [event async for event in provider.stream(REQUEST)]


def collect_from(
    api: str, *answers: BytesAnswer, timeouts: TimeoutPolicy | None = ONCE
) -> list[AgentEvent]:
    """What a provider tells of the answers of a server that lives for this alone."""

    async def ask() -> list[AgentEvent]:
        async with (
            PieceServer(*answers) as server,
            open_provider(api, server.url, timeouts) as provider,
        ):
            return await collect_events(provider)

    return asyncio.run(ask())


def failure(events: list[AgentEvent]) -> dict[str, Any]:
    """The one problem that was told of, at the end."""
    trace, end = events[-2:]
    assert end == ResponseCompleted("error", None)
    assert isinstance(trace, TraceEvent)
    assert trace.kind == "error"
    problem: dict[str, Any] = trace.data
    return problem
