from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.sdk.workspace import Workspace
from tests.sdk.workspace.helpers import Open


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The workspace."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where the debugger keeps its own."""
    return tmp_path / "data"


@pytest.fixture
def watch(folder: Path, data: Path) -> Iterator[Open]:
    """Open workspaces, on the workspace unless told otherwise; they are closed at the end."""
    opened: list[Workspace] = []

    def watch(where: Path = folder, program: str = "agent", **options: object) -> Workspace:
        opened.append(Workspace(where, program, **{"data_dir": data, **options}))  # type: ignore[arg-type]
        return opened[-1]

    yield watch
    for workspace in opened:
        workspace.close()
