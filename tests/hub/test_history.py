"""What people do with runs that are kept: find, tag, note, export, import; what they are told of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError, DamagedRunError
from agentstepper_nb.hub import Hub, Keep
from agentstepper_nb.hub.retention import Retention
from agentstepper_nb.protocol.records import Record, RunHistory, SentenceMade
from agentstepper_nb.protocol.values import Breakpoint, Commit, Event, StoreInfo
from agentstepper_nb.store import MemoryStore, open_store
from tests.hub.desk import Agent, Line, Person, a_hub
from tests.hub.test_reading import on_a_loop, settle

Json = Any


async def a_run(hub: Hub, run: str = "r", text: str = "hello") -> Agent:
    """A run with a query that is pending, a debug message and a commit."""
    agent = Agent(run=run)
    await agent.connect(hub)
    agent.begin("said", kind="debug_message", data="look here")
    agent.reach("b", text)
    body = {"diff": "d", "content": "c", "previous_content": "p"}
    change = {"path": "a.py", "kind": "added", "added": 1, "body": body}
    agent.say("commit", id="k", at=1.0, title="Change a", ruled=True, changes=[change])
    await hub.recorded()
    return agent


# ---- commands --------------------------------------------------------------------------------------


@on_a_loop
async def test_tags_are_told_to_all() -> None:
    hub = await a_hub()
    await a_run(hub)
    first, second = Person(hub), Person(hub)
    answer = await first.command("tag_run", run="r", tags=["slow", " kept  long", "slow"])
    assert answer["type"] == "ok"
    for person in (first, second):
        assert (await person.line.expect("run"))["run"]["tags"] == ["slow", "kept long"]
    refused = await first.command("tag_run", run="r", tags=["  "])
    assert (refused["type"], refused["body"]["code"]) == ("error", "invalid_message")
    await hub.close()


@on_a_loop
async def test_notes_are_told_where_the_run_is_open() -> None:
    hub = await a_hub()
    agent = await a_run(hub)
    writer, reader, other = Person(hub), Person(hub), Person(hub)
    await reader.command("open_run", run="r")
    for message, text in (("b", "why?"), ("said", "indeed"), ("b", "because")):
        assert (await writer.command("note", run="r", message=message, text=text))["type"] == "ok"
    told = [each["note"] for each in reader.line.take("note")]
    assert [(note["message"], note["text"]) for note in told] == [
        ("b", "why?"),
        ("said", "indeed"),
        ("b", "because"),
    ]
    assert other.line.take("note") == []
    agent.bye()
    await writer.command("note", run="r", message="said", text=" ")  # also once it has ended
    opened = await writer.command("read_run", run="r")
    assert [(note["message"], note["text"]) for note in opened["body"]["notes"]] == [
        ("b", "because")
    ]
    for message in ("e-b", "none"):
        refused = await writer.command("note", run="r", message=message, text="x")
        assert refused["body"]["code"] == "unknown_content"
    refused = await writer.command("note", run="none", message="b", text="x")
    assert refused["body"]["code"] == "unknown_run"
    await hub.close()


@on_a_loop
async def test_a_run_that_is_only_read_is_told_no_more() -> None:
    hub = await a_hub()
    agent = await a_run(hub)
    person = Person(hub)
    assert (await person.command("read_run", run="r"))["type"] == "run_opened"
    agent.begin("more", kind="debug_message", data="x")
    await settle()
    assert person.line.take("row") == []
    await hub.close()


@on_a_loop
async def test_who_may_only_watch_may_read_and_search() -> None:
    hub = await a_hub()
    await a_run(hub)
    person = Person(hub, control=False)
    for command, body in (
        ("tag_run", {"run": "r", "tags": []}),
        ("note", {"run": "r", "message": "b", "text": "x"}),
    ):
        assert (await person.command(command, **body))["body"]["code"] == "watch_only"
    assert (await person.command("read_run", run="r"))["type"] == "run_opened"
    assert (await person.command("search", query="hello"))["type"] == "found"
    await hub.close()


@on_a_loop
async def test_words_are_found() -> None:
    hub = await a_hub()
    for number in range(3):
        await a_run(hub, f"r{number}", "a needle in the hay")
    person = Person(hub)
    found = (await person.command("search", query="needle hay"))["body"]
    assert ([hit["run"] for hit in found["hits"]], found["more"]) == (["r2", "r1", "r0"], False)
    found = (await person.command("search", query="needle", limit=2))["body"]
    assert (len(found["hits"]), found["more"]) == (2, True)
    found = (await person.command("search", query="needle", run="r1"))["body"]
    assert [(hit["run"], hit["place"], hit["id"]) for hit in found["hits"]] == [("r1", "row", "b")]
    refused = await person.command("search", query='"open')
    assert refused["body"]["code"] == "invalid_search"
    assert (await person.command("search", query="x", run="no"))["body"]["code"] == "unknown_run"
    await hub.close()


@on_a_loop
async def test_an_archive_has_all_there_is() -> None:
    hub = await a_hub()
    agent = await a_run(hub)
    person = Person(hub)
    await person.command("note", run="r", message="b", text="why?")
    await person.command("tag_run", run="r", tags=["mine"])
    agent.bye()
    exported = (await person.command("export_run", run="r", format="archive"))["body"]
    assert exported["format"] == "archive"
    whole = base64.b64decode(exported["data"])
    for data in (exported["data"].encode(), whole):
        imported = await hub.import_run(data)
        history = await hub.history(imported.id)
        original = await hub.history("r")
        assert history.run == replace(original.run, id=imported.id)
        assert [point.data for point in history.breakpoints] == ['"hello"', "null"]
        assert [note.text for note in history.notes] == ["why?"]
    command = await person.command("import_run", data=exported["data"])
    assert command["body"]["run"]["tags"] == ["mine"]
    plain = (await person.command("export_run", run="r"))["body"]
    assert plain["format"] == "run"
    assert (await person.command("import_run", data=plain["data"]))["type"] == "run_imported"
    await hub.close()


@on_a_loop
async def test_an_agents_side_may_bring_a_run_in_without_one_of_its_own() -> None:
    hub = await a_hub()
    agent = await a_run(hub)
    agent.bye()
    _, data = await hub.export("r")
    line = Line()
    session = hub.connect_agent(line, 2)

    def send(data: str) -> None:
        message = {"n": 1, "type": "take_run", "id": "q", "body": {"data": data}}
        session.receive(json.dumps(message))

    send(data.decode())
    assert (await line.expect("run_taken"))["run"]["name"] == "Run #1 of P"
    send("damaged")
    assert (await line.expect("error"))["code"] == "corrupt_import"
    session.closed()
    assert len(hub.runs()) == 2
    await hub.close()


@on_a_loop
async def test_a_sentence_is_told_and_kept() -> None:
    hub = await a_hub()
    agent = await a_run(hub)
    person = Person(hub)
    await person.command("open_run", run="r")

    def made(id: str, text: str) -> SentenceMade:
        return SentenceMade(run="r", id=id, key=text, text=text)

    await hub.put_sentence(made("b", "It says hello."))
    assert (await person.line.expect("row"))["row"]["pending"]
    hub.step("r")
    await hub.put_sentence(made("b", "It greets."))
    row = await person.line.expect("row", run="r")
    row = (await person.line.expect("row", run="r"))["row"]
    assert (row["id"], row["pending"]) == ("b", False)
    await hub.put_sentence(made("k", "It changes a."))
    commit = (await person.line.expect("commit_changed"))["commit"]
    assert (commit["sentence"], commit["ruled"], commit["changes"][0]["body"]) == (
        "It changes a.",
        True,
        None,
    )
    found = await hub.find_row("r", "b")
    assert isinstance(found, Breakpoint)
    assert found.sentence == "It greets."
    for id in ("said", "none"):
        with pytest.raises(CommandError, match="no such message"):
            await hub.put_sentence(made(id, "x"))
    agent.bye()
    await hub.close()


# ---- the store -------------------------------------------------------------------------------------


class Told(MemoryStore):
    """Remembers for what it was asked to be durable."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[list[str], bool]] = []
        self.damaged = False

    def append(self, records: Sequence[Record], *args: Any, **named: Any) -> None:
        if records:
            kinds = [str(type(record).__name__) for record in records]
            self.asked.append((kinds, named["durable"]))
        super().append(records, *args, **named)

    async def history(self, run: str) -> RunHistory:
        if self.damaged:
            raise DamagedRunError(run, "a breakpoint's row")
        return await super().history(run)

    async def look(self, run: str, *place: Any) -> tuple[Commit, ...]:
        if self.damaged:
            raise DamagedRunError(run, "a breakpoint's row")
        return await super().look(run, *place)

    async def message(self, run: str, message: str) -> Breakpoint | Event | None:
        if self.damaged:
            raise DamagedRunError(run, "a breakpoint's row")
        return await super().message(run, message)


@on_a_loop
async def test_what_has_to_outlive_a_power_cut() -> None:
    store = Told()
    hub = await a_hub(store)
    agent = Agent()
    await agent.connect(hub)

    def durable(does: Callable[[], object]) -> bool:
        store.asked.clear()
        does()
        return any(durable for _, durable in store.asked)

    assert not durable(lambda: agent.begin("e"))
    assert durable(lambda: agent.reach("b", event="e"))  # people are told of a halt
    assert durable(lambda: hub.edit("r", "b", '"edited"'))
    assert durable(lambda: hub.step("r"))  # the edit goes to the agent
    assert durable(lambda: agent.reach("next"))
    assert not durable(lambda: hub.step("r"))
    assert not durable(lambda: hub.resume("r"))
    assert not durable(lambda: agent.reach("passed"))
    assert store.asked[-1][0][-1] == "AgentHeard"  # in one with what it brought
    assert "BreakpointSaved" in store.asked[-1][0]
    await hub.close()


@on_a_loop
async def test_damage_is_named_and_the_rest_goes_on() -> None:
    store = Told()
    hub = await a_hub(store)
    await a_run(hub)
    person = Person(hub)
    store.damaged = True
    for command, body in (
        ("open_run", {"run": "r"}),
        ("get_rows", {"run": "r"}),
        ("find_rows", {"run": "r", "text": "a"}),
        ("get_message", {"run": "r", "message": "b"}),
        ("export_run", {"run": "r"}),
    ):
        refused = (await person.command(command, **body))["body"]
        assert (refused["code"], refused["run"]) == ("damaged_run", "r")
        assert "a breakpoint's row" in refused["message"]
    line = Line()
    hub.connect_ui(line, 1, person.session.rights)
    await settle()
    assert line.sent[0]["content"]["runs"] == []  # version 1 sees the others
    hub.step("r")
    assert hub.run("r").pending == ()
    await hub.close()


@on_a_loop
async def test_a_run_that_is_deleted_while_it_is_read_is_unknown() -> None:
    store = Told()
    hub = await a_hub(store)
    agent = await a_run(hub)
    agent.bye()
    hub.delete("r")
    with pytest.raises(CommandError) as gone:
        await hub.history("r")
    assert gone.value.code == "unknown_run"

    async def read(run: str) -> RunHistory:
        hub.delete(run)
        raise KeyError(run)

    other = await a_run(hub, "other")
    other.bye()
    store.history = read  # type: ignore[method-assign]
    with pytest.raises(CommandError) as gone:
        await hub.history("other")
    assert gone.value.code == "unknown_run"
    await hub.close()


class Full(MemoryStore):
    """A store on a disk that is full, for as long as it says so."""

    full = False

    @property
    def stuck(self) -> bool:
        return self.full


@on_a_loop
async def test_where_nothing_can_be_kept_people_are_told_and_nothing_new_begins() -> None:
    store = Full()
    hub = await a_hub(store)
    agent = await a_run(hub)
    person = Person(hub)
    store.on_trouble(StoreInfo(kind="sqlite", trouble="some of a run wasn't kept."))
    assert (await person.line.expect("store"))["store"]["trouble"].startswith("some of")
    assert "code" not in await Agent(run="before").connect(hub)
    store.full = True
    store.on_trouble(StoreInfo(kind="sqlite", trouble="the disk is full."))
    assert (await person.line.expect("store"))["store"]["trouble"] == "the disk is full."
    refused = await Agent(run="new").connect(hub)
    assert (refused["code"], "the disk is full." in refused["message"]) == ("store_failed", True)
    assert (await person.command("import_run", data="x"))["body"]["code"] == "store_failed"
    late = Person(hub)
    assert (await late.line.expect("hello"))["store"]["trouble"] == "the disk is full."
    agent.hang_up()
    assert "code" not in await agent.connect(hub, waiting=["b"])  # who was there goes on
    store.full = False
    store.on_trouble(StoreInfo(kind="sqlite"))
    assert (await person.line.expect("store"))["store"]["trouble"] is None
    assert "code" not in await Agent(run="new").connect(hub)
    await hub.close()


def test_how_runs_are_kept_is_told(tmp_path: Path) -> None:
    @on_a_loop
    async def test() -> None:
        hub = await a_hub(open_store(tmp_path))
        person = Person(hub)
        kept = (await person.line.expect("hello"))["store"]
        assert kept == {
            "kind": "sqlite",
            "durability": "durable",
            "folder": str(tmp_path),
            "size": None,
            "trouble": None,
        }
        told = (await person.command("get_store"))["body"]["store"]
        assert told == kept | {"size": told["size"]}
        assert told["size"] > 0
        await hub.close()

    test()


# ---- what goes by itself ---------------------------------------------------------------------------


class Old(MemoryStore):
    """Has what is to go."""

    def __init__(self, *expired: str) -> None:
        super().__init__()
        self._expired = list(expired)
        self.asked: list[tuple[float | None, int | None]] = []

    async def expired(self, before: float | None, size: int | None) -> list[str]:
        self.asked.append((before, size))
        return self._expired


@on_a_loop
async def test_old_runs_go_and_those_that_changed_meanwhile_stay() -> None:
    store = Old("r", "tagged", "live", "gone")
    hub = await a_hub(store)
    for run in ("r", "tagged", "live"):
        agent = await a_run(hub, run)
        if run != "live":
            agent.bye()
    hub.tag("tagged", ["mine"])
    await Retention(hub, Keep(days=0.01, gib=0.5)).sweep(store)
    assert [run.id for run in hub.runs()] == ["tagged", "live"]
    assert store.asked == [(1000.0 - 864, 2**29)]
    await hub.close()


@on_a_loop
async def test_it_happens_at_the_start() -> None:
    store = Old("r")
    hub = Hub(store, clock=lambda: 1000.0, extensions=(), keep=Keep(gib=1))
    agent = await a_run(hub)
    agent.bye()
    await hub.start()
    await settle()
    assert hub.runs() == []
    assert store.asked == [(None, 2**30)]
    await hub.close()
    plain = await a_hub(Old("r"))
    assert isinstance(plain.store, Old)
    await settle()
    assert plain.store.asked == []
    await plain.close()
