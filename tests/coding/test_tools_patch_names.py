"""`apply_patch`: one file by several names, and the line breaks of what is added."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.coding.test_tools_patch import done, refused
from tests.coding.tool_workspace import ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


@pytest.mark.parametrize("other", ["inside/b.py", "src/../src/b.py", "absolute/./b.py"])
def test_two_changes_of_one_file_by_two_names_are_both_made(
    tool_workspace: ToolWorkspace, other: str
) -> None:
    patch = (
        "--- a/src/b.py\n+++ b/src/b.py\n@@ -1 +1 @@\n-def f():\n+def g():\n"
        f"--- a/{other}\n+++ b/{other}\n@@ -2 +2 @@\n-    return 1\n+    return 2\n"
    )
    result = tool_workspace.call("apply_patch", patch=patch)
    assert tool_workspace.text("src/b.py") == "def g():\n    return 2\n"
    assert [each["path"] for each in result.data["files"]] == ["src/b.py", other]
    assert result.data["diff"] == (
        "--- a/src/b.py\n+++ b/src/b.py\n@@ -1,2 +1,2 @@\n"
        "-def f():\n-    return 1\n+def g():\n+    return 2\n"
    )


def test_a_file_may_be_created_in_a_new_folder_below_a_link(tool_workspace: ToolWorkspace) -> None:
    patch = "--- /dev/null\n+++ b/inside/n/{}.txt\n@@ -0,0 +1 @@\n+x\n"
    assert len(done(tool_workspace, patch.format(1) + patch.format(2))) == 2
    assert tool_workspace.text("src/n/1.txt") == tool_workspace.text("src/n/2.txt") == "x\n"
    again = patch.format(3) + patch.format(3).replace("inside", "src")
    assert "src/n/3.txt is there already" in refused(tool_workspace, again)


@pytest.mark.parametrize(
    ("hunk", "after"),
    [
        ("@@ -1,0 +2 @@\n+new\n", "one\r\nnew\r\ntwo"),
        ("@@ -1,0 +2 @@\n+new\r\n", "one\r\nnew\r\ntwo"),
        ("@@ -2 +2,2 @@\n-two\n\\ No newline at end of file\n+2\n+3\n", "one\r\n2\r\n3\r\n"),
        ("@@ -1 +1 @@\n-one\r\n+1\n", "1\ntwo"),  # which changes the line break
    ],
)
def test_new_lines_have_the_files_line_breaks(
    tool_workspace: ToolWorkspace, hunk: str, after: str
) -> None:
    tool_workspace.write("a.txt", "one\r\ntwo")
    done(tool_workspace, f"--- a/a.txt\n+++ b/a.txt\n{hunk}")
    assert tool_workspace.text() == after
