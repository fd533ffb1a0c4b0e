"""Today's Core opens the store and the run files that an earlier one wrote, with all that is in them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from agentstepper_nb.core import Debugger
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.store import archive, open_store
from agentstepper_nb.store.checkup import examine_folder
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.goldens.make_store import STORE, TRUTH, Truth, read_agents
from tests.helpers.histories import rows_of

GOLDENS = Path(__file__).parent
TOLD = msgspec.json.decode((GOLDENS / TRUTH).read_bytes(), type=Truth)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the golden store."""
    return Path(shutil.copytree(GOLDENS / STORE, tmp_path / "data"))


async def test_a_golden_store_opens_with_all_that_is_in_it(folder: Path) -> None:
    store, debugger = open_store(folder), Debugger()
    debugger.restore(store.load())
    assert sorted(debugger.runs, key=by_id) == sorted(TOLD.runs, key=by_id)
    assert (debugger.breakpoints, debugger.prices) == (TOLD.stops, TOLD.prices)
    for told in TOLD.histories:
        id, rows = told.run.id, rows_of(told)
        assert await store.history(id) == told
        assert list((await store.page(id, 1, len(rows))).rows) == rows
        assert await store.notes(id) == told.notes
        for row in rows:
            assert await store.message(id, row.id) == row
        for commit in told.commits:
            assert await store.commit(id, commit.id) == commit
    for key, text in TOLD.sentences.items():
        assert await store.find_model_summary(key) == text
    assert {hit.run for hit in await store.search("größe 😀", "ended")} == {"ended"}
    assert await store.search("xylophone") == []  # of the run that was deleted
    store.close()


async def test_a_golden_store_s_halted_run_waits_where_it_stood(folder: Path) -> None:
    store, debugger = open_store(folder), Debugger()
    debugger.restore(store.load())
    run = debugger.run("halted")
    (told,) = (each for each in TOLD.histories if each.run.id == "halted")
    (waits,) = (point for point in told.halt_points if point.id in run.pending)
    assert run.state is RunState.HALTED
    assert waits.edit is not None
    debugger.commands.step(run.id, 2000.0, waits.id, waits.revision, waits.edit)
    assert debugger.run("halted").pending == ()
    store.close()


async def test_a_golden_store_s_agents_are_as_they_were(folder: Path) -> None:
    store = open_runtime_store(folder)
    assert await read_agents(store) == TOLD.agents
    await store.close()


def test_a_golden_store_is_sound(folder: Path) -> None:
    before = examine_folder(folder)
    assert (before.version, before.structure_problems) == (3, ())  # the next Core upgrades it
    open_store(folder).close()
    about = examine_folder(folder)
    assert about.runs == len(TOLD.runs)
    assert not (
        about.damaged
        or about.missing
        or about.structure_problems
        or about.agent_store_problems
        or about.search_problem
    )


@pytest.mark.parametrize("name", sorted(TOLD.files))
def test_a_golden_file_is_the_run_that_it_was(name: str) -> None:
    assert archive.load_run_file((GOLDENS / name).read_bytes()) == TOLD.files[name]


def by_id(run: object) -> str:
    return getattr(run, "id", "")
