"""A real Core, and a recorded workspace; nothing of this machine is found by accident."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepperCore, discover
from tests.helpers.core_announcement import announce_core
from tests.helpers.forked_python import fork_programs
from tests.replay.workspace_trees import RecordedRun
from tests.sdk.conftest import live, no_core_of_this_machine
from tests.sdk.workspace.helpers import make_repository

__all__ = ["live", "no_core_of_this_machine"]


@pytest.fixture(scope="module")
def storing_core(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[AgentStepperCore, Path]]:
    """A Core that keeps the runs of a file's tests, and their folder."""
    folder = tmp_path_factory.mktemp("runs")
    with AgentStepperCore("127.0.0.1", 0, 0, data=folder) as core:
        yield core, folder


@pytest.fixture
def runs(storing_core: tuple[AgentStepperCore, Path]) -> Iterator[Path]:
    """The folder of the Core that keeps runs, and that this process finds."""
    core, folder = storing_core
    file = announce_core(core)
    yield folder
    discover.remove_core_info(file)


@pytest.fixture
def forked_programs() -> Iterator[None]:
    """Programs of this interpreter are forked from one that has imported what they need."""
    with fork_programs():
        yield


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace of the recorded run: a repository of the user's."""
    return make_repository(tmp_path / "project", **{"main.py": "print(1)\n"})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def run(folder: Path, data: Path) -> Iterator[RecordedRun]:
    recorded = RecordedRun(folder, data)
    yield recorded
    recorded.workspace.close()
