"""The store on disk, at length: what tests/unit/store/sqlite does in small."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from agentstepper_nb.store import open_store
from agentstepper_nb.store.sqlite.database import STORE_FILE
from tests.helpers.growing_agent import append_growing_run, folder_size_bytes
from tests.unit.store.sqlite.test_restart import RandomDebuggingRestarted

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.timeout(600)

TestRestarted = RandomDebuggingRestarted.TestCase
TestRestarted.settings = settings(
    max_examples=150,
    stateful_step_count=60,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("seed", range(5))
def test_kills_lose_nothing_that_was_told(tmp_path: Path, seed: int) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tests.helpers.killed_store", str(tmp_path), "60", str(seed)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr


def test_prompts_cost_three_times_what_is_new_in_them_at_most(tmp_path: Path) -> None:
    async def idle() -> int:
        store = open_store(tmp_path)
        new = await append_growing_run(store, 500)
        await smaller(lambda: folder_size_bytes(tmp_path), 3 * new)
        store.close()
        return new

    new = asyncio.run(idle())
    assert folder_size_bytes(tmp_path) <= 3 * new
    assert folder_size_bytes(tmp_path, f"{STORE_FILE}*") < 1.5 * new


async def smaller(size: Callable[[], int], wanted: int) -> None:
    """Wait until the store has tidied up, some seconds at most: it does so by itself."""
    for _ in range(100):
        if size() <= wanted:
            return
        await asyncio.sleep(0.1)
