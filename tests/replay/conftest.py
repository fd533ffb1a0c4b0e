"""A real Core, and a recorded workspace; nothing of this machine is found by accident."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.replay.workspace_trees import RecordedRun
from tests.sdk.conftest import live, no_core_of_this_machine
from tests.sdk.workspace.helpers import make_repository

__all__ = ["live", "no_core_of_this_machine"]


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
