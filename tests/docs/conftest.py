"""Processes as a reader of the docs starts them, in a home of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pexpect
import pytest

from agentstepper_nb import discover
from agentstepper_nb.hub import AgentStepperCore
from tests.docs.pages import ROOT
from tests.docs.programs import ForkedPrograms, split_command
from tests.helpers.core_announcement import announce_core
from tests.helpers.forked_python import fork_programs
from tests.helpers.serve_process import ServeProcess

#: Seconds that a process has to do what is waited for.
TIMEOUT_S: Final = 40

Environment = dict[str, str]
ServeCommand = Callable[..., ServeProcess]


def stranger(home: Path, **variables: str) -> Environment:
    """The environment of somebody who has nothing of ours but the package.

    Args:
        home: Their home.
        variables: What they set themselves.
    """
    own = {
        "HOME": str(home),
        "JUPYTER_CONFIG_DIR": str(home / "jupyter" / "config"),
        "JUPYTER_DATA_DIR": str(home / "jupyter" / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "jupyter" / "runtime"),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",  # pexpect's terminal says not where its cursor stands
    }
    kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
    return kept | own | variables


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's home, empty. Who steps in the reader's place finds the Core that runs there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", stranger(home)["JUPYTER_RUNTIME_DIR"])
    return home


@pytest.fixture(scope="session")
def programs() -> ForkedPrograms:
    """Runs programs that a test starts for what they do, and not for how they are started."""
    return ForkedPrograms(TIMEOUT_S)


@pytest.fixture
def core(home: Path) -> Iterator[AgentStepperCore]:
    """A Core of this process that keeps its runs, and that programs of this home find."""
    data = home / "jupyter" / "data" / "agentstepper"
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0, data=data) as core:
        file = announce_core(core)
        yield core
        discover.remove_core_info(file)


@pytest.fixture
def uis(core: AgentStepperCore) -> str:
    """Where UIs reach it."""
    assert core.ui_port
    return core.url(core.ui_port)


@pytest.fixture
def serve(home: Path) -> Iterator[ServeCommand]:
    """Start a Core as a page says."""
    with ExitStack() as stack:

        def start(lines: str = "agentstepper serve", **variables: str) -> ServeProcess:
            *before, last = lines.strip().splitlines()
            free = f"{last} --client-port 0 --ui-port 0"
            environment = stranger(home, **variables)
            served = (
                ServeProcess("\n".join([*before, f"exec {free}"]), environment)
                if before
                else start_core(free, environment)
            )
            stack.callback(lambda: served.process.poll() is None and served.stop())
            return served

        yield start


def start_core(line: str, environment: Environment) -> ServeProcess:
    """Start `agentstepper serve` with options, forked."""
    with fork_programs(
        "agentstepper_nb.cli.serve",
        "agentstepper_nb.hub.runtime.service",
        "agentstepper_nb.store.runtime.sqlite",
    ):
        return ServeProcess(split_command(line), environment)


def start_worker(line: str, environment: Environment) -> subprocess.Popen[bytes]:
    """Start `agentstepper worker` with options, forked."""
    with fork_programs(
        "agentstepper_nb.cli.worker",
        "agentstepper_nb.runtime.debugged_run",
        "agentstepper_nb.runtime.monikers.joke",
        "agentstepper_nb.runtime.service",
    ):
        return subprocess.Popen(split_command(line), env=environment, stderr=subprocess.DEVNULL)


def shell(command: str, environment: Environment, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command,
        shell=True,
        env=environment,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def install(home: Path) -> None:
    """Install the package of a page as pip would, as far as entry points need it.

    Args:
        home: The folder with the page's files.
    """
    project = tomllib.loads((home / "pyproject.toml").read_text())["project"]
    info = home / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [
        line
        for group, points in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@contextmanager
def terminal(command: str, environment: Environment, cwd: Path) -> Iterator[pexpect.spawn]:
    """A command in a terminal of its own."""
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", f"exec {command}"],
        env=environment,
        cwd=str(cwd),
        encoding="utf-8",
        timeout=TIMEOUT_S,
        dimensions=(50, 200),
    )
    child.delaybeforesend = None
    try:
        yield child
    finally:
        child.close(force=True)


def type_steps(view: pexpect.spawn, halt_points: int) -> None:
    """Step with the keyboard, at each halt."""
    for _ in range(halt_points):
        view.expect_exact("[r]eturn [c]ontinue")
        view.sendline("s")
