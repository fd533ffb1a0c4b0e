from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pexpect
import pytest
from pexpect.popen_spawn import PopenSpawn

from agentstepper_nb import discover
from agentstepper_nb.hub import AgentStepperCore
from tests.helpers.core_announcement import announce_core
from tests.helpers.sampling import select_sample
from tests.helpers.serve_process import ServeProcess

from .agent import SocketAgent
from .terminals import Terminal, spawn_between_pipes

COMMAND = [sys.executable, "-m", "agentstepper_nb"]
RECORDED = Path(__file__).parents[1] / "wire" / "recorded.run"
#: What `agentstepper step` asks at a halt.
PROMPT = r"\[n\]ext .*\[q\]uit \[\?\]"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is read or written."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in (
        "AGENTSTEPPER_URL",
        "AGENTSTEPPER_TOKEN",
        "AGENTSTEPPER_CONTROL_TOKEN",
        "NO_COLOR",
        "VISUAL",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in ("MODEL", "BASE_URL", "API_KEY"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PROMPT_TOOLKIT_NO_CPR", "1")  # no terminal answers here
    return tmp_path


@pytest.fixture
def serve() -> Iterator[Callable[..., ServeProcess]]:
    started: list[ServeProcess] = []

    def start(*arguments: str) -> ServeProcess:
        ports = () if "--config" in arguments else ("--client-port", "0", "--ui-port", "0")
        served = ServeProcess([*COMMAND, "serve", *ports, *arguments], is_forked=True)
        started.append(served)
        return served

    yield start
    for served in started:
        if served.process.poll() is None:
            served.stop()
        assert served.process.returncode == 0


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        file = announce_core(core)
        yield core
        discover.remove_core_info(file)


Step = Callable[..., pexpect.spawnbase.SpawnBase]


@pytest.fixture
def on_terminal() -> Iterator[Step]:
    """Starts `agentstepper step` on a terminal."""
    with ExitStack() as stack:

        def start(*arguments: str) -> pexpect.spawn:
            step = Terminal([*COMMAND, "step", *arguments])
            stack.callback(step.close, force=True)
            return step

        yield start


@pytest.fixture
def through_pipes() -> Iterator[Step]:
    """Starts `agentstepper step` between pipes."""
    with ExitStack() as stack:

        def start(*arguments: str) -> PopenSpawn:
            step = spawn_between_pipes([*COMMAND, "step", *arguments])
            stack.callback(end, step)
            return step

        yield start


def end(step: PopenSpawn) -> None:
    step.proc.kill()
    step._read_thread.join()
    with step.proc:  # closes its pipes
        pass


@pytest.fixture
def ui_url(core: AgentStepperCore) -> str:
    return f"ws://127.0.0.1:{core.ui_port}"


@pytest.fixture
def agent(core: AgentStepperCore) -> SocketAgent:
    return SocketAgent(f"ws://127.0.0.1:{core.client_port}")


@pytest.fixture(params=select_sample(("terminal", "pipes"), "terminal"))
def start(request: pytest.FixtureRequest) -> Step:
    name = "on_terminal" if request.param == "terminal" else "through_pipes"
    found: Step = request.getfixturevalue(name)
    return found


def quits(step: pexpect.spawnbase.SpawnBase) -> None:
    step.sendline("q")
    step.expect(pexpect.EOF)
    assert step.wait() == 0
