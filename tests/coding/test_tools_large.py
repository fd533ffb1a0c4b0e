"""Files and arguments by which a tool could take all the memory, or all the time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.coding.tools.diffs import make_unified_diff
from agentstepper_nb.coding.workspace import MAX_READ_BYTES
from tests.coding.tool_workspace import ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


def test_an_edit_makes_no_file_that_is_too_large(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("x", "a" * 10_000)
    result = tool_workspace.call("edit_file", path="x", old="a", new="b" * 2000, all=True)
    assert result.error == f"x would be larger than {MAX_READ_BYTES:,} characters afterwards."
    assert tool_workspace.text("x") == "a" * 10_000


def test_what_was_likely_meant_is_not_looked_for_for_long(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("x", "a\n" * 100_000)
    result = tool_workspace.call("edit_file", path="x", old="a\n" * 20_000 + "b", new="")
    assert result.error == "`old` doesn't stand in x. Read the file again."


def test_very_many_lines_are_not_compared(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("x", "\n" * MAX_READ_BYTES)
    assert tool_workspace.call("write_file", path="x", content="b").data == {
        "path": "x",
        "done": "changed",
        "diff": "It has too many lines to be shown.",
    }
    assert tool_workspace.text("x") == "b"


def test_the_place_of_a_large_hunk_is_not_looked_for_for_long(
    tool_workspace: ToolWorkspace,
) -> None:
    tool_workspace.write("x", "a\n" * 100_000)
    head = "--- a/x\n+++ b/x\n@@ -1,20003 +1,1 @@\n"
    patch = head + " a\n" * 20_000 + "-b\n a\n"
    said = tool_workspace.call("apply_patch", patch=patch).error
    assert said and "Hunk 1 of x doesn't fit" in said


@pytest.mark.parametrize(("lines", "hunks"), [(1_990, 2), (2_010, 1)])
def test_a_diff_of_very_many_lines_is_one_hunk(lines: int, hunks: int) -> None:
    same = [f"{number}\n" for number in range(lines)]
    diff = make_unified_diff("x", "".join(["a\n", *same, "a\n"]), "".join(["b\n", *same, "b\n"]))
    assert diff.count("\n@@ ") == hunks


@pytest.mark.parametrize(("lines", "hinted"), [(1_990, True), (2_010, False)])
def test_an_edit_of_very_many_lines_has_no_hint(
    tool_workspace: ToolWorkspace, lines: int, hinted: bool
) -> None:
    tool_workspace.write("x", "  a\n" * lines)
    said = tool_workspace.call("edit_file", path="x", old="\ta\n" * lines, new="").error
    assert said is not None
    assert ("differ from it in spaces alone" in said) == hinted


@pytest.mark.parametrize(("lines", "fits"), [(14_100, True), (14_200, False)])
def test_a_very_large_hunk_stands_where_it_says(
    tool_workspace: ToolWorkspace, lines: int, fits: bool
) -> None:
    tool_workspace.write("x", "one\n" + "a\n" * lines + "b\n")
    patch = f"--- a/x\n+++ b/x\n@@ -1,{lines + 1} +1,{lines} @@\n" + " a\n" * lines + "-b\n"
    result = tool_workspace.call("apply_patch", patch=patch)
    assert (result.error is None) == fits


@pytest.mark.parametrize("pattern", ["o\0e", "one\ud800"])
def test_a_pattern_that_no_program_can_be_given(
    tool_workspace: ToolWorkspace, pattern: str
) -> None:
    assert tool_workspace.call("search", pattern=pattern).data == {"matches": 0, "text": ""}


def test_a_pattern_that_is_too_long(tool_workspace: ToolWorkspace) -> None:
    said = tool_workspace.call("search", pattern="a" * 200_000).error
    assert said and "length <= 10000" in said
