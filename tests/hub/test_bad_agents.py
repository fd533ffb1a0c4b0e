"""What agents may get wrong: each is told what and what to do, and everything goes on.

A version 1 agent that may wait for an answer is closed instead: its client can't read an error.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from tests.hub.conftest import SocketHarness
from tests.hub.isolation_scene import TwoRuns, is_well_formed
from tests.hub.socket_agents import AgentV1, AgentV2, SocketAgent

DEEP = "[" * 100_000 + "]" * 100_000
Does = Callable[[Any], object]


def saying(text: str | bytes) -> Does:
    return lambda agent: agent.send(text)


def ends_twice(agent: SocketAgent) -> None:
    agent.begin()
    for _ in range(3):
        agent.reach("x", waits=False) if isinstance(agent, AgentV2) else agent.reach("x")


def reaches_a_message(agent: SocketAgent) -> None:
    agent.post_debug_message("look")
    agent.reach("x")


def same_commit(agent: AgentV1 | AgentV2) -> None:
    for _ in range(2):
        agent.commit(id="c" * 40)


# ---- what both may get wrong, in a run --------------------------------------------------------------

BOTH: dict[str, tuple[Does, str, str]] = {
    "nothing": (saying(""), "malformed", "."),
    "no JSON": (saying("hello"), "malformed", "JSON is malformed"),
    "half": (saying('{"message": "event", "type": "event"'), "malformed", "."),
    "a list": (saying("[]"), "malformed", "."),
    "null": (saying("null"), "malformed", "."),
    "a number": (saying("7"), "malformed", "."),
    "deep": (saying(DEEP), "malformed", "."),
    "deep inside": (
        saying(f'{{"message": "event", "n": 1, "type": "event", "data": {DEEP}, "body": {DEEP}}}'),
        "malformed",
        "recursion depth|Expected `object`",
    ),
    "binary": (saying(b'{"n": 1}'), "binary_frame", "Send text frames"),
    "binary noise": (saying(bytes(range(256))), "binary_frame", "Send text frames"),
    "unknown event": (
        lambda a: a.reach("x", event="none"),
        "unknown_event",
        "Send the event before",
    ),
    "ended event": (ends_twice, "event_ended", "has ended already. Begin a new event"),
    "message's breakpoint": (reaches_a_message, "event_ended", "has ended"),
    "same commit": (same_commit, "duplicate", "Commit c+ was sent already"),
}

OLD: dict[str, tuple[Does, str, str]] = {
    "unknown envelope": (
        lambda a: a.send_message("nap", {}),
        "unknown_message",
        "event, breakpoint, commit",
    ),
    "unknown type": (
        lambda a: a.begin("nap"),
        "invalid_message",
        "“NAP” isn't an event type. Use one of these:",
    ),
    "type in small": (
        lambda a: a.begin(type="llm_query"),
        "invalid_message",
        "isn't an event type",
    ),
    "missing field": (lambda a: a.send_message("event", {}), "invalid_message", "field `uuid`"),
    "wrong type": (lambda a: a.begin(uuid=7), "invalid_message", r"got `int` - at `\$.uuid`"),
    "empty id": (lambda a: a.begin(uuid=""), "invalid_message", r"at `\$.uuid`"),
    "long id": (lambda a: a.begin(uuid="x" * 10_000), "invalid_message", r"length <= 200"),
    "huge time": (lambda a: a.begin(time=1e300), "invalid_message", r"at `\$.time`"),
    "time without end": (lambda a: a.begin(time=float("inf")), "invalid_message", r"at `\$.time`"),
    "time that is none": (lambda a: a.begin(time=float("nan")), "invalid_message", r"at `\$.time`"),
    "huge number": (lambda a: a.begin(time=10**400), "invalid_message", r"at `\$.time`"),
    "breakpoint's time": (lambda a: a.reach(1, time=-1), "invalid_message", r"at `\$.time`"),
    "commit's date": (lambda a: a.commit(date=1e12), "invalid_message", r"at `\$.date`"),
    "changes": (lambda a: a.commit(changes={}), "invalid_message", r"at `\$.changes`"),
    "a change": (
        lambda a: a.commit(changes=[{"path": "a", "change_type": "nap"}]),
        "invalid_message",
        "“nap” is no change type; known: new file",
    ),
    "same event": (lambda a: a.begin(uuid=a.event), "duplicate", "was sent already"),
    "an error": (
        lambda a: a.send_message("error", {"code": "x", "message": "y"}),
        "unknown_message",
        "Only the Core sends errors",
    ),
}

NEW: dict[str, tuple[Does, str, str]] = {
    "unknown message": (
        lambda a: a.send_message("nap"),
        "unknown_message",
        "isn't a message type here",
    ),
    "ui's message": (lambda a: a.send_message("step", run="r"), "unknown_message", "“step”"),
    "missing field": (lambda a: a.send_message("event"), "invalid_message", "field `id`"),
    "wrong type": (lambda a: a.begin(id=7), "invalid_message", r"at `\$.id`"),
    "huge time": (lambda a: a.begin(at=1e300), "invalid_message", r"at `\$.at`"),
    "second hello": (
        lambda a: a.send_hello(),
        "already_open",
        "has sent hello already. Open another",
    ),
    "same event": (lambda a: a.begin(id=a.event), "duplicate", "was sent already"),
    "end without begin": (
        lambda a: (a.begin(), a.reach("x", side="end")),
        "event_not_begun",
        "hasn't begun. Send its begin",
    ),
    "begin twice": (
        lambda a: (a.begin(), a.reach("x", waits=False), a.reach("y", side="begin")),
        "event_ended",
        "has begun already. Send only its end",
    ),
    "same breakpoint": (
        lambda a: [(a.begin(), a.reach("x", id="b", waits=False)) for _ in range(2)],
        "duplicate",
        "Halt point b was sent already",
    ),
    "finished as an event": (
        lambda a: a.begin("program_finished"),
        "invalid_message",
        "ends with the message bye. Send bye",
    ),
    "NaN": (lambda a: a.reach(float("nan")), "malformed", "invalid character"),
    "half a pair": (lambda a: a.reach("\ud800"), "malformed", "."),
    "a bad end": (lambda a: a.finish("well"), "invalid_message", "'well'"),
}


#: What the original's client might send, as far as can be told: it may wait for an answer to this.
OF_THE_ORIGINAL = [
    row[0]
    for name, row in (BOTH | OLD).items()
    if name
    not in {"nothing", "no JSON", "a list", "null", "a number", "deep", "binary", "binary noise"}
    | {"unknown envelope", "an error"}
]


def is_closed(scene: TwoRuns, does: Does, code: str, says: str) -> None:
    """The agent does it and is let go, without an error that would stop its client from reading."""
    with contextlib.suppress(ConnectionClosedError):  # it may be closed while it still speaks
        does(scene.agent)
    with pytest.raises(ConnectionClosedError) as closed:
        while True:
            assert scene.agent.receive()["message"] == "breakpoint"
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    assert closed.value.rcvd.reason.startswith(f"{code}: ")


def is_refused(scene: TwoRuns, does: Does, code: str, says: str) -> dict[str, Any]:
    """The agent does it, and is told; what was carried out before is heard, too."""
    does(scene.agent)
    while (message := scene.agent.receive()).get("message", message.get("type")) != "error":
        pass
    error: dict[str, Any] = message.get("data") or message["body"]
    assert error["code"] == code
    assert_match(says, error["message"])
    is_well_formed(error)
    return error


def assert_match(pattern: str, text: str) -> None:
    assert re.search(pattern, text), text


#: What is refused each time of an agent that is halted, too; `make soak` has the others.
HALTED = ("half", "ended event", "wrong type")


def cases(*tables: dict[str, tuple[Does, str, str]]) -> Any:
    """Each case of an agent that runs, and of one that is halted."""
    values = []
    for name, row in (item for table in tables for item in table.items()):
        marks = [] if name in HALTED else [pytest.mark.soak]
        values.append(pytest.param(False, *row, id=f"{name}-runs"))
        values.append(pytest.param(True, *row, id=f"{name}-halted", marks=marks))
    return pytest.mark.parametrize(("halted", "does", "code", "says"), values)


@cases(BOTH, OLD)
def test_version_1(
    socket_harness: SocketHarness, halted: bool, does: Does, code: str, says: str
) -> None:
    scene = TwoRuns(socket_harness, agent=1, ui=1)
    run = scene.start()
    if halted:
        scene.agent.begin_query("waits")
        scene.ui.wait_until_halted(run)
    if halted or does in OF_THE_ORIGINAL:
        is_closed(scene, does, code, says)
        scene.ui.wait_for_state(run, "idle")
        scene.other_ui.find_run("Subject")
        ended = scene.other_ui.wait_for_state(run, "idle")
        assert (ended["ending"], ended["failure"]["type"]) == ("lost", "MessageRefused")
        assert_match(says, ended["failure"]["message"])
        scene.agent = socket_harness.agent(1)
    else:
        is_refused(scene, does, code, says)
    scene.check_isolation()


@cases(BOTH, NEW)
def test_version_2(
    socket_harness: SocketHarness, halted: bool, does: Does, code: str, says: str
) -> None:
    scene = TwoRuns(socket_harness, agent=2, ui=2)
    run = scene.start()
    if halted:
        scene.agent.begin_query("waits")
        scene.ui.wait_until_halted(run)
    is_refused(scene, does, code, says)
    scene.check_isolation()


# ---- out of order -----------------------------------------------------------------------------------

TOO_EARLY: dict[str, Does] = {
    "an event": lambda a: a.begin(),
    "a breakpoint": lambda a: a.reach("x", event="e"),
    "a commit": lambda a: a.commit(),
    "the end": lambda a: a.finish(),
}


@pytest.mark.parametrize("does", TOO_EARLY.values(), ids=TOO_EARLY)
@pytest.mark.parametrize("version", [1, 2])
def test_before_the_first_message(socket_harness: SocketHarness, version: int, does: Does) -> None:
    scene = TwoRuns(socket_harness, agent=version)
    if version == 1:
        is_closed(scene, does, "hello_expected", "")
        scene.agent = socket_harness.agent(1)
    else:
        is_refused(scene, does, "hello_expected", "Send the (event|message)")
    scene.check_isolation()


@pytest.mark.parametrize("does", TOO_EARLY.values(), ids=TOO_EARLY)
def test_after_the_end_of_version_1(socket_harness: SocketHarness, does: Does) -> None:
    scene = TwoRuns(socket_harness, agent=1)
    run = scene.start()
    scene.agent.finish()
    scene.ui.wait_for_state(run, "idle")
    is_closed(scene, does, "hello_expected", "")
    assert scene.ui.runs[run]["ending"] == "finished"
    scene.agent = socket_harness.agent(1)
    scene.check_isolation()


@pytest.mark.parametrize(
    "does", [*TOO_EARLY.values(), lambda a: a.withdraw("b")], ids=[*TOO_EARLY, "a withdrawal"]
)
def test_after_the_end_of_version_2(socket_harness: SocketHarness, does: Does) -> None:
    scene = TwoRuns(socket_harness, agent=2)
    run = scene.start()
    scene.agent.finish()
    scene.ui.wait_for_state(run, "idle")
    is_refused(scene, does, "run_ended", "ended by bye. Open a new connection")
    is_refused(scene, lambda agent: agent.send_hello(), "already_open", "has sent hello already")
    scene.agent = socket_harness.agent(2)
    scene.check_isolation()


# ---- hello ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "code", "says"),
    [
        (
            {"version": 3},
            "version_mismatch",
            "The SDK speaks protocol version 3, and this Core 2. Upgrade the Core",
        ),
        ({"version": 1}, "version_mismatch", "this Core 2. Upgrade the agent's SDK"),
        ({"version": 10**300}, "version_mismatch", "Upgrade the Core"),
        ({"version": "2"}, "invalid_message", r"at `\$.version`"),
        ({"run": ""}, "invalid_message", r"at `\$.run`"),
        ({"run": "x" * 201}, "invalid_message", r"at `\$.run`"),
        ({"pid": -1}, "invalid_message", r"at `\$.pid`"),
        ({"program": None}, "invalid_message", r"at `\$.program`"),
        ({"program": "x" * 2000}, "invalid_message", r"at `\$.program`"),
    ],
    ids=range(9),
)
def test_a_hello_that_is_refused_may_be_said_again(
    socket_harness: SocketHarness, fields: dict[str, Any], code: str, says: str
) -> None:
    scene = TwoRuns(socket_harness, agent=2)
    is_refused(scene, lambda agent: agent.send_hello(**{"program": "R"} | fields), code, says)
    scene.check_isolation()


def test_a_run_that_exists_is_not_opened_again(socket_harness: SocketHarness) -> None:
    scene = TwoRuns(socket_harness, agent=2)
    run = scene.start()
    second = socket_harness.agent(2)
    assert isinstance(second, AgentV2)
    second.send_hello(run=run)
    assert second.receive_error()["code"] == "already_open"
    second.disconnect()  # it was never this run's
    scene.check_isolation()
    assert scene.ui.runs[run]["state"] != "idle"


def test_errors_of_version_2_name_the_message(socket_harness: SocketHarness) -> None:
    agent = socket_harness.started(2)
    assert isinstance(agent, AgentV2)
    agent.send_message("nap")
    assert agent.receive_error()["n"] == agent.send_message("nap") - 1
    assert agent.receive_error()["n"] == agent._sent
    for text, n in (
        ("{", None),
        ('{"n": 77}', 77),
        (json.dumps({"n": 10**300, "type": "nap", "body": {}}), None),
        (json.dumps({"n": "x", "type": "nap", "body": {}}), None),
    ):
        agent.send(text)
        assert agent.receive_error()["n"] == n


def test_withdrawing_what_is_not_pending_is_no_error(socket_harness: SocketHarness) -> None:
    scene = TwoRuns(socket_harness, agent=2)
    scene.start()
    assert isinstance(scene.agent, AgentV2)
    scene.agent.withdraw("never sent")
    scene.check_isolation()


def test_what_a_newer_sdk_adds_is_passed_over(socket_harness: SocketHarness) -> None:
    for version in (1, 2):
        agent, ui = socket_harness.started(version, f"P{version}"), socket_harness.ui(2)
        assert isinstance(agent, (AgentV1, AgentV2))
        run = ui.find_run(f"P{version}")
        agent.begin(later={"x": [1]})
        asked = agent.reach("hi", later=None)
        ui.wait_until_halted(run, asked)
        ui.step(run)
        assert agent.receive_answer() == "hi"


def test_text_that_is_no_utf_8_ends_that_connection_only(socket_harness: SocketHarness) -> None:
    """WebSocket itself demands it: RFC 6455, 8.1."""
    scene = TwoRuns(socket_harness, agent=2)
    run = scene.start()
    scene.agent.socket.send(b"\xff\xfe", text=True)
    assert scene.ui.wait_for_state(run, "detached")["ending"] is None
    scene.agent = socket_harness.agent(2)
    scene.check_isolation()
