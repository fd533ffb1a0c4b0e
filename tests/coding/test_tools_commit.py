"""`git_commit`: it commits what is named, as the user, and runs nothing that a repository brings."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import DefaultPolicyEngine, PolicyDecision, PolicyRulesFile
from agentstepper_nb.coding.policy.denied_files import FileDenials
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.coding.tool_workspace import ToolWorkspace


@pytest.fixture
def tool_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ToolWorkspace:
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "desk").mkdir()
    tool_workspace = ToolWorkspace(tmp_path / "desk")
    tool_workspace.git("init", "-q", "-b", "main")
    tool_workspace.git("add", "a.txt", "src/b.py")
    tool_workspace.git("commit", "-q", "-m", "first")
    return tool_workspace


def test_what_is_named_is_committed(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("a.txt", "1\n")
    tool_workspace.write("src/new.py", "x\n")
    tool_workspace.write("other.txt", "staged\n")
    tool_workspace.write("[a].txt", "no pattern\n")
    (tool_workspace.root / "src" / "b.py").unlink()
    tool_workspace.git("add", "other.txt")
    result = tool_workspace.call(
        "git_commit", message="Mend it\n\nBecause.", paths=["src", "./[a].txt"]
    )
    assert result.ok, result.error
    assert result.data["files"] == ["src/b.py", "[a].txt", "src/new.py", "src/out.txt"]
    said = tool_workspace.git("log", "-1", "--format=%an <%ae>|%cn|%B").strip()
    assert said == "Ada <ada@example.org>|Ada|Mend it\n\nBecause."
    assert result.data["commit"] == tool_workspace.git("rev-parse", "--short", "HEAD").strip()
    assert tool_workspace.git("diff", "--cached", "--name-only").split() == ["other.txt"]
    assert tool_workspace.git("diff", "--name-only").split() == ["a.txt"]
    tool_workspace.assert_outside_is_unchanged()


def test_a_folder_of_a_repository(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.ctx.workspace = LocalWorkspace(tool_workspace.root / "src")
    tool_workspace.write("src/b.py", "2\n")
    tool_workspace.write("a.txt", "2\n")
    assert tool_workspace.call("git_commit", message="x", paths=["."]).data["files"] == [
        "b.py",
        "out.txt",
    ]
    assert tool_workspace.git("diff", "--name-only").split() == ["a.txt"]


def test_nothing_of_the_repository_runs(tool_workspace: ToolWorkspace) -> None:
    ran = tool_workspace.folder / "ran"
    for name in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg"):
        hook = tool_workspace.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
        hook.chmod(0o755)
    for setting in (
        *("core.fsmonitor", "core.editor", "gpg.program", "core.pager"),
        "filter.evil.clean",
    ):
        tool_workspace.git("config", setting, f"touch {ran}; cat")
    tool_workspace.git("config", "commit.gpgSign", "true")
    tool_workspace.write("a.txt", "2\n")
    assert tool_workspace.call("git_commit", message="x", paths=["a.txt"]).ok
    tool_workspace.write(".gitattributes", "*.py filter=evil\n")
    tool_workspace.write("src/b.py", "2\n")
    error = tool_workspace.call("git_commit", message="x", paths=["src"]).error or ""
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
def test_what_can_not_be_committed(
    tool_workspace: ToolWorkspace, paths: list[str], says: str
) -> None:
    before = tool_workspace.git("rev-parse", "HEAD")
    assert says in (tool_workspace.call("git_commit", message="x", paths=paths).error or "")
    assert tool_workspace.git("rev-parse", "HEAD") == before


def test_without_a_user_it_says_what_to_do(tool_workspace: ToolWorkspace) -> None:
    Path(os.environ["GIT_CONFIG_GLOBAL"]).write_text("")
    tool_workspace.write("a.txt", "2\n")
    error = tool_workspace.call("git_commit", message="x", paths=["a.txt"]).error or ""
    assert "git config --global user.name" in error
    tool_workspace.git("config", "user.name", "Bob")
    tool_workspace.git("config", "user.email", "b@example.org")
    assert tool_workspace.call("git_commit", message="x", paths=["a.txt"]).ok
    assert tool_workspace.git("log", "-1", "--format=%an") == "Bob"


def test_what_may_not_be_read_is_left_out(tool_workspace: ToolWorkspace, tmp_path: Path) -> None:
    book = PolicyRulesFile(tmp_path / "rules.json")
    book.deny("read_file", path="*.env")
    tool_workspace.ctx.workspace = LocalWorkspace(
        tool_workspace.root, FileDenials(book, tool_workspace.root)
    )
    tool_workspace.write("x.env", "KEY\n")
    tool_workspace.write("a.txt", "2\n")
    result = tool_workspace.call("git_commit", message="x", paths=["a.txt", "x.env"])
    assert result.data["files"] == ["a.txt"]
    assert result.data["left_out"] == "1 file: a rule denies reading."


def test_it_asks_nobody(tool_workspace: ToolWorkspace) -> None:
    engine = DefaultPolicyEngine(workspace=LocalWorkspace(tool_workspace.root))
    args = json.dumps({"message": "x", "paths": ["a.txt"]})
    said = asyncio.run(engine.evaluate(tool_workspace.tool("git_commit"), args))
    assert said.decision is PolicyDecision.ALLOWED
