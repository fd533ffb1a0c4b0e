"""Repositories made by an attacker: looking at them runs no program of theirs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.coding.tool_workspace import ToolWorkspace
from tests.sdk.workspace.helpers import IDENTITY, Open, git, make_repository
from tests.sdk.workspace.recording import RecordingGit


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What the attacker's program leaves."""
    return tmp_path / "mark"


@pytest.fixture
def program(tmp_path: Path, mark: Path) -> Path:
    """The attacker's program."""
    path = tmp_path / "program.sh"
    path.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\n')
    path.chmod(0o755)
    return path


def plain_git(folder: Path, *arguments: str) -> None:
    """Run git as somebody who trusts the repository; it may fail."""
    command = ["git", "-C", str(folder), *arguments]
    environment = {**os.environ, **IDENTITY}
    subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    tool_workspace = ToolWorkspace(tmp_path / "coding")
    make_repository(tool_workspace.root, **{"a.txt": "one\n"})
    return tool_workspace


def add_submodule(tool_workspace: ToolWorkspace, program: Path, settings: dict[str, str]) -> None:
    """Give the repository a submodule at another commit than the one that is recorded."""
    origin = make_repository(tool_workspace.folder / "origin", b="1\n")
    (origin / ".gitattributes").write_text("b diff=evil\n")
    git(origin, "add", "--all")
    git(origin, "commit", "--quiet", "--message=attributes")
    git(tool_workspace.root, "submodule", "--quiet", "add", str(origin), "sub")
    git(tool_workspace.root, "commit", "--quiet", "--message=submodule")
    sub = tool_workspace.root / "sub"
    (sub / "b").write_text("2\n")
    git(sub, "commit", "--quiet", "--all", "--message=second")
    for name in settings:
        git(sub, "config", name, str(program))
    git(tool_workspace.root, "config", "diff.submodule", "diff")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diff.external", "diff.evil.command", "diff.evil.textconv"])
def test_a_submodules_diff_program_is_not_run(
    tool_workspace: ToolWorkspace, program: Path, mark: Path, name: str
) -> None:
    add_submodule(tool_workspace, program, {name: str(program)})
    for arguments in ({}, {"base": "HEAD"}, {"staged": True}):
        assert tool_workspace.call("git_diff", **arguments).ok
    assert tool_workspace.call("git_status").ok
    assert not mark.exists(), mark.read_text()
    assert "+Subproject commit" in tool_workspace.call("git_diff").data["diff"]
    plain_git(tool_workspace.root, "diff")
    assert mark.exists()  # the trap is one


def make_promisor(folder: Path, program: Path) -> None:
    """Let the repository lack an object that its index names, to be fetched by a program."""
    (folder / ".gitignore").write_text("*.log\n")
    git(folder, "add", ".gitignore")
    git(folder, "commit", "--quiet", "--message=ignore")
    blob = git(folder, "rev-parse", "HEAD:.gitignore")
    git(folder, "update-index", "--skip-worktree", ".gitignore")
    (folder / ".gitignore").unlink()
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": "ssh://nowhere.invalid/x",
        "remote.origin.promisor": "true",
        "core.sshCommand": str(program),
    }.items():
        git(folder, "config", name, value)


@pytest.mark.slow
def test_opening_a_workspace_fetches_nothing(
    folder: Path,
    tmp_path: Path,
    watch: Open,
    program: Path,
    mark: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_repository(folder)
    make_promisor(folder, program)
    old_git(tmp_path, monkeypatch)
    watch()
    assert not mark.exists(), mark.read_text()
    plain_git(folder, "ls-files", "--cached", "--ignored", "--exclude-standard")
    assert mark.exists()


@pytest.mark.slow
def test_the_tools_fetch_nothing(
    tool_workspace: ToolWorkspace,
    tmp_path: Path,
    program: Path,
    mark: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_promisor(tool_workspace.root, program)
    old_git(tmp_path, monkeypatch)
    for name in ("git_status", "git_diff", "list_files"):
        tool_workspace.call(name)
    tool_workspace.call("git_diff", base="HEAD")
    assert not mark.exists(), mark.read_text()
    plain_git(tool_workspace.root, "diff", "HEAD^")
    assert mark.exists()


def old_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git not know the variable that forbids it to fetch: 2.43.0 and older don't."""
    RecordingGit(tmp_path / "old", monkeypatch, unset=("GIT_NO_LAZY_FETCH",))


def test_a_filter_that_is_required_is_not_run_in_a_submodule(
    tool_workspace: ToolWorkspace, watch: Open, program: Path, mark: Path
) -> None:
    add_submodule(tool_workspace, program, {})
    sub = tool_workspace.root / "sub"
    (sub / ".gitattributes").write_text("* filter=evil\n")
    for key in ("clean", "smudge", "process"):
        git(sub, "config", f"filter.evil.{key}", str(program))
    git(sub, "config", "filter.evil.required", "true")
    (sub / "b").write_text("3\n")
    for name in ("git_status", "git_diff", "list_files"):
        assert tool_workspace.call(name).ok
    watch(tool_workspace.root).commit()
    assert not mark.exists(), mark.read_text()
    plain_git(tool_workspace.root, "diff")
    assert mark.exists()
