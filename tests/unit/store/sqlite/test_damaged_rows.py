"""Rows that are hurt are named, and hurt one run."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest

from agentstepper_nb.errors import DamagedRunError, StoreError
from agentstepper_nb.protocol.data_model import (
    RunState,
)
from agentstepper_nb.store import SqliteStore
from agentstepper_nb.store.sqlite.database import STORE_FILE
from agentstepper_nb.store.sqlite.reader import StoreReader, read_restart_records
from tests.helpers.store_tables import StoreTables, open_store_tables
from tests.unit.store.sqlite.run_records import make_full_run

DAMAGE = {
    **{
        f"a hurt row of {table}": f"UPDATE {table} SET body = CAST(replace(body, 'a', 'b') AS BLOB)"
        " WHERE run = 1"
        for table in ("events", "breakpoints", "commits", "changes", "notes")
    },
    **{
        f"a missing row of {table}": f"DELETE FROM {table} WHERE run = 1"
        for table in ("events", "breakpoints", "commits", "changes", "notes", "nodes", "blobs")
    },
    "a row of another run": "UPDATE events SET run = 2, id = 'x' || id WHERE n = 1",
    "a content of another row": "UPDATE breakpoints SET data = 1 WHERE run = 1",
    "a hurt header": "UPDATE runs SET header = CAST(replace(header, 'P', 'Q') AS BLOB) WHERE n = 1",
    "a hurt count": "UPDATE runs SET changes = changes + 1 WHERE n = 1",
    "a text that is none": "UPDATE events SET id = CAST(x'ff00' AS TEXT) WHERE n = 1",
    "an edit that is gone": "UPDATE breakpoints SET edit = NULL WHERE run = 1",
}


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    with open_store_tables(folder) as kept:
        kept.write(make_full_run("one").records)
        kept.write(make_full_run("two").records)
        kept.journal.checkpoint()
    return folder / STORE_FILE


@pytest.fixture
def damaged(two_runs: Path, tmp_path: Path) -> Iterator[StoreTables]:
    (tmp_path / STORE_FILE).write_bytes(two_runs.read_bytes())
    with open_store_tables(tmp_path) as kept:
        yield kept


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_named_and_hurts_one_run(damaged: StoreTables, damage: str) -> None:
    assert damaged.reader.history("one").run.id == "one"
    damaged.connection.execute(damage)
    with pytest.raises(DamagedRunError) as error:
        damaged.reader.history("one")
    assert error.value.run == "one"
    if "run = 2" not in damage:
        assert damaged.reader.history("two").run.id == "two"


def test_a_hurt_header_is_listed_with_what_can_be_read(damaged: StoreTables) -> None:
    damaged.connection.execute(DAMAGE["a hurt header"])
    listed = damaged.reader.list_runs()
    assert [(each.run.id, each.damaged, each.run.state) for each in listed] == [
        ("one", True, RunState.IDLE),
        ("two", False, RunState.STEP),
    ]
    damaged.connection.execute("UPDATE runs SET header = 'x', id = x'00' WHERE n = 1")
    assert damaged.reader.list_headers()[0].name == "Damaged run 1"


def test_a_hurt_row_is_not_made_right_by_writing_it_again(damaged: StoreTables) -> None:
    damaged.connection.execute(DAMAGE["a hurt count"])
    stage = make_full_run("one")
    before = len(stage.records)
    stage.rename("another", "one")
    with pytest.raises(LookupError, match="damaged"):
        damaged.write(stage.records[before:])
    stage.finish("one")
    stage.delete("one")
    damaged.write(stage.records[-1:])
    assert [run.id for run in damaged.reader.list_headers()] == ["two"]


def test_a_hurt_sentence_is_asked_for_again(damaged: StoreTables) -> None:
    key = "key of A sentence: hello."
    assert damaged.reader.find_model_summary(key) == "A sentence: hello."
    damaged.connection.execute("UPDATE sentences SET text = 'other' WHERE run = 1")
    assert damaged.reader.find_model_summary(key) == "A sentence: hello."  # the other run's
    damaged.connection.execute("UPDATE sentences SET text = 'other'")
    assert damaged.reader.find_model_summary(key) is None


def test_reading_needs_no_owner_and_no_journal(two_runs: Path, store: SqliteStore) -> None:
    for path in (two_runs, store._folder / STORE_FILE):
        reader = StoreReader(path)
        reader.list_headers()
        reader.close()
        reader.close()


# ---- what isn't damage ------------------------------------------------------------------------------


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program has the store for itself."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


@pytest.fixture
def impatient(two_runs: Path, tmp_path: Path) -> Iterator[StoreReader]:
    """A reader that waits for no lock, of a store whose readers need one."""
    path = Path(shutil.copy(two_runs, tmp_path))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    with closing(StoreReader(path)) as reader:
        reader._connection.execute("PRAGMA busy_timeout = 0")
        yield reader


def test_a_lock_is_no_damage(impatient: StoreReader, tmp_path: Path) -> None:
    run, *_ = (each.id for each in impatient.list_headers())
    reads: tuple[Callable[[], object], ...] = (
        impatient.list_runs,
        lambda: impatient.history(run),
        lambda: impatient.page(run, 1, 9),
    )
    with locked(tmp_path / STORE_FILE):
        for read in reads:
            with pytest.raises(StoreError, match="can't be read now: database is locked") as error:
                read()
            assert type(error.value) is StoreError
    assert impatient.history(run).run.id == run


def test_a_live_run_is_not_given_up_for_a_lock(impatient: StoreReader, tmp_path: Path) -> None:
    listed = [each._replace(active=1) for each in impatient.list_runs()]
    records = read_restart_records(impatient, listed)
    config = impatient.read_config_rows()
    with (
        patch.object(impatient, "read_config_rows", lambda: config),
        locked(tmp_path / STORE_FILE),
        pytest.raises(StoreError, match="can't be read now"),
    ):
        list(records)
