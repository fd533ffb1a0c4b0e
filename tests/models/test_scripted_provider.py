"""A script as a provider: the same events through each API."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, get_args

import pytest

from agentstepper_nb.errors import ModelError
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ModelRequest,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallArgsDelta,
    ToolCallReady,
    ToolCallStarted,
    TraceEvent,
)
from agentstepper_nb.models import registry
from agentstepper_nb.models.scripted import (
    DisconnectFault,
    ErrorFault,
    PauseFault,
    Script,
    ScriptedCall,
    ScriptRule,
    always,
    say,
    says,
    tool_says,
)
from agentstepper_nb.models.scripted.provider import ModelApiName, ScriptedProvider

APIS: tuple[ModelApiName, ...] = get_args(ModelApiName)
SCRIPT = Script(
    "talk",
    [
        ScriptRule(tool_says("look", "^x = 1$"), say("I see.")),
        ScriptRule(says("user", "half"), ScriptedCall("look", '{"path": "ca')),
        ScriptRule(
            always, say("Let me look.", ScriptedCall("look", {"path": "ü.py"}), ScriptedCall("run"))
        ),
    ],
)


def request(text: str = "Fix it.", *more: Any) -> ModelRequest:
    return ModelRequest(model="m", messages=(UserMessage(content=text), *more), max_tokens=50)


async def list_events(provider: ScriptedProvider, asked: ModelRequest) -> list[AgentEvent]:
    return [event async for event in provider.stream(asked)]


def query_script(script: Script, asked: ModelRequest, api: ModelApiName) -> list[AgentEvent]:
    async def ask() -> list[AgentEvent]:
        provider = ScriptedProvider(script, api)
        try:
            return await list_events(provider, asked)
        finally:
            await provider.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("api", APIS)
def test_a_text_and_calls(api: ModelApiName) -> None:
    events = query_script(SCRIPT, request(), api)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "Let me look."
    started = [event for event in events if isinstance(event, ToolCallStarted)]
    assert [event.name for event in started] == ["look", "run"]
    assert [e for e in events if isinstance(e, ToolCallReady)] == [
        ToolCallReady(started[0].call_id, "look", '{"path": "ü.py"}'),
        ToolCallReady(started[1].call_id, "run", "{}"),
    ]
    assert not any(isinstance(event, TraceEvent) for event in events)
    end = events[-1]
    assert isinstance(end, ResponseCompleted) and end.reason == "tool_calls" and end.usage
    assert end.usage.input_tokens and end.usage.output_tokens


def test_all_apis_give_the_same_events() -> None:
    # Chat completions alone don't say where a call ends: there all are ready at the end.
    first, *others = (sorted(query_script(SCRIPT, request(), api), key=str) for api in APIS)
    assert others == [first, first]


@pytest.mark.parametrize("api", APIS)
def test_malformed_arguments(api: ModelApiName) -> None:
    *_, ready, end = query_script(SCRIPT, request("half"), api)
    assert isinstance(ready, ToolCallReady) and ready.args_json == '{"path": "ca'
    assert isinstance(end, ResponseCompleted) and end.reason == "tool_calls"


@pytest.mark.parametrize("api", APIS)
def test_what_was_said_before_reaches_the_rules(api: ModelApiName) -> None:
    said = (
        AssistantMessage(tool_calls=(ToolCall(call_id="1", name="look", args_json='{"a": 1}'),)),
        ToolResultMessage(call_id="1", content="x = 1"),
    )
    events = query_script(SCRIPT, request("Fix it.", *said), api)
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "I see."


@pytest.mark.parametrize("api", APIS)
def test_a_refusal_is_tried_again(api: ModelApiName) -> None:
    script = Script("s", [ScriptRule(always, say("x"), ErrorFault(503, times=2))])
    assert query_script(script, request(), api)[0] == TextDelta("x")


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("clean", [True, False])
def test_a_stream_that_breaks_off(api: ModelApiName, clean: bool) -> None:
    script = Script(
        "s",
        [
            ScriptRule(
                always, say("one two three"), DisconnectFault(pieces_sent=4, ends_cleanly=clean)
            )
        ],
    )
    *_, trace, end = query_script(script, request(), api)
    assert isinstance(trace, TraceEvent) and trace.kind == "error"
    assert end == ResponseCompleted("error", None)


@pytest.mark.parametrize("api", APIS)
def test_a_script_that_says_nothing_to_this(api: ModelApiName) -> None:
    trace, end = query_script(Script("short", []), request(), api)
    assert isinstance(trace, TraceEvent) and "'short' matches turn 0" in trace.data["message"]
    assert trace.data["status"] == 400
    assert end == ResponseCompleted("error", None)


@pytest.mark.parametrize("api", APIS)
def test_who_stops_reading_and_closes_leaves_no_thread(api: ModelApiName) -> None:
    script = Script(
        "s", [ScriptRule(always, say("one two three"), PauseFault("middle", pieces_sent=3))]
    )

    async def give_up() -> None:
        provider = ScriptedProvider(script, api)
        reading = asyncio.create_task(list_events(provider, request()))
        await asyncio.to_thread(provider.server.gate("middle").wait_reached)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await provider.close()

    before = set(threading.enumerate())
    asyncio.run(give_up())
    assert {t for t in threading.enumerate() if t.name.startswith("scripted")} <= before


def test_by_the_names_of_provider_and_script(tmp_path: Path) -> None:
    assert registry.create_provider("scripted", "fix_tests").name == "scripted"
    file = tmp_path / "mine.py"
    file.write_text(
        "from agentstepper_nb.models.scripted import *\n"
        "script = Script('mine', [ScriptRule(always, say('hi'))])\n"
    )
    provider = registry.create_provider("scripted", str(file))
    assert isinstance(provider, ScriptedProvider)

    async def ask() -> list[AgentEvent]:
        try:
            return await list_events(provider, request())
        finally:
            await provider.close()
            await provider.close()

    assert asyncio.run(ask())[0] == TextDelta("hi")


def test_what_is_no_script_says_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="built-in scripts: fix_tests"):
        ScriptedProvider("fix_test")
    file = tmp_path / "broken.py"
    file.write_text("1 / 0")
    with pytest.raises(ModelError, match=r"broken\.py' can't be used: division by zero"):
        ScriptedProvider(str(file))


def test_pieces_of_arguments_come_as_they_are_written() -> None:
    script = Script("s", [ScriptRule(always, ScriptedCall("look", {"path": "a" * 40}))])
    for api in APIS:
        pieces = [
            e for e in query_script(script, request(), api) if isinstance(e, ToolCallArgsDelta)
        ]
        assert len(pieces) > 2
