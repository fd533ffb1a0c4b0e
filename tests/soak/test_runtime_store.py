"""The runtime's store, at length: what tests/unit/store/runtime does in small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.store.runtime.test_sqlite_conformance import (
    OnDisk,
    empty_file,  # noqa: F401
)

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(600)


class TestAtLength(OnDisk):
    random_schedules = 300


@pytest.mark.parametrize("seed", range(5))
def test_kills_lose_nothing_that_was_told(tmp_path: Path, seed: int) -> None:
    found = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.helpers.killed_runtime_store",
            str(tmp_path),
            "50",
            str(seed),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
