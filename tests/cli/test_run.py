"""`agentstepper run`: real programs, run by the real command, under a real Core."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb import discover
from agentstepper_nb.history import load_run
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.protocol.start_methods import CommandStart
from tests.helpers.core_announcement import announce, announce_core
from tests.helpers.forked_python import start_python
from tests.helpers.sampling import select_sample
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore

from .conftest import COMMAND
from .terminals import Terminal

#: Tells what it was given, and does what it is asked.
TELLS = """
import json, os, sys
said = {name: os.environ.get("AGENTSTEPPER_" + name) for name in ("URL", "TOKEN", "NAME")}
print(json.dumps({**said, "pid": os.getpid(), "argv": sys.argv[1:]}), flush=True)
sys.exit(7)
"""
#: An agent: halts at its start, and then at a prompt.
AGENT = """
from agentstepper_nb import AgentStepper
with AgentStepper("its own name") as dbg:
    dbg.begin_llm_query_breakpoint("p")
"""


@pytest.fixture(autouse=True)
def no_core_of_this_machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AGENTSTEPPER_NAME", "JPY_PARENT_PID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def announced(core: AgentStepperCore) -> str:
    """The URL of a Core that is found."""
    url = f"ws://127.0.0.1:{core.client_port}"
    announce_core(core)
    return url


@pytest.fixture
def person(core: AgentStepperCore) -> Iterator[LiveView]:
    with LiveView(core.ui_port) as person:
        yield person


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts `agentstepper run` between pipes."""
    with ExitStack() as stack:

        def start(*arguments: str) -> subprocess.Popen[str]:
            process = start_python(
                [*COMMAND, "run", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)  # closes its pipes
            stack.callback(process.kill)
            return process

        yield start


def python(program: str, *arguments: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-c", program, *arguments)


# ---- the program --------------------------------------------------------------------------------


def test_it_becomes_the_program(announced: str, core: AgentStepperCore, start: Start) -> None:
    process = start(*python(TELLS, "--name", "--", "its own"))
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert json.loads(out) == {
        "URL": announced,
        "TOKEN": core.tokens.agent,
        "NAME": None,
        "pid": process.pid,
        "argv": ["--name", "--", "its own"],
    }
    assert (process.returncode, err) == (7, "")


@pytest.mark.slow
def test_the_core_and_the_name_are_handed_on(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:9")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of another")
    monkeypatch.setenv("AGENTSTEPPER_NAME", "of another")
    with ScriptedCore(token="secret") as core:
        url = core.url.replace("ws:", "http:")
        process = start("--url", url, "--token", "secret", "--name", "my run", *python(TELLS))
        out, _ = process.communicate(timeout=TIMEOUT_S)
    said = json.loads(out)
    assert (said["URL"], said["TOKEN"], said["NAME"]) == (core.url, "secret", "my run")
    with ScriptedCore() as other:  # which asks for no token
        out, _ = start("--url", other.url, *python(TELLS)).communicate(timeout=TIMEOUT_S)
    said = json.loads(out)
    assert (said["URL"], said["TOKEN"], said["NAME"]) == (other.url, None, None)


@pytest.mark.parametrize(
    ("path", "jupyter", "said"),
    [
        ("", {}, "agents halt at {url}: run `agentstepper step` in another terminal to step them."),
        (
            "/agentstepper/agent",
            {"base_url": "/", "root_dir": "/my/notebooks"},
            "agents halt in the Jupyter server of /my/notebooks: step them in the AgentStepper panel, "
            "or at {page}",
        ),
    ],
    ids=["serve", "jupyter"],
)
def test_a_terminal_is_told_where_it_halts(
    core: AgentStepperCore, path: str, jupyter: dict[str, str], said: str
) -> None:
    url = f"ws://127.0.0.1:{core.client_port}{path}"
    announce(url, **core.tokens._asdict(), **jupyter)
    page = f"http://127.0.0.1:{core.client_port}/agentstepper/app"
    terminal = Terminal([*COMMAND, "run", "--", "echo", "begun"], dimensions=(50, 250))
    try:
        terminal.expect_exact(f"agentstepper run: {said.format(url=url, page=page)}\r\nbegun")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close()
    assert terminal.exitstatus == 0


def test_its_run_appears_at_once_under_the_name(
    announced: str, start: Start, person: LiveView
) -> None:
    process = start("--name", "my run", *python(AGENT))
    person.wait_until_halted()
    assert (person.run.program, person.run.pid) == ("my run", process.pid)
    assert len(person.runs) == 1  # the look at the Core before was no run
    person.resume()
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert process.wait(TIMEOUT_S) == 0


def test_without_a_name_the_programs_own_stands(
    announced: str, start: Start, person: LiveView
) -> None:
    process = start(*python(AGENT))
    person.wait_until_halted()
    assert person.run.program == "its own name"
    person.resume()
    assert process.wait(TIMEOUT_S) == 0


def test_output_comes_as_it_is_written(announced: str, start: Start) -> None:
    process = start("--", "sh", "-c", "printf one; read word; echo $word; echo bad >&2")
    assert process.stdout and process.stdin
    assert os.read(process.stdout.fileno(), 100) == b"one"  # no line, and it still runs
    process.stdin.write("two\n")
    process.stdin.flush()
    assert process.communicate(timeout=TIMEOUT_S) == ("two\n", "bad\n")
    assert process.returncode == 0


def test_signals_that_python_ignores_end_the_program(announced: str, start: Start) -> None:
    process = start("--", "sh", "-c", "kill -PIPE $$; echo survived")
    assert process.communicate(timeout=TIMEOUT_S) == ("", "")
    assert process.returncode == -signal.SIGPIPE


# ---- how it ends --------------------------------------------------------------------------------


def test_the_terminal_is_its_own_and_ctrl_c_stops_it(announced: str, person: LiveView) -> None:
    program = f"import sys; print('terminal:', sys.stdin.isatty(), sys.stdout.isatty()){AGENT}"
    terminal = Terminal([*COMMAND, "run", *python(program)])
    try:
        terminal.expect("terminal: True True")
        person.step()
        person.wait_until_halted()
        terminal.sendintr()
        terminal.expect("KeyboardInterrupt")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    assert terminal.signalstatus == signal.SIGINT
    assert person.wait_until_ended().ending is RunEnding.STOPPED


@pytest.mark.slow
@pytest.mark.parametrize("number", select_sample((signal.SIGTERM, signal.SIGKILL), signal.SIGKILL))
def test_a_signal_ends_it_at_a_breakpoint(
    announced: str, start: Start, person: LiveView, number: int
) -> None:
    process = start(*python(AGENT))
    person.wait_until_halted()
    process.send_signal(number)
    assert process.wait(TIMEOUT_S) == -number
    assert person.wait_until_ended().ending is RunEnding.CRASHED


def test_stop_in_the_view_ends_it(announced: str, start: Start, person: LiveView) -> None:
    process = start(*python(AGENT))
    person.wait_until_halted()
    person.stop()
    _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "AgentStopped" in err
    assert person.wait_until_ended().ending is RunEnding.STOPPED


#: Starts what its arguments say, tells its process's number, and ends when its input does.
PARENT = """
import subprocess, sys
print(subprocess.Popen(sys.argv[1:]).pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of a parent's end")
def test_it_ends_with_its_parent_also_where_that_is_killed(
    announced: str, person: LiveView
) -> None:
    command = [*COMMAND, "run", "--with-parent", *python(AGENT)]
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        person.wait_until_halted()
        assert person.run.pid == pid
        parent.kill()
    assert person.wait_until_ended().ending is RunEnding.CRASHED


# ---- what can't be run --------------------------------------------------------------------------


@pytest.fixture
def files(home: Path) -> Path:
    (home / "folder").mkdir()
    for name, text in (("agent.py", "print()"), ("bad", "#!/no/such/python\n"), ("junk", "\0\1")):
        (home / name).write_text(text)
        (home / name).chmod(0o644 if name == "agent.py" else 0o755)
    return home


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        ("no-such-program", 127, "there is no program no-such-program."),
        ("{files}/missing", 127, "there is no program {files}/missing."),
        (
            "{files}/agent.py",
            126,
            "can't be run: Permission denied. For a Python file write python {files}/agent.py",
        ),
        ("{files}/folder", 126, "can't be run: Permission denied."),
        ("{files}/bad", 126, "the interpreter that its first line names is missing."),
        ("{files}/junk", 126, "can't be run: Exec format error."),
    ],
)
def test_what_can_not_be_run_is_named(
    announced: str, files: Path, start: Start, program: str, code: int, said: str
) -> None:
    process = start("--", program.format(files=files))
    out, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, out) == (code, "")
    assert err.startswith("agentstepper run: ")
    assert said.format(files=files) in err
    assert err.count("\n") == 1


@pytest.mark.slow
def test_its_runs_say_how_they_were_started(
    home: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_MODE", "of no interest")
    with AgentStepperCore("127.0.0.1", 0, 0, data=home / "runs") as core:
        discover.write_core_info(url=core.url(core.client_port), data_dir=home / "runs")
        program = AGENT.replace('"its own name"', '"x", mode="continue", stop_on_entry=False')
        process = start("--name", "mine", "--discover-tools", *python(program, "one", "two"))
        assert process.wait(TIMEOUT_S) == 0
    run = load_run("Run #1 of mine", home / "runs").start_method()
    assert isinstance(run, CommandStart)
    assert run.argv == (sys.executable, "-c", program, "one", "two")
    assert (run.folder, run.name) == (str(Path.cwd()), "mine")
    assert (run.attaches, run.discovers_tools, run.masked) == (True, True, ())
    assert "MY_MODE" in run.variables
