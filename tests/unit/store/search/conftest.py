"""An index, and where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.store.search import SearchService
from tests.unit.store.search.indexed_runs import Open


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "search.sqlite"


@pytest.fixture
def open(path: Path) -> Iterator[Open]:
    opened: list[SearchService] = []

    def open(file: Path | None = path, **options: Any) -> SearchService:
        opened.append(SearchService(file, **options))
        return opened[-1]

    yield open
    for each in opened:
        each.close()
