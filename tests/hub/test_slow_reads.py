"""A store that takes its time: what is told meanwhile comes after what was read, and once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any, ParamSpec

from agentstepper_nb.hub import AccessRights, Hub, PeerSession
from agentstepper_nb.hub.limits import DEFAULT_HUB_LIMITS, HubLimits
from agentstepper_nb.protocol.data_model import Commit
from agentstepper_nb.protocol.records import CommitSaved, Record, RunHistory
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import MemoryStore
from tests.helpers.loops import settle

Json = Any
P = ParamSpec("P")


class SlowStore(MemoryStore):
    """Reads a history, and gives it only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may_read = asyncio.Event()
        self.may_read.set()

    async def history(self, run: str) -> RunHistory:
        read = await super().history(run)
        await self.may_read.wait()
        return read

    async def visit_rows(self, *place: Any) -> tuple[Commit, ...]:
        read = await super().visit_rows(*place)
        await self.may_read.wait()
        return read


class RecordingConnection:
    """A connection that keeps what was sent."""

    def __init__(self) -> None:
        self.sent: list[Json] = []
        self.closed_with: tuple[int, str] | None = None

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))

    def close(self, code: int, reason: str) -> None:
        self.closed_with = (code, reason)

    def take_bodies(self) -> list[Json]:
        sent, self.sent = self.sent, []
        return sent


class SlowStoreHarness:
    """A hub over a slow store, with one agent of version 1."""

    def __init__(
        self, kind: type[SlowStore] = SlowStore, limits: HubLimits = DEFAULT_HUB_LIMITS
    ) -> None:
        self.store = kind()
        self.hub = Hub(self.store, clock=lambda: 1e9, limits=limits)
        self.agent = self.hub.connect_agent(RecordingConnection(), 1)
        self.send("event", {"uuid": "e0", "type": "PROGRAM_STARTED", "data": "P"})
        (self.run,) = (run.id for run in self.hub.runs())

    def send(self, message: str, data: Json) -> None:
        self.agent.receive(json.dumps({"message": message, "data": {"time": 1.0} | data}))

    def post(self, text: str) -> None:
        self.send("event", {"uuid": f"e-{text}", "type": "DEBUG_MESSAGE", "data": text})

    def reach(self, id: str) -> None:
        self.send("event", {"uuid": f"e-{id}", "type": "LLM_QUERY"})
        self.send("breakpoint", {"uuid": id, "event_id": f"e-{id}", "original_data": id})

    def connect(
        self, version: int, control: bool = True
    ) -> tuple[PeerSession, RecordingConnection]:
        line = RecordingConnection()
        return self.hub.connect_view(line, version, AccessRights(control)), line


async def wait_for_answer(line: RecordingConnection, id: str) -> None:
    """Wait for a command's answer."""
    while not any(message.get("id") == id for message in line.sent):
        await asyncio.sleep(0)


def send_message(session: PeerSession, type: str, id: str | None = None, **body: Json) -> None:
    named = {} if id is None else {"id": id}
    session.receive(json.dumps({"n": 1, "type": type, "body": body} | named))


def list_types(sent: list[Json]) -> list[str]:
    return [message.get("event") or message["type"] for message in sent]


async def test_version_1_gets_its_snapshot_before_all_else() -> None:
    harness = SlowStoreHarness()
    harness.post("before")
    _, line = harness.connect(1)
    harness.post("between")  # connected, and not yet read
    await settle()
    (snapshot,) = line.take_bodies()
    (run,) = snapshot["content"]["runs"]
    assert [message["summary"] for message in run["messages"]] == ["before", "between"]
    harness.post("after")
    assert list_types(line.take_bodies()) == ["new_message"]


async def test_what_version_1_is_told_while_it_is_read_comes_once() -> None:
    harness = SlowStoreHarness()
    harness.post("before")
    harness.store.may_read.clear()
    _, line = harness.connect(1)
    await settle()
    harness.post("meanwhile")
    harness.reach("b")
    assert line.take_bodies() == []
    harness.store.may_read.set()
    await settle()
    snapshot, *told = line.take_bodies()
    (run,) = snapshot["content"]["runs"]
    assert [message["summary"] for message in run["messages"]] == ["before"]
    assert list_types(told) == ["new_message", "new_message", "update_run_state"]
    assert told[-1]["content"]["haltedAt"] == "b"


async def test_nothing_that_the_snapshot_shows_is_told_again() -> None:
    harness = SlowStoreHarness()
    _, line = harness.connect(1)
    commit = {"id": "k", "date": 1.0, "title": "t", "changes": []}
    harness.send("commit", commit)
    history = await harness.hub.history(harness.run)
    copy = runfile.load_run(runfile.dump_run(history), "copy")
    harness.hub.perform(harness.hub.debugger.commands.import_run(copy))
    harness.send("event", {"uuid": "again", "type": "PROGRAM_STARTED", "data": "Q"})
    await settle()
    snapshot, *told = line.take_bodies()
    shown = [run["programName"] for run in snapshot["content"]["runs"]]
    assert (list_types([snapshot]), shown) == (["init_app_state"], ["P", "P", "Q"])
    assert [len(run["commits"]) for run in snapshot["content"]["runs"]] == [1, 1, 0]
    assert set(list_types(told)) == {"update_run_state"}


async def test_a_run_that_version_2_opens_is_told_without_a_gap() -> None:
    harness = SlowStoreHarness()
    harness.post("before")
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    harness.store.may_read.clear()
    send_message(session, "open_run", "c1", run=harness.run)
    await settle()
    harness.post("meanwhile")
    harness.reach("b")
    send_message(session, "close_run", "c2", run="other")
    assert list_types(line.take_bodies()) == ["ok"]  # other commands don't wait
    harness.store.may_read.set()
    await wait_for_answer(line, "c1")
    opened, *told = line.take_bodies()
    assert (opened["type"], opened["id"]) == ("run_opened", "c1")
    assert [row["summary"] for row in opened["body"]["rows"]] == ["before"]
    assert [each["body"]["row"]["summary"] for each in told if each["type"] == "row"] == [
        "meanwhile",
        "b",
    ]
    assert opened["body"]["run"]["pending"] == ["b"]  # headers are the debugger's, as they stand


async def test_a_step_is_answered_while_something_is_read() -> None:
    harness = SlowStoreHarness()
    harness.reach("b")
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    harness.store.may_read.clear()
    send_message(session, "open_run", "c1", run=harness.run)
    await settle()
    send_message(session, "step", "c2", run=harness.run)
    assert list_types(line.take_bodies()) == ["ok"]
    agent = harness.agent.connection
    assert isinstance(agent, RecordingConnection)
    assert [message["data"]["uuid"] for message in agent.take_bodies()] == ["b"]
    harness.store.may_read.set()
    await wait_for_answer(line, "c1")
    assert list_types(line.take_bodies()) == ["run_opened", "row", "run"]


async def test_a_ui_that_hangs_up_while_it_is_read_is_forgotten() -> None:
    harness = SlowStoreHarness()
    harness.store.may_read.clear()
    lines = []
    for version in (1, 2):
        session, line = harness.connect(version)
        if version == 2:
            send_message(session, "hello", version=2, client="test")
            send_message(session, "open_run", run=harness.run)
        await settle()
        line.take_bodies()
        session.on_closed()
        session.on_closed()
        lines.append(line)
    harness.store.may_read.set()
    await settle()
    harness.post("after")
    assert [line.sent for line in lines] == [[], []]


async def test_a_run_deleted_while_it_is_opened() -> None:
    harness = SlowStoreHarness()
    harness.agent.on_closed()
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    harness.store.may_read.clear()
    send_message(session, "open_run", "c1", run=harness.run)
    await settle()
    harness.hub.delete(harness.run)
    harness.store.may_read.set()
    await wait_for_answer(line, "c1")
    told, refused = line.take_bodies()
    assert told["type"] == "run_gone"
    assert (refused["id"], refused["body"]["code"]) == ("c1", "unknown_run")


async def test_the_snapshot_of_version_1_holds_the_newest_runs_and_all_live_ones() -> None:
    """256 MiB of contents in all; here a few characters stand for that."""
    assert DEFAULT_HUB_LIMITS.max_snapshot_chars == 256 * 1024 * 1024
    harness = SlowStoreHarness(limits=HubLimits(max_snapshot_chars=250))  # the oldest run, live
    others = []
    for number in range(4):
        agent = harness.hub.connect_agent(RecordingConnection(), 1)
        start = {"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0, "data": f"P{number}"}
        agent.receive(json.dumps({"message": "event", "data": start}))
        said = {"uuid": "d", "type": "DEBUG_MESSAGE", "time": 1.0, "data": "x" * 100}
        agent.receive(json.dumps({"message": "event", "data": said}))
        agent.on_closed()
        others.append(harness.hub.runs()[-1].id)
    _, line = harness.connect(1)
    await settle()
    (snapshot,) = line.take_bodies()
    assert [run["uuid"] for run in snapshot["content"]["runs"]] == [harness.run, *others[2:]]


async def test_a_ui_that_cannot_be_told_is_no_harm_to_others() -> None:
    class Broken(RecordingConnection):
        def send(self, text: str) -> None:
            super().send(text)
            if len(self.sent) > 1:
                raise RuntimeError("a bug")

    harness = SlowStoreHarness()
    harness.hub.connect_view(Broken(), 1, AccessRights())
    _, line = harness.connect(1)
    await settle()
    line.take_bodies()
    harness.reach("b")
    assert list_types(line.take_bodies()) == ["new_message", "update_run_state"]
    harness.send("event", {"uuid": "next", "type": "LLM_QUERY"})
    assert harness.hub.run(harness.run).pending == ("b",)


class FailingStore(SlowStore):
    """A store that can't."""

    def append(self, records: Sequence[Record], *args: Any, **named: Any) -> None:
        if any(isinstance(record, CommitSaved) for record in records):
            raise OSError("disk full")
        super().append(records, *args, **named)

    async def visit_rows(self, *place: Any) -> tuple[Commit, ...]:
        raise OSError("disk gone")


async def test_a_failure_of_the_core_is_said_and_no_more() -> None:
    harness = SlowStoreHarness(FailingStore)
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    send_message(session, "open_run", "c1", run=harness.run)
    await settle()
    (refused,) = line.take_bodies()
    failed = {
        "code": "internal",
        "message": "The Core failed at this message. The Core's log has the traceback.",
    }
    assert (refused["id"], refused["body"]) == ("c1", failed | {"run": None})
    agent = harness.agent.connection
    assert isinstance(agent, RecordingConnection)
    harness.send("commit", {"id": "k", "date": 1.0, "title": "t", "changes": []})
    assert agent.take_bodies() == []  # its client reads no errors
    assert agent.closed_with == (1011, f"internal: {failed['message']}")
    assert harness.hub.run(harness.run).ending == "lost"


async def test_closing_the_hub_ends_the_runs_that_can_not_go_on_and_says_so() -> None:
    harness = SlowStoreHarness()
    harness.reach("b")
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    await harness.hub.close()
    (run,) = harness.hub.runs()
    assert (run.state, run.pending, run.ending) == ("idle", (), "lost")
    assert run.failure is not None
    assert "agents of version 1 can't come back" in run.failure.message
    agent = harness.agent.connection
    assert isinstance(agent, RecordingConnection)
    assert agent.closed_with == (1011, "The Core is stopping.")
    assert line.closed_with == (1001, "The Core is stopping.")
    assert list_types(line.take_bodies()) == ["run"]
    harness.agent.on_closed()
    session.on_closed()
    await harness.hub.close()
    assert line.take_bodies() == []


async def test_an_agent_that_is_gone_twice_ends_its_run_once() -> None:
    harness = SlowStoreHarness()
    harness.agent.on_closed()
    rows = harness.hub.run(harness.run).rows
    harness.agent.on_closed()
    assert harness.hub.run(harness.run).rows == rows


async def test_questions_that_take_time_are_answered_in_their_order() -> None:
    harness = SlowStoreHarness()
    harness.reach("b")
    _, exported = await harness.hub.export(harness.run)
    session, line = harness.connect(2)
    send_message(session, "hello", version=2, client="test")
    line.take_bodies()
    send_message(session, "import_run", "c1", data=exported.decode())
    send_message(session, "import_run", "c2", data="damaged")
    send_message(session, "open_run", "c3", run=harness.run)
    send_message(session, "get_message", "c4", run=harness.run, message="b")
    harness.post("meanwhile")
    await wait_for_answer(line, "c4")
    answers = [message for message in line.take_bodies() if "id" in message]
    assert list_types(answers) == ["run_imported", "error", "run_opened", "message"]
    assert [row["summary"] for row in answers[2]["body"]["rows"]] == ["b", "meanwhile"]
