"""A Core that is killed loses nothing: a sample of what tests/soak has."""

from __future__ import annotations

from pathlib import Path

import pytest

from .faults import Point
from .houses import Serve
from .session import Session


@pytest.mark.timeout(300)
def test_a_core_killed_ten_times_loses_nothing(tmp_path: Path) -> None:
    Session(Serve(tmp_path), tmp_path, seed=4).survive([*Point, *Point])
