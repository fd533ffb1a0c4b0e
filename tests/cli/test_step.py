"""Whole walks: a real Core, a real `agentstepper step`, an agent that does what the test says."""

from __future__ import annotations

import os
import re
import select
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb.cli.line_input import LineReader
from agentstepper_nb.discover import data_dir
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    ChangeKind,
    EventKind,
    EventSide,
    FileBody,
    FileChange,
    Risk,
    RunEnding,
)

from .agent import SocketAgent
from .conftest import PROMPT, ServeProcess, Step, quits


def test_a_whole_walk(start: Step, ui_url: str, agent: SocketAgent) -> None:
    step = start("--url", ui_url)
    step.expect("Run #1 of demo: running")
    event = agent.begin(EventKind.PROGRAM_STARTED)
    agent.reach(event, EventSide.BEGIN, '"demo"')
    step.expect("Halted at 1, System → Agent:")
    step.expect(PROMPT)
    step.sendline("s")
    assert agent.receive_answer() == "resume"

    query = agent.begin_query({"messages": [{"role": "user", "content": "fix it"}], "n": 1.0})
    step.expect("2  Agent → LLM     fix it")
    step.expect("Halted at 2, Agent → LLM:")
    step.expect(r'"n": 1\.0')
    step.expect(PROMPT)
    step.sendline("step")
    assert agent.receive_answer() == "resume"

    agent.reach(query, EventSide.END, '"done"')
    step.expect("3  LLM → Agent     done")
    step.expect(PROMPT)
    step.sendline("c")
    assert agent.receive_answer() == "resume"
    step.expect("The agent continues")
    agent.begin_tool_call("read", path="a.py")
    assert agent.receive_answer() == "resume"
    step.expect(r"4  Agent → Tools   read\(a\.py\)")

    step.sendline("h")
    step.expect("The agent halts at its next message")
    agent.begin_tool_call("write", path="a.py", text="x")
    step.expect("Halted at 5, Agent → Tools:")
    step.expect(PROMPT)
    step.sendline("x")
    assert agent.receive_answer() == "stop"
    step.expect("The agent was told to stop")
    agent.send_bye(RunEnding.STOPPED)
    step.expect("Run #1 of demo: stopped")
    step.sendline("s")
    step.expect("The run has ended")
    quits(step)


@pytest.mark.slow
def test_approvals(start: Step, ui_url: str, agent: SocketAgent) -> None:
    step = start("--url", ui_url)
    step.expect("Run #1 of demo: running")
    step.sendline("c")
    step.expect("The agent continues")
    for risk, typed, answer in (
        (Risk.MEDIUM, ["a always"], "resume"),
        (Risk.HIGH, ["a", "shell"], "resume"),
        (Risk.HIGH, ["deny Not today."], "deny"),
    ):
        event = agent.begin(EventKind.TOOL_INVOCATION, "shell")
        call = '{"Tool": "shell", "Argument": "rm -r build"}'
        agent.reach(
            event,
            EventSide.BEGIN,
            call,
            approval=ApprovalPrompt(risk=risk, why="It deletes files."),
        )
        step.expect(r"Asks: shell\(rm -r build\)")
        step.expect(f"Asks for approval, {risk} risk: It deletes files.")
        step.expect(r"\[a\]pprove")
        for stray in ("", "s", "n", " ", "step", "s"):
            step.sendline(stray)
            step.expect(r"\[a\]pprove")
        for line in typed:
            step.sendline(line)
        assert agent.receive_answer() == answer
        agent.reach(event, EventSide.END, "null", waits=False)
    quits(step)


def test_a_line_is_edited_completed_and_remembered(
    on_terminal: Step, ui_url: str, agent: SocketAgent
) -> None:
    step = on_terminal("--url", ui_url)
    agent.begin_query("first")
    step.expect(PROMPT)
    step.send("nx\x08\r")  # Backspace
    assert agent.receive_answer() == "resume"
    agent.begin_query("second")
    step.expect("Halted at 2")
    step.expect(PROMPT)
    step.send("\x1b[A\r")  # Up
    assert agent.receive_answer() == "resume"
    agent.begin_query("third")
    step.expect("Halted at 3")
    step.expect(PROMPT)
    step.send("l \t\r")  # one run: Tab types its number
    step.expect("— Run #1 of demo: halted —")
    step.expect(PROMPT)
    step.send("\x1b[21~")  # F10
    assert agent.receive_answer() == "resume"
    event = agent.begin(EventKind.TOOL_INVOCATION, "shell")
    approval = ApprovalPrompt(risk=Risk.MEDIUM, why="It deletes files.")
    agent.reach(event, EventSide.BEGIN, '{"Tool": "shell", "Argument": 1}', approval=approval)
    step.expect(r"\[a\]pprove")
    for _ in range(2):
        step.send("\x1b[21~")
        step.expect("A step never approves")
        step.expect(r"\[a\]pprove")
    step.send("deny It is secret.\r")
    assert agent.receive_answer() == "deny"
    quits(step)
    history = data_dir() / "step.history"
    assert history.stat().st_mode & 0o777 == 0o600
    lines = [line for line in history.read_text().splitlines() if line.startswith("+")]
    assert "+n" in lines and "+l 1" in lines
    assert not [line for line in lines if "secret" in line]


def test_what_was_typed_before_a_question_came_is_no_answer_to_it(
    on_terminal: Step, ui_url: str, agent: SocketAgent
) -> None:
    step = on_terminal("--url", ui_url)
    step.expect("Run #1 of demo: running")
    step.expect(r"Running: .*\[q\]uit")
    step.send("approve")  # and no Enter yet
    step.expect("approve")
    event = agent.begin(EventKind.TOOL_INVOCATION, "shell")
    approval = ApprovalPrompt(risk=Risk.MEDIUM, why="It deletes files.")
    agent.reach(event, EventSide.BEGIN, '{"Tool": "shell", "Argument": 1}', approval=approval)
    step.expect(r"\[a\]pprove")
    step.send("\r")
    step.expect(r"\[a\]pprove")
    step.send("deny\r")
    step.expect("Reason for the agent to read")
    step.send("\x1b[21~no\r")  # F10 is no key here
    assert agent.receive_answer() == "deny"
    quits(step)


def test_a_row_is_cut_to_the_width_of_the_terminal(
    on_terminal: Step, ui_url: str, agent: SocketAgent
) -> None:
    step = on_terminal("--url", ui_url)
    step.expect("Run #1 of demo: running")
    step.setwinsize(50, 80)
    agent.begin_query("word " * 30)
    step.expect(r"   1  Agent → LLM     (word )+\w*…\r\n")
    step.expect(PROMPT)
    quits(step)


def test_what_was_typed_ahead_is_dropped_at_a_terminal_alone() -> None:
    terminal, line = os.openpty()
    out, into = os.pipe()
    try:
        for descriptor, written in ((line, terminal), (out, into)):
            keyboard = LineReader(descriptor)
            os.write(written, b"a\n")
            keyboard.read()
            os.write(written, b"shell\n")
            assert select.select([descriptor], [], [], 30)[0], "it has arrived"
            keyboard.discard_input()
            left = bool(select.select([descriptor], [], [], 0)[0])
            assert (list(keyboard.lines), left) == (
                ([], False) if descriptor == line else (["a"], True)
            )
    finally:
        for descriptor in (terminal, line, out, into):
            os.close(descriptor)


def test_changes_are_shown_as_diffs(start: Step, ui_url: str, agent: SocketAgent) -> None:
    step = start("--url", ui_url)
    step.expect("running")
    step.sendline("d")
    step.expect("No changes yet")
    body = FileBody(diff="@@ -1 +1 @@\n-old\n+new \x1b[2J\n", content="new", previous_content="old")
    agent.commit(
        "Change a.py, add logo.png",
        FileChange(path="a.py", kind=ChangeKind.CHANGED, added=1, removed=1, body=body),
        FileChange(path="logo.png", kind=ChangeKind.ADDED, binary=True),
    )
    step.expect(r"changes 1: Change a.py, add logo.png \(2 files, \+1 -1\)")
    step.sendline("d 1")
    step.expect(r"~ a.py  \+1 -1")
    step.expect("-old")
    step.expect(r"\+new \\x1b\[2J")
    step.expect(r"\+ logo.png")
    step.expect("binary")
    quits(step)


def test_what_agents_say_is_inert(start: Step, ui_url: str, agent: SocketAgent) -> None:
    step = start("--url", ui_url)
    agent.begin(EventKind.DEBUG_MESSAGE, data="hello \x1b]0;owned\x07 there")
    agent.begin_query("first\n\x1b[2Jsecond")
    step.expect(PROMPT)
    step.sendline("v 1")
    step.expect("1, Agent → System:")
    step.expect("there")
    quits(step)
    shown = step.before
    assert "\x1b]" not in shown and "\x1b[2J" not in shown and "\x07" not in shown


def test_runs_are_listed_and_chosen(start: Step, core: AgentStepperCore, ui_url: str) -> None:
    agents = f"ws://127.0.0.1:{core.client_port}"
    first, second = SocketAgent(agents, "one"), SocketAgent(agents, "two")
    step = start("--url", ui_url, "--run", "Run #1 of one")
    step.expect("Run #1 of one: running")
    second.begin_query("from two")
    step.expect("Run #1 of two: halted. l 2 shows it")
    step.sendline("l")
    step.expect(r"1\* Run #1 of one: running, 0 messages")
    step.expect("2  Run #1 of two: halted, 1 messages")
    step.sendline("l 2")
    step.expect("Halted at 1, Agent → LLM:")
    step.expect("from two")
    step.expect(PROMPT)
    step.sendline("s")
    assert second.receive_answer() == "resume"
    first.begin_query("from one")
    step.expect("Run #1 of one: halted. l 1 shows it")
    quits(step)


@pytest.mark.slow
def test_a_lost_connection_is_found_again(
    start: Step, serve: Callable[..., ServeProcess], home: Path
) -> None:
    data = ["--data", str(home / "data")]
    served = serve(*data)
    port = served.uis.rpartition(":")[2]
    step = start("--url", served.uis.replace("localhost", "127.0.0.1"))
    step.expect("No agent is running: waiting for one")
    agent = SocketAgent(served.agents)
    agent.begin(EventKind.DEBUG_MESSAGE, data="still here")
    step.expect("1  Agent → System  still here")
    served.stop()
    step.expect("Run #1 of demo: lost|Connection lost: The Core is stopping")
    step.expect(r"Next try in 0\.5 s")
    again = serve("--ui-port", port, *data)
    step.expect("Connected to agentstepper_nb")
    step.sendline("l")
    step.expect("Run #1 of demo: its agent is away")
    other = SocketAgent(again.agents, "another")
    other.begin_query("hello again")
    step.expect("Run #1 of another: halted. l 2 shows it")
    step.sendline("l 2")
    step.expect(PROMPT)
    quits(step)


def test_without_a_debugger_it_says_what_to_do(start: Step) -> None:
    step = start("--url", "ws://127.0.0.1:1")
    step.expect("No debugger can be reached: .*refused.*agentstepper serve")
    step.expect(pexpect.EOF)
    assert step.wait() == 1


def test_the_agents_port_is_not_the_views(start: Step, core: AgentStepperCore) -> None:
    step = start("--url", f"ws://127.0.0.1:{core.client_port}")
    step.expect("No debugger can be reached: .* Is this the agents' port\\? Views have another")
    step.expect(pexpect.EOF)
    assert step.wait() == 1


def test_the_end_of_the_input_quits(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    step = through_pipes("--url", ui_url)
    agent.begin_query("a prompt")
    step.expect(PROMPT)
    step.write("s")  # a last line without its end
    step.sendeof()
    assert agent.receive_answer() == "resume"
    step.expect(pexpect.EOF)
    assert step.wait() == 0


def test_lines_that_come_at_once_are_taken_one_by_one(
    through_pipes: Step, ui_url: str, agent: SocketAgent
) -> None:
    agent.begin_query("a prompt")
    step = through_pipes("--url", ui_url)
    step.write("l\nv 1\nbogus\n?\n")
    step.expect(r"1\* Run #1 of demo: halted")
    step.expect("1, Agent → LLM:")
    step.expect("bogus is not a command")
    step.expect("quit; the agents stay as they are")
    quits(step)


def test_ctrl_c_leaves(on_terminal: Step, ui_url: str) -> None:
    step = on_terminal("--url", ui_url)
    step.expect("waiting for one")
    step.sendintr()
    step.expect(pexpect.EOF)
    assert step.wait() == 130
    assert "Traceback" not in step.before


@pytest.mark.slow
def test_colours_are_for_terminals(
    start: Step, ui_url: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    step = start("--url", ui_url)
    step.expect("waiting for one")
    coloured = "\x1b[2mConnected" in step.before
    assert coloured == ("[terminal]" in request.node.name)
    quits(step)
    monkeypatch.setenv("NO_COLOR", "1")
    step = start("--url", ui_url)
    step.expect("waiting for one")
    assert not re.search(r"\x1b\[[\d;]*m", step.before)
    quits(step)


@pytest.mark.slow
def test_output_that_nobody_reads_ends_it(ui_url: str, agent: SocketAgent) -> None:
    """`agentstepper step | head -1` ends quietly."""
    command = f"{sys.executable} -m agentstepper_nb step --url {ui_url} 2>&1 | head -1"
    pipe = pexpect.spawn("/bin/sh", ["-c", command], encoding="utf-8", timeout=30)
    pipe.expect("Connected")
    agent.begin_query("this meets a closed pipe")
    pipe.expect(pexpect.EOF)
    assert "Traceback" not in pipe.before
    pipe.close()


@pytest.mark.slow
def test_the_control_token_is_found(
    through_pipes: Step, serve: Callable[..., ServeProcess]
) -> None:
    served = serve("--token", "secret")
    step = through_pipes("--url", served.uis.replace("localhost", "127.0.0.1"))
    step.expect("waiting for one")
    quits(step)
    step = through_pipes("--url", served.uis, "--token", "secret")
    step.expect("No debugger can be reached: unauthorized: send the control token.*--token")
    step.expect(pexpect.EOF)
    assert step.wait() == 1


@pytest.mark.slow
def test_without_the_control_token_it_says_where_that_is(
    through_pipes: Step,
    serve: Callable[..., ServeProcess],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As another account of this machine, or through a tunnel."""
    served = serve("--control-token", "secret")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(home / "elsewhere"))
    step = through_pipes("--url", served.uis)
    step.expect("only with its control token.*control-token")
    step.expect(pexpect.EOF)
    assert step.wait() == 1
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "secret")
    step = through_pipes("--url", served.uis)
    step.expect("waiting for one")
    quits(step)
