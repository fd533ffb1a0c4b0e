"""A folder with runs in it, as a Core leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.records import ImportedRunSaved, Record
from agentstepper_nb.store import open_store
from tests.helpers.histories import make_full_history, make_random_history


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is read or written."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def store_records(folder: Path, records: Sequence[Record]) -> None:
    """Keep records in a folder that nobody has."""
    store = open_store(folder)
    try:
        kept = asyncio.Event()
        store.append(records, on_synced=kept.set)
        await kept.wait()
    finally:
        store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs: one with every field, "Twin" twice."""
    folder = tmp_path / "runs"
    histories = [make_full_history()]
    for number in (1, 2):
        history = make_random_history(number, f"0{number}-run")
        histories.append(replace(history, run=replace(history.run, name="Twin", tags=())))
    asyncio.run(store_records(folder, [ImportedRunSaved(history=history) for history in histories]))
    return folder
