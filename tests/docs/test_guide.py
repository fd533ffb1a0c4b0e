"""The guide's ways to attach an agent, each walked as its page prints it."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import pexpect
import pytest
from nbclient import NotebookClient

from notebooks.driver import Driver
from tests.docs.conftest import (
    TIMEOUT_S,
    Environment,
    ServeCommand,
    shell,
    stranger,
    terminal,
    type_steps,
)
from tests.docs.pages import GUIDE, README, ROOT, Block, blocks, files, links, write_files
from tests.docs.programs import ForkedPrograms
from tests.e2e.jupyter import Jupyter, running_jupyter
from tests.helpers.sampling import select_sample

ATTACH, PROCESSES, REMOTE, SAVED = (
    GUIDE / f"{name}.md" for name in ("attach", "processes", "remote", "saved")
)
#: An agent of each framework; that of botocore has its example in attach.md.
AGENTS = sorted(
    agent
    for agent in (ROOT / "tests" / "frameworks" / "agents").glob("*.py")
    if agent.stem != "botocore"
)
FOUND = "['a red boat', 'a blue boat']"

#: Each file of the guide, with what it prints and how many halt points it has.
PROGRAMS = {
    ("attach", "agent.py"): (FOUND, 5),
    ("attach", "async_agent.py"): ("Good day.", 3),
    ("attach", "own_types.py"): ("booked C7", 3),
    ("attach", "wrapped.py"): ("You said: Hello 5", 5),
    ("changes", "writer.py"): ("", 3),
    # It steps itself, at a Core of its own.
    ("step-and-edit", "steps.py"): ("['delegate begin', 'delegate end']", 0),
    # It halts at what asks alone.
    ("breakpoints", "approvals.py"): ("ran rm -r build this once", 1),
}
#: Pages whose files other tests run.
ELSEWHERE = {
    "background-agents": "tests/docs/test_background_agents.py",
    "chat": "tests/docs/test_chat.py",
    "chat-outside": "tests/docs/test_chat_outside.py",
    "coding": "tests/coding/test_coding_page.py",
    "fleet": "tests/fleet/test_guide.py",
    "operations": "tests/docs/test_background_agents.py",
    "policy": "tests/coding/policy/test_guide.py",
    "providers": "tests/docs/test_providers.py",
    "replay": "tests/docs/test_replay.py",
    "runtime-stores": "tests/docs/test_runtime_stores.py",
    "tools": "tests/coding/test_tools_registry.py",
    "workers": "tests/docs/test_workers.py",
}


@contextmanager
def stepped(url: str) -> Iterator[Driver]:
    """Somebody steps whatever halts at the Core whose UIs connect to `url`."""
    driver = Driver(url)
    driver.start()
    try:
        yield driver
    finally:
        driver.stop()


def printed(page: Path, text: str) -> Block:
    """The only block of a page that has this in it."""
    (found,) = [block for block in blocks(page) if text in block.text]
    return found


def test_every_program_is_known() -> None:
    printed_here = {(page.stem, name) for page in GUIDE.glob("*.md") for name in files(page)}
    assert {(page, name) for page, name in printed_here if page not in ELSEWHERE} == set(PROGRAMS)


@pytest.mark.parametrize(("page", "test"), ELSEWHERE.items(), ids=lambda word: str(word))
def test_pages_with_a_test_of_their_own_have_it(page: str, test: str) -> None:
    assert f"{page}.md" in (ROOT / test).read_text()


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.stem)
def test_a_framework_has_a_page(agent: Path) -> None:
    """What it installs is what its agent is tested with, by tests/frameworks/test_guide_pages.py."""
    page = GUIDE / "frameworks" / f"{agent.stem}.md"
    assert f"frameworks/{page.name}" in links(ATTACH)
    requirements = (agent.parents[1] / "requirements" / f"{agent.stem}.txt").read_text()
    _, _, *installed = shlex.split(printed(page, "pip install ").text)
    pinned = [line.partition("==")[0] for line in requirements.splitlines()]
    assert installed
    assert set(installed) <= set(pinned)


def test_each_framework_page_is_of_an_agent() -> None:
    pages = {page.stem for page in (GUIDE / "frameworks").iterdir()}
    assert pages == {agent.stem for agent in AGENTS}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "name"), PROGRAMS, ids=lambda word: str(word))
def test_a_program(page: str, name: str, home: Path, uis: str, programs: ForkedPrograms) -> None:
    """It finds the only debugger of this user by itself."""
    output, steps = PROGRAMS[page, name]
    write_files(GUIDE / f"{page}.md", home)
    with stepped(uis) as driver:
        done = programs.run(f"python {name}", stranger(home), home, "agentstepper_nb.sdk")
    assert (done.returncode, done.stdout.strip()) == (0, output), done.stderr
    assert driver.steps == steps
    if name == "writer.py":
        assert (home / "project" / "hello.txt").read_text() == "Hello"


# ---- in a notebook ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Jupyter]:
    with running_jupyter(tmp_path_factory.mktemp("jupyter")) as jupyter:
        yield jupyter


@pytest.mark.slow
def test_in_a_notebook(home: Path, uis: str) -> None:
    """The page's two cells: the view, four halts, and what the agent prints."""
    cells = [printed(ATTACH, "%load_ext").text, printed(ATTACH, "%%step librarian").text]
    outputs, steps = executed(cells, home, stranger(home), uis)
    assert (steps, read_printed(outputs)) == (4, f"{FOUND}\n")
    shown = [output.data for output in outputs if output.output_type == "display_data"]
    assert [data["application/vnd.agentstepper.view+json"]["follow"] for data in shown] == [False]


@pytest.mark.soak  # tests/sdk/test_spawn_in_kernel has children in a kernel
def test_a_child_of_a_notebook(jupyter: Jupyter) -> None:
    """The cell that spawns: the child's halts are stepped, and its output is the cell's."""
    write_files(ATTACH, jupyter.folder)
    cells = [printed(ATTACH, "%load_ext").text, printed(PROCESSES, "dbg.spawn").text]
    websocket = jupyter.url.replace("http://", "ws://")
    at = f"{websocket}agentstepper/ui?token={jupyter.token}"
    outputs, steps = executed(cells, jupyter.folder, of_its_kernels(jupyter), at)
    assert (steps, read_printed(outputs)) == (5, f"{FOUND}\n")


def executed(
    cells: list[str], folder: Path, environment: Environment, url: str
) -> tuple[list[Any], int]:
    """What the last of some cells puts out, stepped by somebody at a Core, and their steps."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(notebook, timeout=TIMEOUT_S, kernel_name="python3", resources=resources)
    with stepped(url) as driver:
        client.execute(env=environment)
    return notebook.cells[-1].outputs, driver.steps


def read_printed(outputs: list[Any]) -> str:
    """What a cell printed."""
    return "".join(output.text for output in outputs if output.output_type == "stream")


def of_its_kernels(jupyter: Jupyter) -> Environment:
    """The environment of a server's kernels."""
    code = (
        "from agentstepper_nb.discover import discover\n"
        "core = discover()\nprint(core.url, core.token)"
    )
    environment = jupyter.environment()
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    url, token = told.stdout.split()
    return environment | {"AGENTSTEPPER_URL": url, "AGENTSTEPPER_TOKEN": token}


# ---- in three terminals ----------------------------------------------------------------------------


@pytest.mark.slow
def test_in_three_terminals(home: Path, serve: ServeCommand) -> None:
    for command in ("agentstepper serve", "python agent.py", "agentstepper step"):
        assert any(block.text.strip() == command for block in blocks(ATTACH)), command
    write_files(ATTACH, home)
    served = serve("agentstepper serve")
    with terminal(f"agentstepper step --url {served.uis}", stranger(home), home) as view:
        with terminal("python agent.py", stranger(home), home) as agent:
            type_steps(view, 5)
            agent.expect_exact(FOUND)
            agent.expect(pexpect.EOF)
        view.expect("finished")


@pytest.mark.slow
def test_run_a_program_under_the_debugger(home: Path, uis: str, programs: ForkedPrograms) -> None:
    command = "agentstepper run -- python agent.py"
    for page in (PROCESSES, README):
        assert any(command in block.text.splitlines() for block in blocks(page))
    write_files(ATTACH, home)
    with stepped(uis) as driver:
        done = programs.run(command, stranger(home), home)
    assert (done.returncode, done.stdout.strip(), driver.steps) == (0, FOUND, 5), done.stderr


def test_run_without_a_debugger(home: Path, programs: ForkedPrograms) -> None:
    write_files(ATTACH, home)
    refused = programs.run("agentstepper run -- python agent.py", stranger(home), home)
    assert (refused.returncode, refused.stdout) == (125, "")
    assert "No AgentStepper Core is running." in refused.stderr


# ---- saved notebooks -------------------------------------------------------------------------------


@pytest.mark.soak  # tests/widgets/test_kept has such a notebook
def test_a_notebook_that_a_program_runs_keeps_the_timeline(home: Path) -> None:
    cells = ("%load_ext agentstepper_nb", "%%step tidy\ndbg.post_debug_message('hello')")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in cells])
    nbformat.write(made, home / "notebook.ipynb")
    done = shell(printed(SAVED, "store_widget_state").text.strip(), stranger(home), home)
    assert done.returncode == 0, done.stderr
    web = (home / "notebook.html").read_text()
    assert "of tidy</span></b>: ✓ finished" in web
    assert "widget-view+json" not in web


# ---- on another machine ----------------------------------------------------------------------------

TOKEN = "a-token-of-the-page"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A home on the agent's machine, which shares nothing with the debugger's."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    write_files(ATTACH, elsewhere)
    return elsewhere


def address() -> str:
    """An address of this machine that isn't the loopback's first."""
    return "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"


def exports(text: str, **values: str) -> str:
    """A page's shell lines with what the reader fills in."""
    for name, value in values.items():
        text, count = re.subn(rf"(?m)^(export {name}=).*$", rf"\g<1>{value}", text)
        assert count == 1, name
    return text


@pytest.mark.slow
def test_on_another_machine(home: Path, elsewhere: Path, serve: ServeCommand) -> None:
    """The agent knows a URL and a token, and nothing else."""
    served = serve(exports(printed(REMOTE, "serve --host").text, AGENTSTEPPER_TOKEN=TOKEN))
    there = {
        "url": served.agents.replace("127.0.0.1", address()),
        "ui": served.uis.replace("127.0.0.1", address()),
    }
    agent_lines = exports(
        printed(REMOTE, "ws://debugger.example:8765").text,
        AGENTSTEPPER_URL=there["url"],
        AGENTSTEPPER_TOKEN=TOKEN,
    )
    control = (home / "jupyter" / "data" / "agentstepper" / "control-token").read_text().strip()
    step_lines = exports(
        printed(REMOTE, "agentstepper step").text, AGENTSTEPPER_CONTROL_TOKEN=control
    )
    step_lines = step_lines.replace("ws://debugger.example:4567", there["ui"])
    (home / "view.sh").write_text(step_lines)
    (elsewhere / "agent.sh").write_text(agent_lines)
    with terminal("/bin/sh view.sh", stranger(home), home) as view:
        with terminal("/bin/sh agent.sh", stranger(elsewhere), elsewhere) as agent:
            type_steps(view, 5)
            agent.expect_exact(FOUND)
            agent.expect(pexpect.EOF)
        view.expect("finished")
    assert TOKEN not in served.stop()


def test_the_token_that_the_page_makes(home: Path) -> None:
    making = printed(REMOTE, "serve --host").text.splitlines()[0]
    made = shell(f"{making}\necho $AGENTSTEPPER_TOKEN", stranger(home), home)
    assert re.fullmatch(r"[\w-]{40,}\n", made.stdout), made.stderr


@pytest.mark.slow
@pytest.mark.parametrize("token", select_sample(("another", ""), "another"))
def test_a_wrong_token_says_what_to_do(
    token: str, elsewhere: Path, serve: ServeCommand, programs: ForkedPrograms
) -> None:
    served = serve("agentstepper serve --host 0.0.0.0", AGENTSTEPPER_TOKEN=TOKEN)
    url = served.agents.replace("127.0.0.1", address())
    environment = stranger(elsewhere, AGENTSTEPPER_URL=url, AGENTSTEPPER_TOKEN=token)
    refused = programs.run("python agent.py", environment, elsewhere)
    assert refused.returncode == 1
    last = refused.stderr.splitlines()[-1]
    assert f"The Core at {url} refused this agent (401): the token is missing or wrong." in last
    assert "Pass token=, or set AGENTSTEPPER_TOKEN" in last
    assert TOKEN not in refused.stderr

    first = programs.run("agentstepper run -- python agent.py", environment, elsewhere)
    assert (first.returncode, first.stdout) == (125, "")
    assert "the token is missing or wrong" in first.stderr
    assert "Traceback" not in first.stderr

    seen = programs.run(f"agentstepper step --url {served.uis}", environment, elsewhere)
    assert seen.returncode != 0
    assert "AGENTSTEPPER_CONTROL_TOKEN" in seen.stdout + seen.stderr


def test_without_a_token_nobody_else_is_listened_to(
    elsewhere: Path, serve: ServeCommand, programs: ForkedPrograms
) -> None:
    """The debugger asks for the tokens of its data folder, where none was made for it."""
    served = serve("agentstepper serve --host 0.0.0.0")
    url = served.agents.replace("127.0.0.1", address())
    environment = stranger(elsewhere, AGENTSTEPPER_URL=url)
    refused = programs.run("python agent.py", environment, elsewhere)
    assert refused.returncode == 1
    assert "(401): the token is missing or wrong" in refused.stderr


@pytest.mark.soak  # tests/server has agents at its address, with and without its token
def test_an_agent_of_a_jupyter_server_elsewhere(jupyter: Jupyter, elsewhere: Path) -> None:
    """By the address of the page's table and the token of its file."""
    lines = printed(REMOTE, "wss://jupyter.example").text
    assert "/agentstepper/agent" in lines
    websocket = jupyter.url.replace("http://", "ws://")
    token = (jupyter.data / "agentstepper" / "agent-token").read_text().strip()
    environment = stranger(
        elsewhere, AGENTSTEPPER_URL=f"{websocket}agentstepper/agent", AGENTSTEPPER_TOKEN=token
    )
    with stepped(f"{websocket}agentstepper/ui?token={jupyter.token}") as driver:
        done = shell("python agent.py", environment, elsewhere)
    assert (done.returncode, done.stdout.strip()) == (0, FOUND), done.stderr
    assert driver.steps == 5
    wrong = shell("python agent.py", environment | {"AGENTSTEPPER_TOKEN": jupyter.token}, elsewhere)
    assert wrong.returncode == 1
    assert "the token is missing or wrong" in wrong.stderr
