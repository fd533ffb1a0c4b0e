"""Two thousand broken messages a socket: no crash, the connection lives, and the Core is right."""

from __future__ import annotations

import copy
import json
import logging
import random
from collections import Counter
from typing import Any

import pytest

from tests.hub.conftest import Stand
from tests.hub.peers import Agent, AgentV1, AgentV2, Json
from tests.hub.scene import Scene
from tests.hub.uis import Ui, UiV1, UiV2

MESSAGES = 2000

#: What may stand where something else is expected.
WEIRD: list[Json] = [
    None,
    True,
    0,
    -1,
    1.5,
    1e300,
    float("nan"),
    float("-inf"),
    10**30,
    10**400,
    "",
    " ",
    "none",
    "null",
    "NaN",
    "\ud800",
    "\u202e\x1b[31m\x00",
    "x" * 3000,
    [],
    {},
    [[[[[]]]]],
    {"": {"": None}},
    json.loads("[" * 300 + "]" * 300),
]


class Breaker:
    """Breaks messages, the same way for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def broken(self, message: Json) -> str:
        """A message with something wrong about it, as text; one in eight stays whole."""
        way = self.chance.randrange(8)
        if way == 0:
            return json.dumps(message)
        if way < 5:
            changed = json.loads(json.dumps(message))
            for _ in range(self.chance.choice((1, 1, 2))):
                changed = self.change(changed)
            return json.dumps(changed)
        return self.scramble(json.dumps(message, ensure_ascii=False))

    def change(self, value: Json) -> Json:
        """The value with one place of it replaced, dropped or added."""
        if not isinstance(value, (dict, list)):
            return self.weird()
        inside = list(value) if isinstance(value, dict) else range(len(value))
        if not inside or self.chance.random() < 0.1:
            return self.weird()
        key = self.chance.choice(list(inside))
        if isinstance(value[key], (dict, list)) and self.chance.random() < 0.7:
            value[key] = self.change(value[key])
            return value
        way = self.chance.randrange(6)
        if way == 0:
            del value[key]
        elif way == 1 and isinstance(value, dict):
            value[self.chance.choice(("", "run", "more", key * 2))] = value[key]
        else:
            value[key] = self.weird()
        return value

    def weird(self) -> Json:
        return copy.deepcopy(self.chance.choice(WEIRD))

    def scramble(self, text: str) -> str:
        at, to = sorted(self.chance.randrange(len(text) + 1) for _ in range(2))
        return self.chance.choice(
            [
                text[:at],
                text[:at] + text[to:],
                text[:to] + text[at:],
                text[:at] + self.chance.choice('{}[]":,0x\\\n\x00✓') + text[at + 1 :],
                text * 2,
            ]
        )


def agents_messages(agent: Agent, turn: int) -> list[Json]:
    """What an agent might say next, whole; events and breakpoints are few, so that they collide."""
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
    failed = {"outcome": "error", "failure": {"type": "E", "message": "m"}}
    change = {"path": "a", "kind": "changed", "added": 1, "body": {"diff": "d", "content": "c"}}
    commit = {"id": f"c{turn}", "at": 1.0, "title": "t", "event": event, "changes": [change]}
    said = [("event", begun), ("event", begun | {"kind": "tool_invocation"})]
    said += [("event", begun | {"kind": "debug_message", "data": "look"})]
    said += [("breakpoint", reached | {"side": "begin"}), ("commit", commit)]
    said += [("breakpoint", reached | {"side": "end"} | failed)]
    hello = {"version": 2, "sdk": "s", "program": "P", "run": "r", "secret": "", "pid": 1}
    said += [("withdraw", {"breakpoint": point}), ("hello", hello | {"host": "", "boot": ""})]
    return [{"n": turn, "type": type, "body": body} for type, body in said]


def renumbered(agent: AgentV2, text: str) -> str:
    """What an agent says, under its next number, where it can be told to have one."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(message, dict) or "n" not in message:
        return text
    return json.dumps(message | {"n": agent.next_number()})


def uis_messages(ui: Ui, run: str, turn: int) -> list[Json]:
    """What a UI might say next, whole; of the points, the agent halts at some."""
    point = f"b{turn % 11}"
    if isinstance(ui, UiV1):
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
    commands += ("open_run", "close_run", "get_message", "get_change", "export_run", "import_run")
    whole = [{"n": turn, "type": each, "id": f"f{turn}", "body": body} for each in commands]
    plain = [{"n": turn, "type": each, "body": {"run": run}} for each in ("step", "halt")]
    return [*whole, *plain * 3]


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing may be logged as an error: refusals are warnings."""
    yield
    errors = [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]
    assert errors == []


def codes_until(peer: Agent | Ui, barrier: str) -> Counter[str]:
    """The codes of all errors until the one that names the barrier."""
    codes: Counter[str] = Counter()
    while True:
        message = peer.hear()
        if message.get("type", message.get("message", message.get("event"))) != "error":
            continue
        error = message.get("body") or message.get("data") or message["content"]
        if barrier in error["message"]:
            return codes
        codes[error["code"]] += 1


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("version", [1, 2])
def test_agents(stand: Stand, version: int) -> None:
    scene = Scene(stand, agent=version, ui=3 - version)
    run = scene.start()
    agent, breaker = scene.agent, Breaker(version)
    for turn in range(MESSAGES):
        said = breaker.broken(breaker.chance.choice(agents_messages(agent, turn)))
        agent.say(renumbered(agent, said) if isinstance(agent, AgentV2) else said)
    assert isinstance(agent, (AgentV1, AgentV2))
    agent.say('{"message": "barrier", "data": {}, "n": 1, "type": "barrier", "body": {}}')
    codes = codes_until(agent, "“barrier”")
    expected = {"malformed", "unknown_message", "invalid_message", "unknown_event", "event_ended"}
    expected |= {"duplicate"} if version == 1 else {"duplicate", "already_open"}
    assert expected <= set(codes)
    assert "internal" not in codes
    # What came through is a run that every UI can show, and that ends.
    shows_all(stand, run)
    agent.hang_up()
    stand.ui(2).until(run, "idle" if version == 1 else "detached")
    shows_all(stand, run)
    scene.agent = stand.agent(version)
    scene.run = ""
    scene.all_is_well()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("version", [1, 2])
def test_uis(stand: Stand, version: int) -> None:
    scene = Scene(stand, agent=2, ui=version)
    run = scene.start()
    agent, ui, breaker = scene.agent, scene.ui, Breaker(10 + version)
    for number in range(11):
        agent.begin()
        agent.reach(number, id=f"b{number}")
    ui.halted(run)
    for turn in range(MESSAGES):
        ui.say(breaker.broken(breaker.chance.choice(uis_messages(ui, run, turn))))
    # Reading comes after what is carried out at once.
    named = {"event": "download_run_request", "n": 1, "type": "export_run"}
    ui.say(json.dumps(named | {"content": {"run": "barrier"}, "body": {"run": "barrier"}}))
    codes = codes_until(ui, "no run barrier")
    assert {"malformed", "unknown_command", "invalid_message", "unknown_run"} <= set(codes)
    assert {"run_is_live", "corrupt_import"} <= set(codes)
    assert "internal" not in codes
    # Each breakpoint was answered once.
    heard = [agent.hear()["body"]["breakpoint"] for _ in range(11)]
    assert sorted(heard) == sorted(f"b{number}" for number in range(11))
    shows_all(stand, run)
    agent.hang_up()
    scene.agent = stand.agent(2)
    scene.run = ""
    scene.all_is_well()


def shows_all(stand: Stand, run: str) -> None:
    """A new UI of each version is shown the run, whole."""
    old, new = stand.ui(1), stand.ui(2)
    assert isinstance(old, UiV1)
    assert isinstance(new, UiV2)
    opened = new.open(run)
    assert [row["seq"] for row in opened["rows"]] == list(range(1, opened["run"]["rows"] + 1))
    assert len(opened["commits"]) == opened["run"]["commits"]
    pending = [row["id"] for row in opened["rows"] if row["pending"]]
    assert pending == opened["run"]["pending"]
    assert [message["uuid"] for message in old.runs[run]["messages"]] == [
        row["id"] for row in opened["rows"]
    ]
    for row in opened["rows"]:
        new.command("get_message", run=run, message=row["id"])
    # As a file it comes back as it was.
    imported = new.command("import_run", data=new.command("export_run", run=run)["data"])
    assert imported["run"]["rows"] == opened["run"]["rows"]
    new.act("delete_run", run=imported["run"]["id"])
