"""What is stored of a workspace before it is changed, and how a file comes back from it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentstepper_nb.coding.snapshots import Snapshots
from agentstepper_nb.sdk.workspace import Workspace
from agentstepper_nb.sdk.workspace.scan import ScanLimits
from tests.sdk.workspace.helpers import git, make_repository


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = make_repository(tmp_path / "repo", LICENSE="free\n", **{".gitignore": "*.log\n"})
    (repo / "LICENSE").write_text("mine, uncommitted\n")
    (repo / "new.txt").write_text("never added\n")
    (repo / "debug.log").write_text("ignored\n")
    return repo


def restored(workspace: Workspace, name: str) -> str:
    """The file, by the command of git that the guide names."""
    shown = [
        "git",
        f"--git-dir={workspace.git_dir}",
        "show",
        f"{workspace.snapshots_branch}:{name}",
    ]
    return subprocess.run(shown, capture_output=True, text=True, check=True).stdout


def test_a_look_before_a_command_holds_what_git_has_no_commit_of(repo: Path, data: Path) -> None:
    snapshots = Snapshots(repo, data)
    assert snapshots.save_snapshot() is not None
    (repo / "LICENSE").write_text("edited later\n")
    workspace = snapshots.save_snapshot()
    assert workspace is not None
    assert workspace.git_dir == snapshots.git_dir
    git(repo, "checkout", "LICENSE")
    assert (repo / "LICENSE").read_text() == "free\n"
    assert restored(workspace, "LICENSE") == "edited later\n"
    assert restored(workspace, "new.txt") == "never added\n"


def test_saved_is_what_a_snapshot_holds_as_it_is_now(repo: Path, data: Path) -> None:
    snapshots = Snapshots(repo, data)
    assert snapshots.is_recoverable(repo / "LICENSE")
    assert snapshots.is_recoverable(repo / "new.txt")
    assert not snapshots.is_recoverable(repo / "debug.log")  # ignored
    assert not snapshots.is_recoverable(repo / "no such file")
    assert not snapshots.is_recoverable(repo.parent / "elsewhere")
    (repo / "new.txt").write_text("changed a moment ago\n")
    assert snapshots.is_recoverable(repo / "new.txt")  # it is looked at first


def test_the_debuggers_workspace_is_continued(repo: Path, data: Path) -> None:
    debuggers = Workspace(repo, "code", data_dir=data)
    snapshots = Snapshots(repo, data)
    snapshots.use_debugger_workspace(debuggers)
    assert snapshots.save_snapshot() is debuggers
    (repo / "new.txt").write_text("by a person\n")
    assert snapshots.save_snapshot() is debuggers
    assert debuggers.snapshot() is None  # told of nothing twice
    debuggers.close()
    own = snapshots.save_snapshot()
    assert own is not None and own is not debuggers
    assert own.has_stored(repo / "new.txt")
    snapshots.close()
    assert own.is_closed


def test_where_no_snapshot_can_be_made_only_what_is_committed_is_saved(
    repo: Path, data: Path
) -> None:
    (repo / "odd[name]").write_text("1\n")
    git(repo, "add", "odd[name]")
    git(repo, "commit", "--quiet", "--message=second", "odd[name]")
    snapshots = Snapshots(repo, data, scan_limits=ScanLimits(max_files=3, max_unread_bytes=2**30))
    assert snapshots.save_snapshot() is None
    assert "more than 3 files" in (snapshots.unavailable_reason or "")
    assert not snapshots.is_recoverable(repo / "LICENSE")
    assert not snapshots.is_recoverable(repo / "new.txt")
    assert snapshots.is_recoverable(repo / ".gitignore")
    assert snapshots.is_recoverable(repo / "odd[name]")
    (repo / ".gitignore").unlink()
    (repo / "debug.log").unlink()
    assert snapshots.save_snapshot() is not None  # small enough by now
    assert snapshots.unavailable_reason is None


def test_a_folder_with_too_much_to_store_is_refused(tmp_path: Path, data: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "large").write_bytes(os.urandom(2000))
    snapshots = Snapshots(folder, data, scan_limits=ScanLimits(max_files=10, max_unread_bytes=1000))
    assert snapshots.save_snapshot() is None
    assert not snapshots.is_recoverable(folder / "large")
    snapshots.close()
    assert snapshots.save_snapshot() is None
