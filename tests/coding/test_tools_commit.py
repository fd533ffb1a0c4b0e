"""`git_commit`: it commits what is named, as the user, and runs nothing that a repository brings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, RuleBook
from agentstepper_nb.coding.policy.denied import FileDenials
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "desk").mkdir()
    desk = Desk(tmp_path / "desk")
    git(desk, "init", "-q", "-b", "main")
    git(desk, "add", "a.txt", "src/b.py")
    git(desk, "commit", "-q", "-m", "first")
    return desk


def git(desk: Desk, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=desk.root, check=True, capture_output=True, text=True
    ).stdout


def test_what_is_named_is_committed(desk: Desk) -> None:
    desk.write("a.txt", "1\n")
    desk.write("src/new.py", "x\n")
    desk.write("other.txt", "staged\n")
    desk.write("[a].txt", "no pattern\n")
    (desk.root / "src" / "b.py").unlink()
    git(desk, "add", "other.txt")
    result = desk.call("git_commit", message="Mend it\n\nBecause.", paths=["src", "./[a].txt"])
    assert result.ok, result.error
    assert result.data["files"] == ["src/b.py", "[a].txt", "src/new.py", "src/out.txt"]
    said = git(desk, "log", "-1", "--format=%an <%ae>|%cn|%B").strip()
    assert said == "Ada <ada@example.org>|Ada|Mend it\n\nBecause."
    assert result.data["commit"] == git(desk, "rev-parse", "--short", "HEAD").strip()
    assert git(desk, "diff", "--cached", "--name-only").split() == ["other.txt"]
    assert git(desk, "diff", "--name-only").split() == ["a.txt"]
    desk.assert_outside_is_unchanged()


def test_a_folder_of_a_repository(desk: Desk) -> None:
    desk.ctx.workspace = LocalWorkspace(desk.root / "src")
    desk.write("src/b.py", "2\n")
    desk.write("a.txt", "2\n")
    assert desk.call("git_commit", message="x", paths=["."]).data["files"] == ["b.py", "out.txt"]
    assert git(desk, "diff", "--name-only").split() == ["a.txt"]


def test_nothing_of_the_repository_runs(desk: Desk) -> None:
    ran = desk.folder / "ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"):
        hook = desk.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    for setting in (
        *("core.fsmonitor", "core.editor", "gpg.program", "core.pager"),
        "filter.evil.clean",
    ):
        git(desk, "config", setting, f"touch {ran}; cat")
    git(desk, "config", "commit.gpgSign", "true")
    desk.write("a.txt", "2\n")
    assert desk.call("git_commit", message="x", paths=["a.txt"]).ok
    desk.write(".gitattributes", "*.py filter=evil\n")
    desk.write("src/b.py", "2\n")
    error = desk.call("git_commit", message="x", paths=["src"]).error or ""
    assert "src/b.py goes through git's filter 'evil', a program: the person has to" in error
    assert not ran.exists()


@pytest.mark.parametrize(
    ("paths", "says"),
    [
        (["a.txt"], "Nothing to commit in a.txt"),
        (["../x"], "it leads out of the workspace"),
        (["out/a.txt"], "it leads out of the workspace"),
        ([], "Wrong arguments for git_commit"),
    ],
)
def test_what_can_not_be_committed(desk: Desk, paths: list[str], says: str) -> None:
    before = git(desk, "rev-parse", "HEAD")
    assert says in (desk.call("git_commit", message="x", paths=paths).error or "")
    assert git(desk, "rev-parse", "HEAD") == before


def test_without_a_user_it_says_what_to_do(desk: Desk) -> None:
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    desk.write("a.txt", "2\n")
    error = desk.call("git_commit", message="x", paths=["a.txt"]).error or ""
    assert "git config --global user.name" in error
    git(desk, "config", "user.name", "Bob")
    git(desk, "config", "user.email", "b@example.org")
    assert desk.call("git_commit", message="x", paths=["a.txt"]).ok
    assert git(desk, "log", "-1", "--format=%an") == "Bob\n"


def test_what_may_not_be_read_is_left_out(desk: Desk, tmp_path: Path) -> None:
    book = RuleBook(tmp_path / "rules.json")
    book.deny("read_file", path="*.env")
    desk.ctx.workspace = LocalWorkspace(desk.root, FileDenials(book, desk.root))
    desk.write("x.env", "KEY\n")
    desk.write("a.txt", "2\n")
    result = desk.call("git_commit", message="x", paths=["a.txt", "x.env"])
    assert result.data["files"] == ["a.txt"]
    assert result.data["left_out"] == "1 file: a rule denies reading."


def test_it_asks_nobody(desk: Desk) -> None:
    engine = DefaultPolicyEngine(workspace=LocalWorkspace(desk.root))
    args = json.dumps({"message": "x", "paths": ["a.txt"]})
    said = asyncio.run(engine.evaluate(desk.tool("git_commit"), args))
    assert said.decision is PolicyDecision.ALLOWED
