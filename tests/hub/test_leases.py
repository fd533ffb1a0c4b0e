"""Leases as a hub gives them: what they hold, and before what they come."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentstepper_nb.hub import Hub
from agentstepper_nb.store import MemoryStore
from agentstepper_nb.store.base import do_nothing
from tests.hub.breakpoint_fields import (
    BREAKPOINT,
    PRICES,
    lease,
    read_leases_and_answers,
    start_leased_agent,
)
from tests.hub.harness import Json, ScriptedAgent, ScriptedView, open_hub
from tests.hub.test_slow_reads import settle


async def test_a_lease_follows_the_welcome_and_each_change() -> None:
    hub = await open_hub()
    person, other = ScriptedView(hub), {"id": "other", "program": "Q*"}
    for breakpoint in (BREAKPOINT, other, {"id": "off", "enabled": False}):
        await person.request("set_stop", stop=breakpoint)
    agent = ScriptedAgent("r")
    await agent.connect(hub)
    (only,) = agent.connection.take_bodies("lease")
    assert only == lease(1, "step", BREAKPOINT)
    await person.request("continue", run="r")
    await person.request("set_stop", stop=other | {"once": True})
    await person.request("set_stop", stop=BREAKPOINT | {"then": "log"})
    await person.request("set_prices", prices=PRICES)
    await person.request("delete_stop", stop="s")
    await person.request("stop", run="r")
    logs = BREAKPOINT | {"then": "log"}
    assert agent.connection.take_bodies("lease") == [
        lease(2, "continue", BREAKPOINT),
        lease(3, "continue", logs),
        lease(4, "continue", logs, prices=PRICES),
        lease(5, "continue", prices=PRICES),
        lease(6, "step", prices=PRICES),  # it is to wait for its end
    ]
    await hub.close()


async def test_the_lease_comes_before_the_answers_of_a_continue() -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    for number in range(3):
        agent.reach(f"b{number}")
    agent.connection.sent.clear()
    await person.request("step", run="r", breakpoint="b0", revision=1)
    await person.request("continue", run="r")
    await person.request("halt", run="r")
    assert read_leases_and_answers(agent.connection) == ["b0", "continue", "b1", "b2", "step"]
    await hub.close()


async def test_a_halt_by_a_breakpoint_revokes_the_lease_and_is_shown() -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    await person.request("set_stop", stop=BREAKPOINT)
    await person.request("continue", run="r")
    await person.request("open_run", run="r")
    agent.connection.sent.clear()
    person.connection.sent.clear()
    agent.reach("b0", waits=False, epoch=3)
    agent.reach("b1", waits=True, epoch=3, stops=["s"])
    assert read_leases_and_answers(agent.connection) == ["step"]
    row = await person.connection.receive("row")
    while row["row"]["id"] != "b1":
        row = await person.connection.receive("row")
    assert (row["row"]["stops"], row["row"]["pending"]) == (["s"], True)
    run = hub.run("r")
    assert (run.state, run.pending) == ("halted", ("b1",))
    opened = (await person.request("open_run", run="r"))["body"]
    assert opened["run"]["hits"] == [{"stop": "s", "count": 1, "last": 2}]
    assert [each["stops"] for each in opened["rows"]] == [[], ["s"]]
    await hub.close()


@pytest.mark.parametrize(("command", "answer"), [("halt", None), ("stop", "stop")])
async def test_what_is_pressed_while_an_agent_is_away_holds_when_it_is_back(
    command: str, answer: str | None
) -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    assert (await person.request("continue", run="r"))["type"] == "ok"
    agent.reach("before", waits=False, epoch=2)
    agent.disconnect()
    assert (await person.request(command, run="r"))["type"] == "ok"
    agent.reach("away", waits=False, epoch=2)  # nobody hears it
    await agent.connect(hub)
    assert (await agent.connection.receive("lease"))["mode"] == "step"
    agent.resend_after(1)
    agent.reach("back", epoch=1)
    await settle()
    told = [each["body"] for each in agent.connection.sent if each["type"] == "answer"]
    kinds = [(each["breakpoint"], each["answer"]["kind"]) for each in told]
    assert kinds == ([] if answer is None else [("back", answer)])
    assert hub.run("r").pending == (("back",) if answer is None else ())
    assert hub.run("r").rows == 3
    await hub.close()


async def test_a_connection_that_takes_anothers_place_has_the_lease_that_holds() -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    agent.reach("b0")
    agent.disconnect()
    await person.request("continue", run="r")
    await agent.connect(hub, waiting=["b0"])
    await agent.connection.receive("answer", breakpoint="b0")
    agent.disconnect()
    await person.request("halt", run="r")
    await agent.connect(hub)
    assert [each["mode"] for each in agent.connection.take_bodies("lease")] == ["step"]
    await hub.close()


class SlowStore(MemoryStore):
    """A store that tells what is recorded, and what is durable, when a test wants it."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[Any] = []
        self.durable: list[Any] = []

    def append(
        self, records: Any, done: Any = do_nothing, *, durable: bool = False, on_synced: Any = None
    ) -> None:
        super().append(records)
        self.recorded.append(done)
        if on_synced is not None:
            self.durable.append(on_synced)

    def call_when_recorded(self, done: Any) -> None:
        self.recorded.append(done)

    def run_callbacks(self, calls: list[Any]) -> None:
        while calls:
            calls.pop(0)()


async def test_a_lease_is_told_once_it_is_recorded_and_not_before_the_welcome() -> None:
    store = SlowStore()
    hub = await open_hub(store)
    agent = ScriptedAgent("r")
    connecting = asyncio.ensure_future(agent.connect(hub))
    await settle()
    hub.perform(hub.commands.resume("r", hub.clock()))
    store.run_callbacks(store.recorded)  # the Continue's is recorded before the hello's is durable
    assert agent.connection.sent == []
    store.run_callbacks(store.durable)
    await connecting
    assert [each["mode"] for each in agent.connection.take_bodies("lease")] == ["continue"]
    hub.perform(hub.commands.halt("r"))
    assert agent.connection.sent == []
    store.run_callbacks(store.recorded)
    assert [each["mode"] for each in agent.connection.take_bodies("lease")] == ["step"]
    await hub.close()


async def test_a_breakpoint_that_halts_reaches_an_agent_of_version_1() -> None:
    hub = await open_hub()
    person = ScriptedView(hub)
    await person.request("set_stop", stop=BREAKPOINT | {"nth": 2})
    agent = OldAgent(hub)
    await person.request("continue", run=agent.run)
    for name in ("run_tests", "ls", "run_tests"):
        agent.call(name)
    run = hub.run(agent.run)
    assert (run.state, run.rows) == ("halted", 4)
    assert [(each.breakpoint, each.count, each.last) for each in run.hits] == [("s", 1, 4)]
    assert not any("lease" in text for text in agent.texts)
    history = await hub.history(agent.run)
    assert [each.name for each in history.events] == [None, "run_tests", "ls", "run_tests"]
    file = (await person.request("export_run", run=agent.run))["body"]["data"]
    imported = (await person.request("import_run", data=file))["body"]["run"]
    tried = await person.request("try_stop", stop=BREAKPOINT | {"nth": 2}, run=imported["id"])
    assert tried["body"]["trials"][0]["hits"] == [4]
    assert imported["hits"] == []  # such a file has no word for them
    await hub.close()


class OldAgent:
    """A program of version 1, which has started and gone past its start."""

    def __init__(self, hub: Hub) -> None:
        self.texts: list[str] = []
        self._session = hub.connect_agent(self, 1)
        self._number = 0
        self._send_event("event", type="PROGRAM_STARTED", data="P")
        self.run = hub.runs()[-1].id
        self._point(None)
        hub.perform(hub.commands.step(self.run, hub.clock()))

    def call(self, name: str) -> None:
        """Reach the begin of a tool's call."""
        self._send_event("event", type="TOOL_INVOCATION", data=None)
        self._point({"Tool": name, "Argument": None})

    def _send_event(self, message: str, **data: Json) -> None:
        self._number += 1
        plain = {"uuid": f"e{self._number}", "time": 1.0, "breakpoints": []}
        self._session.receive(json.dumps({"message": message, "data": plain | data}))

    def _point(self, data: Json) -> None:
        point = {"uuid": f"b{self._number}", "agent": "A", "event_id": f"e{self._number}"}
        point |= {"time": 1.0, "summary": None, "original_data": data, "modified_data": None}
        self._session.receive(json.dumps({"message": "breakpoint", "data": point}))

    def send(self, text: str) -> None:
        self.texts.append(text)

    def close(self, code: int, reason: str) -> None: ...
