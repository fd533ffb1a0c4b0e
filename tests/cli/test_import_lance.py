"""`agentstepper import-lance`, as a person runs it."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

from agentstepper_nb import Agents
from tests.goldens.test_store import GOLDENS

from .conftest import COMMAND, ServeProcess

Serve = Callable[..., ServeProcess]
#: Seconds in which something has to happen that takes some.
SOON = 100.0


def import_lance(folder: str, data: Path) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, "import-lance", folder, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SOON)


def test_an_earlier_store_is_brought_over(serve: Serve, tmp_path: Path) -> None:
    with zipfile.ZipFile(GOLDENS / "lance_store.zip") as archive:
        archive.extractall(tmp_path)
    data = tmp_path / "data"
    done = import_lance(f"lance:{tmp_path / 'killed'}", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Imported 1 conversations, 4 actions, 3 agent_state, 5 agent_steps" in done.stdout
    served = serve("--data", str(data), "--no-worker")
    with Agents.connect(served.agents) as agents:
        assert [step.iteration for step in agents.list_agent_steps("live")] == [0, 1, 2]
        done = import_lance(str(tmp_path / "closed"), data)
        assert done.returncode == 1
        assert "agentstepper serve" in done.stderr  # who has the folder


def test_what_is_no_earlier_store(tmp_path: Path) -> None:
    done = import_lance(str(tmp_path), tmp_path / "data")
    assert done.returncode == 1
    assert "name the folder that stood after `lance:`" in done.stderr


def test_a_core_that_is_given_one_names_the_command(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--runtime-store", f"lance:{tmp_path}"]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=SOON)
    assert failed.returncode == 2
    assert f"`agentstepper import-lance {tmp_path}` once, then use sqlite" in failed.stderr
