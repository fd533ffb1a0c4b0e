"""Programs of which no line knows the debugger, run by the real command under a real Core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from tests.helpers.core_announcement import announce_core
from tests.instrument.conftest import Run
from tests.instrument.queries import TEXT
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

#: The words before the program's.
COMMAND = ("agentstepper", "run", "--", sys.executable)
ON_TERMINAL = ("-m", "agentstepper_nb", "run", "--", sys.executable)
#: An agent as its author wrote it; a vendor's client takes a second to import.
AGENT = """
import sys, httpx
body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
answer = httpx.post(sys.argv[1] + "/chat/completions", json=body, timeout=60).json()
print(answer["choices"][0]["message"]["content"])
"""
#: The same, ended by an exception by which LangGraph waits for a person, or by a bug.
SIGNAL = """
raise type("GraphBubbleUp", (Exception,), {"__module__": "langgraph.errors"})("Really?")
"""
BUG = """
raise ValueError("a bug")
"""
#: The same, with the one line that attaches it.
ATTACHED = "import agentstepper_nb.auto" + AGENT
#: A sitecustomize of the program's own, which `agentstepper run` itself imports too.
CUSTOMIZED = """
import os
if "AGENTSTEPPER_ATTACHED_PID" in os.environ:
    print("customized")
"""


@pytest.fixture
def announced(live: AgentStepperCore) -> None:
    """The Core is found without an address."""
    announce_core(live)


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    file = tmp_path / "agent.py"
    file.write_text(AGENT)
    return file


def test_a_programs_query_halts_under_run(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView, run: Run
) -> None:
    program = run(*COMMAND, str(agent), server.base_url)
    prompt = person.wait_until_halted()
    row = next(row for row in person.list_rows() if row.id == prompt)
    assert row.kind is EventKind.LLM_QUERY
    assert person.run.program == "agent.py"
    person.step()
    reached = person.wait_until_halted()
    body = person.get_data(next(row for row in person.list_rows() if row.id == reached))
    body["choices"][0]["message"]["content"] = "edited"
    person.step(body)
    ended = program.result(TIMEOUT_S)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("edited\n", "", 0)
    assert person.wait_until_ended().ending is RunEnding.FINISHED


@pytest.mark.parametrize(
    ("last", "ending"),
    [(SIGNAL, RunEnding.FINISHED), (BUG, RunEnding.CRASHED)],
    ids=["signal", "bug"],
)
def test_a_frameworks_own_end_is_no_crash(
    last: str,
    ending: RunEnding,
    announced: None,
    agent: Path,
    server: ScriptedServer,
    person: LiveView,
    run: Run,
) -> None:
    agent.write_text(AGENT + last)
    program = run(*COMMAND, str(agent), server.base_url)
    person.step()
    person.step()
    assert program.result(TIMEOUT_S).returncode == 1
    assert person.wait_until_ended().ending is ending


def test_no_attach_leaves_the_program_alone(
    announced: None, agent: Path, server: ScriptedServer, run: Run
) -> None:
    command, name, *words = COMMAND
    ended = run(command, name, "--no-attach", *words, str(agent), server.base_url).result(TIMEOUT_S)
    assert (ended.stdout, ended.stderr) == (f"{TEXT}\n", "")


def test_another_sitecustomize_runs_too(
    announced: None,
    agent: Path,
    server: ScriptedServer,
    person: LiveView,
    run: Run,
    tmp_path: Path,
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CUSTOMIZED)
    program = run(*COMMAND, str(agent), server.base_url, PYTHONPATH=str(site))
    person.step()
    person.step()
    assert program.result(TIMEOUT_S).stdout.splitlines() == ["customized", TEXT]


def test_a_python_without_this_package_says_so_once(
    announced: None, run: Run, tmp_path: Path
) -> None:
    child = tmp_path / "parent.py"
    child.write_text("import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    ended = run(*COMMAND[:-1], python, str(child), PYTHONPATH="").result(TIMEOUT_S)
    assert ended.stdout == "1\n"
    assert ended.stderr.count("can't import agentstepper_nb") == 1
    assert "Install agentstepper_nb there." in ended.stderr


def test_one_import_attaches_a_program(
    announced: None, server: ScriptedServer, person: LiveView
) -> None:
    command = [sys.executable, "-c", ATTACHED, server.base_url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        person.step()
        person.step()
        out, _ = program.communicate(timeout=TIMEOUT_S)
    assert out == f"{TEXT}\n"
    assert person.wait_until_ended().program == "agent"


def test_a_program_that_opens_a_run_has_one(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView, run: Run
) -> None:
    own = "import agentstepper_nb.auto, agentstepper_nb\nwith agentstepper_nb.AgentStepper('own'):"
    agent.write_text(own + AGENT.replace("\n", "\n    "))
    program = run("python", str(agent), server.base_url)
    for _ in range(3):  # the start, the prompt, the answer
        person.step()
    program.result(TIMEOUT_S)
    person.wait_until_ended()
    assert [each.program for each in person.runs.values()] == ["own"]


def test_without_a_core_the_program_runs_and_a_warning_says_so(
    agent: Path, server: ScriptedServer, run: Run
) -> None:
    agent.write_text(ATTACHED + AGENT)
    ended = run("python", str(agent), server.base_url).result(TIMEOUT_S)
    assert ended.stdout == f"{TEXT}\n" * 2
    assert ended.stderr.count("This program runs without the debugger") == 1


@pytest.mark.slow
def test_the_end_says_that_nothing_was_seen(announced: None) -> None:
    words = [*ON_TERMINAL, "-c", "print('done')"]
    with pexpect.spawn(sys.executable, words, encoding="utf-8") as terminal:
        terminal.expect("no LLM query of this program was seen", timeout=TIMEOUT_S)
        terminal.expect("neither httpx nor httpx2", timeout=TIMEOUT_S)
        terminal.expect("docs/guide/attach.md", timeout=TIMEOUT_S)


@pytest.mark.slow
def test_on_a_terminal_a_line_says_where_the_program_halts(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView
) -> None:
    words = [*ON_TERMINAL, str(agent), server.base_url]
    with pexpect.spawn(sys.executable, words, encoding="utf-8", dimensions=(24, 200)) as terminal:
        person.step()
        person.step()
        terminal.expect("agentstepper run: Halting at queries of httpx", timeout=TIMEOUT_S)
        terminal.expect(TEXT, timeout=TIMEOUT_S)
        terminal.expect(pexpect.EOF, timeout=TIMEOUT_S)
        assert "no LLM query" not in terminal.before


def test_disable_ends_the_run_that_was_opened(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView, run: Run
) -> None:
    agent.write_text(ATTACHED + "agentstepper_nb.auto.disable()" + AGENT)
    program = run("python", str(agent), server.base_url)
    person.step()
    person.step()
    assert program.result(TIMEOUT_S).stdout == f"{TEXT}\n" * 2
    assert person.wait_until_ended().ending is RunEnding.FINISHED
