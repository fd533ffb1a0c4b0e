"""Programs of which no line knows the debugger, run by the real command under a real Core."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from tests.helpers.core_announcement import announce_core
from tests.instrument.queries import TEXT
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

COMMAND = [sys.executable, "-m", "agentstepper_nb", "run"]
#: An agent as its author wrote it.
AGENT = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="any")
answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hello"}])
print(answer.choices[0].message.content)
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


def run(*words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def test_a_programs_query_halts_under_run(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView
) -> None:
    program = run(*COMMAND, "--", sys.executable, str(agent), server.base_url)
    prompt = person.wait_until_halted()
    row = next(row for row in person.list_rows() if row.id == prompt)
    assert row.kind is EventKind.LLM_QUERY
    assert person.run.program == "agent.py"
    person.step()
    reached = person.wait_until_halted()
    body = person.get_data(next(row for row in person.list_rows() if row.id == reached))
    body["choices"][0]["message"]["content"] = "edited"
    person.step(body)
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert (out, err, program.returncode) == ("edited\n", "", 0)
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
) -> None:
    agent.write_text(AGENT + last)
    program = run(*COMMAND, "--", sys.executable, str(agent), server.base_url)
    person.step()
    person.step()
    program.communicate(timeout=TIMEOUT_S)
    assert program.returncode == 1
    assert person.wait_until_ended().ending is ending


def test_no_attach_leaves_the_program_alone(
    announced: None, agent: Path, server: ScriptedServer
) -> None:
    program = run(*COMMAND, "--no-attach", "--", sys.executable, str(agent), server.base_url)
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert (out, err) == (f"{TEXT}\n", "")


def test_another_sitecustomize_runs_too(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(CUSTOMIZED)
    program = run(*COMMAND, "--", sys.executable, str(agent), server.base_url, PYTHONPATH=str(site))
    person.step()
    person.step()
    out, _ = program.communicate(timeout=TIMEOUT_S)
    assert out.splitlines() == ["customized", TEXT]


def test_a_python_without_this_package_says_so_once(
    announced: None, agent: Path, tmp_path: Path
) -> None:
    child = tmp_path / "parent.py"
    child.write_text("import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1)'])")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    program = run(*COMMAND, "--", python, str(child), PYTHONPATH="")
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert out == "1\n"
    assert err.count("can't import agentstepper_nb") == 1
    assert "Install agentstepper_nb there." in err


def test_one_import_attaches_a_program(
    announced: None, server: ScriptedServer, person: LiveView
) -> None:
    program = run(sys.executable, "-c", ATTACHED, server.base_url)
    person.step()
    person.step()
    out, _ = program.communicate(timeout=TIMEOUT_S)
    assert out == f"{TEXT}\n"
    assert person.wait_until_ended().program == "agent"


def test_a_program_that_opens_a_run_has_one(
    announced: None, server: ScriptedServer, person: LiveView
) -> None:
    own = "import agentstepper_nb.auto, agentstepper_nb\nwith agentstepper_nb.AgentStepper('own'):"
    code = own + AGENT.replace("\n", "\n    ")
    program = run(sys.executable, "-c", code, server.base_url)
    for _ in range(3):  # the start, the prompt, the answer
        person.step()
    program.communicate(timeout=TIMEOUT_S)
    person.wait_until_ended()
    assert [each.program for each in person.runs.values()] == ["own"]


def test_without_a_core_the_program_runs_and_a_warning_says_so(server: ScriptedServer) -> None:
    program = run(sys.executable, "-c", ATTACHED + AGENT, server.base_url)
    out, err = program.communicate(timeout=TIMEOUT_S)
    assert out == f"{TEXT}\n" * 2
    assert err.count("This program runs without the debugger") == 1


def test_the_end_says_that_nothing_was_seen(announced: None, tmp_path: Path) -> None:
    with pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], "--", sys.executable, "-c", "print('done')"], encoding="utf-8"
    ) as terminal:
        terminal.expect("no LLM query of this program was seen", timeout=TIMEOUT_S)
        terminal.expect("neither httpx nor httpx2", timeout=TIMEOUT_S)
        terminal.expect("docs/guide/attach.md", timeout=TIMEOUT_S)


def test_on_a_terminal_a_line_says_where_the_program_halts(
    announced: None, agent: Path, server: ScriptedServer, person: LiveView
) -> None:
    words = [*COMMAND[1:], "--", sys.executable, str(agent), server.base_url]
    with pexpect.spawn(COMMAND[0], words, encoding="utf-8", dimensions=(24, 200)) as terminal:
        person.step()
        person.step()
        terminal.expect("agentstepper run: Halting at queries of httpx", timeout=TIMEOUT_S)
        terminal.expect(TEXT, timeout=TIMEOUT_S)
        terminal.expect(pexpect.EOF, timeout=TIMEOUT_S)
        assert "no LLM query" not in terminal.before


def test_disable_ends_the_run_that_was_opened(
    announced: None, server: ScriptedServer, person: LiveView
) -> None:
    code = ATTACHED + "agentstepper_nb.auto.disable()" + AGENT
    program = run(sys.executable, "-c", code, server.base_url)
    person.step()
    person.step()
    out, _ = program.communicate(timeout=TIMEOUT_S)
    assert out == f"{TEXT}\n" * 2
    assert person.wait_until_ended().ending is RunEnding.FINISHED
