"""Edits in `agentstepper step`: as a line, in an editor, sticky, and those that are refused."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from agentstepper_nb.protocol.data_model import (
    EventSide,
)

from .agent import SocketAgent
from .conftest import PROMPT, Step, quits


def test_an_edit_as_a_line(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    step = through_pipes("--url", ui_url)
    agent.begin_tool_call("add", a=1)
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("as a line of JSON")
    step.sendline('{"Tool": "add",}')
    step.expect("The edit isn't JSON: line 1, column 1")
    step.expect("Nothing was sent")
    step.sendline("e")
    step.expect("as a line of JSON")
    step.sendline('{"Tool": 1}')
    step.expect(r"Refused \(invalid_edit\): .* must stay")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("as a line of JSON")
    step.sendline("")
    step.expect("Nothing was changed")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("as a line of JSON")
    step.sendline('{"Tool": "add", "Argument": {"a": 2.0}}')
    step.expect("Halted at 1, Agent → Tools, edited:")
    step.expect(r'"a": 2\.0')
    step.expect(PROMPT)
    step.sendline("v1")
    step.expect('"a": 1\\s')
    step.expect("edited to:")
    step.expect(r'"a": 2\.0')
    step.sendline("s")
    assert json.loads(agent.receive_answer()) == {"Tool": "add", "Argument": {"a": 2.0}}
    assert not agent.is_edit_sticky
    quits(step)


def test_a_prompts_edit_can_be_sticky(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    step = through_pipes("--url", ui_url)
    agent.begin_query("hello")
    step.expect(PROMPT)
    step.sendline("e sticky")
    step.expect("as a line of JSON")
    step.sendline('"good day"')
    step.expect("edited:")
    step.expect(PROMPT)
    step.sendline("s")
    assert json.loads(agent.receive_answer()) == "good day"
    assert agent.is_edit_sticky
    quits(step)


def test_what_is_read_only_is_not_edited(
    through_pipes: Step, ui_url: str, agent: SocketAgent
) -> None:
    mark = {"$repr": "<a socket>", "$ref": 1, "$why": "its type, socket, has no fields"}
    step = through_pipes("--url", ui_url)
    event = agent.begin_tool_call("send", to=mark, text="hello")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect(r"Argument\.to is read-only: its type, socket, has no fields")
    step.expect("as a line of JSON")
    step.sendline('{"Tool": "send", "Argument": {"to": "me", "text": "hello"}}')
    step.expect("Argument.to is read-only, since its type, socket, has no fields. Restore")
    step.expect("Nothing was sent")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("as a line of JSON")
    step.sendline(json.dumps({"Tool": "send", "Argument": {"to": mark, "text": "bye"}}))
    step.expect("edited:")
    step.expect(PROMPT)
    step.sendline("s")
    assert json.loads(agent.receive_answer())["Argument"] == {"to": mark, "text": "bye"}
    agent.reach(event, EventSide.END, json.dumps(mark))
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("The value is read-only: its type, socket, has no fields")
    step.expect(PROMPT)
    quits(step)


@pytest.mark.slow
def test_an_edit_in_the_editor(
    on_terminal: Step, ui_url: str, agent: SocketAgent, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = home / "editor.py"
    script.write_text(
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1]); text = path.read_text()\n"
        "if 'broken' in text: path.write_text('\"mended\"')\n"
        "elif 'keep' not in text: path.write_text(text.replace('[', '[broken'))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    step = on_terminal("--url", ui_url)
    event = agent.begin_query("keep me")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("Nothing was changed")
    step.expect(PROMPT)
    step.sendline("s")
    assert agent.receive_answer() == "resume"
    agent.reach(event, EventSide.END, "[1]")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect("The edit isn't JSON: line 1, column 2")
    step.expect(PROMPT)
    step.sendline("e")  # the broken text again, which the script then mends
    step.expect("edited:")
    step.expect(PROMPT)
    step.sendline("s")
    assert agent.receive_answer() == '"mended"'
    quits(step)


@pytest.mark.parametrize(
    ("editor", "said"),
    [("/no/such/editor", "can't be started"), ("false", "false ended with exit code 1")],
)
def test_an_editor_that_fails(
    editor: str,
    said: str,
    on_terminal: Step,
    ui_url: str,
    agent: SocketAgent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EDITOR", editor)
    step = on_terminal("--url", ui_url)
    agent.begin_query("a prompt")
    step.expect(PROMPT)
    step.sendline("e")
    step.expect(said)
    step.expect("Nothing was changed")
    quits(step)


@pytest.mark.slow
def test_who_was_too_late_is_told(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    late, fast = through_pipes("--url", ui_url), through_pipes("--url", ui_url)
    query = agent.begin_query("a prompt")
    late.expect(PROMPT)
    fast.expect(PROMPT)
    late.proc.send_signal(signal.SIGSTOP)
    late.sendline("s")  # typed while its screen shows the old state
    fast.sendline("s")
    assert agent.receive_answer() == "resume"
    agent.reach(query, EventSide.END, '"an answer"')
    fast.expect("Halted at 2")
    late.proc.send_signal(signal.SIGCONT)
    late.expect(r"Refused \(stale\): .* decide again")
    late.expect("Halted at 2, LLM → Agent:")
    late.expect(PROMPT)
    late.sendline("s")
    assert agent.receive_answer() == "resume"
    quits(late)
    quits(fast)
