"""Kills a process that writes to a store, again and again, and looks at what is left.

Run as `python -m tests.helpers.killed_store FOLDER ROUNDS SEED`:
forking is safe where nothing runs beside.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from functools import partial
from pathlib import Path

from agentstepper_nb.protocol.data_model import Event, EventKind, EventSide, HaltPoint, Run
from agentstepper_nb.protocol.records import (
    EventSaved,
    HaltPointSaved,
    MessagesReceived,
    Record,
    RunStarted,
)
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import open_store
from tests.helpers.killed_process import kill_writer

AGENTS = ("one", "two", "three")


def make_message_records(run: str, n: int) -> list[Record]:
    """All that a message of an agent brings, with its number."""
    event = Event(id=f"e{n}", run=run, kind=EventKind.LLM_QUERY, at=n)
    point = HaltPoint(
        id=f"b{n}",
        run=run,
        event=event.id,
        seq=n,
        side=EventSide.BEGIN,
        kind=event.kind,
        at=n,
        data=f'"{n} ' + "lorem ipsum " * (n * 37 % 300) + '"',
    )
    return [
        EventSaved(event=event),
        HaltPointSaved(halt_point=point),
        MessagesReceived(run=run, n=n),
    ]


async def write(folder: Path, durability: Durability, reported: int) -> None:
    """Write until killed; what is recorded is told."""
    store = open_store(folder, durability)
    kept = {record.run: record.n for record in store.load() if isinstance(record, MessagesReceived)}

    async def agent(run: str) -> None:
        if run not in kept:
            store.append([RunStarted(run=Run(id=run, name=run, program="P", started_at=0))])
        n = kept.get(run, 0)
        while True:
            n += 1
            done = asyncio.Event()
            store.append(make_message_records(run, n), done.set, durable=n % 7 == 0)
            await done.wait()
            os.write(reported, f"{run} {n}\n".encode())

    await asyncio.gather(*(agent(run) for run in AGENTS))


async def check(folder: Path, reported: dict[str, int]) -> dict[str, int]:
    """What is there, which is all that was told, each once, with its number."""
    store = open_store(folder)
    records = list(store.load())
    heard = {record.run: record.n for record in records if isinstance(record, MessagesReceived)}
    for run, n in heard.items():
        history = await store.history(run)
        assert n >= reported.get(run, 0), f"{run}: {n} of {reported[run]} messages are there"
        points = [record for k in range(n) for record in make_message_records(run, k + 1)]
        kept: list[Record] = []
        for event, point in zip(history.events, history.halt_points, strict=True):
            kept += [EventSaved(event=event), HaltPointSaved(halt_point=point)]
        assert kept == [record for record in points if not isinstance(record, MessagesReceived)]
    assert set(reported) <= set(heard)
    store.close()
    return heard


def main(folder: Path, rounds: int, seed: int) -> None:
    """Kill so many times, and tell how many messages are there at the end."""
    chance = random.Random(seed)
    kept: dict[str, int] = {}
    for _ in range(rounds):
        durability = chance.choice([Durability.DURABLE, Durability.SYNC])
        reported = kill_writer(partial(write, folder, durability), chance.randint(1, 60))
        kept = asyncio.run(check(folder, kept | reported))
    print(sum(kept.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
