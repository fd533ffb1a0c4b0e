"""Pipes in the place of files that git reads: nothing waits for them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentstepper_nb.coding.tools.git_tools import open_repository
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.sdk.workspace.git_command import Git, GitError
from tests.coding.tool_workspace import ToolWorkspace
from tests.sdk.workspace.helpers import Open, files_of, make_repository

#: In a repository.
NAMES = [
    "config",
    "HEAD",
    "index",
    "packed-refs",
    "commondir",
    "info/exclude",
    "info/attributes",
    "objects/info/alternates",
    "refs/heads/main",
]


def make_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_workspace_is_watched_whose_repository_has_a_pipe(
    folder: Path, data: Path, watch: Open, name: str
) -> None:
    make_repository(folder)
    make_pipe(folder / ".git" / name)
    assert files_of(data, watch().head).keys() == {"readme"}
    with pytest.raises(WorkspaceError, match="Repair the repository"):
        watch(require_clean=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_tools_do_not_wait_for_a_pipe(tmp_path: Path, name: str) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    make_repository(tool_workspace.root)
    make_pipe(tool_workspace.root / ".git" / name)
    for tool in ("git_status", "git_diff"):
        result = tool_workspace.call(tool)
        assert not result.ok and result.error == "The workspace is in no git repository."
    assert tool_workspace.call("list_files").ok


def test_a_pipe_behind_a_link_and_one_for_the_whole_repository(
    folder: Path, data: Path, watch: Open
) -> None:
    make_repository(folder)
    make_pipe(folder.parent / "pipe")
    (folder / ".git/config").unlink()
    (folder / ".git/config").symlink_to(folder.parent / "pipe")
    assert files_of(data, watch().head).keys() == {"readme"}
    (folder / ".git").rename(folder.parent / "elsewhere")
    make_pipe(folder / ".git")
    assert files_of(data, watch().head).keys() == {"readme"}
    (folder / ".git").unlink()
    (folder / ".git").write_text(f"gitdir: {folder.parent / 'elsewhere'}\n")
    assert files_of(data, watch().head).keys() == {"readme"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [".gitignore", "below/.gitignore"])
def test_a_pipe_with_the_name_of_an_ignore_file_is_named(
    folder: Path, watch: Open, name: str
) -> None:
    make_repository(folder)
    workspace = watch()
    make_pipe(folder / name)
    (folder / name).with_name("x").write_text("new\n")
    with pytest.raises(WorkspaceError, match=f"{name} is a pipe.* Remove it"):
        workspace.commit()
    with pytest.raises(WorkspaceError, match=f"{name} is a pipe"):
        watch(git_timeout_s=1.0)  # git itself waits for the pipe
    (folder / name).unlink()
    assert workspace.commit()


@pytest.mark.parametrize("name", [".gitignore", ".gitattributes", ".gitmodules"])
def test_the_tools_name_a_pipe_in_the_work_tree(tmp_path: Path, name: str) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    make_repository(tool_workspace.root)
    make_pipe(tool_workspace.root / name)
    for tool in ("git_status", "git_diff"):
        assert f"{name} is a pipe" in (tool_workspace.call(tool).error or "")
    assert tool_workspace.call("list_files").ok


@pytest.mark.slow
def test_a_pipe_that_only_git_finds_ends_by_the_limit(tmp_path: Path) -> None:
    tool_workspace = ToolWorkspace(tmp_path)
    impatient = LocalWorkspace(tool_workspace.root, git_timeout_s=0.5)
    tool_workspace.ctx.workspace = impatient
    make_repository(tool_workspace.root)
    make_pipe(tool_workspace.root / "src/.gitignore")
    assert "took longer than 0.5 s" in (tool_workspace.call("git_status").error or "")
    assert tool_workspace.call("list_files").ok
    make_pipe(tool_workspace.root / ".git/deep/pipe")
    with (tool_workspace.root / ".git/config").open("a") as config:
        config.write("[include]\n\tpath = deep/pipe\n")
    own = Git(tool_workspace.root / ".git", timeout_s=0.5)
    with pytest.raises(GitError, match=r"took longer than 0\.5 s"):
        own.run("rev-parse", "--git-dir")
    with pytest.raises(GitError, match=r"took longer than 0\.5 s"):
        own.read("rev-parse", "--git-dir", size_bytes=1000)
    assert open_repository(impatient) is None
