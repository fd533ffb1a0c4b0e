"""An agent reads its own run: all it sent before it asked, without contents, and small."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from agentstepper_nb.hub import Hub
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.records import Record
from agentstepper_nb.store import MemoryStore
from agentstepper_nb.store.base import RowPage
from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import AgentV2
from tests.hub.test_slow_reads import RecordingConnection, settle

Json = Any


def begin_query(agent: AgentV2, id: str = "q") -> Json:
    """Ask for the timeline, and hear it."""
    n = agent.next_number()
    agent.send(f'{{"n": {n}, "type": "get_timeline", "id": "{id}", "body": {{}}}}')
    message = agent.receive()
    assert (message["type"], message["id"]) == ("timeline", id), message
    return message["body"]


def started(socket_harness: SocketHarness) -> AgentV2:
    agent = socket_harness.started()
    assert isinstance(agent, AgentV2)
    return agent


# ---- what it has -----------------------------------------------------------------------------------


def test_all_that_was_sent_before(socket_harness: SocketHarness) -> None:
    agent = started(socket_harness)
    agent.begin()
    agent.reach("hello", waits=False)
    agent.reach("answer", waits=False, outcome="ok")
    agent.post_debug_message("said")
    body = {"diff": "d", "content": "c", "previous_content": "p"}
    agent.commit("Change a", changes=[{"path": "a.py", "kind": "added", "added": 3, "body": body}])
    found = begin_query(agent)
    assert found["run"]["id"] == agent.run
    assert [(row["seq"], row["summary"]) for row in found["rows"]] == [
        (1, "hello"),
        (2, "answer"),
        (3, "said"),
    ]
    (commit,) = found["commits"]
    (change,) = commit["changes"]
    assert (commit["title"], change["path"], change["added"]) == ("Change a", "a.py", 3)
    assert change["body"] is None


def test_only_its_own_run(socket_harness: SocketHarness) -> None:
    first, second = started(socket_harness), started(socket_harness)
    first.post_debug_message("of the first")
    second.post_debug_message("of the second")
    assert [row["summary"] for row in begin_query(first)["rows"]] == ["of the first"]
    assert [row["summary"] for row in begin_query(second)["rows"]] == ["of the second"]


def test_a_long_run_is_cut_in_its_middle(socket_harness: SocketHarness) -> None:
    agent = started(socket_harness)
    for number in range(1, 601):
        agent.post_debug_message(str(number))
        agent.commit(str(number))
    found = begin_query(agent)
    numbers = [row["seq"] for row in found["rows"]]
    assert numbers == [*range(1, 251), *range(351, 601)]
    assert found["run"]["rows"] == 600
    assert [commit["title"] for commit in found["commits"]] == [str(n) for n in numbers]


def test_texts_of_any_length_make_a_small_answer(socket_harness: SocketHarness) -> None:
    agent = started(socket_harness)
    long = "x" * 3_000_000
    agent.begin("tool_invocation")
    agent.reach({"Tool": "t", "Argument": long}, waits=False)
    failure = {"type": long, "message": long}
    agent.reach(None, waits=False, outcome="error", failure=failure)
    files = [{"path": f"{long}{n}", "kind": "changed", "previous_path": long} for n in range(2)]
    agent.commit(long, description=long, changes=files)
    many = [{"path": f"{n}.py", "kind": "changed"} for n in range(5000)]
    agent.commit("many", changes=many)
    assert len(json.dumps(begin_query(agent))) < 500_000


# ---- when it may be asked for ----------------------------------------------------------------------


def test_answers_to_breakpoints_come_meanwhile(socket_harness: SocketHarness) -> None:
    agent, ui = started(socket_harness), socket_harness.ui()
    run = ui.find_run("P")
    point = agent.begin_query("hello")
    ui.wait_until_halted(run, point)
    pending = begin_query(agent)["rows"]
    assert [(row["id"], row["pending"]) for row in pending] == [(point, True)]
    ui.step(run)
    assert agent.receive_answer() == "hello"


def test_before_hello_and_after_bye_it_is_refused(socket_harness: SocketHarness) -> None:
    agent = socket_harness.agent()
    assert isinstance(agent, AgentV2)
    agent.send_message("get_timeline")
    assert agent.receive_error()["code"] == "hello_expected"
    agent.start()
    agent.finish()
    agent.send_message("get_timeline")
    assert agent.receive_error()["code"] == "run_ended"


# ---- a store that takes its time -------------------------------------------------------------------


class LateStore(MemoryStore):
    """Keeps records, and reads, only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.late: list[Callable[[], None]] | None = None
        self.may_read = asyncio.Event()
        self.may_read.set()

    def append(self, records: Sequence[Record], *args: Any, **named: Any) -> None:
        keep = partial(super().append, records, *args, **named)
        if self.late is None:
            keep()
        else:
            self.late.append(keep)

    def catch_up(self) -> None:
        late, self.late = self.late or [], None
        for keep in late:
            keep()

    async def page(self, run: str, first: int, last: int) -> RowPage:
        await self.may_read.wait()
        return await super().page(run, first, last)


class AwaitedConnection(RecordingConnection):
    """A connection that tells when something was sent; acknowledgements and leases are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.was_sent = asyncio.Event()

    def send(self, text: str) -> None:
        if json.loads(text)["type"] not in ("acknowledged", "lease"):
            super().send(text)
            self.was_sent.set()


HELLO = {"version": 2, "sdk": "t", "program": "P", "run": "r", "secret": "s", "pid": 1}


class LateStoreHarness:
    """A hub over a late store, with one agent of version 2."""

    def __init__(self) -> None:
        self.store = LateStore()
        self.hub = Hub(self.store, clock=lambda: 1e9)
        self.connection = AwaitedConnection()
        self._sent = 0
        self.agent = self.hub.connect_agent(self.connection, 2)
        self.send("hello", HELLO | {"host": "h", "boot": ""})
        self.post("start", kind="program_started")
        self.connection.take_bodies()
        self.connection.was_sent.clear()

    def send(self, type: str, body: Json, **address: str) -> None:
        self._sent += 1
        self.agent.receive(json.dumps({"n": self._sent, "type": type, "body": body} | address))

    def post(self, text: str, kind: str = "debug_message") -> None:
        event = {"id": f"e-{text}", "kind": kind, "at": 1.0, "clock": 1.0, "data": text}
        self.send("event", event)

    def request_timeline(self) -> None:
        self.send("get_timeline", {}, id="q")

    async def receive_answer(self) -> Json:
        """The next message to the agent, which a thread works on."""
        async with asyncio.timeout(30):
            await self.connection.was_sent.wait()
        (message,) = self.connection.take_bodies()
        return message


async def test_it_is_read_once_all_is_recorded() -> None:
    harness = LateStoreHarness()
    harness.store.late = []
    harness.post("late")
    harness.request_timeline()
    await settle()
    assert harness.connection.take_bodies() == []
    harness.store.catch_up()
    found = await harness.receive_answer()
    assert [row["summary"] for row in found["body"]["rows"]] == ["late"]


async def test_an_agent_that_goes_while_it_is_read() -> None:
    harness = LateStoreHarness()
    harness.store.may_read.clear()
    harness.request_timeline()
    await settle()
    harness.agent.on_closed()
    harness.store.may_read.set()
    await settle()
    assert harness.connection.take_bodies() == []
    assert len(asyncio.all_tasks()) == 1
    assert harness.hub.run("r").state is RunState.DETACHED
    await harness.hub.close()


async def test_a_store_that_fails_is_an_error_and_the_run_goes_on() -> None:
    harness = LateStoreHarness()

    async def fail(run: str, first: int, last: int) -> RowPage:
        raise OSError("disk on fire")

    harness.store.page = fail  # type: ignore[method-assign]
    harness.request_timeline()
    failed = await harness.receive_answer()
    assert (failed["type"], failed["body"]["code"]) == ("error", "internal")
    assert harness.hub.run("r").live
