"""The marks beside the journal: what it lost is named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.store.sqlite.transaction_counters import (
    CountersReport,
    MissingTransactions,
    TransactionCounters,
    compare_counters,
)

RUN = "0196f5c4-5c1e-7e53-8a1e-31a6a0a3a001"
OTHER = "0196f5c4-5c1e-7e53-8a1e-31a6a0a3a002"
SLOT = 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def marks(path: Path) -> Iterator[TransactionCounters]:
    marks = TransactionCounters(path)
    yield marks
    marks.close()


def test_what_the_store_has_is_not_missing(marks: TransactionCounters, path: Path) -> None:
    for number in (1, 2, 3):
        marks.set(RUN, number)
    marks.set("any id", 7)
    assert compare_counters(path, {RUN: 3, "any id": 7, "untouched": 1}) == CountersReport()
    assert (
        compare_counters(path, {RUN: 4, "any id": 9}) == CountersReport()
    )  # killed before it was marked
    assert path.stat().st_size == 2 * SLOT


def test_what_it_has_not_is_told_in_words(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 5)
    marks.set("any id", 2)
    report = compare_counters(path, {RUN: 3, "any id": 1})
    assert report == CountersReport((MissingTransactions(RUN, 2), MissingTransactions("any id", 1)))
    assert list(map(str, report.missing)) == [
        f"the last 2 changes are lost of run {RUN}",
        "the last change is lost of run any id",
    ]


def test_a_run_that_is_lost_whole(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 5)
    marks.set("any id", 1)
    marks.set("x" * 17, 2)
    whole = compare_counters(path, {}).missing
    assert whole == (
        MissingTransactions(RUN, 5, is_run_known=False),
        MissingTransactions("any id", 1, is_run_known=False),
        MissingTransactions("of an unknown id", 2, is_run_known=False),
    )
    assert str(whole[0]) == f"run {RUN} is lost whole"


def test_a_deletion_that_is_lost(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 5)
    marks.record_deletion(RUN)
    assert compare_counters(path, {}) == CountersReport()
    (back,) = compare_counters(path, {RUN: 5}).missing
    assert str(back) == f"run {RUN} was deleted, and is back"


def test_an_emptied_journal_has_nothing_to_lose(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 5)
    marks.clear()
    assert compare_counters(path, {}) == CountersReport()
    marks.set(OTHER, 1)
    assert path.stat().st_size == SLOT  # its place is used again
    assert compare_counters(path, {OTHER: 1}) == CountersReport()


def test_it_goes_on_where_it_was(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 1)
    marks.set(OTHER, 1)
    again = TransactionCounters(path)
    again.set(OTHER, 2)
    again.set("third", 1)
    again.close()
    again.close()
    assert path.stat().st_size == 3 * SLOT
    assert compare_counters(path, {RUN: 1, OTHER: 2, "third": 1}) == CountersReport()


def test_a_missing_file_says_nothing(path: Path) -> None:
    assert compare_counters(path, {RUN: 1}) == CountersReport()


def test_a_file_that_cannot_be_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    marks = TransactionCounters(tmp_path / "marks")
    marks.set(RUN, 1)
    marks.clear()
    marks.close()
    assert compare_counters(tmp_path / "marks", {}) == CountersReport(damaged=1)


def test_a_hurt_slot_is_known_as_hurt_wherever_it_is_hit(
    marks: TransactionCounters, path: Path
) -> None:
    marks.set(RUN, 3)
    marks.set(OTHER, 4)
    whole = path.read_bytes()
    chance = random.Random(4)
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= chance.randrange(1, 256)
        path.write_bytes(data)
        assert compare_counters(path, {RUN: 3, OTHER: 4}) == CountersReport(damaged=1)
    path.write_bytes(whole[SLOT:] + whole[:SLOT])  # each in the other's place
    assert compare_counters(path, {RUN: 3, OTHER: 4}) == CountersReport(damaged=2)


def test_a_cut_file(marks: TransactionCounters, path: Path) -> None:
    marks.set(RUN, 3)
    marks.set(OTHER, 4)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert compare_counters(path, {RUN: 3, OTHER: 4}) == CountersReport(
            damaged=int(size % SLOT > 0)
        )
