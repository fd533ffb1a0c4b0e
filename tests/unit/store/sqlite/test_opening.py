"""Opening the store's file: how SQLite treats it, whose it is, and what happens to a hurt one."""

from __future__ import annotations

import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from agentstepper_nb.errors import NewerStoreError, StoreError
from agentstepper_nb.store.sqlite import database, migrations

LOGGER = "agentstepper_nb.store.sqlite"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / database.STORE_FILE


def pragma(connection: sqlite3.Connection, name: str) -> object:
    ((value,),) = connection.execute(f"PRAGMA {name}")
    return value


def fill(path: Path, *names: str) -> None:
    """Keep something, and leave it in the file itself."""
    with closing(database.open_writer(path)) as connection:
        for name in names:
            connection.execute("INSERT INTO files VALUES (?, 1)", (name,))


def list_files(path: Path) -> list[str]:
    with closing(database.open_writer(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM files ORDER BY name")]


def aside(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.glob("*.damaged-*"))


# ---- settings -----------------------------------------------------------------------------------


def test_a_new_store(path: Path) -> None:
    with closing(database.open_writer(path)) as connection:
        found = {
            name: pragma(connection, name)
            for name in (
                *("journal_mode", "auto_vacuum", "secure_delete", "synchronous", "foreign_keys"),
                *("wal_autocheckpoint", "temp_store", "mmap_size", "busy_timeout", "page_size"),
                *("user_version", "encoding"),
            )
        }
        assert connection.isolation_level is None
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert found == {
        "journal_mode": "wal",
        "auto_vacuum": 2,
        "secure_delete": 1,
        "synchronous": 1,
        "foreign_keys": 1,
        "wal_autocheckpoint": 0,
        "temp_store": 2,
        "mmap_size": 0,
        "busy_timeout": 5000,
        "page_size": 4096,
        "user_version": migrations.VERSION,
        "encoding": "UTF-8",
    }
    assert modes and set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_opens_again_and_others_rights_are_taken_away(path: Path) -> None:
    fill(path, "a")
    path.chmod(0o644)
    assert list_files(path) == ["a"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert aside(path) == []


def test_a_reader_reads_beside_the_writer_and_writes_nothing(path: Path) -> None:
    with (
        closing(database.open_writer(path)) as writer,
        closing(database.open_reader(path)) as reader,
    ):
        writer.execute("INSERT INTO files VALUES ('a', 1)")
        assert reader.execute("SELECT * FROM files").fetchall() == [("a", 1)]
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reader.execute("DELETE FROM files")


def test_a_reader_finds_no_store(path: Path) -> None:
    with pytest.raises(StoreError, match=r"can't be opened: unable to open"):
        database.open_reader(path)


def test_on_a_network_file_system_each_change_is_synced(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path, "a")  # in WAL
    monkeypatch.setattr(database, "find_network_file_system", lambda path: "nfs4")
    with caplog.at_level(logging.WARNING, LOGGER):
        with closing(database.open_writer(path)) as connection:
            assert pragma(connection, "journal_mode") == "truncate"
            assert pragma(connection, "synchronous") == 2
            connection.execute("INSERT INTO files VALUES ('b', 1)")
            with closing(database.open_reader(path)) as reader:
                assert len(reader.execute("SELECT * FROM files").fetchall()) == 2
    assert "(nfs4) where SQLite's write-ahead log isn't safe" in caplog.text


def test_a_folder_that_cannot_be_written(path: Path) -> None:
    path.parent.parent.joinpath("data").write_text("in the way")
    with pytest.raises(StoreError, match=r"can't be opened: .*Not a directory|File exists"):
        database.open_writer(path)


# ---- damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:50],
        lambda data: data[: len(data) // 2],
        lambda data: b"not a database at all" * 1000,
        lambda data: bytes(len(data)),
        lambda data: data.replace(b"CREATE TABLE runs", b"CREATE TABLE ruins"[:17]),
        lambda data: data.replace(b"header BLOB", b"heeder BLOB"),
    ],
    ids=["empty", "cut early", "cut", "other", "zeros", "a table's name", "a column's name"],
)
def test_a_file_that_cannot_be_read_is_put_aside_and_a_new_one_begins(
    path: Path, damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    fill(path, "a")
    before = path.read_bytes()
    hurt = damage(before)  # type: ignore[operator]
    assert hurt != before
    path.write_bytes(hurt)
    path.with_name("marks").write_bytes(b"marks")
    with caplog.at_level(logging.ERROR, LOGGER):
        assert list_files(path) == []
    (name, marks) = aside(path)
    assert (path.parent / name).read_bytes() == hurt
    assert marks == f"{name}-marks"
    assert f"It is saved as {name}, and a new store begins." in caplog.text
    assert f"doctor --data {path.parent} --repair` restores" in caplog.text
    assert list_files(path) == []  # and that one opens
    assert len(aside(path)) == 2


def test_its_journal_goes_with_it(path: Path) -> None:
    fill(path, "a")
    path.write_bytes(b"")
    path.with_name(path.name + "-wal").write_bytes(b"journal")
    fill(path, "b")
    name, journal = aside(path)
    assert journal == f"{name}-wal"
    assert (path.parent / journal).read_bytes() == b"journal"


def test_a_journal_without_its_store_is_no_new_store_s(path: Path) -> None:
    path.parent.mkdir()
    path.with_name(path.name + "-wal").write_bytes(b"journal")
    assert list_files(path) == []
    assert [name.endswith("-wal") for name in aside(path)] == [True]


def test_two_in_one_second_have_names_of_their_own(path: Path) -> None:
    for _ in range(3):
        fill(path, "a")
        path.write_bytes(b"")
    fill(path)
    assert len(aside(path)) == 3


def test_what_is_no_damage_puts_nothing_aside(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(path, "a")

    def full(connection: sqlite3.Connection, path: Path) -> None:
        connection.execute("PRAGMA max_page_count = 1")
        connection.execute("CREATE TABLE more (x)")

    monkeypatch.setattr(migrations, "migrate", full)
    with pytest.raises(StoreError, match="database or disk is full"):
        database.open_writer(path)
    assert aside(path) == []


# ---- versions -----------------------------------------------------------------------------------


def test_a_newer_store_is_refused_by_name(path: Path) -> None:
    fill(path, "a")
    newer = migrations.VERSION + 1
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE later (x)")
        migrations.write_version(connection, newer)
    before = path.read_bytes()
    for opens in (database.open_writer, database.open_reader):
        with pytest.raises(NewerStoreError) as refused:
            opens(path)
        assert str(refused.value).startswith(f"{path} was written by a newer agentstepper_nb")
        assert f"version {newer}, and this one reads versions up to {migrations.VERSION}" in str(
            refused.value
        )
    assert path.read_bytes() == before
    assert aside(path) == []
