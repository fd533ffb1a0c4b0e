"""A real Core, and commands that run under it, for the tests of what starts them again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepperCore, discover, list_runs
from agentstepper_nb.history import StoredRun
from agentstepper_nb.models.scripted import ScriptedServer
from tests.replay.test_agent_runs import SCRIPT
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S

AGENT = Path(__file__).with_name("counting_agent.py")
COMMAND = (sys.executable, "-m", "agentstepper_nb", "run")


@dataclass
class Scene:
    """A Core that keeps runs, and programs that find it.

    Args:
        core: The Core.
        model: What the programs ask.
        folder: The folder of the runs.
    """

    core: AgentStepperCore
    model: ScriptedServer
    folder: Path

    @property
    def counted(self) -> list[str]:
        """What the tool was called with."""
        file = self.folder / "counted"
        return file.read_text().split() if file.exists() else []

    @property
    def newest(self) -> StoredRun:
        """The run that began last."""
        return StoredRun(list_runs(self.folder / "runs").index[-1], self.folder / "runs")

    @contextmanager
    def start(self, *arguments: str, cwd: Path | None = None) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=cwd or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def execute(self, *arguments: str, cwd: Path | None = None) -> tuple[int, str, str]:
        """Run a command to its end: exit code, output, errors."""
        with self.start(*arguments, cwd=cwd) as process:
            out, err = process.communicate(timeout=TIMEOUT_S)
            return process.returncode, out.strip(), err.strip()

    def record(self, *question: str) -> StoredRun:
        """Run the agent, which a person steps to its end."""
        program = (sys.executable, str(AGENT), "counted", *question)
        return self.record_command("--discover-tools", "--", *program)

    def record_command(self, *arguments: str, cwd: Path | None = None) -> StoredRun:
        """Run a command, whose agent a person lets go on to its end."""
        with (
            LiveView(self.core.ui_port) as person,
            self.start(*arguments, cwd=cwd) as process,
        ):
            person.wait_until(lambda run: bool(run.pending))
            person.resume()
            person.wait_until_ended()
            assert process.wait(TIMEOUT_S) == 0
        return self.newest


@pytest.fixture(scope="module")
def open_scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("scene")
    with (
        ScriptedServer(SCRIPT) as model,
        AgentStepperCore("127.0.0.1", 0, 0, data=folder / "runs") as core,
    ):
        yield Scene(core, model, folder)


@pytest.fixture
def scene(
    open_scene: Scene, forked_programs: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Scene]:
    core = open_scene.core
    monkeypatch.setenv("OPENAI_BASE_URL", open_scene.model.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    file = discover.write_core_info(
        url=core.url(core.client_port),
        data_dir=open_scene.folder / "runs",
        ui_url=core.url(core.ui_port or 0),
    )
    yield open_scene
    discover.remove_core_info(file)
