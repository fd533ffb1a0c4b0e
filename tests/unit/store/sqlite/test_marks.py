"""The marks beside the journal: what it lost is named."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.store.sqlite.marks import Marks, Missing, Report, compare

RUN = "0196f5c4-5c1e-7e53-8a1e-31a6a0a3a001"
OTHER = "0196f5c4-5c1e-7e53-8a1e-31a6a0a3a002"
SLOT = 40


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "marks"


@pytest.fixture
def marks(path: Path) -> Iterator[Marks]:
    marks = Marks(path)
    yield marks
    marks.close()


def test_what_the_store_has_is_not_missing(marks: Marks, path: Path) -> None:
    for number in (1, 2, 3):
        marks.set(RUN, number)
    marks.set("any id", 7)
    assert compare(path, {RUN: 3, "any id": 7, "untouched": 1}) == Report()
    assert compare(path, {RUN: 4, "any id": 9}) == Report()  # killed before it was marked
    assert path.stat().st_size == 2 * SLOT


def test_what_it_has_not_is_told_in_words(marks: Marks, path: Path) -> None:
    marks.set(RUN, 5)
    marks.set("any id", 2)
    report = compare(path, {RUN: 3, "any id": 1})
    assert report == Report((Missing(RUN, 2), Missing("any id", 1)))
    assert list(map(str, report.missing)) == [
        f"the last 2 changes are lost of run {RUN}",
        "the last change is lost of run any id",
    ]


def test_a_run_that_is_lost_whole(marks: Marks, path: Path) -> None:
    marks.set(RUN, 5)
    marks.set("any id", 1)
    marks.set("x" * 17, 2)
    whole = compare(path, {}).missing
    assert whole == (
        Missing(RUN, 5, known=False),
        Missing("any id", 1, known=False),
        Missing("of an unknown id", 2, known=False),
    )
    assert str(whole[0]) == f"run {RUN} is lost whole"


def test_a_deletion_that_is_lost(marks: Marks, path: Path) -> None:
    marks.set(RUN, 5)
    marks.deleted(RUN)
    assert compare(path, {}) == Report()
    (back,) = compare(path, {RUN: 5}).missing
    assert str(back) == f"run {RUN} was deleted, and is back"


def test_an_emptied_journal_has_nothing_to_lose(marks: Marks, path: Path) -> None:
    marks.set(RUN, 5)
    marks.clear()
    assert compare(path, {}) == Report()
    marks.set(OTHER, 1)
    assert path.stat().st_size == SLOT  # its place is used again
    assert compare(path, {OTHER: 1}) == Report()


def test_it_goes_on_where_it_was(marks: Marks, path: Path) -> None:
    marks.set(RUN, 1)
    marks.set(OTHER, 1)
    again = Marks(path)
    again.set(OTHER, 2)
    again.set("third", 1)
    again.close()
    again.close()
    assert path.stat().st_size == 3 * SLOT
    assert compare(path, {RUN: 1, OTHER: 2, "third": 1}) == Report()


def test_a_missing_file_says_nothing(path: Path) -> None:
    assert compare(path, {RUN: 1}) == Report()


def test_a_file_that_cannot_be_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "marks").mkdir()
    marks = Marks(tmp_path / "marks")
    marks.set(RUN, 1)
    marks.clear()
    marks.close()
    assert compare(tmp_path / "marks", {}) == Report(hurt=1)


def test_a_hurt_slot_is_known_as_hurt_wherever_it_is_hit(marks: Marks, path: Path) -> None:
    marks.set(RUN, 3)
    marks.set(OTHER, 4)
    whole = path.read_bytes()
    chance = random.Random(4)
    for at in range(len(whole)):
        data = bytearray(whole)
        data[at] ^= chance.randrange(1, 256)
        path.write_bytes(data)
        assert compare(path, {RUN: 3, OTHER: 4}) == Report(hurt=1)
    path.write_bytes(whole[SLOT:] + whole[:SLOT])  # each in the other's place
    assert compare(path, {RUN: 3, OTHER: 4}) == Report(hurt=2)


def test_a_cut_file(marks: Marks, path: Path) -> None:
    marks.set(RUN, 3)
    marks.set(OTHER, 4)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert compare(path, {RUN: 3, OTHER: 4}) == Report(hurt=int(size % SLOT > 0))
