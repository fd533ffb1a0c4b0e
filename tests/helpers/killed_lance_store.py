"""Writes to LanceDB's store until it is killed, and tells on standard output what is kept.

Run as `python -m tests.helpers.killed_lance_store FOLDER NOW`. Unlike SQLite's,
it can't be forked: LanceDB has threads.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from agentstepper_nb.store.lance import LanceRuntimeStore, row_store
from tests.helpers.killed_runtime_store import SESSIONS, session

ROOT = Path(__file__).parents[2]


async def write(folder: Path, now: float) -> None:
    """Write until killed; tables are made safe often, so that kills fall into that as well."""
    row_store._MAX_JOURNAL_ENTRIES = 40  # type: ignore[misc]
    row_store._MAX_MERGES = 8  # type: ignore[misc]
    row_store._MAX_PENDING_ROWS = 10  # type: ignore[misc]
    store = await LanceRuntimeStore.open(folder)
    await asyncio.gather(*(session(store, name, 1, now) for name in SESSIONS))


def kill_writer(folder: Path, lines: int, now: float, end: Callable[[], None]) -> dict[str, int]:
    """Start one that writes, end it after so many lines, and give what it told.

    Args:
        folder: Where it writes.
        lines: How many it tells at least.
        now: Its clock.
        end: Called before it is killed: cuts the power, say.
    """
    command = [sys.executable, "-m", "tests.helpers.killed_lance_store", str(folder), str(now)]
    reported: dict[str, int] = {}
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            for number, line in enumerate(process.stdout):
                name, n = line.split()
                reported[name] = int(n)
                if number + 1 == lines:
                    end()
                    process.kill()
        finally:
            process.kill()
    assert reported, "it told nothing: does it start?"
    return reported


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), float(sys.argv[2])))
