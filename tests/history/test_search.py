"""Words in the runs of a folder, with and without the Core that keeps them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentstepper_nb import history
from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.store import open_store
from agentstepper_nb.store.folder_lock import find_lock_holder


def test_where_nobody_has_the_folder(folder: Path) -> None:
    found = history.search_runs("asks", folder=folder)
    assert set(found.run) == {"r", "01-run", "02-run"}
    assert set(found.place) == {"row"}
    assert set(found.found.map(tuple)) == {("asks",)}
    (only,) = history.search_runs('"why"', folder=folder).to_dict("records")
    assert only == {
        "run": "r",
        "name": "Night run",
        "place": "note",
        "id": "d",
        "text": "why?",
        "found": ["why"],
    }
    assert find_lock_holder(folder) is None


def test_in_one_run(folder: Path) -> None:
    assert set(history.search_runs("asks", run="Night run", folder=folder).run) == {"r"}
    assert len(history.search_runs("asks", run="r", folder=folder, limit=1)) == 1
    with pytest.raises(CommandError, match="No run has"):
        history.search_runs("asks", run="nobody", folder=folder)


async def test_beside_the_core_that_has_it(folder: Path) -> None:
    store = open_store(folder)
    try:
        expected = await store.search("asks")
        # It reads the file, and a loop is running here, as in a notebook.
        found = history.search_runs("asks", folder=folder)
        assert list(found.id) == [hit.id for hit in expected]
        assert list(history.list_runs(folder).index) == ["r", "01-run", "02-run"]
    finally:
        store.close()


def test_in_a_notebook_where_a_loop_is_running(folder: Path) -> None:
    async def cell() -> int:
        return len(history.search_runs("why", folder=folder))

    assert asyncio.run(cell()) == 1


def test_what_can_not_be_looked_for(folder: Path) -> None:
    with pytest.raises(ProtocolError, match="no word"):
        history.search_runs("--", folder=folder)
