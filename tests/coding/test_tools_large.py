"""Files and arguments by which a tool could take all the memory, or all the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.coding.tools.diffs import make_unified_diff
from agentstepper_nb.coding.workspace import READ_LIMIT
from tests.coding.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_an_edit_makes_no_file_that_is_too_large(desk: Desk) -> None:
    desk.write("x", "a" * 10_000)
    result = desk.call("edit_file", path="x", old="a", new="b" * 2000, all=True)
    assert result.error == f"x would be larger than {READ_LIMIT:,} characters afterwards."
    assert desk.text("x") == "a" * 10_000


def test_what_was_likely_meant_is_not_looked_for_for_long(desk: Desk) -> None:
    desk.write("x", "a\n" * 100_000)
    result = desk.call("edit_file", path="x", old="a\n" * 20_000 + "b", new="")
    assert result.error == "`old` doesn't stand in x. Read the file again."


def test_very_many_lines_are_not_compared(desk: Desk) -> None:
    desk.write("x", "\n" * READ_LIMIT)
    assert desk.call("write_file", path="x", content="b").data == {
        "path": "x",
        "done": "changed",
        "diff": "It has too many lines to be shown.",
    }
    assert desk.text("x") == "b"


def test_the_place_of_a_large_hunk_is_not_looked_for_for_long(desk: Desk) -> None:
    desk.write("x", "a\n" * 100_000)
    head = "--- a/x\n+++ b/x\n@@ -1,20003 +1,1 @@\n"
    patch = head + " a\n" * 20_000 + "-b\n a\n"
    said = desk.call("apply_patch", patch=patch).error
    assert said and "Hunk 1 of x doesn't fit" in said


@pytest.mark.parametrize(("lines", "hunks"), [(1_990, 2), (2_010, 1)])
def test_a_diff_of_very_many_lines_is_one_hunk(lines: int, hunks: int) -> None:
    same = [f"{number}\n" for number in range(lines)]
    diff = make_unified_diff("x", "".join(["a\n", *same, "a\n"]), "".join(["b\n", *same, "b\n"]))
    assert diff.count("\n@@ ") == hunks


@pytest.mark.parametrize(("lines", "hinted"), [(1_990, True), (2_010, False)])
def test_an_edit_of_very_many_lines_has_no_hint(desk: Desk, lines: int, hinted: bool) -> None:
    desk.write("x", "  a\n" * lines)
    said = desk.call("edit_file", path="x", old="\ta\n" * lines, new="").error
    assert said is not None
    assert ("differ from it in spaces alone" in said) == hinted


@pytest.mark.parametrize(("lines", "fits"), [(14_100, True), (14_200, False)])
def test_a_very_large_hunk_stands_where_it_says(desk: Desk, lines: int, fits: bool) -> None:
    desk.write("x", "one\n" + "a\n" * lines + "b\n")
    patch = f"--- a/x\n+++ b/x\n@@ -1,{lines + 1} +1,{lines} @@\n" + " a\n" * lines + "-b\n"
    result = desk.call("apply_patch", patch=patch)
    assert (result.error is None) == fits


@pytest.mark.parametrize("pattern", ["o\0e", "one\ud800"])
def test_a_pattern_that_no_program_can_be_given(desk: Desk, pattern: str) -> None:
    assert desk.call("search", pattern=pattern).data == {"matches": 0, "text": ""}


def test_a_pattern_that_is_too_long(desk: Desk) -> None:
    said = desk.call("search", pattern="a" * 200_000).error
    assert said and "length <= 10000" in said
