"""A run's profile: when its events ran, what its prompts are made of; and what is known of models."""

from __future__ import annotations

import builtins
import json
from types import ModuleType
from typing import Any

import pytest

from agentstepper_nb.hub import run_profile
from agentstepper_nb.hub.model_info import find_model_info
from agentstepper_nb.hub.run_profile import read_prompt
from tests.hub.harness import FakeMachine, ScriptedAgent, ScriptedView, open_hub

SYSTEM = {"role": "system", "content": "Be brief."}
QUESTION = {"role": "user", "content": "What is in a.py?"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
TOOLS = [{"type": "function", "function": {"name": "cat"}}]


def size(*values: Any) -> int:
    """Bytes of values as compact JSON."""
    return sum(len(json.dumps(value, separators=(",", ":"))) for value in values)


def ask(agent: ScriptedAgent, id: str, messages: list[Any], **event: Any) -> None:
    """A query that has its answer 2 seconds later."""
    agent.begin(id, name="gpt-x", **event)
    point: dict[str, Any] = {"event": id, "waits": False, "at": 1.0, "clock": 1.0}
    agent.send(
        "breakpoint",
        id=f"{id}-b",
        side="begin",
        data={"messages": messages, "tools": TOOLS},
        **point,
    )
    usage = {"input_tokens": 30, "output_tokens": 4, "cost": None, "estimated": False}
    ended = point | {"at": 3.0, "clock": 3.0}
    agent.send("breakpoint", id=f"{id}-e", side="end", data="…", outcome="ok", usage=usage, **ended)


async def read(view: ScriptedView, run: str = "r") -> dict[str, Any]:
    answer = await view.request("get_profile", run=run)
    assert answer["type"] == "profile", answer
    body: dict[str, Any] = answer["body"]
    return body


async def test_a_prompt_is_split_into_what_was_there_before_and_what_is_new() -> None:
    hub = await open_hub()
    agent = ScriptedAgent()
    await agent.connect(hub)
    ask(agent, "q1", [SYSTEM, QUESTION])
    ask(agent, "q2", [SYSTEM, QUESTION, CALL])
    found = await read(ScriptedView(hub))
    assert found["first_row"] == 1
    first, second = found["events"]
    assert (first["name"], first["usage"]["input_tokens"]) == ("gpt-x", 30)
    assert first["prompt"] == {
        "system": size(SYSTEM),
        "tools": size(TOOLS),
        "history": 0,
        "new": size(QUESTION),
    }
    assert second["prompt"] == {
        "system": size(SYSTEM),
        "tools": size(TOOLS),
        "history": size(QUESTION),
        "new": size(CALL),
    }


async def test_agents_of_one_run_have_histories_of_their_own() -> None:
    hub = await open_hub()
    agent = ScriptedAgent()
    await agent.connect(hub)
    ask(agent, "q1", [QUESTION], scope=["agent:a:1"])
    ask(agent, "q2", [QUESTION], scope=["agent:b:1"])
    ask(agent, "q3", [QUESTION, CALL], scope=["agent:a:1", "task:1"])
    found = await read(ScriptedView(hub))
    assert [event["prompt"]["history"] for event in found["events"]] == [0, 0, size(QUESTION)]


async def test_the_time_halted_before_a_call_is_no_part_of_it() -> None:
    machine = FakeMachine()
    hub = await open_hub(machine=machine)
    agent = ScriptedAgent()
    await agent.connect(hub)
    view = ScriptedView(hub)
    agent.reach("b", {"Tool": "ls", "Argument": {}}, None, at=machine.now)
    machine.now += 100  # a person thinks
    await view.request("step", run="r")
    machine.now += 5
    point: dict[str, Any] = {"id": "e", "event": "e-b", "side": "end", "waits": False, "clock": 1.0}
    agent.send("breakpoint", data="a.py", outcome="ok", at=machine.now, **point)
    (event,) = (await read(view))["events"]
    assert event["duration_s"] == 5
    assert event["started_at"] == 1100.0


async def test_an_event_under_way_has_no_duration() -> None:
    hub = await open_hub()
    agent = ScriptedAgent()
    await agent.connect(hub)
    agent.reach("b", "no messages here")
    (event,) = (await read(ScriptedView(hub)))["events"]
    assert (event["duration_s"], event["outcome"]) == (None, None)
    assert event["prompt"]["new"] == size("no messages here")


@pytest.mark.slow
async def test_of_a_long_run_the_end_is_read() -> None:
    hub = await open_hub()
    agent = ScriptedAgent()
    await agent.connect(hub)
    for number in range(run_profile.MAX_PROFILED_ROWS // 2 + 1):
        ask(agent, f"q{number}", [QUESTION])
    found = await read(ScriptedView(hub))
    assert found["first_row"] == 3
    assert found["events"][0]["seq"] == 3
    assert len(found["events"]) == run_profile.MAX_PROFILED_ROWS // 2


async def test_an_unknown_run_is_refused() -> None:
    answer = await ScriptedView(await open_hub()).request("get_profile", run="gone")
    assert answer["body"]["code"] == "unknown_run"


@pytest.mark.parametrize("text", ["12", '{"messages": 3}', "{", "null", "NaN"])
def test_what_is_no_prompt_has_no_sizes(text: str) -> None:
    assert read_prompt(text) is None


def test_the_systems_text_beside_the_messages_counts_as_the_systems() -> None:
    prompt = read_prompt(json.dumps({"system": "Be brief.", "messages": [QUESTION]}))
    assert prompt is not None
    assert prompt.system_bytes == size("Be brief.")
    assert [message.size_bytes for message in prompt.messages] == [size(QUESTION)]


# ---- models ----------------------------------------------------------------------------------------


async def test_prices_and_windows_of_known_models_are_suggested() -> None:
    view = ScriptedView(await open_hub())
    answer = await view.request("get_model_info", models=["gpt-4o-mini", "no-such-model"])
    assert answer["type"] == "model_info"
    assert answer["body"]["source"].startswith("genai-prices ")
    (info,) = answer["body"]["models"]
    assert info["model"] == "gpt-4o-mini"
    assert 0 < info["input"] < info["output"]
    assert info["context_window"] == 128_000


def test_without_the_package_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def import_all_but_prices(name: str, *args: Any, **kwargs: Any) -> ModuleType:
        if name == "genai_prices":
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", import_all_but_prices)
    found = find_model_info(["gpt-4o-mini"])
    assert (found.source, found.models) == (None, ())
