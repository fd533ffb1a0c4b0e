"""`git_status` and `git_diff`: they say what git says, and run nothing that a repository brings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.coding.tools import git_tools as git_tools
from agentstepper_nb.coding.tools.git_tools import limit_diff_to_workspace
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.tool_workspace import TEXT, ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    tool_workspace = ToolWorkspace(tmp_path)
    tool_workspace.git("init", "-q", "-b", "main")
    tool_workspace.git("add", "a.txt", "src/b.py")
    tool_workspace.git("commit", "-q", "-m", "first")
    return tool_workspace


def status(tool_workspace: ToolWorkspace) -> list[str]:
    result = tool_workspace.call("git_status")
    assert result.ok, result.error
    rows: list[str] = result.data["status"].splitlines()
    return [row for row in rows if not row.startswith("?? ")]


def diff(tool_workspace: ToolWorkspace, **args: Any) -> str:
    result = tool_workspace.call("git_diff", **args)
    assert result.ok, result.error
    text: str = result.data["diff"]
    return text


def error(result: ToolResult) -> str:
    assert not result.ok
    return result.error or ""


def test_status_and_diff(tool_workspace: ToolWorkspace) -> None:
    assert status(tool_workspace) == ["## main"] and diff(tool_workspace) == ""
    tool_workspace.write("a.txt", "one\n2\nthree\n")
    tool_workspace.write("ü.txt", "")
    tool_workspace.git("add", "ü.txt")
    assert status(tool_workspace) == ["## main", " M a.txt", "A  ü.txt"]
    assert diff(tool_workspace).endswith("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
    assert diff(tool_workspace, path="src") == ""
    assert "+++ b/a.txt" in diff(tool_workspace, path="./a.txt")
    assert "ü.txt" in diff(tool_workspace, staged=True) and "a.txt" not in diff(
        tool_workspace, staged=True
    )


def test_diff_with_a_commit(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "other\n")
    tool_workspace.git("commit", "-q", "-am", "second")
    assert "-two" in diff(tool_workspace, base="HEAD~1") and diff(tool_workspace, base="main") == ""
    for name in ("HEAD~9", "--output=x", "-p", "missing", "", "a\0b", "HEAD:a.txt"):
        assert "There is no commit" in error(tool_workspace.call("git_diff", base=name)), name
    assert not (tool_workspace.root / "x").exists()


def test_a_workspace_below_the_repositorys_root(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "changed\n")
    tool_workspace.write("src/b.py", "changed\n")
    tool_workspace.ctx.workspace = LocalWorkspace(tool_workspace.root / "src")
    assert " M b.py" in tool_workspace.call("git_status").data["status"]
    assert "a.txt" not in tool_workspace.call("git_status").data["status"]
    assert "a/b.py" in diff(tool_workspace) and "a.txt" not in diff(tool_workspace)


def test_without_a_repository(tmp_path: Path) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    for name in ("git_status", "git_diff"):
        assert error(tool_workspace.call(name)) == "The workspace is in no git repository."


@pytest.mark.parametrize("path", ["..", "out/a.txt", "/etc", ":(top)", ":/", "*"])
def test_paths_are_paths_inside(tool_workspace: ToolWorkspace, path: str) -> None:
    tool_workspace.write("a.txt", "changed\n")
    result = tool_workspace.call("git_diff", path=path)
    assert not result.ok or result.data == {"diff": ""}


def test_nothing_that_the_repository_brings_is_run(tool_workspace: ToolWorkspace) -> None:
    trap = tool_workspace.folder / "sprung"
    tool_workspace.write("trap.sh", f"#!/bin/sh\necho $0 >> {trap}\ncat\n")
    path = tool_workspace.root / "trap.sh"
    path.chmod(0o755)
    settings = {
        "core.fsmonitor": path,
        "core.pager": path,
        "core.hooksPath": tool_workspace.root,
        "core.sshCommand": path,
        "diff.external": path,
        "diff.evil.command": path,
        "diff.evil.textconv": path,
        "filter.evil.clean": path,
        "filter.evil.smudge": path,
        "filter.evil.process": path,
        "filter.evil.required": "true",
        "pager.diff": path,
        "pager.status": path,
    }
    for name, value in settings.items():
        tool_workspace.git("config", name, str(value))
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (tool_workspace.root / hook).symlink_to(path)
    tool_workspace.write(".gitattributes", "* diff=evil filter=evil\n")
    tool_workspace.write("a.txt", "one\n2\nthree\n")
    assert " M a.txt" in status(tool_workspace)
    assert "+2" in diff(tool_workspace) and "-two" in diff(tool_workspace, base="HEAD")
    assert diff(tool_workspace, staged=True) == ""
    assert tool_workspace.call("list_files").ok and tool_workspace.call("search", pattern="two").ok
    assert not trap.exists()
    subprocess.run(["git", "status"], cwd=tool_workspace.root, capture_output=True)  # and fails
    assert trap.exists()  # it would have: the test can fail


def test_another_work_tree_is_not_looked_at(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.git("config", "core.worktree", str(tool_workspace.outside))
    assert status(tool_workspace) == ["## main"]
    assert diff(tool_workspace) == ""


def test_the_environment_leads_to_no_other_repository(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tool_workspace.outside))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    tool_workspace.write("a.txt", TEXT + "four\n")
    assert "+four" in diff(tool_workspace)


def test_a_very_long_diff_is_cut(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "line\n" * 100_000)
    result = tool_workspace.call(git_tools.GitDiff(max_output_bytes=1000))
    assert len(result.data["diff"]) == 1000 and result.data["more"]


def test_a_diff_of_what_is_not_inside_is_not_shown(tool_workspace: ToolWorkspace) -> None:
    head = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n"
    inside = head + " one\n-2\n+two\n three\n"
    outside = head + " one\n-two\n+canary\n three\n"
    gone = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    binary = "diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n"
    through = inside.replace("a.txt", "out/a.txt")
    note = ": changed while it was read.\n"
    assert (
        limit_diff_to_workspace(inside + gone + binary, tool_workspace.workspace)
        == inside + gone + binary
    )
    assert limit_diff_to_workspace(outside + gone + through, tool_workspace.workspace) == (
        f"a/a.txt b/a.txt{note}{gone}a/out/a.txt b/out/a.txt{note}"
    )
    assert limit_diff_to_workspace("", tool_workspace.workspace) == ""


def test_diffs_of_all_kinds_are_shown(tool_workspace: ToolWorkspace) -> None:
    """`limit_diff_to_workspace` lets pass other line breaks, no last one, no UTF-8, links, modes."""
    for name, before, after in (
        ("crlf.txt", b"a\nb\n", b"a\r\nc\r\n"),
        ("end.txt", b"a\nb", b"a\nc"),
        ("latin.txt", b"K\xe4se\n", b"K\xe4se\nBrot\n"),
        ("empty.txt", b"", b"x\n"),
        ("emptied.txt", b"x\n", b""),
    ):
        tool_workspace.write(name, before)
        tool_workspace.git("add", name)
        tool_workspace.write(name, after)
    tool_workspace.write(".gitattributes", "crlf.txt text\n")
    tool_workspace.write("mode.txt", "x\n")
    tool_workspace.git("add", "mode.txt", "inside")
    (tool_workspace.root / "mode.txt").chmod(0o755)
    (tool_workspace.root / "inside").unlink()
    tool_workspace.link("inside", "elsewhere")
    (tool_workspace.root / "src/b.py").unlink()
    shown = diff(tool_workspace)
    assert "changed while" not in shown
    assert shown.count("diff --git") == 8
    assert "+Brot" in shown and "+elsewhere" in shown and "new mode 100755" in shown


def test_a_damaged_repository_is_said(tool_workspace: ToolWorkspace) -> None:
    (tool_workspace.root / ".git" / "index").write_bytes(b"rubbish")
    assert "git status failed" in error(tool_workspace.call("git_status"))
    assert tool_workspace.call("list_files").ok


def test_no_program_of_the_workspace_is_run(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tool_workspace.root / "env" / "bin"
    for name in ("git", "rg"):
        tool_workspace.write(f"env/bin/{name}", f"#!/bin/sh\ntouch {tool_workspace.root}/ran\n")
        (planted / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}{os.pathsep}{os.environ['PATH']}")
    assert tool_workspace.call("git_status").ok
    assert tool_workspace.call("search", pattern="two").ok
    assert not list(tool_workspace.root.rglob("ran"))
