"""The index's thread: it follows a store, catches up with it, and outlives whatever befalls its file."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError, DamagedRunError, ProtocolError
from agentstepper_nb.protocol.data_model import RowNote
from agentstepper_nb.protocol.records import (
    NoteSaved,
    RunDeleted,
    RunHistory,
    RunStarted,
)
from agentstepper_nb.protocol.run_queries import SearchHitPlace
from tests.unit.store.search.indexed_runs import Open, RunSource, history, records, search_ids

# ---- following --------------------------------------------------------------------------------------


def test_a_search_finds_all_that_was_kept_before(open: Open) -> None:
    for index in (open(), open(None)):
        for number in range(50):
            index.apply(records(f"r{number}"), {f"r{number}": 1})
        assert search_ids(index) == [f"r{number}" for number in reversed(range(50))]
        assert search_ids(index, run="r7") == ["r7"]


def test_what_is_kept_stays(open: Open) -> None:
    run_source = RunSource("a", "b")
    index = open()
    for run in run_source.runs:
        index.apply(records(run), {run: 3})
    index.close()
    index.close()
    again = open()
    again.catch_up({"a": 3, "b": 3}, run_source)
    assert search_ids(again) == ["b", "a"]
    assert run_source.read == []


def test_searches_at_once(open: Open) -> None:
    index = open()
    index.apply(records("a"), {"a": 1})

    async def ask() -> list[int]:
        asked = [index.search(word) for word in ("needle", "nothing", "run a", "P")]
        return [len(hits) for hits in await asyncio.gather(*asked)]

    assert asyncio.run(ask()) == [1, 0, 1, 1]


def test_what_can_not_be_looked_for_is_refused(open: Open) -> None:
    with pytest.raises(ProtocolError, match="no word"):
        search_ids(open(), "--")


def test_a_search_that_is_given_up_disturbs_no_other(open: Open) -> None:
    index = open()
    index.apply(records("a"), {"a": 1})

    async def ask() -> list[Any]:
        given_up = asyncio.ensure_future(index.search("needle"))
        await asyncio.sleep(0)
        given_up.cancel()
        return await index.search("needle")

    assert len(asyncio.run(ask())) == 1


def test_after_the_end(open: Open) -> None:
    index = open()
    index.close()
    index.apply(records("a"))
    with pytest.raises(CommandError, match="store is closed"):
        search_ids(index)


# ---- catching up ------------------------------------------------------------------------------------


def test_what_it_missed_is_taken_in(open: Open) -> None:
    index = open()
    for run in ("old", "changed", "gone"):
        index.apply(records(run, "straw"), {run: 1})
    index.close()
    run_source = RunSource("old", "changed", "new")
    index = open()
    index.catch_up({"old": 1, "changed": 2, "new": 1}, run_source)
    assert search_ids(index) == ["new", "changed"]
    assert search_ids(index, "straw") == ["old"]
    assert sorted(run_source.read) == ["changed", "new"]


def test_records_that_come_meanwhile_are_found_once(open: Open) -> None:
    index = open()
    run_source = RunSource("a")
    index.catch_up({"a": 5}, run_source)
    index.apply(records("a"), {"a": 6})
    note = RowNote(run="a", message="b-a", text="noted", at=1.0)
    run_source.runs["a"] = replace(run_source.runs["a"], notes=(note,))  # the store has it first
    index.apply([NoteSaved(note=note)], {"a": 7})
    hits = asyncio.run(index.search("needle"))
    assert [(hit.run, hit.place, hit.id) for hit in hits] == [("a", SearchHitPlace.ROW, "b-a")]
    assert search_ids(index, "noted") == ["a"]


def test_what_dies_in_between_is_taken_in_the_next_time(open: Open, path: Path) -> None:
    """A run that records came for before it was taken in whole isn't taken for whole."""
    waiting = threading.Event()

    def read(run: str) -> RunHistory:
        waiting.wait(60)
        raise KeyError(run)

    index = open()
    index.catch_up({"first": 1, "second": 9}, read)
    index.apply([RunStarted(run=history("second").run)], {"second": 10})
    waiting.set()
    index.close()
    run_source = RunSource("first", "second")
    index = open()
    index.catch_up({"first": 1, "second": 10}, run_source)
    assert sorted(search_ids(index)) == ["first", "second"]


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
    index.catch_up({"hurt": 1, "gone": 1, "odd": 1, "good": 1}, read)
    assert search_ids(index) == ["good"]
    assert "Run hurt can't be searched" in caplog.text
    assert "nobody expected this" in caplog.text


def test_a_deleted_run_is_not_taken_in(open: Open) -> None:
    index = open()
    run_source = RunSource("a", "b")
    index.apply(records("a"), {"a": 1})
    index.apply([RunDeleted(run="a")])
    index.catch_up({"b": 1}, run_source)
    index.apply([RunDeleted(run="b")])
    assert search_ids(index) == []


def test_bytes_of_a_deleted_run_are_gone_at_the_end(open: Open, path: Path) -> None:
    index = open()
    index.apply(records("a", "Zwiebelkuchen"), {"a": 1})
    assert search_ids(index, "zwiebelkuchen") == ["a"]
    index.apply([RunDeleted(run="a")])
    index.close()
    for file in path.parent.iterdir():
        assert b"wiebelkuchen" not in file.read_bytes().lower()


def test_a_long_wait_ends_with_an_answer(open: Open) -> None:
    waiting = threading.Event()

    begun = threading.Event()

    def read(run: str) -> RunHistory:
        begun.set()
        waiting.wait(60)
        return history(run)

    index = open()
    index.catch_up({"a": 1, "b": 1}, read)
    begun.wait(60)
    try:
        with pytest.raises(CommandError, match="2 runs are still missing") as error:
            search_ids(index, timeout_s=0.01)
    finally:
        waiting.set()
    assert error.value.code == "cannot_search"
    assert search_ids(index, timeout_s=60) == ["b", "a"]
