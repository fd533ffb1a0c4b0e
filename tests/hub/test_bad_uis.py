"""What UIs may get wrong: each is told what and what to do, and everything goes on."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from agentstepper_nb._version import __version__
from tests.helpers.sampling import select_sample
from tests.hub.conftest import SocketHarness
from tests.hub.isolation_scene import TwoRuns, is_well_formed
from tests.hub.socket_agents import Json
from tests.hub.socket_uis import SocketView, ViewV1, ViewV2
from tests.hub.test_bad_agents import DEEP

Refusal = tuple[str | bytes, str, str]


def assert_error(error: Json, code: str, says: str) -> None:
    assert error["code"] == code
    assert re.search(says, error["message"]), error["message"]
    assert set(error) == {"code", "message", "run"}
    is_well_formed(error)


def parametrized(cases: dict[str, Any]) -> Any:
    return pytest.mark.parametrize("case", cases.values(), ids=cases)


HALTED = ("half", "an empty object", "deep inside")


def of_running_and_halted(cases: dict[str, Refusal]) -> Any:
    """Each case beside an agent that runs, and one that is halted; `make soak` has more of these."""
    values = []
    for name, case in cases.items():
        marks = [] if name in HALTED else [pytest.mark.soak]
        values.append(pytest.param(False, case, id=f"{name}-runs"))
        values.append(pytest.param(True, case, id=f"{name}-halted", marks=marks))
    return pytest.mark.parametrize(("halted", "case"), values)


def scene_of(socket_harness: SocketHarness, version: int, halted: bool) -> TwoRuns:
    scene = TwoRuns(socket_harness, agent=3 - version, ui=version)
    run = scene.start()
    if halted:
        scene.ui.wait_until_halted(run, scene.agent.begin_query("waits"))
    return scene


# ---- frames -----------------------------------------------------------------------------------------

BOTH: dict[str, Refusal] = {
    "nothing": ("", "malformed", "."),
    "no JSON": ("hello", "malformed", "JSON is malformed"),
    "half": ('{"event": "step"', "malformed", "."),
    "a list": ("[]", "malformed", "Expected `object`, got `array`"),
    "null": ("null", "malformed", "got `null`"),
    "an empty object": ("{}", "malformed", "missing required field"),
    "deep": (DEEP, "malformed", "."),
    "deep inside": (
        f'{{"event": "step", "content": {DEEP}, "n": 1, "type": "step", "body": {DEEP}}}',
        "malformed",
        "recursion depth",
    ),
    "NaN": (
        '{"event": "step", "content": NaN, "n": 1, "type": "step", "body": NaN}',
        "malformed",
        "invalid character",
    ),
    "binary": (b'{"event": "step"}', "binary_frame", "Send text frames"),
    "binary noise": (bytes(range(256)), "binary_frame", "Send text frames"),
}


def v1(event: Any, **content: Any) -> str:
    return json.dumps({"event": event, "content": content})


OLD: dict[str, Refusal] = {
    "unknown command": (
        v1("jump"),
        "unknown_command",
        "“jump” is no command; known are: step, cont",
    ),
    "our command": (v1("open_run", run="r"), "unknown_command", "“open_run”"),
    "no text": (v1(7), "malformed", r"Expected `str`, got `int` - at `\$.event`"),
    "no content": ('{"event": "step"}', "invalid_message", "field `run`"),
    "null content": ('{"event": "step", "content": null}', "invalid_message", "got `null`"),
    "wrong type": (v1("step", run=7), "invalid_message", r"got `int` - at `\$.run`"),
    "missing field": (v1("rename_run", run="r"), "invalid_message", "field `name`"),
    "missing content": (
        v1("update_msg_content", run="r", message="m"),
        "invalid_message",
        "field `content`",
    ),
    "no file": (v1("import_run", data=None), "invalid_message", r"at `\$.data`"),
}


def v2(type: Any, n: Any = 1, **body: Any) -> str:
    return json.dumps({"n": n, "type": type, "id": "bad", "body": body})


NEW: dict[str, Refusal] = {
    "unknown command": (
        v2("jump"),
        "unknown_command",
        "“jump” isn't a message type here. The types are: answer_bisect, approve",
    ),
    "agent's message": (v2("bye"), "unknown_command", "“bye”"),
    "no text": (v2(7), "malformed", r"at `\$.type`"),
    "no number": (v2("step", "1"), "malformed", r"at `\$.n`"),
    "huge number": (v2("step", 10**300), "malformed", r"at `\$.n`"),
    "wrong type": (v2("step", run=7), "invalid_message", r"got `int` - at `\$.run`"),
    "missing field": (v2("get_change", run="r"), "invalid_message", "field `commit`"),
    "edit as a value": (v2("step", run="r", edit={}), "invalid_message", r"at `\$.edit`"),
    "second hello": (v2("hello", version=2, client="x"), "already_open", "has sent hello already"),
    "other version": (
        v2("hello", version=3, client="x"),
        "version_mismatch",
        "Upgrade the server's",
    ),
    "old version": (v2("hello", version=1, client="x"), "version_mismatch", "Upgrade the view"),
}


@of_running_and_halted(BOTH | OLD)
def test_frames_of_version_1(socket_harness: SocketHarness, halted: bool, case: Refusal) -> None:
    text, code, says = case
    scene = scene_of(socket_harness, 1, halted)
    scene.ui.send(text)
    assert_error(scene.ui.receive_error(), code, says)
    scene.check_isolation()


@of_running_and_halted(BOTH | NEW)
def test_frames_of_version_2(socket_harness: SocketHarness, halted: bool, case: Refusal) -> None:
    text, code, says = case
    scene = scene_of(socket_harness, 2, halted)
    scene.ui.send(text)
    named = isinstance(text, str) and '"id": "bad"' in text
    assert isinstance(scene.ui, ViewV2)
    error = scene.ui.receive_result("bad")["body"] if named else scene.ui.receive_error()
    assert_error(error, code, says)
    scene.check_isolation()


# ---- commands ---------------------------------------------------------------------------------------

Does = Callable[[SocketView, str, str], Json]


def importing(document: Any) -> Does:
    """Import a file; what is no bytes is packed as one."""
    if isinstance(document, str):
        data = document
    else:
        data = base64.b64encode(zlib.compress(json.dumps(document).encode())).decode()
    return lambda ui, run, message: ui.expect_refusal("import_run", data=data)


RUN = {
    "uuid": "u",
    "name": "N",
    "program_name": "P",
    "start_time": 1.0,
    "events": [],
    "commits": [],
}


def edit(ui: SocketView, run: str, message: str, value: Any) -> Json:
    named: dict[str, Any] = {"run": run, "message": message, "breakpoint": message, "revision": 1}
    if isinstance(ui, ViewV1):
        return ui.expect_refusal("update_msg_content", **named, content=value)
    return ui.expect_refusal("edit", **named, edit=json.dumps(value))


#: What may be refused of either version: run is the subject's, message what it is halted at.
COMMANDS: dict[str, tuple[Does, str, str]] = {
    **{
        f"{command} an unknown run": (
            lambda ui, run, message, command=command: ui.expect_refusal(
                command, run="none", name="x"
            ),
            "unknown_run",
            "There is no run none: it may have been deleted. Choose another run from the list",
        )
        for command in ("step", "continue", "halt", "rename_run", "delete_run")
    },
    "export an unknown run": (
        lambda ui, run, message: ui.expect_refusal("download_run_request", run="none"),
        "unknown_run",
        "There is no run none",
    ),
    "edit in an unknown run": (
        lambda ui, run, message: edit(ui, "none", message, 1),
        "unknown_run",
        "There is no run none",
    ),
    "delete a live run": (
        lambda ui, run, message: ui.expect_refusal("delete_run", run=run),
        "run_is_live",
        "Stop the agent, or wait until it ends",
    ),
    "an empty name": (
        lambda ui, run, message: ui.expect_refusal("rename_run", run=run, name=" \n "),
        "invalid_message",
        "can't be empty. Type a name",
    ),
    "a tool call out of form": (
        lambda ui, run, message: edit(ui, run, message, {"Tool": "ls"}),
        "invalid_edit",
        'must stay of the form {"Tool": text, "Argument": any}',
    ),
    "no file": (importing("hello!"), "corrupt_import", "no .run file, or it is damaged"),
    "an empty file": (importing(""), "corrupt_import", "cut off: export it again"),
    "no run": (importing([]), "corrupt_import", "contents are damaged"),
    "a damaged run": (importing(RUN | {"start_time": "x"}), "corrupt_import", r"\$.start_time"),
    "an unknown event": (
        importing(RUN | {"events": [{"uuid": "e", "type": "NAP", "time": 1.0}]}),
        "corrupt_import",
        "event of unknown type “NAP”",
    ),
    "a newer file": (
        importing(RUN | {"server_version": "999.1"}),
        "newer_import",
        f"written by version 999.1, and this is {re.escape(__version__)}. Upgrade agentstepper_nb",
    ),
}


@parametrized(COMMANDS)
@pytest.mark.parametrize("version", select_sample((1, 2), 2))
def test_commands(socket_harness: SocketHarness, version: int, case: tuple[Does, str, str]) -> None:
    does, code, says = case
    scene = TwoRuns(socket_harness, agent=3 - version, ui=version)
    run = scene.start()
    message = scene.ui.wait_until_halted(run, scene.agent.begin_tool_call("ls", "."))
    assert_error(does(scene.ui, run, message), code, says)
    scene.check_isolation()
    names = [each["name"] for each in socket_harness.ui(2).runs.values()]
    assert names == ["Run #1 of Other", "Run #1 of Subject"]


def test_an_error_of_version_1_names_the_run_that_was_named(socket_harness: SocketHarness) -> None:
    """A UI of version 1 has nothing else to tell by which of its commands was refused."""
    scene = TwoRuns(socket_harness, agent=2, ui=1)
    run = scene.start()
    message = scene.ui.wait_until_halted(run, scene.agent.begin_tool_call("ls", "."))
    assert edit(scene.ui, run, message, {"Tool": "ls"})["run"] == run
    assert scene.ui.expect_refusal("rename_run", run=run)["run"] == run  # without a name
    assert scene.ui.expect_refusal("rename_run", run=7)["run"] is None
    assert scene.ui.expect_refusal("nap", run=run)["run"] == run
    scene.check_isolation()


@pytest.mark.parametrize("command", ["step", "continue", "halt"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_run_that_ended_is_not_stepped(
    socket_harness: SocketHarness, version: int, command: str
) -> None:
    scene = TwoRuns(socket_harness, agent=1, ui=version)
    run = scene.start()
    scene.agent.finish()
    scene.ui.wait_for_state(run, "idle")
    error = scene.ui.expect_refusal(command, run=run)
    assert_error(error, "run_is_over", "Start the agent again")
    assert error["run"] == run
    scene.check_isolation()


@pytest.mark.parametrize("version", [1, 2])
def test_an_edit_of_what_is_not_pending(socket_harness: SocketHarness, version: int) -> None:
    """Version 1 names no revision, so that it isn't told of another's."""
    scene = TwoRuns(socket_harness, agent=2, ui=version)
    run = scene.start()
    code = "not_pending" if version == 1 else "stale"
    says = "isn't waiting at a halt point|has been answered already"
    assert_error(edit(scene.ui, run, "none", 1), code, says)
    asked = scene.ui.wait_until_halted(run, scene.agent.begin_query("hi"))
    scene.ui.step(run)
    assert_error(edit(scene.ui, run, asked, 1), code, says)
    scene.check_isolation()


# ---- version 2 alone --------------------------------------------------------------------------------

ONLY_NEW: dict[str, tuple[str, Json, str, str]] = {
    "a message that isn't": (
        "get_message",
        {"message": "none"},
        "unknown_content",
        "no such message. Open the run again",
    ),
    "a commit that isn't": (
        "get_change",
        {"commit": "none", "path": "a"},
        "unknown_content",
        "no such commit or file",
    ),
    "an unknown run's message": (
        "get_message",
        {"run": "none", "message": "m"},
        "unknown_run",
        "no run none",
    ),
    "open an unknown run": ("open_run", {"run": "none"}, "unknown_run", "no run none"),
    "stop an unknown run": ("stop", {"run": "none"}, "unknown_run", "no run none"),
    "another revision": (
        "step",
        {"revision": 7},
        "stale",
        "edited this message meanwhile. Look at the new",
    ),
    "another breakpoint": ("step", {"breakpoint": "none"}, "stale", "has been answered already"),
    "an edit of nothing": (
        "step",
        {"breakpoint": None, "edit": "1"},
        "invalid_message",
        "doesn't name its halt point and revision",
    ),
    "an edit that isn't JSON": (
        "step",
        {"edit": '{"a": 1,\n}'},
        "invalid_edit",
        "line 2, column 1: Expecting property name",
    ),
    "an edit to NaN": ("continue", {"edit": "[NaN]"}, "invalid_edit", "line 1, column 2: NaN is"),
    "a deep edit": ("edit", {"edit": DEEP}, "invalid_edit", "nested too deeply"),
}


@parametrized(ONLY_NEW)
def test_commands_of_version_2(
    socket_harness: SocketHarness, case: tuple[str, Json, str, str]
) -> None:
    command, fields, code, says = case
    scene = TwoRuns(socket_harness, agent=1, ui=2)
    run = scene.start()
    asked = scene.ui.wait_until_halted(run, scene.agent.begin_query("hi"))
    named = {"run": run, "breakpoint": asked, "revision": 1} | fields
    assert_error(scene.ui.expect_refusal(command, **named), code, says)
    assert scene.ui.pending(run) == asked
    scene.check_isolation()


def test_before_hello_nothing_is_told_or_done(socket_harness: SocketHarness) -> None:
    agent = socket_harness.started()
    ui = ViewV2(socket_harness.socket(socket_harness.core.ui_port, 2))
    seer = socket_harness.ui(2)
    run = seer.find_run("P")
    seer.wait_until_halted(run, agent.begin_query("hi"))
    for command in ("step", "open_run", "import_run", "close_run"):
        ui.send(v2(command, run=run, data=""))
        message = ui.receive()
        assert (message["type"], message["id"]) == ("error", "bad")
        assert_error(message["body"], "hello_expected", "Send the message hello first")
    ui.connect()
    ui.step(run)
    assert agent.receive_answer() == "hi"


def test_a_version_that_is_refused_may_be_said_again(socket_harness: SocketHarness) -> None:
    ui = ViewV2(socket_harness.socket(socket_harness.core.ui_port, 2))
    error = ui.expect_refusal("hello", version=3, client="x")
    assert_error(
        error,
        "version_mismatch",
        "The view speaks protocol version 3, and this Core 2. Upgrade the s",
    )
    ui.connect()
    assert ui.runs == {}


def test_a_command_without_an_id_is_carried_out_and_answered(socket_harness: SocketHarness) -> None:
    ui, agent = socket_harness.ui(2), socket_harness.started()
    run = ui.find_run("P")
    ui.wait_until_halted(run, agent.begin_query("hi"))
    ui.send(json.dumps({"n": 9, "type": "step", "body": {"run": run}}))
    assert agent.receive_answer() == "hi"
    while (message := ui.receive())["type"] != "ok":
        ui.apply(message)
    assert "id" not in message


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_newer_ui_adds_is_passed_over(socket_harness: SocketHarness, version: int) -> None:
    ui, agent = socket_harness.ui(version), socket_harness.started()
    run = ui.find_run("P")
    ui.wait_until_halted(run, agent.begin_query("hi"))
    ui.run_command("step", run=run, later={"x": [1]})
    assert agent.receive_answer() == "hi"
