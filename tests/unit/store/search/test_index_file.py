"""The file of the index: hurt, of another version, on a full disk, or read beside who writes it."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError, ProtocolError, StoreError
from agentstepper_nb.protocol.data_model import RowNote
from agentstepper_nb.protocol.records import NoteSaved, RunHistory
from agentstepper_nb.protocol.run_queries import SearchHitPlace
from agentstepper_nb.store.search import find_hits_in_file, follower
from tests.unit.store.search.indexed_runs import Open, RunSource, records, search_ids

# ---- a file that is hurt ----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_index_is_made_anew(open: Open, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    index = open()
    index.catch_up({"a": 1}, RunSource("a"))
    assert search_ids(index) == ["a"]


def test_an_index_of_another_version_is_made_anew(open: Open, path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE runs (something TEXT)")
    db.execute("PRAGMA user_version = 99")
    db.close()
    index = open()
    index.catch_up({"a": 1}, RunSource("a"))
    assert search_ids(index) == ["a"]


def test_a_text_that_was_changed_is_not_given(open: Open, path: Path) -> None:
    index = open()
    for run in ("a", "b"):
        index.apply(records(run, "needle haystack"), {run: 1})
    index.close()
    data = path.read_bytes()
    assert b"needle haystack" in data
    path.write_bytes(data.replace(b"needle haystack", b"needle haystocc"))
    index = open()
    index.catch_up({"a": 1, "b": 1}, RunSource("a", "b"))
    assert search_ids(index) == ["b", "a"]
    assert search_ids(index, "haystack") == []  # the store never had it


def test_bytes_changed_by_chance_are_never_shown(open: Open, path: Path) -> None:
    runs = [f"r{number}" for number in range(8)]
    index = open()
    for run in runs:
        index.apply(records(run), {run: 1})
    index.close()
    whole = path.read_bytes()
    for seed in range(12):
        chance = random.Random(seed)
        hurt = bytearray(whole if seed % 2 else whole[: chance.randrange(len(whole))])
        for _ in range(20):
            hurt[chance.randrange(len(hurt))] = chance.randrange(256)
        path.write_bytes(hurt)
        index = open()
        index.catch_up(dict.fromkeys(runs, 1), RunSource(*runs))
        for hit in asyncio.run(index.search("needle of")):
            assert (hit.place, hit.id) == (SearchHitPlace.ROW, f"b-{hit.run}")
            assert "".join(hit.snippet) == f"needle of {hit.run}"
        index.close()


def test_it_is_hurt_while_it_is_used(
    open: Open, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = open()
    run_source = RunSource("a", "b")
    index.catch_up({"a": 1, "b": 1}, run_source)
    assert search_ids(index) == ["b", "a"]
    other = sqlite3.connect(path)
    other.execute("DROP TABLE words_data")
    other.commit()
    other.close()
    assert search_ids(index) == ["b", "a"]
    assert run_source.read == ["a", "b", "a", "b"]
    assert "can't be used" in caplog.text


def test_a_folder_that_can_not_be_written(open: Open, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    index = open(tmp_path / "file" / "search.sqlite")
    index.apply(records("a"), {"a": 1})
    with pytest.raises(CommandError, match="can't be used"):
        search_ids(index)


def test_where_sqlite_lacks_fts5(
    open: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lacking(*_: object) -> None:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(follower, "SearchIndex", lacking)
    index = open()
    index.apply(records("a"), {"a": 1})
    for _ in range(2):
        with pytest.raises(CommandError, match="needs SQLite with FTS5") as error:
            search_ids(index)
        assert error.value.code == "cannot_search"
    index.close()
    said = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(said) == 1


# ---- beside it --------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["WAL", "TRUNCATE"])
def test_looking_beside_the_thread_that_keeps_it(open: Open, path: Path, journal: str) -> None:
    index = open(journal=journal)
    index.apply(records("a"), {"a": 1})
    assert search_ids(index) == ["a"]
    assert [hit.run for hit in find_hits_in_file(path, "needle")] == ["a"]
    assert find_hits_in_file(path, "needle", "other") == []
    with pytest.raises(ProtocolError, match="no word"):
        find_hits_in_file(path, "--")


def test_looking_where_there_is_none(path: Path) -> None:
    with pytest.raises(CommandError, match="can't be read") as error:
        find_hits_in_file(path, "needle")
    assert error.value.code == "cannot_search"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(CommandError, match="of version 99, but this program reads version 2"):
        find_hits_in_file(path, "needle")


def test_on_a_network_nothing_is_shared_in_memory(
    open: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "find_network_file_system", lambda _: "nfs4")
    index = open()
    index.apply(records("a"), {"a": 1})
    assert search_ids(index) == ["a"]
    assert [file.name for file in path.parent.glob("search.sqlite-*[wm]*")] == []


def test_records_that_can_not_be_taken_in_cost_only_a_reading(
    open: Open, caplog: pytest.LogCaptureFixture
) -> None:
    index = open()
    run_source = RunSource("a", "b")
    index.catch_up({"a": 1}, run_source)
    bad: Any = RowNote(run=None, message="b-a", text="no run has it", at=1.0)  # type: ignore[arg-type]
    index.apply([NoteSaved(note=bad), *records("b")], {"b": 1})
    assert search_ids(index) == ["b", "a"]
    assert run_source.read == ["a", "b"]
    assert "The search index failed" in caplog.text


def test_a_disk_that_was_full_for_a_while(
    open: Open, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    real = follower.SearchIndex.apply
    failed = threading.Event()

    def apply(self: Any, *arguments: Any) -> None:
        if not failed.is_set():
            failed.set()
            raise full
        real(self, *arguments)

    monkeypatch.setattr(follower.SearchIndex, "apply", apply)
    index = open()
    run_source = RunSource("a", "b")
    index.catch_up({"a": 1}, run_source)
    assert search_ids(index) == ["a"]
    index.apply(records("b"), {"b": 1})
    assert search_ids(index) == ["b", "a"]
    assert run_source.read == ["a", "b"]  # the file was fine
    assert "database or disk is full" in caplog.text


@pytest.mark.parametrize("failures", [2, 99])
def test_a_run_that_can_not_be_read_now_is_taken_in_later_or_left_out(
    path: Path, caplog: pytest.LogCaptureFixture, failures: int
) -> None:
    run_source = RunSource("a", "b")
    tries: list[str] = []

    def read(run: str) -> RunHistory:
        tries.append(run)
        if run == "a" and tries.count("a") <= failures:
            raise StoreError("it can't be read now")
        return run_source(run)

    following = follower.IndexFollower(path)
    following.catch_up({"a": 1, "b": 1}, read)
    following.reindex_one()
    assert following.is_behind
    following.reindex_one()
    assert tries == ["a", "b"]  # the others don't wait for it
    for _ in range(tries.count("a"), 9):
        if following.is_behind:
            following.reindex_one()
    assert not following.is_behind
    found = [hit.run for hit in following.find("needle", None, 9) or ()]
    assert sorted(found) == (["a", "b"] if failures < 9 else ["b"])
    assert "Run a can't be searched yet: it can't be read now" in caplog.text
    assert ("Run a can't be searched: it can't be read now" in caplog.text) is (failures > 9)
    following.apply(records("a"), {"a": 2})
    following.catch_up({"a": 2, "b": 1}, run_source)  # the next start
    assert following.is_behind is (failures > 9)  # it is taken in whole, with what it had before
    following.close()


def test_words_that_can_not_be_found_any_more_are_noticed(open: Open, path: Path) -> None:
    index = open()
    index.apply(records("a"), {"a": 1})
    index.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE words_content SET c0 = 'other words'")  # as the words' own index has it not
    db.commit()
    db.close()
    run_source = RunSource("a")
    following = follower.IndexFollower(path)
    following.catch_up({"a": 1}, run_source)
    assert following.needs_check
    assert not following.is_behind
    following.check()
    assert not following.needs_check
    while following.is_behind:
        following.reindex_one()
    assert [hit.run for hit in following.find("needle", None, 9) or ()] == ["a"]
    assert run_source.read == ["a"]
    following.close()
