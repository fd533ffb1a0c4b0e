"""How a hub keeps runs: what is durable, damaged, full, and what goes by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError, DamagedRunError
from agentstepper_nb.hub import Hub, RetentionLimits
from agentstepper_nb.hub.retention import Retention
from agentstepper_nb.protocol.data_model import Commit, Event, HaltPoint
from agentstepper_nb.protocol.records import Record, RunHistory
from agentstepper_nb.protocol.store_info import StoreInfo
from agentstepper_nb.store import MemoryStore, open_store
from tests.hub.harness import FakeConnection, ScriptedAgent, ScriptedView, open_hub, start_run
from tests.hub.test_slow_reads import settle

# ---- the store -------------------------------------------------------------------------------------


class RequestRecordingStore(MemoryStore):
    """Remembers for what it was asked to be durable."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[tuple[list[str], bool]] = []
        self.damaged = False

    def append(self, records: Sequence[Record], *args: Any, **named: Any) -> None:
        if records:
            kinds = [str(type(record).__name__) for record in records]
            self.requests.append((kinds, named["durable"]))
        super().append(records, *args, **named)

    async def history(self, run: str) -> RunHistory:
        if self.damaged:
            raise DamagedRunError(run, "a halt point's row")
        return await super().history(run)

    async def visit_rows(self, run: str, *place: Any) -> tuple[Commit, ...]:
        if self.damaged:
            raise DamagedRunError(run, "a halt point's row")
        return await super().visit_rows(run, *place)

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        if self.damaged:
            raise DamagedRunError(run, "a halt point's row")
        return await super().message(run, message)


async def test_what_has_to_outlive_a_power_cut() -> None:
    store = RequestRecordingStore()
    hub = await open_hub(store)
    agent = ScriptedAgent()
    await agent.connect(hub)

    def durable(does: Callable[[], object]) -> bool:
        store.requests.clear()
        does()
        return any(durable for _, durable in store.requests)

    assert not durable(lambda: agent.begin("e"))
    assert durable(lambda: agent.reach("b", event="e"))  # people are told of a halt
    assert durable(lambda: hub.perform(hub.commands.edit("r", "b", '"edited"')))
    assert durable(
        lambda: hub.perform(hub.commands.step("r", hub.clock()))
    )  # the edit goes to the agent
    assert durable(lambda: agent.reach("next"))
    assert not durable(lambda: hub.perform(hub.commands.step("r", hub.clock())))
    assert not durable(lambda: hub.perform(hub.commands.resume("r", hub.clock())))
    assert not durable(lambda: agent.reach("passed"))
    assert store.requests[-1][0][-1] == "MessagesReceived"  # in one with what it brought
    assert "HaltPointSaved" in store.requests[-1][0]
    await hub.close()


async def test_damage_is_named_and_the_rest_goes_on() -> None:
    store = RequestRecordingStore()
    hub = await open_hub(store)
    await start_run(hub)
    person = ScriptedView(hub)
    store.damaged = True
    for command, body in (
        ("open_run", {"run": "r"}),
        ("get_rows", {"run": "r"}),
        ("find_rows", {"run": "r", "text": "a"}),
        ("get_message", {"run": "r", "message": "b"}),
        ("export_run", {"run": "r"}),
    ):
        refused = (await person.request(command, **body))["body"]
        assert (refused["code"], refused["run"]) == ("damaged_run", "r")
        assert "a halt point's row" in refused["message"]
    line = FakeConnection()
    hub.connect_view(line, 1, person.session.rights)
    await settle()
    assert line.sent[0]["content"]["runs"] == []  # version 1 sees the others
    hub.perform(hub.commands.step("r", hub.clock()))
    assert hub.run("r").pending == ()
    await hub.close()


async def test_a_run_that_is_deleted_while_it_is_read_is_unknown() -> None:
    store = RequestRecordingStore()
    hub = await open_hub(store)
    agent = await start_run(hub)
    agent.send_bye()
    hub.delete("r")
    with pytest.raises(CommandError) as gone:
        await hub.history("r")
    assert gone.value.code == "unknown_run"

    async def read(run: str) -> RunHistory:
        hub.delete(run)
        raise KeyError(run)

    other = await start_run(hub, "other")
    other.send_bye()
    store.history = read  # type: ignore[method-assign]
    with pytest.raises(CommandError) as gone:
        await hub.history("other")
    assert gone.value.code == "unknown_run"
    await hub.close()


class FullStore(MemoryStore):
    """A store on a disk that is full, for as long as it says so."""

    full = False

    @property
    def is_write_blocked(self) -> bool:
        return self.full


async def test_where_nothing_can_be_kept_people_are_told_and_nothing_new_begins() -> None:
    store = FullStore()
    hub = await open_hub(store)
    agent = await start_run(hub)
    person = ScriptedView(hub)
    store.on_write_trouble(StoreInfo(kind="sqlite", trouble="some of a run wasn't kept."))
    assert (await person.connection.receive("store"))["store"]["trouble"].startswith("some of")
    assert "code" not in await ScriptedAgent(run="before").connect(hub)
    store.full = True
    store.on_write_trouble(StoreInfo(kind="sqlite", trouble="the disk is full."))
    assert (await person.connection.receive("store"))["store"]["trouble"] == "the disk is full."
    refused = await ScriptedAgent(run="new").connect(hub)
    assert (refused["code"], "the disk is full." in refused["message"]) == ("store_failed", True)
    assert (await person.request("import_run", data="x"))["body"]["code"] == "store_failed"
    late = ScriptedView(hub)
    assert (await late.connection.receive("hello"))["store"]["trouble"] == "the disk is full."
    agent.disconnect()
    assert "code" not in await agent.connect(hub, waiting=["b"])  # who was there goes on
    store.full = False
    store.on_write_trouble(StoreInfo(kind="sqlite"))
    assert (await person.connection.receive("store"))["store"]["trouble"] is None
    assert "code" not in await ScriptedAgent(run="new").connect(hub)
    await hub.close()


async def test_how_runs_are_kept_is_told(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    person = ScriptedView(hub)
    kept = (await person.connection.receive("hello"))["store"]
    assert kept == {
        "kind": "sqlite",
        "durability": "durable",
        "folder": str(tmp_path),
        "size": None,
        "trouble": None,
    }
    told = (await person.request("get_store"))["body"]["store"]
    assert told == kept | {"size": told["size"]}
    assert told["size"] > 0
    await hub.close()


# ---- what goes by itself ---------------------------------------------------------------------------


class StoreWithExpiredRuns(MemoryStore):
    """Has what is to go."""

    def __init__(self, *expired: str) -> None:
        super().__init__()
        self._expired = list(expired)
        self.asked: list[tuple[float | None, int | None]] = []

    async def find_expired(self, before: float | None, size: int | None) -> list[str]:
        self.asked.append((before, size))
        return self._expired


async def test_old_runs_go_and_those_that_changed_meanwhile_stay() -> None:
    store = StoreWithExpiredRuns("r", "tagged", "live", "gone")
    hub = await open_hub(store)
    for run in ("r", "tagged", "live"):
        agent = await start_run(hub, run)
        if run != "live":
            agent.send_bye()
    hub.perform(hub.commands.tag("tagged", ["mine"]))
    await Retention(hub, RetentionLimits(days=0.01, gib=0.5)).sweep()
    assert [run.id for run in hub.runs()] == ["tagged", "live"]
    assert store.asked == [(1000.0 - 864, 2**29)]
    await hub.close()


async def test_it_happens_at_the_start() -> None:
    store = StoreWithExpiredRuns("r")
    hub = Hub(store, clock=lambda: 1000.0, extensions=(), retention=RetentionLimits(gib=1))
    agent = await start_run(hub)
    agent.send_bye()
    await hub.start()
    await settle()
    assert hub.runs() == []
    assert store.asked == [(None, 2**30)]
    await hub.close()
    plain = await open_hub(StoreWithExpiredRuns("r"))
    assert isinstance(plain.store, StoreWithExpiredRuns)
    await settle()
    assert plain.store.asked == []
    await plain.close()
