"""Runs of one process on one connection, as the Core meets them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentstepper_nb.hub import Hub
from agentstepper_nb.protocol.data_model import RunState
from tests.hub.harness import ScriptedAgent, open_hub

Json = Any


def give(agent: ScriptedAgent, name: str, type: str, n: int, **body: Json) -> None:
    """Send a message for a run on the connection that another run's agent has opened."""
    agent.session.receive(json.dumps({"n": n, "type": type, "run": name, "body": body}))


def send_hello(agent: ScriptedAgent, run: str, **fields: Json) -> None:
    give(agent, run, "hello", 1, **agent.hello | {"run": run, "shares": True} | fields)


def parts(message: Json, count: int) -> list[str]:
    text = json.dumps(message)
    size = -(-len(text) // count)
    return [text[start : start + size] for start in range(0, len(text), size)]


def debug_message(n: int, id: str, data: str) -> Json:
    event = {"id": id, "kind": "debug_message", "at": 1.0, "clock": 1.0, "data": data}
    return {"n": n, "type": "event", "body": event}


async def list_contents(hub: Hub, run: str) -> list[str]:
    """The debug messages that are kept of a run."""
    await hub.wait_recorded()
    history = await hub.store.history(run)
    found = [event for event in history.events if event.kind == "debug_message"]
    return [json.loads(event.data or "") for event in found]


async def test_each_run_hears_and_says_its_own() -> None:
    hub, agent = await open_hub(), ScriptedAgent("a", shares=True)
    assert (await agent.connect(hub))["shares"] is True
    send_hello(agent, "b")
    assert (await agent.connection.receive("welcome", run="b"))["shares"] is True
    for part in (sent := parts(debug_message(2, "e", "in parts"), 3)):
        give(agent, "b", "part", 2, text=part, last=part is sent[-1])
        if part is not sent[-1]:  # the other run speaks between
            agent.begin(f"e{len(agent.sent_texts)}", kind="debug_message", data="meanwhile")
    assert await list_contents(hub, "b") == ["in parts"]
    assert await list_contents(hub, "a") == ["meanwhile", "meanwhile"]
    await hub.close()


async def test_a_run_that_leaves_is_detached_and_the_others_stay() -> None:
    hub, agent = await open_hub(), ScriptedAgent("a", shares=True)
    await agent.connect(hub)
    send_hello(agent, "b")
    await agent.connection.receive("welcome", run="b")
    give(agent, "b", "leave", 1)
    assert agent.connection.closed_with is None
    send_hello(agent, "b", sent=1)
    await agent.connection.receive("welcome", run="b")
    agent.begin("e", kind="debug_message", data="still here")
    assert await list_contents(hub, "a") == ["still here"]
    await hub.close()


async def test_a_run_that_the_core_disconnects_is_detached_until_it_says_hello_again() -> None:
    hub, agent = await open_hub(), ScriptedAgent("a", shares=True)
    await agent.connect(hub)
    send_hello(agent, "b")
    await agent.connection.receive("welcome", run="b")
    event = {"id": "e", "kind": "llm_query", "at": 1.0, "clock": 1.0}
    give(agent, "b", "event", 2, **event)
    unknown = {"number": 9, "like": 8, "keep": 0, "then": ["1"]}
    point = {"id": "h", "event": "e", "side": "begin", "at": 1.0, "clock": 1.0, "pieces": unknown}
    give(agent, "b", "breakpoint", 3, **point, waits=True, epoch=0)
    assert (await agent.connection.receive("closed"))["code"] == 1003
    assert (hub.run("b").state, hub.run("a").state) == (RunState.DETACHED, RunState.STEP)
    send_hello(agent, "b", sent=3)
    assert (await agent.connection.receive("welcome", run="b"))["received"] == 2
    assert hub.run("b").state is RunState.STEP
    await hub.wait_recorded()
    assert [each["type"] for each in agent.connection.sent if each["type"] == "closed"] == []
    await hub.close()


@pytest.mark.parametrize("run", ["a", "b"])
async def test_a_second_hello_of_a_run_is_refused(run: str) -> None:
    hub, agent = await open_hub(), ScriptedAgent("a", shares=True)
    await agent.connect(hub)
    send_hello(agent, "b")
    await agent.connection.receive("welcome", run="b")
    send_hello(agent, run, sent=1)
    assert (await agent.connection.receive("error"))["code"] == "already_open"
    assert hub.run(run).state is RunState.STEP
    await hub.close()


async def test_parts_that_a_closed_run_left_are_in_no_later_message() -> None:
    hub, agent = await open_hub(), ScriptedAgent("a", shares=True)
    await agent.connect(hub)
    send_hello(agent, "b")
    await agent.connection.receive("welcome", run="b")
    first, second, _ = parts(debug_message(2, "e", "told again"), 3)
    give(agent, "b", "part", 2, text=first, last=False)
    elsewhere = ScriptedAgent("b")
    await elsewhere.connect(hub, sent=1)  # takes the run's place
    await agent.connection.receive("closed")
    assert agent.connection.closed_with is None  # the other run has it still
    give(agent, "b", "part", 2, text=second, last=False)  # was on its way
    send_hello(agent, "b", sent=2)
    await agent.connection.receive("welcome", run="b")
    sent = parts(debug_message(2, "e", "told again"), 2)
    for part in sent:
        give(agent, "b", "part", 2, text=part, last=part is sent[-1])
    assert await list_contents(hub, "b") == ["told again"]
    await hub.close()
