"""Extensions of a Core: commands, event types and summaries, at both versions' sockets."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from agentstepper_nb.errors import CommandError
from agentstepper_nb.extend import (
    Actor,
    AgentActivity,
    EventKind,
    Extension,
    HaltPoint,
    Hub,
)
from agentstepper_nb.hub import AccessRights
from agentstepper_nb.store import MemoryStore
from tests.hub.conftest import SocketHarness
from tests.hub.isolation_scene import TwoRuns, is_well_formed
from tests.hub.socket_uis import ViewV1

NewStand = Callable[..., SocketHarness]


class NamedMessage(Struct):
    run: str


class Answer(Struct):
    name: str


class Unspeakable(Struct):
    what: Any


def renaming() -> Extension:
    """Commands that end in every way."""
    extension = Extension("renaming")

    @extension.command("shout", NamedMessage)
    async def shout(hub: Hub, command: NamedMessage) -> Answer:
        name = hub.run(command.run).name.upper()
        hub.perform(hub.commands.rename(command.run, name))
        return Answer(name)

    @extension.command("whisper", NamedMessage, control=False)
    async def whisper(hub: Hub, command: NamedMessage) -> None:
        hub.run(command.run)

    @extension.command("refuse", NamedMessage)
    async def refuse(hub: Hub, command: NamedMessage) -> None:
        raise CommandError("not_pending", "There is nothing to be done here now.", command.run)

    @extension.command("fail", NamedMessage)
    async def fail(hub: Hub, command: NamedMessage) -> None:
        raise ZeroDivisionError("a secret of the server")

    @extension.command("mumble", NamedMessage)
    async def mumble(hub: Hub, command: NamedMessage) -> Unspeakable:
        return Unspeakable(object())

    return extension


# ---- commands --------------------------------------------------------------------------------------


@pytest.fixture
def scene(new_socket_harness: NewStand) -> TwoRuns:
    return TwoRuns(new_socket_harness(extensions=[renaming()]))


def test_a_command_that_answers(scene: TwoRuns) -> None:
    run = scene.start()
    message = scene.ui.receive_result(scene.ui.send_command("shout", run=run))
    assert (message["type"], message["body"]) == ("shout", {"name": "RUN #1 OF SUBJECT"})
    assert scene.ui.runs[run]["name"] == "RUN #1 OF SUBJECT"
    scene.check_isolation()


def test_a_command_without_an_answer(scene: TwoRuns) -> None:
    message = scene.ui.receive_result(scene.ui.send_command("whisper", run=scene.start()))
    assert (message["type"], message["body"]) == ("ok", {})


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("whisper", "unknown_run"),
        ("refuse", "not_pending"),
        ("fail", "extension_failed"),
        ("mumble", "extension_failed"),
        ("sing", "unknown_command"),
    ],
)
def test_a_command_that_is_refused(
    scene: TwoRuns, command: str, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    error = scene.ui.expect_refusal(command, run="nowhere")
    assert error["code"] == code
    is_well_formed(error)
    assert "secret" not in error["message"]
    assert ("The command fail of an extension failed." in caplog.text) == (command == "fail")
    scene.check_isolation()


def test_a_body_that_is_wrong(scene: TwoRuns) -> None:
    assert scene.ui.expect_refusal("shout", run=7)["code"] == "invalid_message"
    scene.check_isolation()


def test_version_1_has_no_such_commands(new_socket_harness: NewStand) -> None:
    ui = new_socket_harness(extensions=[renaming()]).ui(1)
    assert ui.expect_refusal("shout", run="r")["code"] == "unknown_command"


class RecordingConnection:
    """A connection that keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))

    def close(self, code: int, reason: str) -> None:
        raise AssertionError(reason)


@pytest.mark.parametrize(("command", "code"), [("shout", "watch_only"), ("whisper", "unknown_run")])
def test_who_may_only_watch(command: str, code: str) -> None:
    assert asyncio.run(refusal_of_watcher(command)) == code


async def refusal_of_watcher(command: str) -> str:
    hub, wire = Hub(MemoryStore(), extensions=[renaming()]), RecordingConnection()
    session = hub.connect_view(wire, 2, AccessRights(can_control=False))
    hello = {"n": 1, "type": "hello", "id": "1", "body": {"version": 2, "client": "t"}}
    session.receive(json.dumps(hello))
    session.receive(json.dumps({"n": 2, "type": command, "id": "2", "body": {"run": "r"}}))
    while len(wire.sent) < 2:
        await asyncio.sleep(0)
    return str(wire.sent[1]["body"]["code"])


# ---- names -----------------------------------------------------------------------------------------


def test_names_that_are_taken() -> None:
    extension = renaming()
    with pytest.raises(ValueError, match="has the command shout already"):
        extension.command("shout", NamedMessage)(lambda hub, body: None)  # type: ignore[arg-type, return-value]
    extension.event_type("retrieval")
    with pytest.raises(ValueError, match="has the event type retrieval already"):
        extension.event_type("retrieval")
    with pytest.raises(
        ValueError, match=r"The extension renaming uses names that exist already: .*shout"
    ):
        Hub(MemoryStore(), extensions=[renaming(), renaming()])
    for name in ("step", "row"):
        builtin = Extension("mine")
        builtin.command(name, NamedMessage)(lambda hub, body: None)  # type: ignore[arg-type, return-value]
        with pytest.raises(
            ValueError, match=f"The extension mine uses names that exist already: {name}"
        ):
            Hub(MemoryStore(), extensions=[builtin])


@pytest.mark.parametrize("name", ["", "Retrieval", "a b", "1st", "x" * 41, "é", "a\n"])
def test_names_that_no_type_can_have(name: str) -> None:
    with pytest.raises(ValueError, match="name it by a lower-case word"):
        Extension("x").event_type(name)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a module whose entry point names its `extension`."""
    monkeypatch.syspath_prepend(tmp_path)

    def install(name: str, source: str) -> None:
        (tmp_path / f"{name}.py").write_text(source)
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        group = "[agentstepper_nb.extensions]"
        (info / "entry_points.txt").write_text(f"{group}\n{name} = {name}:extension\n")

    return install


SPEAKS = """
from agentstepper_nb.extend import Extension
extension = Extension({name!r})
extension.event_type("retrieval")
"""


def test_installed_ones_that_fail_are_left_out(
    install: Callable[[str, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    install("aa_good", SPEAKS.format(name="aa_good"))
    install("bb_same", SPEAKS.format(name="bb_same"))
    install("cc_broken", "raise RuntimeError('half installed')")
    install("dd_other", "extension = 7")
    hub = Hub(MemoryStore())
    assert set(hub.extensions.event_registry.event_types) == {"retrieval"}
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(said) == 3
    assert any("is left out: " in each and "retrieval" in each for each in said)
    assert "The extension cc_broken can't be used and is left out." in said
    assert "The extension dd_other can't be used and is left out." in said
    assert "the entry point names a int, not an agentstepper_nb.extend.Extension" in caplog.text


# ---- event types -----------------------------------------------------------------------------------


def planning() -> Extension:
    extension = Extension("planning")
    extension.event_type("plan", actor=Actor.LLM, state=AgentActivity.LLM_THINKING)
    return extension


@pytest.mark.parametrize(
    ("extensions", "actor", "state"),
    [([planning()], "llm", "llm_thinking"), ([], "tools", "tool_executing")],
)
def test_a_custom_event(
    new_socket_harness: NewStand, extensions: list[Extension], actor: str, state: str
) -> None:
    socket_harness = new_socket_harness(extensions=extensions)
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    agent.begin("custom", name="plan")
    begin = agent.reach({"goal": "tea"})
    ui.wait_until_halted(run, begin)
    row = ui.rows[begin]
    assert (row["kind"], row["name"], row["side"]) == ("custom", "plan", "begin")
    assert (row["source"], row["target"], row["summary"]) == ("agent", actor, "plan(tea)")
    ui.edit(run, begin, ["any", "form"])
    ui.step(run)
    assert ui.runs[run]["agent_state"] == state
    assert agent.receive_answer() == ["any", "form"]
    end = agent.reach("boil water")
    ui.wait_until_halted(run, end)
    assert (ui.rows[end]["source"], ui.rows[end]["target"]) == (actor, "agent")
    assert ui.rows[end]["summary"] == "boil water"
    ui.step(run)
    assert ui.runs[run]["agent_state"] == "running"


@pytest.mark.parametrize("name", [None, "", "A plan", "<b>", "x" * 41])
def test_a_type_that_cannot_be(socket_harness: SocketHarness, name: str | None) -> None:
    scene = TwoRuns(socket_harness)
    scene.start()
    scene.agent.begin("custom", name=name)
    error = scene.agent.receive_error()
    assert error["code"] == "invalid_message"
    is_well_formed(error)
    scene.check_isolation()


def test_version_1_takes_it_as_a_tool_invocation(new_socket_harness: NewStand) -> None:
    socket_harness = new_socket_harness(extensions=[planning()])
    agent, ui = socket_harness.started(), socket_harness.ui(1)
    assert isinstance(ui, ViewV1)
    run = ui.find_run("P")
    agent.begin("custom", name="plan")
    ui.wait_until_halted(run, agent.reach({"goal": "tea"}))
    message = ui.runs[run]["messages"][-1]
    assert (message["from"], message["to"]) == ("Core", "Tools")
    assert message["content"] == {"goal": "tea"}
    ui.step(run)
    assert ui.runs[run]["agentState"] == "LLM thinking..."
    ui.wait_until_halted(run, agent.reach("boil water"))
    message = ui.runs[run]["messages"][-1]
    assert (message["from"], message["to"]) == ("Tools", "Core")


def test_a_run_file_keeps_it(new_socket_harness: NewStand) -> None:
    """The file has what the original knows; here the type comes back."""
    socket_harness = new_socket_harness(extensions=[planning()])
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    agent.begin("custom", name="plan")
    ui.wait_until_halted(run, agent.reach("tea"))
    ui.step(run)
    ui.wait_until_halted(run, agent.reach("boil water"))
    exported = ui.request("export_run", run=run)["data"]
    document = json.loads(zlib.decompress(base64.b64decode(exported)))
    assert {event["type"] for event in document["events"]} <= {"PROGRAM_STARTED", "TOOL_INVOCATION"}
    copy = ui.request("import_run", data=exported)["run"]["id"]
    rows = [row for row in ui.open_run(copy)["rows"] if row["kind"] == "custom"]
    assert [row["name"] for row in rows] == ["plan", "plan"]
    assert [row["target"] for row in rows] == ["llm", "agent"]
    again = ui.request("export_run", run=copy)["data"]
    assert json.loads(zlib.decompress(base64.b64decode(again)))["events"] == document["events"]


@pytest.mark.parametrize("data", [{"custom": "Not A Type"}, {"custom": "plan", "more": 1}, "plan"])
def test_a_tool_invocation_with_data_of_its_own_stays_one(
    socket_harness: SocketHarness, data: Any
) -> None:
    agent, ui = socket_harness.started(1), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    agent.begin("tool_invocation", data)
    point = agent.reach({"Tool": "ls", "Argument": 1})
    ui.wait_until_halted(run, point)
    assert ui.rows[point]["kind"] == "tool_invocation"


# ---- summaries -------------------------------------------------------------------------------------


def listening(told: Any) -> Extension:
    """Answers anything on queries and on the tool `ls`."""
    extension = Extension("listening")

    def tell(halt_point: HaltPoint) -> Any:
        if isinstance(told, Exception):
            raise told
        return told

    extension.summarizer(EventKind.LLM_QUERY)(tell)
    extension.summarizer(name="ls")(tell)
    return extension


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("Asks how it is", "Asks how it is"),
        ("", "How are you?"),
        (None, "How are you?"),
        (7, "How are you?"),
        (ZeroDivisionError(), "How are you?"),
        ("first\nsecond", "first"),
        ("\x1b[31mred\u202e", "[31mred"),
        ("x" * 500, "x" * 159 + "…"),
    ],
)
def test_a_summary(
    new_socket_harness: NewStand, told: Any, shown: str, caplog: pytest.LogCaptureFixture
) -> None:
    socket_harness = new_socket_harness(extensions=[listening(told)])
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    point = agent.begin_query("How are you?")
    ui.wait_until_halted(run, point)
    assert ui.rows[point]["summary"] == shown
    opened = ui.open_run(run)["rows"]
    assert opened[-1]["summary"] == shown
    failures = caplog.text.count("A summarizer of the extension listening failed.")
    assert failures == (told == 7 or isinstance(told, Exception))


def test_what_comes_before_a_summariser(new_socket_harness: NewStand) -> None:
    socket_harness = new_socket_harness(extensions=[listening("told")])
    agent, ui = socket_harness.started(), socket_harness.ui()
    run = ui.find_run("P")
    ui.open_run(run)
    agent.begin()
    own = agent.reach("hi", summary="The agent's own")
    failed = agent.reach(None, outcome="error", failure={"type": "OSError", "message": "no"})
    agent.begin("tool_invocation", name="cat")
    other = agent.reach({"Tool": "cat", "Argument": "x"})
    agent.begin("tool_invocation", name="ls")
    meant = agent.reach({"Tool": "ls", "Argument": "x"})
    while meant not in ui.rows:
        ui.apply(ui.receive())
    assert [ui.rows[each]["summary"] for each in (own, failed, other, meant)] == [
        "The agent's own",
        "Failed: OSError: no",
        "cat(x)",
        "told",
    ]
