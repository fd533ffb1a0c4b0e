"""LanceDB's store at length: killed, without power, and by chance."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from agentstepper_nb.store.lance import LanceRuntimeStore
from tests.helpers.killed_lance_store import kill_writer
from tests.helpers.killed_runtime_store import LEASE, check_rows
from tests.soak.test_power_cut import LoopDisk, disk
from tests.unit.store.lance import test_conformance

__all__ = ["disk"]

pytestmark = pytest.mark.timeout(900)


class TestAtLength(test_conformance.TestLance):
    random_schedules = 100


def nothing() -> None:
    pass


def found(folder: Path, told: dict[str, int]) -> dict[str, int]:
    """What a store has that is opened again."""

    async def see() -> dict[str, int]:
        store = await LanceRuntimeStore.open(folder)
        try:
            return await check_rows(store, told)
        finally:
            await store.close()

    return asyncio.run(see())


def told_by_now(kept: dict[str, int], told: dict[str, int]) -> dict[str, int]:
    """The last of each session that must be there: what was there before, and what was told since."""
    return {**{name: number - 1 for name, number in kept.items()}, **told}


@pytest.mark.parametrize("seed", range(2))
def test_kills_lose_nothing_that_was_told(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    kept: dict[str, int] = {}
    for number in range(8):
        now = 1_000.0 + number * 2 * LEASE  # the leases of the one before are over
        told = kill_writer(tmp_path, chance.randint(1, 120), now, nothing)
        kept = found(tmp_path, told_by_now(kept, told))


@pytest.mark.parametrize("seed", range(2))
def test_power_cuts_lose_nothing_that_was_told(disk: LoopDisk, seed: int) -> None:
    chance = random.Random(seed)
    folder = disk.path / "lance"
    kept: dict[str, int] = {}
    for number in range(5):
        now = 1_000.0 + number * 2 * LEASE
        told = kill_writer(folder, chance.randint(1, 200), now, disk.cut)
        disk.unmount()
        disk.mount()
        kept = found(folder, told_by_now(kept, told))
