"""Broken messages, a thousand a socket: no crash, no growth, the connection lives, the Core is right."""

from __future__ import annotations

import json
import logging
from collections import Counter
from contextlib import suppress
from itertools import dropwhile
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from agentstepper_nb.protocol.breakpoint_rules import MAX_BREAKPOINTS
from agentstepper_nb.protocol.data_model import RunMode
from tests.helpers.fuzz import BATCH, MANY_MESSAGES, MESSAGES, MessageFuzzer, iterate_batches
from tests.hub.conftest import SocketHarness
from tests.hub.isolation_scene import TwoRuns
from tests.hub.socket_agents import AgentV1, AgentV2, Json, SocketAgent
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2

#: Of a thousand agents of version 1, each with a connection and a run of its own.
MANY_OLD_MESSAGES = 20_000
#: What one agent of version 1 says: it is let go at the first message that the original might have sent.
OLD_BATCH = 20


def agents_messages(agent: SocketAgent, turn: int) -> list[Json]:
    """What an agent might say next, whole; events and halt points are few, so that they collide."""
    event, point = f"e{turn % 7}", f"b{turn % 11}"
    if isinstance(agent, AgentV1):
        begun = {"uuid": event, "time": 1.0, "data": None, "breakpoints": []}
        reached = {"uuid": point, "agent": "A", "event_id": event, "time": 1.0, "summary": None}
        reached |= {"original_data": {"Tool": "ls", "Argument": turn}, "modified_data": None}
        change = {"path": "a", "change_type": "change", "diff": "", "content": "c"}
        commit = {"id": f"c{turn}", "date": 1.0, "title": "t", "changes": [change]}
        said = [("event", begun | {"type": kind}) for kind in ("LLM_QUERY", "TOOL_INVOCATION")]
        said += [("event", begun | {"type": "DEBUG_MESSAGE", "data": "look"})]
        said += [("breakpoint", reached), ("breakpoint", reached), ("commit", commit)]
        return [{"message": message, "data": data} for message, data in said]
    begun = {"id": event, "kind": "llm_query", "at": 1.0, "clock": 1.0, "parent": "e1", "name": "m"}
    reached = {"id": point, "event": event, "waits": turn % 3 > 0, "at": 1.0, "clock": 1.0}
    reached |= {"data": {"turn": turn}, "usage": {"input_tokens": 1, "output_tokens": 2}}
    reached |= {"epoch": turn % 2, "stops": ["s1"] * (turn % 4 > 2), "stop_error": None}
    failed = {"outcome": "error", "failure": {"type": "E", "message": "m"}}
    change = {"path": "a", "kind": "changed", "added": 1, "body": {"diff": "d", "content": "c"}}
    commit = {"id": f"c{turn}", "at": 1.0, "title": "t", "event": event, "changes": [change]}
    said = [("event", begun), ("event", begun | {"kind": "tool_invocation"})]
    said += [("event", begun | {"kind": "debug_message", "data": "look"})]
    said += [("breakpoint", reached | {"side": "begin"}), ("commit", commit)]
    said += [("breakpoint", reached | {"side": "end"} | failed)]
    call = {"Tool": "ls", "Argument": turn}
    asks = {"side": "begin", "data": call, "approval": {"risk": "high", "why": "w", "rule": None}}
    decided = {"breakpoint": point, "approved": turn % 2 > 0, "reason": "no", "data": call}
    said += [("breakpoint", reached | asks), ("decide", decided | {"always": True})]
    hello = {"version": 2, "sdk": "s", "program": "P", "run": "r", "secret": "", "pid": 1}
    said += [("withdraw", {"breakpoint": point}), ("hello", hello | {"host": "", "boot": ""})]
    said += [("get_timeline", {}), ("get_rules", {}), *rules_messages(turn)]
    said += [("process_ended", {"pid": 7, "code": 1}), ("take_run", {"data": "eJw="})]
    return [{"n": turn, "type": type, "body": body} for type, body in said]


def rules_messages(turn: int) -> list[tuple[str, Json]]:
    """What either kind of peer might say of breakpoints and prices."""
    breakpoint = {
        "id": f"s{turn % 5}",
        "program": "P*",
        "kind": "llm_query",
        "side": "begin",
        "name": "m*",
    }
    breakpoint |= {"condition": "data.turn > 100 and run.tokens > 3", "nth": 2, "then": "log"}
    watch = [{"kind": "tokens", "limit": 9}, {"kind": "touched", "path": "a*"}, None][turn % 3]
    price = {"model": "m*", "input": 1.0, "output": 2.0}
    return [
        ("set_stop", {"stop": breakpoint | {"watch": watch}}),
        ("delete_stop", {"stop": f"s{turn % 3}"}),
        ("try_stop", {"stop": breakpoint, "run": None}),
        ("set_prices", {"prices": [price]}),
    ]


def renumbered(agent: AgentV2, text: str) -> str:
    """What an agent says, under its next number, where it can be told to have one."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(message, dict) or "n" not in message:
        return text
    return json.dumps(message | {"n": agent.next_number()})


def uis_messages(ui: SocketView, run: str, turn: int) -> list[Json]:
    """What a UI might say next, whole; of the points, the agent halts at some."""
    point = f"b{turn % 11}"
    if isinstance(ui, ViewV1):
        content = {
            "run": run,
            "message": point,
            "content": {"a": turn},
            "name": "n",
            "data": "eJw=",
        }
        commands = ("step", "continue", "halt", "rename_run", "download_run_request", "import_run")
        commands += ("update_msg_content", "delete_run")
        return [{"event": command, "content": content} for command in commands]
    body = {"run": run, "breakpoint": point, "revision": 1, "edit": '{"a": 1}', "name": "n"}
    body |= {"message": point, "commit": "c1", "path": "a", "data": "eJw=", "version": 2}
    commands = ("step", "continue", "halt", "stop", "edit", "rename_run", "delete_run", "hello")
    body |= {"always": True, "confirmed": True, "reason": "no"}
    commands += ("approve", "deny")
    commands += ("open_run", "close_run", "get_message", "get_change", "export_run", "import_run")
    said: list[tuple[str, Json]] = [(each, body) for each in commands]
    window = {"run": run, "first": 1, "last": 9, "around": point, "text": "hi", "limit": 9}
    said += [("list_runs", {"before": run, "limit": 9}), ("get_rows", window)]
    said += [("find_rows", window), ("get_commits", window | {"before": 3})]
    said += [("tag_run", {"run": run, "tags": ["t"]}), ("search", {"query": "hi", "limit": 5})]
    said += [("note", {"run": run, "message": point, "text": "look"}), ("get_store", {})]
    said += [("read_run", {"run": run}), *rules_messages(turn)]
    whole = [{"n": turn, "type": type, "id": f"f{turn}", "body": body} for type, body in said]
    plain = [{"n": turn, "type": each, "body": {"run": run}} for each in ("step", "halt")]
    return [*whole, *plain * 3]


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing may be logged as an error: refusals are warnings, and so many aren't kept."""
    caplog.set_level(logging.ERROR, "agentstepper_nb")
    yield
    errors = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
    assert errors == []


def codes_until(peer: SocketAgent | SocketView, barrier: str) -> Counter[str]:
    """The codes of all errors until the one that names the barrier."""
    codes: Counter[str] = Counter()
    while True:
        message = peer.receive()
        if message.get("type", message.get("message", message.get("event"))) != "error":
            continue
        error = message.get("body") or message.get("data") or message["content"]
        if barrier in error["message"]:
            return codes
        codes[error["code"]] += 1


VERSIONS = pytest.mark.parametrize("version", [1, 2])


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_agents_of_version_1(socket_harness: SocketHarness) -> None:
    flooded_by_old_agents(socket_harness, MESSAGES)


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
def test_agents_of_version_2(socket_harness: SocketHarness) -> None:
    flooded_by_an_agent(socket_harness, MESSAGES)


@pytest.mark.slow
@pytest.mark.usefixtures("quiet")
@VERSIONS
def test_uis(socket_harness: SocketHarness, version: int) -> None:
    flooded_by_a_ui(socket_harness, version, MESSAGES)


@pytest.mark.soak
@pytest.mark.usefixtures("quiet")
def test_agents_of_version_1_that_go_on(socket_harness: SocketHarness) -> None:
    flooded_by_old_agents(socket_harness, MANY_OLD_MESSAGES)


@pytest.mark.soak
@pytest.mark.usefixtures("quiet")
def test_agents_of_version_2_that_go_on(socket_harness: SocketHarness) -> None:
    flooded_by_an_agent(socket_harness, MANY_MESSAGES)


@pytest.mark.soak
@pytest.mark.usefixtures("quiet")
@VERSIONS
def test_uis_that_go_on(socket_harness: SocketHarness, version: int) -> None:
    flooded_by_a_ui(socket_harness, version, MANY_MESSAGES)


def flooded_by_old_agents(socket_harness: SocketHarness, messages: int) -> None:
    """Each agent speaks until it is let go, or has said all that one says."""
    scene, breaker = TwoRuns(socket_harness, agent=1, ui=2), MessageFuzzer(1)
    codes: Counter[str] = Counter()
    for first in iterate_batches(messages):
        for start in range(first, first + BATCH, OLD_BATCH):
            run = scene.start()
            codes += codes_of_an_old_agent(scene.agent, breaker, start)
            scene.agent.disconnect()
            assert scene.ui.wait_for_state(run, "idle")["pending"] == []
            scene.agent = socket_harness.agent(1)
        holds(socket_harness)
        scene.ui = socket_harness.ui(2)  # it has seen enough runs
    assert {"malformed", "invalid_message", "unknown_event"} <= set(codes)
    assert "internal" not in codes
    shows_all(socket_harness, run)
    scene.run = ""
    scene.check_isolation()


def codes_of_an_old_agent(agent: SocketAgent, breaker: MessageFuzzer, start: int) -> Counter[str]:
    codes: Counter[str] = Counter()
    with suppress(ConnectionClosed):  # what is left is not sent
        for turn in range(start, start + OLD_BATCH):
            agent.send(breaker.break_message(breaker.random.choice(agents_messages(agent, turn))))
        agent.send('{"message": "the last", "data": {}}')
    try:
        return codes_until(agent, "“the last”")
    except ConnectionClosed as closed:
        assert closed.rcvd is not None
        assert closed.rcvd.code == 1011
        codes[closed.rcvd.reason.partition(":")[0]] += 1
    return codes


def flooded_by_an_agent(socket_harness: SocketHarness, messages: int) -> None:
    scene = TwoRuns(socket_harness, agent=2, ui=1)
    run = scene.start()
    agent, breaker = scene.agent, MessageFuzzer(2)
    assert isinstance(agent, AgentV2)
    codes: Counter[str] = Counter()
    for first in iterate_batches(messages):
        for turn in range(first, first + BATCH):
            said = breaker.break_message(breaker.random.choice(agents_messages(agent, turn)))
            agent.send(renumbered(agent, said))
        barrier = f"barrier{first}"
        agent.send(
            json.dumps({"message": barrier, "data": {}, "n": 1, "type": barrier, "body": {}})
        )
        codes += codes_until(agent, f"“{barrier}”")
        holds(socket_harness)
    expected = {"malformed", "unknown_message", "invalid_message", "unknown_event", "event_ended"}
    expected |= {"duplicate", "already_open", "unknown_stop"}
    assert expected <= set(codes)
    assert "internal" not in codes
    # What came through is a run that every UI can show, and that ends.
    shows_all(socket_harness, run)
    agent.disconnect()
    socket_harness.ui(2).wait_for_state(run, "detached")
    shows_all(socket_harness, run)
    forget_all_stops(socket_harness)
    scene.agent = socket_harness.agent(2)
    scene.run = ""
    scene.check_isolation()


def flooded_by_a_ui(socket_harness: SocketHarness, version: int, messages: int) -> None:
    scene = TwoRuns(socket_harness, agent=2, ui=version)
    run = scene.start()
    agent, ui, breaker = scene.agent, scene.ui, MessageFuzzer(10 + version)
    for number in range(11):
        agent.begin()
        agent.reach(number, id=f"b{number}")
    ui.wait_until_halted(run)
    codes: Counter[str] = Counter()
    for first in iterate_batches(messages):
        for turn in range(first, first + BATCH):
            ui.send(breaker.break_message(breaker.random.choice(uis_messages(ui, run, turn))))
        # Reading comes after what is carried out at once.
        barrier = {"run": f"barrier{first}"}
        named = {"event": "download_run_request", "n": 1, "type": "export_run"}
        ui.send(json.dumps(named | {"content": barrier, "body": barrier}))
        codes += codes_until(ui, f"no run {barrier['run']}")
        holds(socket_harness)
    assert {"malformed", "unknown_command", "invalid_message", "unknown_run"} <= set(codes)
    assert {"run_is_live", "corrupt_import"} <= set(codes)
    assert "internal" not in codes
    # Each halt point was answered once.
    heard = [agent.receive()["body"]["breakpoint"] for _ in range(11)]
    assert sorted(heard) == sorted(f"b{number}" for number in range(11))
    shows_all(socket_harness, run)
    agent.disconnect()
    forget_all_stops(socket_harness)
    scene.agent = socket_harness.agent(2)
    scene.run = ""
    scene.check_isolation()


def holds(socket_harness: SocketHarness) -> None:
    """What always holds of a Core's state."""
    debugger = socket_harness.core.hub.debugger
    assert len(debugger.breakpoints) <= MAX_BREAKPOINTS
    assert len({breakpoint.id for breakpoint in debugger.breakpoints}) == len(debugger.breakpoints)
    for run in debugger.runs:
        assert len(run.hits) <= 1000
        assert run.pending == tuple(point.id for point in debugger.pending(run.id))
        assert run.mode is RunMode.STEP or not run.pending


def forget_all_stops(socket_harness: SocketHarness) -> None:
    ui = socket_harness.ui(2)
    assert isinstance(ui, ViewV2)
    for breakpoint in ui.core_hello["stops"]:
        ui.request("delete_stop", stop=breakpoint["id"])


def shows_all(socket_harness: SocketHarness, run: str) -> None:
    """A new UI of each version is shown the run, whole."""
    old, new = socket_harness.ui(1), socket_harness.ui(2)
    assert isinstance(old, ViewV1)
    assert isinstance(new, ViewV2)
    opened = new.request("read_run", run=run)
    assert [row["seq"] for row in opened["rows"]] == list(range(1, opened["run"]["rows"] + 1))
    counted = list(dropwhile(lambda commit: not commit["changes"], opened["commits"]))
    assert len(counted) == opened["run"]["commits"]
    pending = [row["id"] for row in opened["rows"] if row["pending"]]
    assert pending == opened["run"]["pending"]
    assert [message["uuid"] for message in old.runs[run]["messages"]] == [
        row["id"] for row in opened["rows"]
    ]
    for row in opened["rows"]:
        new.request("get_message", run=run, message=row["id"])
    # As a file it comes back as it was.
    imported = new.request("import_run", data=new.request("export_run", run=run)["data"])
    assert imported["run"]["rows"] == opened["run"]["rows"]
    new.run_command("delete_run", run=imported["run"]["id"])
