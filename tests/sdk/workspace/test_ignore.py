"""What `.gitignore` leaves out."""

import os
import time
from pathlib import Path

import pytest

from agentstepper_nb.sdk.workspace import ignore_rules
from tests.sdk.workspace.helpers import Open, files_of, git, kinds, make_repository


def test_patterns_at_the_top_and_below(folder: Path, data: Path, watch: Open) -> None:
    (folder / ".gitignore").write_text("*.log\n/build/\n!keep.log\ndoc/*.txt\n")
    for name in ("build", "sub/build", "doc", "sub/deep"):
        (folder / name).mkdir(parents=True)
    (folder / "sub/.gitignore").write_text("*.tmp\n!/wanted.log\n")
    wanted = [
        "a.py",
        "keep.log",
        "sub/build/x",
        "sub/wanted.log",
        "sub/x.txt",
        "doc/x.md",
        "x.tmp",
    ]
    unwanted = [
        "x.log",
        "build/x",
        "sub/x.tmp",
        "sub/deep/x.tmp",
        "doc/x.txt",
        "sub/deep/wanted.log",
    ]
    for name in [*wanted, *unwanted]:
        (folder / name).write_text("x\n")
    workspace = watch()
    assert files_of(data, workspace.head).keys() == {*wanted, ".gitignore", "sub/.gitignore"}


def test_files_that_are_no_repository_of_the_users_are_ignored_all_the_same(
    folder: Path, watch: Open
) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    workspace = watch()
    (folder / "a.log").touch()
    assert workspace.commit() is None


def test_the_rules_may_change_during_the_run(folder: Path, watch: Open) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "tracked.txt").write_text("1\n")
    (folder / "a.log").touch()
    workspace = watch()
    assert workspace.commit() is None
    (folder / ".gitignore").write_text("*.txt\n")
    (folder / "new.txt").touch()
    (folder / "tracked.txt").write_text("2\n")
    # As in git, rules are about what isn't tracked yet.
    assert kinds(workspace.commit()) == {
        ".gitignore": "changed",
        "a.log": "added",
        "tracked.txt": "changed",
    }
    (folder / ".gitignore").unlink()
    assert kinds(workspace.commit()) == {".gitignore": "deleted", "new.txt": "added"}


def test_a_folder_ignored_later_keeps_its_tracked_files_only(folder: Path, watch: Open) -> None:
    (folder / "out").mkdir()
    (folder / "out/old").write_text("1\n")
    workspace = watch()
    (folder / ".gitignore").write_text("out/\n")
    (folder / "out/old").write_text("2\n")
    (folder / "out/new").write_text("3\n")
    assert kinds(workspace.commit()) == {".gitignore": "added", "out/old": "changed"}


def test_an_ignored_folder_is_not_even_listed(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".gitignore").write_text("node_modules\n")
    (folder / "node_modules/deep").mkdir(parents=True)
    listed = []
    scandir = os.scandir

    def spy(path: bytes) -> object:
        listed.append(os.fsdecode(path))
        return scandir(path)

    monkeypatch.setattr("agentstepper_nb.sdk.workspace.scan.os.scandir", spy)
    watch()
    assert [path for path in listed if Path(path).is_relative_to(folder)] == [str(folder)]


def test_git_is_asked_again_only_when_rules_or_paths_are_new(
    folder: Path, watch: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "a.log").touch()
    monkeypatch.setattr(
        time, "time_ns", lambda: (folder / ".gitignore").lstat().st_ctime_ns + 10**10
    )
    asked: list[list[bytes]] = []
    ask = ignore_rules.IgnoreChecker._run_check

    def spy(self: ignore_rules.IgnoreChecker, paths: list[bytes]) -> ignore_rules._Answer:
        asked.append(paths)
        return ask(self, paths)

    monkeypatch.setattr(ignore_rules.IgnoreChecker, "_run_check", spy)
    workspace = watch()
    asked.clear()
    assert workspace.commit() is None
    assert asked == [[]]
    (folder / "b.log").touch()
    assert workspace.commit() is None
    assert asked == [[], [b"b.log"]]


def test_the_users_own_exclude_file_and_what_they_track_all_the_same(
    folder: Path, data: Path, watch: Open
) -> None:
    make_repository(folder, **{".gitignore": "*.log\n", "a": "a\n"})
    (folder / ".git/info/exclude").write_text("secret\n")
    (folder / "secret").touch()
    (folder / "loose.log").touch()
    (folder / "out").mkdir()
    (folder / "out/kept.log").touch()
    git(folder, "add", "--force", "out/kept.log")
    git(folder, "commit", "--quiet", "--message=forced")
    workspace = watch()
    assert files_of(data, workspace.head).keys() == {".gitignore", "a", "out/kept.log"}
    (folder / "out/kept.log").write_text("1\n")
    (folder / "out/loose.log").write_text("1\n")
    assert kinds(workspace.commit()) == {"out/kept.log": "changed"}


def test_a_workspace_inside_a_repository_follows_its_rules(
    folder: Path, data: Path, watch: Open
) -> None:
    make_repository(folder, **{".gitignore": "*.log\n/one/two/anchored\n/anchored\n"})
    inner = folder / "one/two"
    (inner / "sub").mkdir(parents=True)
    (folder / "one/.gitignore").write_text("*.tmp\n")
    (folder / ".git/info/exclude").write_text("*.private\n")
    for name in ("a.py", "sub/a.log", "a.tmp", "sub/a.private", "sub/b.py", "sub/anchored"):
        (inner / name).touch()
    (inner / "anchored").touch()
    workspace = watch(inner)
    assert files_of(data, workspace.head).keys() == {"a.py", "sub/b.py", "sub/anchored"}
    (folder / "one/.gitignore").unlink()
    assert kinds(workspace.commit()) == {"a.tmp": "added"}


@pytest.mark.parametrize("rules", ["*\n", "/some/\n"])
def test_a_workspace_that_the_repository_around_it_ignores(
    folder: Path, data: Path, watch: Open, rules: str
) -> None:
    make_repository(folder, **{".gitignore": rules + "*.log\n"})
    inner = folder / "some/here"
    inner.mkdir(parents=True)
    (inner / "a.py").touch()
    (inner / "a.log").touch()
    (inner / "a.tmp").touch()
    (inner / ".gitignore").write_text("*.tmp\n")
    assert files_of(data, watch(inner).head).keys() == {".gitignore", "a.log", "a.py"}


def test_a_linked_worktree_has_the_exclude_file_of_its_repository(
    folder: Path, data: Path, watch: Open, tmp_path: Path
) -> None:
    make_repository(folder)
    (folder / ".git/info/exclude").write_text("secret\n")
    git(folder, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    (tmp_path / "tree/secret").touch()
    assert files_of(data, watch(tmp_path / "tree").head).keys() == {"readme"}
