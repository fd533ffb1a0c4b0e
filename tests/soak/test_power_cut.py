"""A power cut loses nothing that was durable.

The cut is ext4's own shutdown without flushing its log, on a file system in a file: what wasn't
synced is gone, as with the page cache of a machine. It is no real disk.
"""

from __future__ import annotations

import fcntl
import os
import random
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import SqliteStore
from agentstepper_nb.store.sqlite.reader import StoreReader
from tests.crash_recovery.writer import point

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
_WITHOUT_FLUSH = 2
_PATIENCE = 60


class LoopDisk:
    """An ext4 of its own, whose power can be cut."""

    def __init__(self, folder: Path) -> None:
        self._image = folder / "disk"
        self.path = folder / "mounted"
        self.path.mkdir()
        with self._image.open("wb") as image:
            image.truncate(256 << 20)
        _run("mkfs.ext4", "-q", str(self._image))
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.path))

    def unmount(self) -> None:
        _run("umount", str(self.path))

    def cut(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, struct.pack("I", _WITHOUT_FLUSH))
        finally:
            os.close(folder)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[LoopDisk]:
    try:
        disk = LoopDisk(tmp_path)
    except (subprocess.CalledProcessError, OSError) as error:
        said = getattr(error, "stderr", "") or error
        pytest.skip(f"power cuts need root, a loop device and mkfs.ext4: {said}")
    yield disk
    disk.unmount()


@pytest.mark.parametrize(
    ("durability", "seed"),
    [
        *((Durability.DURABLE, seed) for seed in range(4)),
        (Durability.SYNC, 4),
        (Durability.RELAXED, 5),
    ],
)
def test_what_was_called_durable_is_there_after_the_cut(
    disk: LoopDisk, tmp_path: Path, durability: Durability, seed: int
) -> None:
    journal = tmp_path / "journal"
    enough = random.Random(seed).randint(20, 2000)
    writer = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.crash_recovery.writer",
            str(disk.path),
            durability,
            str(journal),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        began = time.monotonic()
        while not journal.exists() or len(journal.read_bytes().splitlines()) < enough:
            assert writer.poll() is None and time.monotonic() - began < _PATIENCE
        disk.cut()
    finally:
        writer.kill()
        writer.wait()
    disk.unmount()
    disk.mount()
    _judge(disk.path, journal)


def _judge(folder: Path, journal: Path) -> None:
    promised: Counter[str] = Counter()
    for line in journal.read_text().splitlines():
        run, number = line.split()
        promised[run] = max(promised[run], int(number))
    assert promised
    store = SqliteStore(folder)  # as a Core that starts again
    list(store.load())
    store.close()
    reader = StoreReader(folder / "store.sqlite")
    try:
        for run, last in promised.items():
            kept = reader.history(run).halt_points
            assert len(kept) >= last
            assert list(kept) == [point(run, number) for number in range(1, len(kept) + 1)]
    finally:
        reader.close()
