"""Windows: pages of runs, rows and commits, rows that a filter shows, and what is pushed meanwhile."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from agentstepper_nb.hub import Hub, pagination
from agentstepper_nb.hub.connection import count_waiting_bytes
from agentstepper_nb.hub.pagination import (
    MAX_LISTED_RUNS,
    PAGE_ROWS,
    ViewPage,
    fit_page,
    list_last_runs,
)
from agentstepper_nb.hub.view_updates import MAX_IMMEDIATE_PER_INTERVAL, MAX_WAITING_BYTES
from agentstepper_nb.protocol.data_model import Commit, Run, RunState
from agentstepper_nb.store import MemoryStore
from agentstepper_nb.store.base import ContentPredicate, RowConsumer
from tests.hub.harness import FakeConnection, ScriptedAgent, ScriptedView, open_hub
from tests.hub.test_slow_reads import settle

Json = Any


async def a_long_run(hub: Hub, rows: int, run: str = "r") -> ScriptedAgent:
    """A run of so many debug messages: “message-1” and so on."""
    agent = ScriptedAgent(run=run)
    await agent.connect(hub)
    for number in range(1, rows + 1):
        agent.begin(f"d{number}", kind="debug_message", data=f"message-{number}")
    await hub.wait_recorded()
    return agent


def seqs(page: Json) -> list[int]:
    return [row["seq"] for row in page["body"]["rows"]]


def a_run(number: int, *, live: bool = False) -> Run:
    state = RunState.STEP if live else RunState.IDLE
    return Run(id=f"r{number}", name="", program="P", started_at=0.0, state=state)


# ---- runs ------------------------------------------------------------------------------------------


def test_the_last_runs_are_told_and_all_that_live() -> None:
    runs = [a_run(number, live=number in (3, 30, 270)) for number in range(1, 301)]
    shown, more = list_last_runs(runs)
    assert shown == (runs[2], runs[29], *runs[-MAX_LISTED_RUNS:])
    assert more == 98
    assert list_last_runs(runs[:MAX_LISTED_RUNS]) == (tuple(runs[:MAX_LISTED_RUNS]), 0)
    assert list_last_runs([]) == ((), 0)


async def test_hello_has_the_last_runs_and_the_others_are_asked_for() -> None:
    hub = await open_hub()
    for number in range(MAX_LISTED_RUNS + 25):
        agent = ScriptedAgent(run=f"r{number}")
        await agent.connect(hub)
        if number:
            agent.send_bye()
    person = ScriptedView(hub)
    hello = await person.connection.receive("hello")
    ids = [run["id"] for run in hello["runs"]]
    assert ids == ["r0", *(f"r{number}" for number in range(25, MAX_LISTED_RUNS + 25))]
    assert hello["more"] == 24
    listed = (await person.request("list_runs", before=ids[-MAX_LISTED_RUNS], limit=20))["body"]
    assert [run["id"] for run in listed["runs"]] == [f"r{number}" for number in range(5, 25)]
    assert listed["more"] == 5
    rest = (await person.request("list_runs", before="r5"))["body"]
    assert [run["id"] for run in rest["runs"]] == [f"r{number}" for number in range(5)]
    assert rest["more"] == 0
    refused = (await person.request("list_runs", before="gone"))["body"]
    assert refused["code"] == "unknown_run"
    await hub.close()


# ---- rows ------------------------------------------------------------------------------------------


async def test_a_long_run_opens_at_its_end_and_the_rest_is_asked_for() -> None:
    hub = await open_hub()
    await a_long_run(hub, 450)
    person = ScriptedView(hub)
    opened = await person.request("open_run", run="r")
    assert seqs(opened) == list(range(251, 451))
    assert opened["body"]["run"]["rows"] == 450
    page = await person.request("get_rows", run="r", first=1, last=200)
    assert seqs(page) == list(range(1, 201))
    assert page["body"]["rows"][6]["summary"] == "message-7"
    assert seqs(await person.request("get_rows", run="r", first=440, last=900)) == [
        *range(440, 451)
    ]
    assert seqs(await person.request("get_rows", run="r", first=0, last=2)) == [1, 2]
    assert seqs(await person.request("get_rows", run="r", first=9, last=3)) == []
    assert seqs(await person.request("read_run", run="r")) == list(range(1, 451))
    await hub.close()


async def test_a_page_around_a_row() -> None:
    hub = await open_hub()
    await a_long_run(hub, 450)
    person = ScriptedView(hub)
    for message, first, last in (("d1", 1, 200), ("d225", 126, 325), ("d450", 251, 450)):
        page = await person.request("get_rows", run="r", around=message)
        assert seqs(page) == list(range(first, last + 1))
    page = await person.request("get_rows", run="r", first=1, last=3, around="d100")
    assert seqs(page) == [99, 100, 101]
    refused = (await person.request("get_rows", run="r", around="none"))["body"]
    assert (refused["code"], refused["run"]) == ("unknown_content", "r")
    await hub.close()


async def test_what_can_not_be_asked_for_is_refused() -> None:
    hub = await open_hub()
    await a_long_run(hub, 3)
    person = ScriptedView(hub)
    refused = (await person.request("get_rows", run="r", first=1, last=501))["body"]
    assert (refused["code"], "500 rows" in refused["message"]) == ("invalid_message", True)
    for command, body in (
        ("get_rows", {}),
        ("get_commits", {}),
        ("find_rows", {"text": "a"}),
        ("open_run", {}),
    ):
        refused = (await person.request(command, run="none", **body))["body"]
        assert (refused["code"], refused["run"]) == ("unknown_run", "none")
    await hub.close()


async def test_commits_come_with_the_rows_they_stand_at_and_by_pages() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 3)
    for number in range(5):
        change = {"path": f"f{number}.py", "kind": "added", "body": {"diff": "d" * 1000}}
        agent.send("commit", id=f"k{number}", at=1.0, title="t", changes=[change])
        agent.begin(f"after{number}", kind="debug_message", data="x")
    await hub.wait_recorded()
    person = ScriptedView(hub)
    page = (await person.request("get_rows", run="r", first=4, last=5))["body"]
    assert [commit["id"] for commit in page["commits"]] == ["k1", "k2"]
    assert page["commits"][0]["changes"][0]["body"] is None
    last = (await person.request("get_commits", run="r", limit=3))["body"]
    assert [commit["id"] for commit in last["commits"]] == ["k2", "k3", "k4"]
    first = (await person.request("get_commits", run="r", before=last["before"]))["body"]
    assert [commit["id"] for commit in first["commits"]] == ["k0", "k1"]
    assert first["before"] is None
    await hub.close()


async def test_a_first_page_is_small_however_long_its_texts_are() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 100)
    failure = {"type": "E", "message": "long " * 4000}
    for number in range(30):
        agent.reach(f"b{number}", waits=False, failure=failure)
    await hub.wait_recorded()
    person = ScriptedView(hub)
    opened = await person.request("open_run", run="r")
    assert len(json.dumps(opened["body"]["rows"])) < 256 * 1024
    assert seqs(opened) == list(range(131 - len(seqs(opened)), 131))
    assert 5 < len(seqs(opened)) < 30
    await hub.close()


async def test_of_a_page_that_is_too_large_the_end_fits_with_the_commits_that_stand_there() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 6)
    change = {"path": "long" * 200, "kind": "added"}
    for number in range(2):
        agent.send("commit", id=f"k{number}", at=1.0, title="t", changes=[change])
        agent.begin(f"after{number}", kind="debug_message", data="x")
    whole = await pagination.iterate_rows(hub, "r", 0, 8)

    def fits(room: int) -> tuple[list[int], list[str]]:
        part = fit_page(whole, room)
        return [row.seq for row in part.rows], [commit.id for commit in part.commits]

    assert fits(100_000) == ([1, 2, 3, 4, 5, 6, 7, 8], ["k0", "k1"])
    room = size(*whole.rows[5:], *whole.commits)
    assert fits(room) == ([6, 7, 8], ["k0", "k1"])
    assert fits(room - 1) == ([7, 8], ["k1"])
    assert fits(size(whole.rows[7])) == ([8], [])
    assert fits(1) == ([8], [])
    assert fit_page(ViewPage((), ())) == ViewPage((), ())
    await hub.close()


def size(*values: Struct) -> int:
    """Bytes of values as they are sent, with the commas between them."""
    return sum(len(msgspec.json.encode(value)) + 1 for value in values)


# ---- finding ---------------------------------------------------------------------------------------


class CountingStore(MemoryStore):
    """Counts the pages that are read, and waits within the third."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 0
        self.waits = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def visit_rows(
        self, run: str, first: int, last: int, take: RowConsumer, needs: ContentPredicate
    ) -> tuple[Commit, ...]:
        self.pages += 1
        if self.pages == 3:
            self.waits.set()
            await self.may_go_on.wait()
        return await super().visit_rows(run, first, last, take, needs)


async def test_rows_are_found_in_all_of_a_run() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 1200)
    agent.begin("tool", kind="tool_invocation", name="write")
    agent.reach("t", {"Tool": "write", "Argument": 1}, event="tool", waits=False)
    change = {"path": "src/x.py", "kind": "added"}
    snapshot = {"at": 1.0, "title": "t", "event": "tool", "snapshot": True}
    agent.send("commit", id="k", changes=[change], **snapshot)
    await hub.wait_recorded()
    person = ScriptedView(hub)
    found = (await person.request("find_rows", run="r", text="MESSAGE-77"))["body"]
    assert found == {"run": "r", "seqs": [77, *range(770, 780)], "total": 11}
    assert (await person.request("find_rows", run="r", text="src/x"))["body"]["seqs"] == [1201]
    every = (await person.request("find_rows", run="r", text=" "))["body"]
    assert (every["seqs"], every["total"]) == (list(range(1, 1202)), 1201)
    assert (await person.request("find_rows", run="r", text="nowhere"))["body"]["total"] == 0
    await hub.close()


@pytest.mark.slow
async def test_who_looks_for_something_else_gets_that() -> None:
    store = CountingStore()
    hub = await open_hub(store)
    await a_long_run(hub, 5000)
    person = ScriptedView(hub)
    first = person.send_command("find_rows", run="r", text="message-1")
    await store.waits.wait()
    second = person.send_command("find_rows", run="r", text="message-2")
    store.may_go_on.set()
    answer = await person.wait_for_answer(second)
    assert answer["body"]["total"] == 1111
    (refused,) = (each for each in person.connection.sent if each.get("id") == first)
    assert refused["body"]["code"] == "superseded"
    assert store.pages == 3 + 10  # of the first one a part
    await hub.close()


@pytest.mark.slow
async def test_nothing_is_looked_for_any_more_once_the_connection_is_gone() -> None:
    store = CountingStore()
    hub = await open_hub(store)
    await a_long_run(hub, 5000)
    person = ScriptedView(hub)
    person.send_command("find_rows", run="r", text="message-1")
    await store.waits.wait()
    person.session.on_closed()
    store.may_go_on.set()
    await settle()
    await hub.wait_recorded()
    assert store.pages == 3
    await hub.close()


@pytest.mark.slow
async def test_other_questions_don_t_wait_for_it() -> None:
    hub = await open_hub()
    await a_long_run(hub, 5000)
    person = ScriptedView(hub)
    finding = person.send_command("find_rows", run="r", text="message-1")
    await person.request("get_rows", run="r")
    assert finding not in [each.get("id") for each in person.connection.sent]
    await hub.close()


# ---- what is pushed --------------------------------------------------------------------------------


async def test_what_comes_faster_than_a_person_reads_is_told_in_part() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 10)
    person = ScriptedView(hub)
    await person.request("open_run", run="r")
    for number in range(2000):
        agent.begin(f"more{number}", kind="debug_message", data="x")
    agent.reach("halted")
    await hub.wait_recorded()
    while "halted" not in (await person.connection.receive("run"))["run"]["pending"]:
        pass
    assert hub.run("r").rows == 2011
    page = await person.request("get_rows", run="r", first=1000, last=1003)
    assert seqs(page) == [1000, 1001, 1002, 1003]
    await hub.close()


async def test_rows_are_told_before_the_header_that_counts_them() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 1)
    person = ScriptedView(hub)
    await person.request("open_run", run="r")
    for number in range(500):
        agent.reach(f"b{number}", waits=False)
    agent.reach("halted")
    await hub.wait_recorded()
    last, told = 1, []
    while "halted" not in told:
        message = await anything(person)
        if message["type"] == "row":
            row = message["body"]["row"]
            last = max(last, row["seq"])
            told.append(row["id"])
        elif message["type"] == "run":
            assert message["body"]["run"]["rows"] <= last
    assert len(told) <= 2 * PAGE_ROWS
    await hub.close()


async def test_a_command_is_carried_out_after_all_that_it_brought_was_told() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 1)
    person = ScriptedView(hub)
    await person.request("open_run", run="r")
    for number in range(100):
        agent.reach(f"b{number}", waits=False)
    agent.reach("halted")
    await hub.wait_recorded()
    answer = await person.request("step", run="r", breakpoint="halted", revision=1)
    assert answer["type"] == "ok"
    rows = {each["row"]["id"]: each["row"] for each in person.connection.take_bodies("row")}
    assert rows["halted"]["answer"] == "resume"
    await hub.close()


async def anything(person: ScriptedView) -> Json:
    """The next message."""
    while not person.connection.sent:
        person.connection._was_sent.clear()
        await person.connection._was_sent.wait()
    return person.connection.sent.pop(0)


class UnreadConnection(FakeConnection):
    """A connection whose peer doesn't read."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting_bytes = MAX_WAITING_BYTES + 1


async def test_who_does_not_read_is_owed_no_more_than_a_page() -> None:
    hub = await open_hub()
    agent = await a_long_run(hub, 1)
    person, line = ScriptedView(hub), UnreadConnection()
    await person.request("open_run", run="r")
    assert count_waiting_bytes(person.connection) == 0
    slow = hub.connect_view(line, 2, person.session.rights)
    for type, body in (("hello", {"version": 2, "client": "t"}), ("open_run", {"run": "r"})):
        slow.receive(json.dumps({"n": 1, "type": type, "body": body}))
    await line.receive("run_opened")
    for number in range(1000):
        agent.begin(f"more{number}", kind="debug_message", data="x")
    agent.reach("halted")
    while "halted" not in (await person.connection.receive("run"))["run"]["pending"]:
        pass
    assert len(line.sent) <= MAX_IMMEDIATE_PER_INTERVAL
    line.waiting_bytes = 0
    while "halted" not in (await line.receive("run"))["run"]["pending"]:
        pass
    await hub.close()
