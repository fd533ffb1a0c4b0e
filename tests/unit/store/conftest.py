"""A Core's folder with a store of several runs, for tests of what looks at it and repairs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.damaged_folders import CoreFolderFiles, build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> CoreFolderFiles:
    return build(tmp_path_factory.mktemp("built"), emptied=True)


@pytest.fixture
def folder(built: CoreFolderFiles, tmp_path: Path) -> Path:
    return built.write_to(tmp_path / "data")
