"""The index's thread: it follows a store, catches up with it, and outlives whatever befalls its file."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError, DamagedRunError, ProtocolError
from agentstepper_nb.protocol.records import (
    BreakpointSaved,
    NoteSaved,
    RunDeleted,
    RunHistory,
    RunStarted,
)
from agentstepper_nb.protocol.values import Breakpoint, EventKind, Note, Place, Run, Side
from agentstepper_nb.store.search import Search, follower, look, search

Open = Callable[..., Search]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "search.sqlite"


@pytest.fixture
def open(path: Path) -> Iterator[Open]:
    opened: list[Search] = []

    def open(file: Path | None = path, **options: Any) -> Search:
        opened.append(Search(file, **options))
        return opened[-1]

    yield open
    for each in opened:
        each.close()


def history(run: str, text: str = "needle") -> RunHistory:
    header = Run(id=run, name=f"Run {run}", program="P", started_at=1.0)
    point = Breakpoint(
        id=f"b-{run}",
        run=run,
        event="e",
        seq=1,
        side=Side.BEGIN,
        kind=EventKind.LLM_QUERY,
        at=1.0,
        data=f'"{text} of {run}"',
    )
    return RunHistory(run=header, breakpoints=(point,))


def records(run: str, text: str = "needle") -> list[Any]:
    whole = history(run, text)
    return [RunStarted(run=whole.run), BreakpointSaved(breakpoint=whole.breakpoints[0])]


def found(index: Search, query: str = "needle", run: str | None = None) -> list[str]:
    return [hit.run for hit in asyncio.run(index.search(query, run))]


class Shelf:
    """A store that is read, and what was read of it."""

    def __init__(self, *runs: str) -> None:
        self.runs = {run: history(run) for run in runs}
        self.read: list[str] = []

    def __call__(self, run: str) -> RunHistory:
        self.read.append(run)
        return self.runs[run]


# ---- following --------------------------------------------------------------------------------------


def test_a_search_finds_all_that_was_kept_before(open: Open) -> None:
    for index in (open(), open(None)):
        for number in range(50):
            index.keep(records(f"r{number}"), {f"r{number}": 1})
        assert found(index) == [f"r{number}" for number in reversed(range(50))]
        assert found(index, run="r7") == ["r7"]


def test_what_is_kept_stays(open: Open) -> None:
    shelf = Shelf("a", "b")
    index = open()
    for run in shelf.runs:
        index.keep(records(run), {run: 3})
    index.close()
    index.close()
    again = open()
    again.mend({"a": 3, "b": 3}, shelf)
    assert found(again) == ["b", "a"]
    assert shelf.read == []


def test_searches_at_once(open: Open) -> None:
    index = open()
    index.keep(records("a"), {"a": 1})

    async def ask() -> list[int]:
        asked = [index.search(word) for word in ("needle", "nothing", "run a", "P")]
        return [len(hits) for hits in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == [1, 0, 1, 1]


def test_what_can_not_be_looked_for_is_refused(open: Open) -> None:
    with pytest.raises(ProtocolError, match="no word"):
        found(open(), "--")


def test_a_search_that_is_given_up_disturbs_no_other(open: Open) -> None:
    index = open()
    index.keep(records("a"), {"a": 1})

    async def ask() -> list[Any]:
        given_up = asyncio.ensure_future(index.search("needle"))
        await asyncio.sleep(0)
        given_up.cancel()
        return await index.search("needle")

    assert len(asyncio.run(ask())) == 1


def test_after_the_end(open: Open) -> None:
    index = open()
    index.close()
    index.keep(records("a"))
    with pytest.raises(CommandError, match="store is closed"):
        found(index)


# ---- catching up ------------------------------------------------------------------------------------


def test_what_it_missed_is_taken_in(open: Open) -> None:
    index = open()
    for run in ("old", "changed", "gone"):
        index.keep(records(run, "straw"), {run: 1})
    index.close()
    shelf = Shelf("old", "changed", "new")
    index = open()
    index.mend({"old": 1, "changed": 2, "new": 1}, shelf)
    assert found(index) == ["new", "changed"]
    assert found(index, "straw") == ["old"]
    assert sorted(shelf.read) == ["changed", "new"]


def test_records_that_come_meanwhile_are_found_once(open: Open) -> None:
    index = open()
    shelf = Shelf("a")
    index.mend({"a": 5}, shelf)
    index.keep(records("a"), {"a": 6})
    note = Note(run="a", message="b-a", text="noted", at=1.0)
    shelf.runs["a"] = replace(shelf.runs["a"], notes=(note,))  # the store has it first
    index.keep([NoteSaved(note=note)], {"a": 7})
    hits = asyncio.run(index.search("needle"))
    assert [(hit.run, hit.place, hit.id) for hit in hits] == [("a", Place.ROW, "b-a")]
    assert found(index, "noted") == ["a"]


def test_what_dies_in_between_is_taken_in_the_next_time(open: Open, path: Path) -> None:
    """A run that records came for before it was taken in whole isn't taken for whole."""
    waiting = threading.Event()

    def read(run: str) -> RunHistory:
        waiting.wait(60)
        raise KeyError(run)

    index = open()
    index.mend({"first": 1, "second": 9}, read)
    index.keep([RunStarted(run=history("second").run)], {"second": 10})
    waiting.set()
    index.close()
    shelf = Shelf("first", "second")
    index = open()
    index.mend({"first": 1, "second": 10}, shelf)
    assert sorted(found(index)) == ["first", "second"]


def test_runs_that_are_hurt_or_gone_are_left_out(
    open: Open, caplog: pytest.LogCaptureFixture
) -> None:
    def read(run: str) -> RunHistory:
        if run == "hurt":
            raise DamagedRunError(run, "a blob")
        if run == "odd":
            raise ValueError("nobody expected this")
        return {"good": history("good")}[run]

    index = open()
    index.mend({"hurt": 1, "gone": 1, "odd": 1, "good": 1}, read)
    assert found(index) == ["good"]
    assert "Run hurt can't be searched" in caplog.text
    assert "nobody expected this" in caplog.text


def test_a_deleted_run_is_not_taken_in(open: Open) -> None:
    index = open()
    shelf = Shelf("a", "b")
    index.keep(records("a"), {"a": 1})
    index.keep([RunDeleted(run="a")])
    index.mend({"b": 1}, shelf)
    index.keep([RunDeleted(run="b")])
    assert found(index) == []


def test_bytes_of_a_deleted_run_are_gone_at_the_end(open: Open, path: Path) -> None:
    index = open()
    index.keep(records("a", "Zwiebelkuchen"), {"a": 1})
    assert found(index, "zwiebelkuchen") == ["a"]
    index.keep([RunDeleted(run="a")])
    index.close()
    for file in path.parent.iterdir():
        assert b"wiebelkuchen" not in file.read_bytes().lower()


def test_a_long_wait_ends_with_an_answer(open: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PATIENCE", 0.01)
    waiting = threading.Event()

    begun = threading.Event()

    def read(run: str) -> RunHistory:
        begun.set()
        waiting.wait(60)
        return history(run)

    index = open()
    index.mend({"a": 1, "b": 1}, read)
    begun.wait(60)
    try:
        with pytest.raises(CommandError, match="2 runs are still to be taken in") as error:
            found(index)
    finally:
        waiting.set()
    assert error.value.code == "cannot_search"
    monkeypatch.setattr(search, "_PATIENCE", 60)
    assert found(index) == ["b", "a"]


# ---- a file that is hurt ----------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"no database", b"", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_index_is_made_anew(open: Open, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    index = open()
    index.mend({"a": 1}, Shelf("a"))
    assert found(index) == ["a"]


def test_an_index_of_another_version_is_made_anew(open: Open, path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE runs (something TEXT)")
    db.execute("PRAGMA user_version = 99")
    db.close()
    index = open()
    index.mend({"a": 1}, Shelf("a"))
    assert found(index) == ["a"]


def test_a_text_that_was_changed_is_not_given(open: Open, path: Path) -> None:
    index = open()
    for run in ("a", "b"):
        index.keep(records(run, "needle haystack"), {run: 1})
    index.close()
    data = path.read_bytes()
    assert b"needle haystack" in data
    path.write_bytes(data.replace(b"needle haystack", b"needle haystocc"))
    index = open()
    index.mend({"a": 1, "b": 1}, Shelf("a", "b"))
    assert found(index) == ["b", "a"]
    assert found(index, "haystack") == []  # the store never had it


def test_bytes_changed_by_chance_are_never_shown(open: Open, path: Path) -> None:
    runs = [f"r{number}" for number in range(8)]
    index = open()
    for run in runs:
        index.keep(records(run), {run: 1})
    index.close()
    whole = path.read_bytes()
    for seed in range(12):
        chance = random.Random(seed)
        hurt = bytearray(whole if seed % 2 else whole[: chance.randrange(len(whole))])
        for _ in range(20):
            hurt[chance.randrange(len(hurt))] = chance.randrange(256)
        path.write_bytes(hurt)
        index = open()
        index.mend(dict.fromkeys(runs, 1), Shelf(*runs))
        for hit in asyncio.run(index.search("needle of")):
            assert (hit.place, hit.id) == (Place.ROW, f"b-{hit.run}")
            assert "".join(hit.snippet) == f"needle of {hit.run}"
        index.close()


def test_it_is_hurt_while_it_is_used(
    open: Open, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    index = open()
    shelf = Shelf("a", "b")
    index.mend({"a": 1, "b": 1}, shelf)
    assert found(index) == ["b", "a"]
    other = sqlite3.connect(path)
    other.execute("DROP TABLE words_data")
    other.commit()
    other.close()
    assert found(index) == ["b", "a"]
    assert shelf.read == ["a", "b", "a", "b"]
    assert "can't be used" in caplog.text


def test_a_folder_that_can_not_be_written(open: Open, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    index = open(tmp_path / "file" / "search.sqlite")
    index.keep(records("a"), {"a": 1})
    with pytest.raises(CommandError, match="can't be used"):
        found(index)


def test_where_sqlite_lacks_fts5(
    open: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lacking(*_: object) -> None:
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(follower, "Index", lacking)
    index = open()
    index.keep(records("a"), {"a": 1})
    for _ in range(2):
        with pytest.raises(CommandError, match="needs SQLite with FTS5") as error:
            found(index)
        assert error.value.code == "cannot_search"
    index.close()
    said = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(said) == 1


# ---- beside it --------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", ["WAL", "TRUNCATE"])
def test_looking_beside_the_thread_that_keeps_it(open: Open, path: Path, journal: str) -> None:
    index = open(journal=journal)
    index.keep(records("a"), {"a": 1})
    assert found(index) == ["a"]
    assert [hit.run for hit in look(path, "needle")] == ["a"]
    assert look(path, "needle", "other") == []
    with pytest.raises(ProtocolError, match="no word"):
        look(path, "--")


def test_looking_where_there_is_none(path: Path) -> None:
    with pytest.raises(CommandError, match="can't be read") as error:
        look(path, "needle")
    assert error.value.code == "cannot_search"
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(CommandError, match="of version 99, this program's is 1"):
        look(path, "needle")


def test_on_a_network_nothing_is_shared_in_memory(
    open: Open, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "network_type", lambda _: "nfs4")
    index = open()
    index.keep(records("a"), {"a": 1})
    assert found(index) == ["a"]
    assert [file.name for file in path.parent.glob("search.sqlite-*[wm]*")] == []


def test_records_that_can_not_be_taken_in_cost_only_a_reading(
    open: Open, caplog: pytest.LogCaptureFixture
) -> None:
    index = open()
    shelf = Shelf("a", "b")
    index.mend({"a": 1}, shelf)
    bad: Any = Note(run=None, message="b-a", text="no run has it", at=1.0)  # type: ignore[arg-type]
    index.keep([NoteSaved(note=bad), *records("b")], {"b": 1})
    assert found(index) == ["b", "a"]
    assert shelf.read == ["a", "b"]
    assert "The search index failed" in caplog.text


def test_a_disk_that_was_full_for_a_while(
    open: Open, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    real = follower.Index.keep
    failed = threading.Event()

    def keep(self: Any, *arguments: Any) -> None:
        if not failed.is_set():
            failed.set()
            raise full
        real(self, *arguments)

    monkeypatch.setattr(follower.Index, "keep", keep)
    index = open()
    shelf = Shelf("a", "b")
    index.mend({"a": 1}, shelf)
    assert found(index) == ["a"]
    index.keep(records("b"), {"b": 1})
    assert found(index) == ["b", "a"]
    assert shelf.read == ["a", "b"]  # the file was fine
    assert "database or disk is full" in caplog.text


def test_words_that_can_not_be_found_any_more_are_noticed(open: Open, path: Path) -> None:
    index = open()
    index.keep(records("a"), {"a": 1})
    index.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE words_content SET c0 = 'other words'")  # as the words' own index has it not
    db.commit()
    db.close()
    shelf = Shelf("a")
    following = follower.Follower(path)
    following.follow({"a": 1}, shelf)
    assert following.unchecked
    assert not following.is_behind
    following.check()
    assert not following.unchecked
    while following.is_behind:
        following.mend_one()
    assert [hit.run for hit in following.find("needle", None, 9) or ()] == ["a"]
    assert shelf.read == ["a"]
    following.close()
