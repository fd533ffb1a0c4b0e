"""A place for a worker whose files are deleted, or can't be opened: no cluster."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from agentstepper_nb.fleet.worker_placement import _keep_filled
from agentstepper_nb.fleet.worker_slots import WorkerSlot
from tests.fleet.conftest import PAUSE


class FailingSlot:
    """Can't be looked at the first time, nor filled the second one."""

    log_file = Path("worker.log")

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_filled = asyncio.Event()

    def fill(self) -> bool:
        self.calls.append("fill")
        if self.calls.count("fill") == 2:
            raise FileNotFoundError("no folder")
        return True

    def is_empty(self) -> bool:
        self.calls.append("is_empty")
        if self.calls.count("is_empty") == 1:
            raise OSError("too many open files")
        self.is_filled.set()
        return False


async def test_a_place_that_cannot_be_used_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    slot = FailingSlot()
    task = asyncio.create_task(_keep_filled(cast(Any, slot), first_wait_s=0.01))
    filled = asyncio.create_task(slot.is_filled.wait())
    await asyncio.wait([task, filled], timeout=20, return_when=asyncio.FIRST_COMPLETED)
    assert filled.done()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert slot.calls == ["fill", "is_empty", "fill", "fill", "is_empty"]
    warnings = [each.message for each in caplog.records if each.levelname == "WARNING"]
    assert [each.rpartition(": ")[2] for each in warnings] == ["too many open files", "no folder"]


@pytest.fixture
def slot(home: Path) -> Iterator[WorkerSlot]:
    folder = home / "fleet" / "name"
    folder.mkdir(mode=0o700, parents=True)
    folder.parent.chmod(0o700)

    def make_environment() -> dict[str, str]:
        (folder / "core.pem").write_text("certificate")
        return os.environ | {"AGENTSTEPPER_WORKER_TOKEN": "none"}

    slot = WorkerSlot(folder, "slot", ("--url", "ws://127.0.0.1:1"), make_environment)
    yield slot
    slot.drain()
    wait_until_empty(slot)


def wait_until_empty(slot: WorkerSlot) -> None:
    while not slot.is_empty():
        time.sleep(PAUSE)


def test_a_worker_is_found_and_its_place_used_again_where_the_folder_is_deleted(
    slot: WorkerSlot,
) -> None:
    assert slot.fill()
    pid = slot.pid
    assert pid is not None
    folder = slot.log_file.parent
    shutil.rmtree(folder.parent)
    assert not slot.is_empty()
    assert not slot.fill()
    assert slot.pid == pid
    slot.drain()
    wait_until_empty(slot)
    assert slot.pid is None
    shutil.rmtree(folder.parent)
    assert slot.fill()
    assert slot.pid not in (None, pid)
    assert {each.name for each in folder.iterdir()} == {"core.pem", "slot.lock", "slot.log"}


def test_a_lock_file_that_is_deleted_makes_no_second_worker(slot: WorkerSlot) -> None:
    assert slot.fill()
    slot.log_file.with_suffix(".lock").unlink()
    assert not slot.is_empty()
    assert not slot.fill()
