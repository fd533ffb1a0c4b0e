"""`git_commit`: it commits what is named, as the user, and runs nothing that a repository brings."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, RuleBook
from agentstepper_nb.coding.policy.denied_files import FileDenials
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
    desk.git("init", "-q", "-b", "main")
    desk.git("add", "a.txt", "src/b.py")
    desk.git("commit", "-q", "-m", "first")
    return desk


def test_what_is_named_is_committed(desk: Desk) -> None:
    desk.write("a.txt", "1\n")
    desk.write("src/new.py", "x\n")
    desk.write("other.txt", "staged\n")
    desk.write("[a].txt", "no pattern\n")
    (desk.root / "src" / "b.py").unlink()
    desk.git("add", "other.txt")
    result = desk.call("git_commit", message="Mend it\n\nBecause.", paths=["src", "./[a].txt"])
    assert result.ok, result.error
    assert result.data["files"] == ["src/b.py", "[a].txt", "src/new.py", "src/out.txt"]
    said = desk.git("log", "-1", "--format=%an <%ae>|%cn|%B").strip()
    assert said == "Ada <ada@example.org>|Ada|Mend it\n\nBecause."
    assert result.data["commit"] == desk.git("rev-parse", "--short", "HEAD").strip()
    assert desk.git("diff", "--cached", "--name-only").split() == ["other.txt"]
    assert desk.git("diff", "--name-only").split() == ["a.txt"]
    desk.assert_outside_is_unchanged()


def test_a_folder_of_a_repository(desk: Desk) -> None:
    desk.ctx.workspace = LocalWorkspace(desk.root / "src")
    desk.write("src/b.py", "2\n")
    desk.write("a.txt", "2\n")
    assert desk.call("git_commit", message="x", paths=["."]).data["files"] == ["b.py", "out.txt"]
    assert desk.git("diff", "--name-only").split() == ["a.txt"]


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
        desk.git("config", setting, f"touch {ran}; cat")
    desk.git("config", "commit.gpgSign", "true")
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
    before = desk.git("rev-parse", "HEAD")
    assert says in (desk.call("git_commit", message="x", paths=paths).error or "")
    assert desk.git("rev-parse", "HEAD") == before


def test_without_a_user_it_says_what_to_do(desk: Desk) -> None:
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    desk.write("a.txt", "2\n")
    error = desk.call("git_commit", message="x", paths=["a.txt"]).error or ""
    assert "git config --global user.name" in error
    desk.git("config", "user.name", "Bob")
    desk.git("config", "user.email", "b@example.org")
    assert desk.call("git_commit", message="x", paths=["a.txt"]).ok
    assert desk.git("log", "-1", "--format=%an") == "Bob"


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
