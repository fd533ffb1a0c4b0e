"""What is noted between two commits: what each look saw, and what a later commit makes of it."""

import os
import shutil
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.protocol.data_model import ChangeKind, FileBody
from agentstepper_nb.sdk.workspace import Workspace
from agentstepper_nb.sdk.workspace.files import FileLimits
from tests.helpers.sampling import select_sample
from tests.sdk.workspace.helpers import (
    Open,
    by_path,
    files_of,
    git,
    kinds,
    make_repository,
    private_repository,
)
from tests.sdk.workspace.test_commits_replay import CommitFollower, RandomWorkspaceAgent, present


def no_longer_racy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be long after the newest file was written."""
    newest = max(path.lstat().st_ctime_ns for path in folder.rglob("*"))
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.files.time.time_ns", lambda: newest + 10**10)


def called(*_: object, **__: object) -> None:
    raise AssertionError("for nothing")


def test_each_says_what_changed_since_the_last_look(folder: Path, data: Path, watch: Open) -> None:
    (folder / "a").write_text("1\n")
    workspace = watch(clock=lambda: 1_700_000_000)
    assert workspace.snapshot() is None
    (folder / "a").write_text("1\n2\n")
    first = workspace.snapshot()
    (folder / "b").write_text("b\n")
    second = workspace.snapshot()
    assert workspace.snapshot() is None
    assert first is not None
    assert second is not None
    assert (first.snapshot, first.at, first.title) == (True, 1_700_000_000, "Change a")
    assert kinds(first) == {"a": "changed"}
    assert by_path(first)["a"].body == FileBody(
        diff=by_path(first)["a"].body.diff,  # type: ignore[union-attr]
        content="1\n2\n",
        previous_content="1\n",
    )
    assert second.title == "Add b"
    assert kinds(second) == {"b": "added"}


def test_they_chain_on_a_branch_of_their_own(folder: Path, data: Path, watch: Open) -> None:
    workspace = watch()
    baseline, repository = workspace.head, private_repository(data)
    made = []
    for name in ("a", "b"):
        (folder / name).write_text(name)
        made.append(workspace.snapshot().id)  # type: ignore[union-attr]
    assert workspace.snapshots_branch == workspace.branch.replace("/runs/", "/steps/")
    log = git(repository, "log", "--format=%H %an: %s", workspace.snapshots_branch).splitlines()
    assert log == [
        f"{made[1]} AgentStepper snapshot: Snapshot",
        f"{made[0]} AgentStepper snapshot: Snapshot",
        f"{baseline} AgentStepper: Workspace before the run",
    ]
    assert workspace.head == baseline
    assert git(repository, "rev-parse", workspace.branch) == baseline


def test_a_commit_has_what_changed_since_the_last_commit(
    folder: Path, data: Path, watch: Open
) -> None:
    workspace = watch()
    baseline, repository = workspace.head, private_repository(data)
    (folder / "a").write_text("1\n")
    workspace.snapshot()
    (folder / "a").write_text("2\n")
    (folder / "b").write_text("b\n")
    second = workspace.snapshot()
    commit = workspace.commit()
    assert commit is not None
    assert (commit.snapshot, commit.title) == (False, "Add a, b")
    assert by_path(commit)["a"].body.content == "2\n"  # type: ignore[union-attr]
    assert second is not None
    assert commit.id != second.id
    assert git(repository, "rev-parse", f"{commit.id}^") == baseline
    assert git(repository, "diff", "--name-only", commit.id, second.id) == ""
    assert workspace.head == commit.id
    assert workspace.commit() is None
    assert workspace.snapshot() is None


def test_a_commit_of_a_snapshot_reads_nothing_again(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = watch()
    (folder / "a").write_text("1\n")
    no_longer_racy(folder, monkeypatch)
    assert workspace.snapshot() is not None
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.reader.read_file", called)
    assert kinds(workspace.commit("Named")) == {"a": "added"}


def test_what_nobody_saw_before_the_commit_is_in_the_commit_alone(
    folder: Path, data: Path, watch: Open
) -> None:
    workspace = watch()
    (folder / "seen").write_text("s")
    assert kinds(workspace.snapshot()) == {"seen": "added"}
    (folder / "unseen").write_text("u")
    assert kinds(workspace.commit()) == {"seen": "added", "unseen": "added"}
    (folder / "later").write_text("l")
    last = workspace.snapshot()
    assert kinds(last) == {"later": "added"}
    assert files_of(data, workspace.snapshots_branch).keys() == {"seen", "unseen", "later"}
    assert files_of(data, workspace.branch).keys() == {"seen", "unseen"}


def test_what_was_undone_before_the_commit_is_none(folder: Path, watch: Open) -> None:
    (folder / "a").write_text("1\n")
    workspace = watch()
    head = workspace.head
    for text in ("2\n", "1\n"):
        (folder / "a").write_text(text)
        assert kinds(workspace.snapshot()) == {"a": "changed"}
    assert workspace.commit("Nothing in the end") is None
    assert workspace.head == head


def test_a_commit_worded_as_a_snapshot_is_another(folder: Path, watch: Open) -> None:
    workspace = watch(clock=lambda: 1_700_000_000)
    (folder / "a").write_text("1\n")
    snapshot, commit = workspace.snapshot(), workspace.commit("Snapshot")
    assert snapshot is not None
    assert commit is not None
    assert snapshot.id != commit.id  # though parent, files, time and words are the same


def test_nothing_changed_reads_no_file_and_starts_no_git(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(50):
        (folder / f"d{n}/sub").mkdir(parents=True)
        (folder / f"d{n}/sub/file").write_text(f"{n}\n")
    no_longer_racy(folder, monkeypatch)
    workspace = watch()
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.reader.read_file", called)
    monkeypatch.setattr("agentstepper_nb.sdk.workspace.git_command._start", called)
    assert workspace.snapshot() is None


def test_a_change_that_only_the_change_time_tells_is_seen(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "a"
    file.write_text("1\n")
    looked = file.stat()
    no_longer_racy(folder, monkeypatch)
    workspace = watch()
    assert workspace.snapshot() is None
    with file.open("r+") as same:
        same.write("2\n")
    os.utime(file, ns=(looked.st_atime_ns, looked.st_mtime_ns))
    assert kinds(workspace.snapshot()) == {"a": "changed"}


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "gone"])
def test_another_thing_in_a_files_place(folder: Path, watch: Open, kind: str) -> None:
    file = folder / "a"
    file.write_text("1\n")
    workspace = watch()
    file.unlink()
    if kind == "link":
        file.symlink_to("elsewhere")
    elif kind == "folder":
        file.mkdir()
        (file / "inside").write_text("2\n")
    elif kind == "pipe":
        os.mkfifo(file)
    expected = {
        "link": {"a": "changed"},
        "folder": {"a": "deleted", "a/inside": "added"},
    }.get(kind, {"a": "deleted"})
    assert kinds(workspace.snapshot()) == expected


def test_a_gitmodules_that_became_a_link_is_left_out(folder: Path, watch: Open) -> None:
    (folder / ".gitmodules").write_text("")
    workspace = watch()
    (folder / ".gitmodules").unlink()
    (folder / ".gitmodules").symlink_to("elsewhere")
    assert kinds(workspace.snapshot()) == {".gitmodules": "deleted"}


def test_rules_and_repositories_hold_as_for_commits(folder: Path, watch: Open) -> None:
    make_repository(folder / "nested", inner="1\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "old.log").write_text("1\n")
    workspace = watch()
    (folder / "old.log").write_text("2\n")
    (folder / "nested/new.log").write_text("1\n")
    (folder / "nested/inner").write_text("2\n")
    assert kinds(workspace.snapshot()) == {"nested/inner": "changed"}
    (folder / ".gitignore").write_text("")
    assert kinds(workspace.snapshot()) == {
        ".gitignore": "changed",
        "old.log": "added",
        "nested/new.log": "added",
    }


def test_the_limits_hold(folder: Path, watch: Open) -> None:
    workspace = watch(file_limits=FileLimits(max_bodies_bytes=1000))
    for name in ("a", "b"):
        (folder / name).write_text(name * 600)
    snapshot = workspace.snapshot()
    assert [bool(change.body) for change in by_path(snapshot).values()] == [True, False]


def test_a_commit_that_failed_loses_no_snapshot(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = watch()
    (folder / "a").write_text("a\n")
    workspace.snapshot()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("agentstepper_nb.sdk.workspace.commit_draft.CommitDraft.set_tree", full)
        with pytest.raises(WorkspaceError, match="No space left"):
            workspace.commit()
    assert kinds(workspace.commit()) == {"a": "added"}


def test_after_close_there_are_none_and_without_the_folder_an_error(
    folder: Path, watch: Open
) -> None:
    workspace = watch()
    shutil.rmtree(folder)
    with pytest.raises(WorkspaceError, match="no longer exists"):
        workspace.snapshot()
    workspace.close()
    assert workspace.snapshot() is None


def test_runs_of_one_second_have_chains_of_their_own(folder: Path, watch: Open) -> None:
    runs = [watch(clock=lambda: 1_700_000_000) for _ in range(2)]
    (folder / "a").write_text("a\n")
    made = [run.snapshot() for run in runs]
    assert all(kinds(snapshot) == {"a": "added"} for snapshot in made)
    assert runs[1].snapshots_branch == f"{runs[0].snapshots_branch}-2"
    assert len({snapshot.id for snapshot in made if snapshot}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", select_sample(range(3), 0))
def test_snapshots_lead_to_what_is_there_and_so_do_commits(
    folder: Path, watch: Open, seed: int
) -> None:
    agent, steps, commits = RandomWorkspaceAgent(folder, seed), CommitFollower(), CommitFollower()
    workspace: Workspace = watch()
    for _ in range(25):
        for _ in range(agent.chance.randint(0, 6)):
            agent.act()
        steps.follow(workspace.snapshot())
        assert steps.files == present(folder)
        if agent.chance.random() < 0.3:
            commits.follow(workspace.commit())
            assert commits.files == present(folder)


def test_a_renamed_file_is_named_so(folder: Path, watch: Open) -> None:
    (folder / "a").write_text("the same\n" * 20)
    workspace = watch()
    (folder / "a").rename(folder / "b")
    snapshot = workspace.snapshot()
    assert snapshot is not None
    assert snapshot.title == "Rename a to b"
    assert [change.kind for change in snapshot.changes] == [ChangeKind.RENAMED]
