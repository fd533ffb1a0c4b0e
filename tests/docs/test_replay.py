"""What replay.md prints of tests, as it prints it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, discover
from agentstepper_nb.sdk import set_current_stepper
from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, blocks
from tests.docs.programs import ForkedPrograms
from tests.helpers.core_announcement import announce_core

PAGE = GUIDE / "replay.md"
AGENT = """
from agentstepper_nb import AgentStepper


def list_folder(path):
    return ["README", "agent.py"]


def answer(question):
    with AgentStepper("my-agent") as dbg:
        found = dbg.traced_tool(list_folder)(".")
        return dbg.traced_llm(lambda prompt: f"There is {' and '.join(found)}.", model="m")(question)
"""
PLUGIN = "-p agentstepper_nb.pytest_plugin"
"""pytest loads it by itself where the package is installed anew."""


def find(text: str) -> str:
    """The only block of the page that has this in it."""
    (found,) = [block.text for block in blocks(PAGE) if text in block.text]
    return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an agent, and a run of it in the folder of runs that is looked into."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "agent.py").write_text(AGENT)
    sys.modules.pop("agent", None)
    import agent  # type: ignore[import-not-found]

    with AgentStepperCore("127.0.0.1", 0, 0, data=discover.data_dir()) as core:
        file = announce_core(core)
        options = {"stop_on_entry": False, "mode": "continue"}
        with AgentStepper("my-agent", **options) as dbg, set_current_stepper(dbg):  # type: ignore[arg-type]
            agent.answer("What is in this folder?")
        discover.remove_core_info(file)
    return tmp_path


@pytest.mark.slow
def test_a_run_becomes_a_test(project: Path, programs: ForkedPrograms) -> None:
    environment = stranger(
        project, JUPYTER_DATA_DIR=str(project / "data"), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    done = programs.run(find("export --pytest").strip(), environment, project)
    assert done.returncode == 0, done.stderr
    exec(find("import export_test"), {})
    (project / "test_own.py").write_text(find("def test_the_answer"))
    command = next(b.text for b in blocks(PAGE) if b.text.strip().endswith("pytest test_answer.py"))
    _, *words = shlex.split(command)
    pytest_command = shlex.join([*words, "test_listing.py", "test_own.py"])
    done = programs.run(f"python {pytest_command} {PLUGIN}", environment, project)
    assert "3 passed" in done.stdout, done.stdout
    assert "assert 'README' in result" in (project / "test_listing.py").read_text()
