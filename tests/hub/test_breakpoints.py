"""Stops, prices and leases, between people and agents, over one hub."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.hub import AccessRights, dry_runs
from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule, DryRunOutcome
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import open_store
from tests.hub.breakpoint_fields import (
    BREAKPOINT,
    EVERY_RUNS,
    PRICES,
    fill_breakpoint,
    lease,
    start_leased_agent,
)
from tests.hub.harness import TIMEOUT_S, FakeConnection, Json, ScriptedAgent, ScriptedView, open_hub

# ---- people -----------------------------------------------------------------------------------------


async def test_every_ui_is_told_and_one_that_comes_later_too() -> None:
    hub = await open_hub()
    first, second = ScriptedView(hub), ScriptedView(hub, control=False)
    hello = await first.connection.receive("hello")
    assert (hello["stops"], hello["prices"]) == ([], [])
    await second.connection.receive("hello")
    assert (await first.request("set_stop", stop=BREAKPOINT))["type"] == "ok"
    assert (await first.request("set_stop", stop={"id": "t"}))["type"] == "ok"
    assert (await first.request("set_stop", stop=BREAKPOINT | {"nth": 3}))["type"] == "ok"
    assert (await first.request("set_prices", prices=PRICES))["type"] == "ok"
    assert (await first.request("delete_stop", stop="t"))["type"] == "ok"
    for person in (first, second):
        told = [(each["type"], each["body"]) for each in person.connection.sent]
        assert told == [
            ("stop", {"stop": fill_breakpoint(BREAKPOINT)}),
            ("stop", {"stop": fill_breakpoint({"id": "t"})}),
            ("stop", {"stop": fill_breakpoint(BREAKPOINT | {"nth": 3})}),
            ("prices", {"prices": PRICES}),
            ("stop_gone", {"stop": "t"}),
        ]
    later = await ScriptedView(hub).connection.receive("hello")
    assert (later["stops"], later["prices"]) == ([fill_breakpoint(BREAKPOINT | {"nth": 3})], PRICES)
    await hub.close()


@pytest.mark.parametrize(
    ("command", "body", "code"),
    [
        ("set_stop", {"stop": {"id": "s", "condition": "import os"}}, "invalid_stop"),
        ("try_stop", {"stop": {"id": "s", "condition": "("}}, "invalid_stop"),
        ("try_stop", {"stop": {"id": "s"}, "run": "none"}, "unknown_run"),
        ("delete_stop", {"stop": "none"}, "unknown_stop"),
        ("set_stop", {"stop": {"id": "s", "nth": 0}}, "invalid_message"),
        ("set_prices", {"prices": PRICES * 201}, "invalid_message"),
    ],
    ids=range(6),
)
async def test_what_is_refused(command: str, body: Json, code: str) -> None:
    hub = await open_hub()
    person = ScriptedView(hub)
    assert (await person.request(command, **body))["body"]["code"] == code
    assert (hub.debugger.breakpoints, hub.debugger.prices) == ((), ())
    await hub.close()


async def test_who_may_only_watch_may_try() -> None:
    hub = await open_hub()
    watcher = ScriptedView(hub, control=False)
    commands = {
        "set_stop": {"stop": BREAKPOINT},
        "delete_stop": {"stop": "s"},
        "set_prices": {"prices": []},
    }
    for command, body in commands.items():
        assert (await watcher.request(command, **body))["body"]["code"] == "watch_only"
    assert (await watcher.request("try_stop", stop=BREAKPOINT))["body"] == {"trials": []}
    await hub.close()


async def test_a_breakpoint_is_tried_on_a_run_or_on_the_last_of_its_agents() -> None:
    hub = await open_hub()
    person = ScriptedView(hub)
    for number in range(3):
        agent = await start_leased_agent(hub, f"r{number}", program=f"P{number % 2}")
        for event in range(number + 1):
            agent.reach(f"b{event}", waits=False, epoch=1)
        agent.send_bye()
    live = await start_leased_agent(hub, "live", program="P0")
    live.reach("b", data={"a": 1})
    breakpoint = {"id": "s", "side": "begin", "program": "P0"}

    async def tried(**more: Json) -> list[tuple[str, int, list[int]]]:
        answer = await person.request("try_stop", stop=breakpoint | more.pop("stop", {}), **more)
        return [(each["run"], each["rows"], each["hits"]) for each in answer["body"]["trials"]]

    assert await tried() == [("live", 1, [1]), ("r2", 3, [1, 2, 3]), ("r0", 1, [1])]
    assert await tried(run="r1") == [("r1", 2, [1, 2])]
    assert await tried(stop={"condition": "data.a == 1"}) == [
        ("live", 1, [1]),
        ("r2", 3, []),
        ("r0", 1, []),
    ]
    assert hub.debugger.breakpoints == ()
    await hub.close()


async def test_of_several_trials_on_one_run_the_last_is_answered() -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    agent.reach("b")
    ids = [person.send_command("try_stop", stop={"id": id}, run="r") for id in ("s", "t", "u")]
    assert (await person.request("try_stop", stop={"id": "all"}))["type"] == "stop_tried"
    answers = {each["id"]: each["body"] for each in person.connection.sent if each.get("id") in ids}
    codes = [answers[id].get("code") for id in ids]
    assert codes == ["superseded", "superseded", None]
    await hub.close()


class EndlessDryRun:
    """Takes the place of a dry run, and goes on for as long as it may.

    A thread can't be cancelled: it looks after each row whether it is to go on.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._loop = asyncio.get_running_loop()
        self._begun, self._ended = asyncio.Event(), asyncio.Event()
        self.is_endless = True
        monkeypatch.setattr(dry_runs, "core_dry_run", self._run)

    def _run(
        self, breakpoint: BreakpointRule, history: RunHistory, go_on: Callable[[], None]
    ) -> DryRunOutcome:
        self._loop.call_soon_threadsafe(self._begun.set)
        try:
            while self.is_endless:
                go_on()
        finally:
            self._loop.call_soon_threadsafe(self._ended.set)
        return DryRunOutcome(run=history.run.id, rows=0, hits=(), total=0)

    async def begins(self) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await self._begun.wait()
        self._begun.clear()

    async def ends(self) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            await self._ended.wait()
        self._ended.clear()


async def test_a_trial_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    trial, hub = EndlessDryRun(monkeypatch), await open_hub()
    (await start_leased_agent(hub)).reach("b")
    asker = ScriptedAgent()
    asker.connection = FakeConnection()
    asker.session = hub.connect_agent(asker.connection, 2, AccessRights())
    asker.send("try_stop", "id", stop={"id": "t"}, run=None)
    await trial.begins()
    asker.disconnect()
    await trial.ends()
    person = ScriptedView(hub)
    person.send_command("try_stop", stop={"id": "s"}, run="r")
    await trial.begins()
    person.send_command("try_stop", stop={"id": "t"}, run="r")  # it takes the place of the first
    await trial.ends()
    await trial.begins()
    trial.is_endless = False
    await trial.ends()
    await hub.close()


async def test_a_trial_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = HubLimits(dry_run_timeout_s=0.0)
    trial, hub = EndlessDryRun(monkeypatch), await open_hub(limits=limits)
    (await start_leased_agent(hub)).reach("b")
    person = ScriptedView(hub)
    person.send_command("try_stop", stop={"id": "t"}, run="r")
    await trial.ends()
    refused = await person.connection.receive("error", code="invalid_stop")
    assert "Simplify the breakpoint's condition" in refused["message"]
    await hub.close()


async def test_trials_hold_one_run_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = await open_hub()
    (await start_leased_agent(hub)).reach("b")
    held, most = 0, 0
    history, tried = hub.history, dry_runs.core_dry_run

    async def reading(run: str) -> RunHistory:
        nonlocal held, most
        held += 1
        most = max(most, held)
        return await history(run)

    def trying(*args: Any) -> DryRunOutcome:
        nonlocal held
        held -= 1
        return tried(*args)

    monkeypatch.setattr(hub, "history", reading)
    monkeypatch.setattr(dry_runs, "core_dry_run", trying)
    asker = ScriptedAgent()
    asker.connection = FakeConnection()
    asker.session = hub.connect_agent(asker.connection, 2, AccessRights())
    for number in range(20):
        asker.send("try_stop", f"q{number}", stop={"id": "t"}, run="r")
    for _ in range(20):
        await asker.connection.receive("tried")
    assert most == 1
    await hub.close()


async def test_a_trial_is_on_the_last_twenty_runs() -> None:
    hub = await open_hub()
    for number in range(22):
        agent = await start_leased_agent(hub, f"r{number}")
        agent.send_bye()
    answer = await ScriptedView(hub).request("try_stop", stop=BREAKPOINT)
    runs = [each["run"] for each in answer["body"]["trials"]]
    assert runs == [f"r{number}" for number in range(21, 1, -1)]
    await hub.close()


# ---- from Python ------------------------------------------------------------------------------------


async def test_programs_ask_without_a_hello() -> None:
    hub = await open_hub()
    person = ScriptedView(hub)
    run = await start_leased_agent(hub, "r1", program="solver", workspace="~/secret")
    run.reach("b")
    asker = ScriptedAgent()
    asker.connection = FakeConnection()
    asker.session = hub.connect_agent(asker.connection, 2, AccessRights())

    async def ask(question: str, **body: Json) -> Json:
        asker.send(question, "id", **body)
        await asker._wait_for_first_message()
        return asker.connection.sent.pop()

    asked = await ask("set_stop", stop=BREAKPOINT)
    assert (asked["type"], asked["id"]) == ("rules", "id")
    assert asked["body"] == {"stops": [fill_breakpoint(BREAKPOINT)], "prices": []}
    assert (await ask("set_prices", prices=PRICES))["body"]["prices"] == PRICES
    assert (await ask("get_rules"))["body"] == {
        "stops": [fill_breakpoint(BREAKPOINT)],
        "prices": PRICES,
    }
    for name in ("r1", "Run #1 of solver", "solver", None):
        tried = await ask("try_stop", stop={"id": "t"}, run=name)
        assert tried["type"] == "tried", tried
        assert [each["run"] for each in tried["body"]["trials"]] == ["r1"]
        assert [each["id"] for each in tried["body"]["runs"]] == ["r1"]
        told = {key for key, value in tried["body"]["runs"][0].items() if value}
        assert told <= {"id", "name", "program", "started_at", "state", "rows", *EVERY_RUNS}
    assert (await ask("try_stop", stop={"id": "t"}, run="none"))["body"]["code"] == "unknown_run"
    assert (await ask("delete_stop", stop="s"))["body"]["stops"] == []
    assert (await ask("delete_stop", stop="s"))["body"]["code"] == "unknown_stop"
    assert await person.connection.receive("stop_gone") == {"stop": "s"}
    assert [each.id for each in hub.runs()] == ["r1"]
    await hub.close()


async def test_an_agents_token_controls_nothing() -> None:
    hub = await open_hub()
    person = ScriptedView(hub)
    await person.request("set_stop", stop=BREAKPOINT)
    agent = await start_leased_agent(hub, "r1")
    stranger = ScriptedAgent()
    stranger.connection = FakeConnection()
    stranger.session = hub.connect_agent(stranger.connection, 2)
    controlling: Json = {
        "set_stop": {"stop": {"id": "t"}},
        "delete_stop": {"stop": "s"},
        "set_prices": {"prices": PRICES},
        "try_stop": {"stop": {"id": "t"}, "run": None},
    }
    for asker in (stranger, agent):  # before a hello, and after one
        for question, body in controlling.items():
            asker.send(question, "id", **body)
            refused = await asker.connection.receive("error", code="watch_only")
            assert "AGENTSTEPPER_CONTROL_TOKEN" in refused["message"]
        asker.send("get_rules", "id")
        assert await asker.connection.receive("rules") == {
            "stops": [fill_breakpoint(BREAKPOINT)],
            "prices": [],
        }
    await hub.close()


# ---- a Core that starts again -----------------------------------------------------------------------


async def test_breakpoints_and_prices_outlive_a_core(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path, Durability.DURABLE))
    person = ScriptedView(hub)
    for breakpoint in (BREAKPOINT, {"id": "t"}, {"id": "u"}):
        await person.request("set_stop", stop=breakpoint)
    await person.request("delete_stop", stop="t")
    await person.request("set_prices", prices=PRICES)
    agent = await start_leased_agent(hub)
    await person.request("continue", run="r")
    agent.disconnect()
    await hub.close()
    again = await open_hub(open_store(tmp_path, Durability.DURABLE))
    await agent.connect(again)
    expected = lease(1, "continue", BREAKPOINT, {"id": "u"}, prices=PRICES)
    assert await agent.connection.receive("lease") == expected
    await again.close()


async def test_without_a_lease_counts_go_on_after_a_restart(tmp_path: Path) -> None:
    """Messages that come while the Core reads what it forgot wait for that, in their order."""
    hub = await open_hub(open_store(tmp_path, Durability.DURABLE))
    breakpoint = {"id": "s", "condition": 'data == "hi"', "nth": 4, "then": "log"}
    await ScriptedView(hub).request("set_stop", stop=breakpoint)
    agent = await start_leased_agent(hub)
    for number in range(3):
        agent.reach(f"b{number}")
        hub.perform(hub.commands.step("r", hub.clock()))
        await agent.connection.receive("answer")
    await hub.close()
    agent.disconnect()
    again = await open_hub(open_store(tmp_path, Durability.DURABLE))
    await agent.connect(again)
    await agent.connection.receive("lease")
    again.perform(again.commands.resume("r", again.clock()))
    agent.resend_after(after=1 + len(agent.sent_texts))
    agent.reach("b3")
    agent.reach("b4", event="none")  # refused, in its turn
    agent.reach("b5", data="else")
    agent.reach("b6")
    await agent.connection.receive("error", code="unknown_event")
    await agent.connection.receive("answer", breakpoint="b6")
    agent.send_bye()
    await again.wait_recorded()
    history = await again.history("r")
    hits = [point.id for point in history.halt_points if point.breakpoints]
    assert hits == ["b3", "b6"]
    assert [(each.count, each.last) for each in history.run.hits] == [(2, 6)]
    assert history.run.ending == "finished"
    await again.close()
