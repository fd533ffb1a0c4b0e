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
from tests.coding.desk import TEXT, Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    desk.git("init", "-q", "-b", "main")
    desk.git("add", "a.txt", "src/b.py")
    desk.git("commit", "-q", "-m", "first")
    return desk


def status(desk: Desk) -> list[str]:
    result = desk.call("git_status")
    assert result.ok, result.error
    rows: list[str] = result.data["status"].splitlines()
    return [row for row in rows if not row.startswith("?? ")]


def diff(desk: Desk, **args: Any) -> str:
    result = desk.call("git_diff", **args)
    assert result.ok, result.error
    text: str = result.data["diff"]
    return text


def error(result: ToolResult) -> str:
    assert not result.ok
    return result.error or ""


def test_status_and_diff(desk: Desk) -> None:
    assert status(desk) == ["## main"] and diff(desk) == ""
    desk.write("a.txt", "one\n2\nthree\n")
    desk.write("ü.txt", "")
    desk.git("add", "ü.txt")
    assert status(desk) == ["## main", " M a.txt", "A  ü.txt"]
    assert diff(desk).endswith("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
    assert diff(desk, path="src") == ""
    assert "+++ b/a.txt" in diff(desk, path="./a.txt")
    assert "ü.txt" in diff(desk, staged=True) and "a.txt" not in diff(desk, staged=True)


def test_diff_with_a_commit(desk: Desk) -> None:
    desk.write("a.txt", "other\n")
    desk.git("commit", "-q", "-am", "second")
    assert "-two" in diff(desk, base="HEAD~1") and diff(desk, base="main") == ""
    for name in ("HEAD~9", "--output=x", "-p", "missing", "", "a\0b", "HEAD:a.txt"):
        assert "There is no commit" in error(desk.call("git_diff", base=name)), name
    assert not (desk.root / "x").exists()


def test_a_workspace_below_the_repositorys_root(desk: Desk) -> None:
    desk.write("a.txt", "changed\n")
    desk.write("src/b.py", "changed\n")
    desk.ctx.workspace = LocalWorkspace(desk.root / "src")
    assert " M b.py" in desk.call("git_status").data["status"]
    assert "a.txt" not in desk.call("git_status").data["status"]
    assert "a/b.py" in diff(desk) and "a.txt" not in diff(desk)


def test_without_a_repository(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    for name in ("git_status", "git_diff"):
        assert error(desk.call(name)) == "The workspace is in no git repository."


@pytest.mark.parametrize("path", ["..", "out/a.txt", "/etc", ":(top)", ":/", "*"])
def test_paths_are_paths_inside(desk: Desk, path: str) -> None:
    desk.write("a.txt", "changed\n")
    result = desk.call("git_diff", path=path)
    assert not result.ok or result.data == {"diff": ""}


def test_nothing_that_the_repository_brings_is_run(desk: Desk) -> None:
    trap = desk.folder / "sprung"
    desk.write("trap.sh", f"#!/bin/sh\necho $0 >> {trap}\ncat\n")
    path = desk.root / "trap.sh"
    path.chmod(0o755)
    settings = {
        "core.fsmonitor": path,
        "core.pager": path,
        "core.hooksPath": desk.root,
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
        desk.git("config", name, str(value))
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (desk.root / hook).symlink_to(path)
    desk.write(".gitattributes", "* diff=evil filter=evil\n")
    desk.write("a.txt", "one\n2\nthree\n")
    assert " M a.txt" in status(desk)
    assert "+2" in diff(desk) and "-two" in diff(desk, base="HEAD")
    assert diff(desk, staged=True) == ""
    assert desk.call("list_files").ok and desk.call("search", pattern="two").ok
    assert not trap.exists()
    subprocess.run(["git", "status"], cwd=desk.root, capture_output=True)  # and fails
    assert trap.exists()  # it would have: the test can fail


def test_another_work_tree_is_not_looked_at(desk: Desk) -> None:
    desk.git("config", "core.worktree", str(desk.outside))
    assert status(desk) == ["## main"]
    assert diff(desk) == ""


def test_the_environment_leads_to_no_other_repository(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(desk.outside))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    desk.write("a.txt", TEXT + "four\n")
    assert "+four" in diff(desk)


def test_a_very_long_diff_is_cut(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_tools, "LIMIT", 1000)
    desk.write("a.txt", "line\n" * 100_000)
    result = desk.call("git_diff")
    assert len(result.data["diff"]) == 1000 and result.data["more"]


def test_a_diff_of_what_is_not_inside_is_not_shown(desk: Desk) -> None:
    head = "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n"
    inside = head + " one\n-2\n+two\n three\n"
    outside = head + " one\n-two\n+canary\n three\n"
    gone = (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    binary = "diff --git a/p b/p\nindex 1..2 100644\nBinary files a/p and b/p differ\n"
    through = inside.replace("a.txt", "out/a.txt")
    note = ": changed while it was read.\n"
    assert limit_diff_to_workspace(inside + gone + binary, desk.workspace) == inside + gone + binary
    assert limit_diff_to_workspace(outside + gone + through, desk.workspace) == (
        f"a/a.txt b/a.txt{note}{gone}a/out/a.txt b/out/a.txt{note}"
    )
    assert limit_diff_to_workspace("", desk.workspace) == ""


def test_diffs_of_all_kinds_are_shown(desk: Desk) -> None:
    """`limit_diff_to_workspace` lets pass other line breaks, no last one, no UTF-8, links, modes."""
    for name, before, after in (
        ("crlf.txt", b"a\nb\n", b"a\r\nc\r\n"),
        ("end.txt", b"a\nb", b"a\nc"),
        ("latin.txt", b"K\xe4se\n", b"K\xe4se\nBrot\n"),
        ("empty.txt", b"", b"x\n"),
        ("emptied.txt", b"x\n", b""),
    ):
        desk.write(name, before)
        desk.git("add", name)
        desk.write(name, after)
    desk.write(".gitattributes", "crlf.txt text\n")
    desk.write("mode.txt", "x\n")
    desk.git("add", "mode.txt", "inside")
    (desk.root / "mode.txt").chmod(0o755)
    (desk.root / "inside").unlink()
    desk.link("inside", "elsewhere")
    (desk.root / "src/b.py").unlink()
    shown = diff(desk)
    assert "changed while" not in shown
    assert shown.count("diff --git") == 8
    assert "+Brot" in shown and "+elsewhere" in shown and "new mode 100755" in shown


def test_a_damaged_repository_is_said(desk: Desk) -> None:
    (desk.root / ".git" / "index").write_bytes(b"rubbish")
    assert "git status failed" in error(desk.call("git_status"))
    assert desk.call("list_files").ok


def test_no_program_of_the_workspace_is_run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = desk.root / "env" / "bin"
    for name in ("git", "rg"):
        desk.write(f"env/bin/{name}", f"#!/bin/sh\ntouch {desk.root}/ran\n")
        (planted / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{planted}{os.pathsep}{os.environ['PATH']}")
    assert desk.call("git_status").ok
    assert desk.call("search", pattern="two").ok
    assert not list(desk.root.rglob("ran"))
