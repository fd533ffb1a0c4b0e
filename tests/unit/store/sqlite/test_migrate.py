"""From the first version of a store to the last: with a copy, whole or not at all, forward only."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from agentstepper_nb.errors import DamagedRunError, StoreError
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.store.checkup import examine_folder
from agentstepper_nb.store.sqlite import database, migrations
from agentstepper_nb.store.sqlite.reader import StoreReader
from tests.helpers.damaged_folders import histories
from tests.helpers.histories import rows_of

#: A store as the first version wrote it, and what was in it; neither is to be made again.
FIRST = Path(__file__).with_name("first_version.sql")
TRUTH = Path(__file__).with_name("first_version.json")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of the first version."""
    path = tmp_path / database.STORE_FILE
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.executescript(FIRST.read_text())
        migrations.write_version(connection, 1)
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    path.chmod(0o600)
    return path


def version(path: Path) -> int:
    with closing(database.connect(path, "ro")) as connection:
        return migrations.read_version(connection)


def test_the_first_migration_is_as_it_was(path: Path) -> None:
    with closing(database.connect(path, "ro")) as connection:
        assert migrations.read_schema(connection) == migrations.compute_schema(1)


def test_a_first_version_s_store_opens_in_the_last_with_all_its_runs(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    truth = msgspec.json.decode(TRUTH.read_bytes(), type=list[RunHistory])
    assert len(truth) > 1
    with caplog.at_level(logging.WARNING):
        database.open_writer(path).close()
    assert version(path) == migrations.VERSION > 1
    assert histories(path.parent) == {history.run.id: history for history in truth}
    assert f"is upgraded from version 1 to {migrations.VERSION}" in caplog.text
    about = examine_folder(path.parent)
    assert (about.damaged, about.structure_problems, about.missing) == ((), (), ())


def test_rows_and_commits_of_a_first_version_s_store_are_found_by_their_place(path: Path) -> None:
    truth = msgspec.json.decode(TRUTH.read_bytes(), type=list[RunHistory])
    database.open_writer(path).close()
    with closing(StoreReader(path)) as reader:
        for history in truth:
            rows = rows_of(history)
            page = reader.page(history.run.id, 2, 4)
            assert list(page.rows) == rows[1:4]
            whole = reader.page(history.run.id, 0, len(rows))
            assert list(whole.rows) == rows
            assert [commit.id for commit in whole.commits] == [each.id for each in history.commits]
    assert any(history.commits for history in truth)


def test_a_hurt_body_doesn_t_keep_a_store_from_being_migrated(path: Path) -> None:
    with closing(database.connect(path, "rw")) as connection:
        connection.execute("UPDATE breakpoints SET body = x'7b22ff' WHERE n = 1")
    database.open_writer(path).close()
    assert version(path) == migrations.VERSION
    (run,) = (each.id for each in examine_folder(path.parent).damaged)
    with closing(StoreReader(path)) as reader, pytest.raises(DamagedRunError, match="of its rows"):
        reader.page(run, 1, 200)


def test_a_copy_of_before_is_left_for_its_owner_alone(path: Path) -> None:
    stale = path.with_name(f"{path.name}{migrations.COPY_SUFFIX}1")
    stale.write_bytes(b"of an earlier migration")
    database.open_writer(path).close()
    (copy,) = migrations.list_migration_copies(path)
    assert copy.name == "store.sqlite.before-2"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert version(copy) == 1
    with closing(database.connect(copy, "ro")) as connection:
        assert migrations.read_schema(connection) == migrations.compute_schema(1)
    assert not list(path.parent.glob("*.part"))
    migrations.delete_migration_copies(path)
    assert migrations.list_migration_copies(path) == []


def test_without_room_for_a_copy_nothing_is_changed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()

    def full(connection: sqlite3.Connection, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(migrations, "copy_database", full)
    with pytest.raises(StoreError, match=r"store\.sqlite can't be copied to .*before-2 before it"):
        database.open_writer(path)
    assert path.read_bytes() == before


def test_a_migration_happens_whole_or_not_at_all(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = migrations.read_statements

    def broken(number: int) -> Iterator[str]:
        yield from right(number)
        yield "INSERT INTO nowhere VALUES (1)"

    with monkeypatch.context() as patch:
        patch.setattr(migrations, "read_statements", broken)
        with pytest.raises(StoreError, match="no such table: nowhere"):
            database.open_writer(path)
    assert version(path) == 1
    with closing(database.connect(path, "ro")) as connection:
        assert migrations.read_schema(connection) == migrations.compute_schema(1)
    database.open_writer(path).close()
    assert version(path) == migrations.VERSION


def test_one_of_the_last_version_is_left_alone(path: Path) -> None:
    database.open_writer(path).close()
    migrations.delete_migration_copies(path)
    database.open_writer(path).close()
    assert migrations.list_migration_copies(path) == []


def test_a_reader_of_an_older_one_says_what_to_do(path: Path) -> None:
    with pytest.raises(StoreError, match=r"is of version 1, .*reads version \d+: start a Core"):
        database.open_reader(path)
    about = examine_folder(path.parent)
    assert (about.version, about.unopenable_store) == (1, None)


def test_the_schema_has_room_on_the_first_page(path: Path) -> None:
    database.open_writer(path).close()
    fresh = path.with_name("fresh.sqlite")
    database.open_writer(fresh).close()
    for each in (path, fresh):
        assert each.read_bytes()[100] == 13  # a leaf: all of the schema is on it


def test_every_statement_of_a_migration_is_run() -> None:
    for number in range(1, migrations.VERSION + 1):
        text = (Path(migrations.__file__).parent / "migrations" / f"{number:04}.sql").read_text()
        found = list(migrations.read_statements(number))
        assert len(found) == sum(line.rstrip().endswith(";") for line in text.splitlines())
        with contextlib.closing(sqlite3.connect(":memory:")):
            assert all(map(sqlite3.complete_statement, found))


# ---- a transaction that fails -----------------------------------------------------------------------


def test_a_full_disk_is_called_one_though_sqlite_has_rolled_back(path: Path) -> None:
    with closing(database.open_writer(path)) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        with (
            pytest.raises(sqlite3.OperationalError, match="database or disk is full"),
            migrations.transaction(connection),
        ):
            connection.execute("INSERT INTO meta VALUES ('big', zeroblob(100000))")
        assert not connection.in_transaction


def test_a_commit_that_fails_is_rolled_back() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("CREATE TABLE a (n INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE b (n REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
        with pytest.raises(sqlite3.IntegrityError), migrations.transaction(connection):
            connection.execute("INSERT INTO b VALUES (1)")
        assert not connection.in_transaction
