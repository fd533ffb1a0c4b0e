"""A projection whose power is cut: its rows are there up to the noted number, or it is refused."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import lancedb
import pytest

from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol.runtime_store_messages import ChangeQuery
from agentstepper_nb.store.lance.projection import Projection
from agentstepper_nb.store.runtime.conformance.base_suite import (
    begin_session,
    make_step,
    write_session,
)
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.soak.test_power_cut import LoopDisk, disk

__all__ = ["disk"]

pytestmark = pytest.mark.timeout(900)

_STEPS = 3000
_BATCH = 20
#: Projects in a process of its own, whose files the cut may not keep open; tells each number it notes.
_WRITER = f"""
import asyncio, sys
from pathlib import Path
from agentstepper_nb.protocol.runtime_store_messages import ChangeQuery
from agentstepper_nb.store.lance.projection import Projection
from agentstepper_nb.store.runtime.sqlite import open_runtime_store

async def main():
    store = open_runtime_store(Path(sys.argv[1]))
    projection = await Projection.open(sys.argv[2], "here")
    while True:
        changed = await store.changes(ChangeQuery(after=projection.last, limit={_BATCH}))
        await projection.write(changed)
        print(projection.last, flush=True)

asyncio.run(main())
"""


async def _fill(folder: Path) -> None:
    store = open_runtime_store(folder)
    await begin_session(store)
    await write_session(store, steps=tuple(make_step(iteration=n) for n in range(_STEPS)))
    await store.close()


async def _finish(folder: Path, tables: str, *, rebuild: bool) -> int:
    """Write what is left; the number from which on."""
    store = open_runtime_store(folder)
    projection = await Projection.open(tables, "here", rebuild=rebuild)
    first = projection.last
    while True:
        changed = await store.changes(ChangeQuery(after=projection.last, limit=1000))
        if changed.last == projection.last:
            break
        await projection.write(changed)
    projection.close()
    await store.close()
    return first


@pytest.mark.parametrize("seed", range(6))
def test_a_power_cut_loses_no_row_before_the_number(
    disk: LoopDisk, tmp_path: Path, seed: int
) -> None:
    tables = str(disk.path / "tables")
    asyncio.run(_fill(tmp_path / "data"))
    enough = random.Random(seed).randint(_BATCH, _STEPS - 10 * _BATCH)
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path / "data"), tables],
        stdout=subprocess.PIPE,
        text=True,
    ) as writer:
        assert writer.stdout
        for line in writer.stdout:
            if int(line) >= enough:
                disk.cut()
                break
        writer.kill()
    disk.unmount()
    disk.mount()
    try:
        # Each batch is synced before the next one's number is noted.
        assert asyncio.run(_finish(tmp_path / "data", tables, rebuild=False)) >= enough - 2 * _BATCH
    except StoreError as error:
        assert "--rebuild" in str(error)
        assert asyncio.run(_finish(tmp_path / "data", tables, rebuild=True)) == 0
    rows = lancedb.connect(tables).open_table("agent_steps").to_arrow().to_pylist()
    assert sorted(row["iteration"] for row in rows) == list(range(_STEPS))
