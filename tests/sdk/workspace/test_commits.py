"""What a commit says."""

import hashlib
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.protocol.data_model import ChangeKind, Commit, FileBody, FileChange
from agentstepper_nb.sdk.workspace import Workspace
from agentstepper_nb.sdk.workspace.files import FileLimits
from tests.sdk.workspace.helpers import (
    Open,
    by_path,
    files_of,
    git,
    kinds,
    make_repository,
    private_repository,
)


def test_the_initial_commit_is_the_baseline_and_has_no_changes(
    folder: Path, data: Path, watch: Open
) -> None:
    (folder / "a.txt").write_text("a\n")
    workspace = watch(clock=lambda: 1_700_000_000.25)
    first = workspace.initial_commit()
    assert (first.id, first.at, first.title) == (
        workspace.head,
        1_700_000_000.25,
        "Initialized repository",
    )
    assert first.changes == ()
    repository = private_repository(data)
    assert git(repository, "log", "-1", "--format=%s|%at", first.id) == (
        "Workspace before the run|1700000000"
    )
    assert git(repository, "rev-parse", f"refs/heads/{workspace.branch}") == first.id
    (folder / "a.txt").write_text("b\n")
    workspace.commit()
    assert workspace.initial_commit() == first


def test_added_changed_deleted_and_renamed_files(folder: Path, data: Path, watch: Open) -> None:
    for name in ("change", "delete", "rename", "keep"):
        (folder / name).write_text("".join(f"{name} {n}\n" for n in range(10)))
    workspace = watch()
    before = workspace.head
    (folder / "change").write_text("new\n" + (folder / "change").read_text())
    (folder / "delete").unlink()
    (folder / "sub").mkdir()
    (folder / "rename").rename(folder / "sub/renamed")
    (folder / "added").write_text("1\n2\n")

    commit = workspace.commit("  A title\nand more\n", "Described.\n\nAt length.")

    assert commit is not None
    assert commit.title == "A title"
    assert commit.description == "and more\n\nDescribed.\n\nAt length."
    assert workspace.head == commit.id
    found = by_path(commit)
    assert {path: (c.kind, c.added, c.removed) for path, c in found.items()} == {
        "added": (ChangeKind.ADDED, 2, 0),
        "change": (ChangeKind.CHANGED, 1, 0),
        "delete": (ChangeKind.DELETED, 0, 10),
        "sub/renamed": (ChangeKind.RENAMED, 0, 0),
    }
    assert found["sub/renamed"].previous_path == "rename"
    assert found["change"].previous_path is None
    repository = private_repository(data)
    assert git(repository, "rev-parse", f"{workspace.branch}^") == before
    assert git(repository, "log", "-1", "--format=%B", commit.id) == (
        "A title\n\nand more\n\nDescribed.\n\nAt length."
    )
    author = git(repository, "log", "-1", "--format=%an <%ae>|%cn <%ce>", commit.id)
    assert author == "|".join(["AgentStepper <agentstepper@localhost>"] * 2)
    assert git(repository, "config", "--local", "user.name") == "AgentStepper"
    git(repository, "fsck", "--strict")


def test_a_body_is_the_diff_of_git_and_both_contents(folder: Path, watch: Open) -> None:
    old = "def f():\r\n    return 'ü'\r\n"
    new = "def f():\r\n    return 'ö'"
    make_repository(folder, **{"a.py": ""})
    (folder / "a.py").write_text(old, newline="")
    git(folder, "commit", "--all", "--quiet", "--message=second")
    workspace = watch()
    (folder / "a.py").write_text(new, newline="")
    (change,) = by_path(workspace.commit()).values()
    assert change.body is not None
    assert change.body.diff.strip() == git(folder, "diff")
    assert change == FileChange(
        path="a.py",
        kind=ChangeKind.CHANGED,
        added=1,
        removed=1,
        body=FileBody(diff=change.body.diff, content=new, previous_content=old),
    )


def test_a_renamed_file_that_also_changed(folder: Path, watch: Open) -> None:
    (folder / "old").write_text("".join(f"line {n}\n" for n in range(20)))
    workspace = watch()
    (folder / "new").write_text((folder / "old").read_text() + "more\n")
    (folder / "old").unlink()
    commit = workspace.commit()
    assert commit is not None
    (change,) = commit.changes
    assert (change.path, change.previous_path, change.kind) == ("new", "old", ChangeKind.RENAMED)
    assert (change.added, change.removed) == (1, 0)
    assert change.body and change.body.previous_content + "more\n" == change.body.content
    assert commit.title == "Rename old to new"
    assert workspace.commit() is None


def test_nothing_changed_is_none_and_one_line(
    folder: Path, watch: Open, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "a").write_text("a")
    workspace = watch()
    head = workspace.head
    os.utime(folder / "a", ns=(1, 1))  # another stamp, the same contents
    with caplog.at_level(logging.INFO, "agentstepper_nb.workspace"):
        assert workspace.commit("A title all the same") is None
    assert [record.message for record in caplog.records] == ["No changes to commit."]
    assert workspace.head == head


def test_an_empty_workspace_and_an_emptied_one(folder: Path, data: Path, watch: Open) -> None:
    workspace = watch()
    assert files_of(data, workspace.head) == {}
    assert workspace.commit() is None
    (folder / "a").touch()
    (folder / "empty").mkdir()
    assert kinds(workspace.commit()) == {"a": "added"}
    (folder / "a").unlink()
    assert kinds(workspace.commit()) == {"a": "deleted"}
    assert files_of(data, workspace.head) == {}


def test_modes_links_and_what_takes_anothers_place(folder: Path, data: Path, watch: Open) -> None:
    (folder / "program").write_text("x\n")
    (folder / "file-link").write_text("x\n")
    (folder / "file-dir").write_text("x\n")
    (folder / "dir-file").mkdir()
    (folder / "dir-file/below").write_text("y\n")
    workspace = watch()
    (folder / "program").chmod(0o755)
    (folder / "file-link").unlink()
    (folder / "file-link").symlink_to("program")
    (folder / "file-dir").unlink()
    (folder / "file-dir").mkdir()
    (folder / "file-dir/below").write_text("z\n")
    (folder / "dir-file/below").unlink()
    (folder / "dir-file").rmdir()
    (folder / "dir-file").write_text("w\n")
    (folder / "aaa").write_text("first\n")
    (folder / "zzz").write_text("last\n")

    found = by_path(workspace.commit())

    assert {path: change.kind.value for path, change in found.items()} == {
        "aaa": "added",
        "dir-file": "added",
        "dir-file/below": "deleted",
        "file-dir": "deleted",
        "file-dir/below": "added",
        "file-link": "changed",
        "program": "changed",
        "zzz": "added",
    }
    for path, change in found.items():  # each has its own diff, though one of them shows two
        assert change.body and change.body.diff.startswith(f"diff --git a/{path} b/{path}\n")
    link = found["file-link"].body
    assert link and (link.previous_content, link.content) == ("x\n", "program")
    assert link.diff.count("diff --git") == 2
    program = found["program"].body
    assert program and "old mode 100644\nnew mode 100755\n" in program.diff
    modes = files_of(data, workspace.head)
    assert (modes["program"], modes["file-link"]) == ("100755", "120000")


def test_a_change_within_the_same_tick_and_size_is_seen(folder: Path, watch: Open) -> None:
    path = folder / "a"
    path.write_text("0000")
    workspace = watch()
    for n in range(1, 12):
        with path.open("r+") as file:
            file.write(f"{n:04}")
        os.utime(path, ns=(5, 5))
        body = by_path(workspace.commit())["a"].body
        assert body and body.content == f"{n:04}"


@pytest.mark.parametrize(
    "content",
    [b"\x00\x01\x02", b"caf\xe9\n", b"\xff\xfeh\x00i\x00", b"x" * 9000 + b"\0"],
    ids=["nul", "latin-1", "utf-16", "late nul"],
)
def test_binary_files_go_by_name_size_and_digest(folder: Path, watch: Open, content: bytes) -> None:
    workspace = watch()
    path = folder / "a"
    for kind in (ChangeKind.ADDED, ChangeKind.CHANGED, ChangeKind.DELETED):
        if kind is ChangeKind.DELETED:
            path.unlink()
        else:
            content += b"more"
            path.write_bytes(content)
        assert by_path(workspace.commit())["a"] == FileChange(
            path="a",
            kind=kind,
            binary=True,
            size=len(content),
            digest=hashlib.sha256(content).hexdigest(),
        )


def test_from_text_to_binary_and_back(folder: Path, watch: Open) -> None:
    (folder / "a").write_text("text\n")
    workspace = watch()
    for content in (b"\0binary", b"text again\n"):
        (folder / "a").write_bytes(content)
        (change,) = by_path(workspace.commit()).values()
        assert change == FileChange(
            path="a",
            kind=ChangeKind.CHANGED,
            binary=True,
            size=len(content),
            digest=hashlib.sha256(content).hexdigest(),
        )


def test_what_is_too_much_for_one_message_goes_by_name(folder: Path, watch: Open) -> None:
    workspace = watch(file_limits=FileLimits(max_bodies_bytes=1000))
    for name in "abc":
        (folder / name).write_text(name * 399 + "\n")
    found = by_path(workspace.commit())
    assert [bool(found[name].body) for name in "abc"] == [True, True, False]
    assert (found["c"].added, found["c"].binary, found["c"].size) == (1, False, 400)
    assert found["c"].digest == hashlib.sha256(b"c" * 399 + b"\n").hexdigest()


def test_a_diff_of_what_looks_like_a_diff(folder: Path, watch: Open) -> None:
    text = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\n"
    (folder / "one").write_text(text)
    (folder / "two").write_text("-\n+\n@@\ndiff --git a b\n")
    workspace = watch()
    (folder / "one").write_text(text * 2)
    (folder / "two").write_text("--\n++\n@@@\n\ndiff --git a b c\n")
    found = by_path(workspace.commit())
    assert (found["one"].added, found["one"].removed) == (7, 0)
    assert (found["two"].added, found["two"].removed) == (5, 4)


def test_a_commit_message_of_any_text(folder: Path, data: Path, watch: Open) -> None:
    workspace = watch()
    (folder / "a").touch()
    commit = workspace.commit("tïtle \0 \ud800", "# not a comment\n\ndata 5\n\n--\ndone\n")
    assert commit is not None
    assert commit.title == "tïtle \\x00 \\ud800"
    assert commit.description == "# not a comment\n\ndata 5\n\n--\ndone"
    assert git(private_repository(data), "log", "-1", "--format=%B", commit.id) == (
        "tïtle \\x00 \\ud800\n\n# not a comment\n\ndata 5\n\n--\ndone"
    )


def test_a_description_without_a_summary_is_kept(folder: Path, data: Path, watch: Open) -> None:
    workspace = watch()
    (folder / "b.txt").touch()
    commit = workspace.commit("\n  \n", "Why.")
    assert commit is not None
    assert (commit.title, commit.description) == ("Add b.txt", "Why.")
    log = git(private_repository(data), "log", "--format=%s", workspace.branch)
    assert log == "Add b.txt\nWorkspace before the run"


@pytest.mark.slow
def test_threads_commit_one_after_the_other(folder: Path, data: Path, watch: Open) -> None:
    workspace = watch()
    made = []

    def work(number: int) -> None:
        for step in range(5):
            (folder / f"{number}-{step}").write_text(f"{number} {step}")
            made.append(workspace.commit())

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    paths = [change.path for commit in made if commit for change in commit.changes]
    # A commit of another thread may find a file that is being written, which then changes once more.
    assert set(paths) == {f"{n}-{step}" for n in range(4) for step in range(5)}
    assert len(files_of(data, workspace.head)) == 20


def test_close_twice_and_commit_afterwards(folder: Path, watch: Open) -> None:
    workspace = watch()
    workspace.close()
    workspace.close()
    with pytest.raises(WorkspaceError, match="closed"):
        workspace.commit()


@pytest.mark.parametrize("look", [Workspace.commit, Workspace.snapshot])
def test_what_an_interrupted_look_left_out_is_in_the_next(
    folder: Path,
    watch: Open,
    monkeypatch: pytest.MonkeyPatch,
    look: Callable[[Workspace], Commit | None],
) -> None:
    workspace = watch()
    (folder / "a").write_text("a\n")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("agentstepper_nb.sdk.workspace.workspace.compare_commits", interrupted)
        with pytest.raises(KeyboardInterrupt):
            look(workspace)
    (folder / "b").write_text("b\n")
    assert kinds(look(workspace)) == {"a": "added", "b": "added"}


@pytest.mark.parametrize("case", ["missing", "file", "loop", "nul"])
def test_a_folder_that_is_none(tmp_path: Path, data: Path, case: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    name = {"nul": "nul\0"}.get(case, case)
    with pytest.raises(WorkspaceError, match=r"[Pp]ass the"):
        Workspace(tmp_path / name, "agent", data_dir=data)


def test_a_folder_that_goes_away_and_comes_back(folder: Path, watch: Open) -> None:
    (folder / "a").touch()
    workspace = watch()
    away = folder.rename(folder.parent / "away")
    with pytest.raises(WorkspaceError, match="no longer exists"):
        workspace.commit()
    away.rename(folder)
    assert workspace.commit() is None
