"""A store that is written to until somebody ends it; what it called durable is told to another disk.

python -m tests.crash_recovery.writer FOLDER DURABILITY JOURNAL
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from agentstepper_nb.protocol.data_model import (
    AnswerKind,
    Event,
    EventKind,
    EventSide,
    HaltPoint,
    Run,
)
from agentstepper_nb.protocol.records import EventSaved, HaltPointSaved, RunStarted
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import SqliteStore

RUNS = 3


async def main(folder: Path, durability: Durability, journal: Path) -> None:
    store = SqliteStore(folder, durability)
    list(store.load())
    file = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def log_acknowledged(run: str, number: int) -> None:
        os.write(file, f"{run} {number}\n".encode())
        os.fdatasync(file)

    async with asyncio.TaskGroup() as group:
        for number in range(RUNS):
            group.create_task(write(store, f"run-{number}", log_acknowledged))


async def write(store: SqliteStore, run: str, log_acknowledged: Callable[[str, int], None]) -> None:
    header = Run(id=run, name=run, program="p", started_at=1.0)
    event = Event(id="e", run=run, kind=EventKind.PROGRAM_STARTED, at=1.0)
    store.append([RunStarted(run=header), EventSaved(event=event)])
    for number in itertools.count(1):
        durable = asyncio.Event()
        store.append([HaltPointSaved(halt_point=point(run, number))], on_synced=durable.set)
        await durable.wait()
        log_acknowledged(run, number)


def point(run: str, number: int) -> HaltPoint:
    return HaltPoint(
        id=f"b{number}",
        run=run,
        event="e",
        seq=number,
        kind=EventKind.PROGRAM_STARTED,
        side=EventSide.BEGIN,
        at=float(number),
        data=f'"{run} {number} {"x" * 700}"',
        answer=AnswerKind.RESUME,
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Durability(sys.argv[2]), Path(sys.argv[3])))
