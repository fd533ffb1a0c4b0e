"""Git's hooks and settings: commands neither change nor make them, and git works all the same."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox.git_paths import (
    Placeholder,
    create_placeholders,
    find_git_parts,
)
from tests.coding.sandbox.scenes import SECRET, HomeFolders

EVIL = "#!/bin/sh\ntouch ../ran\n"


def git(folder: Path, *words: str) -> str:
    options = ("-c", "user.name=a", "-c", "user.email=b", "-c", "protocol.file.allow=always")
    # Who runs the tests may not own the folder.
    config = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
    done = subprocess.run(
        ["git", *options, *words],
        cwd=folder,
        env={**os.environ, **config, "GIT_CONFIG_VALUE_0": "*"},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def made_repository(folder: Path) -> None:
    folder.mkdir(exist_ok=True, parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")


def snapshot(git_folder: Path) -> dict[str, str]:
    """All from which git runs programs, in a git folder."""
    parts = [git_folder / "config", *sorted((git_folder / "hooks").rglob("*"))]
    found = {str(path): path.read_text() for path in parts if path.is_file()}
    for name in ("commondir", "config.worktree"):
        if (git_folder / name).exists():
            found[name] = (git_folder / name).read_text()
    return found


def test_hooks_and_settings_can_be_neither_changed_nor_replaced(scene: HomeFolders) -> None:
    made_repository(scene.workspace)
    folder = scene.workspace / ".git"
    before = snapshot(folder)
    commands = [
        "echo x >> .git/config",
        "git config alias.x '!sh'",
        "cp notes .git/hooks/pre-commit",
        "mv .git/hooks .git/other",
        "mv .git/config .git/other",
        "rm -rf .git/hooks",
        "mv .git elsewhere",
        "ln -sf ../notes .git/config",
        "echo ../evil > .git/commondir",
        "rm .git/commondir; echo ../evil > .git/commondir",
        "git config --worktree core.fsmonitor ./run",
        "chmod -R 777 .git/hooks .git/config && echo x >> .git/config",
        "ln .git/config here && echo x >> here",
    ]
    for command, (code, said) in zip(commands, scene.run_together(*commands), strict=True):
        assert code != 0, (command, said)
    assert snapshot(folder) == before
    assert not (scene.workspace / "elsewhere").exists()


def test_git_works(scene: HomeFolders) -> None:
    made_repository(scene.workspace)
    scene.write("person/project/a.txt", "a\n")
    before = sorted(os.listdir(scene.workspace / ".git"))
    who = "git -c user.name=a -c user.email=b"
    commands = [
        f"git add a.txt && {who} commit -qm one",
        "git checkout -qb branch && echo b >> a.txt && git status --short",
        f"{who} stash -q && {who} stash pop -q && {who} commit -qam two",
        "git checkout -q main && git merge -q branch && git log --format=%s",
        f"{who} rebase -q HEAD~1 && git tag v1 && git gc -q && git fsck",
        "git worktree list && git rev-parse --show-toplevel",
    ]
    results = scene.run_together(*commands)
    assert [code for code, _ in results] == [0] * len(commands), results
    assert results[3][1].split() == ["two", "one", "first"]
    assert git(scene.workspace, "log", "-1", "--format=%s") == "two\n"
    # What stood in for missing names is gone.
    left = set(os.listdir(scene.workspace / ".git")) - set(before)
    assert left <= {"COMMIT_EDITMSG", "ORIG_HEAD", "packed-refs", "refs", "objects", "gc.log"}


def test_missing_hooks_and_settings_can_not_be_made(mine: HomeFolders) -> None:
    made_repository(mine.workspace)
    folder = mine.workspace / ".git"
    shutil.rmtree(folder / "hooks")
    git(mine.workspace, "config", "extensions.worktreeConfig", "true")
    mine.run(
        "mkdir -p .git/hooks; cp notes .git/hooks/pre-commit; "
        "echo '[core] fsmonitor = ./run' > .git/config.worktree; echo ../evil > .git/commondir"
    )
    for name in ("hooks", "config.worktree", "commondir"):
        assert not (folder / name).exists(), name
    assert git(mine.workspace, "status", "--short") == "?? notes\n"


def test_nested_repositories_and_submodules_are_protected(mine: HomeFolders) -> None:
    library = mine.outside / "library"
    made_repository(library)
    made_repository(mine.workspace)
    made_repository(mine.workspace / "deep" / "nested")
    git(mine.workspace, "submodule", "--quiet", "add", str(library), "libs/library")
    folders = [
        mine.workspace / "deep" / "nested" / ".git",
        mine.workspace / ".git" / "modules" / "libs" / "library",
    ]
    before = [snapshot(folder) for folder in folders]
    attempts = "; ".join(
        f"echo x >> {folder}/config; cp notes {folder}/hooks/post-checkout; "
        f"echo ../evil > {folder}/commondir"
        for folder in folders
    )
    attempts += "; echo 'gitdir: /tmp' > libs/library/.git; rm -f libs/library/.git"
    said = mine.output(attempts + "; cd libs/library && git log --format=%s")
    assert said.endswith("first\n"), said
    assert [snapshot(folder) for folder in folders] == before
    assert "modules" in (mine.workspace / "libs" / "library" / ".git").read_text()


def test_a_linked_worktree_commits_to_its_repository_outside(mine: HomeFolders) -> None:
    repository = mine.outside / "repository"
    made_repository(repository)
    mine.workspace.joinpath("notes").unlink()
    mine.workspace.rmdir()
    git(repository, "worktree", "add", "-q", str(mine.workspace), "-b", "side")
    other = mine.root / "other"
    git(repository, "worktree", "add", "-q", str(other), "-b", "third")
    before = snapshot(repository / ".git")
    worktrees = repository / ".git" / "worktrees"
    said = mine.output(
        "echo a > a; git add a; git -c user.name=a -c user.email=b commit -qm inside; "
        f"cd {repository}/.git; echo x >> config; cp description hooks/pre-commit; "
        "echo /tmp > worktrees/project/commondir; echo /tmp > worktrees/other/commondir; "
        "echo /tmp > worktrees/project/gitdir; touch ../in-the-tree; ls .."
    )
    assert git(repository, "log", "-1", "--format=%s", "side") == "inside\n", said
    assert snapshot(repository / ".git") == before
    for name in ("project", "other"):
        assert (worktrees / name / "commondir").read_text() == "../..\n"
    assert str(mine.workspace) in (worktrees / "project" / "gitdir").read_text()
    assert not (repository / "in-the-tree").exists()


def test_a_file_that_a_command_wrote_opens_no_folder_outside(mine: HomeFolders) -> None:
    victim = mine.outside / "victim"
    made_repository(victim)
    before = sorted(os.listdir(victim / ".git"))
    mine.run(f"mkdir sub; echo 'gitdir: {victim}/.git' > sub/.git")
    parts = find_git_parts(mine.workspace)
    assert parts.outside_folders == ()
    said = mine.output(f"touch {victim}/.git/new; ls {victim}; cat sub/.git")
    assert "No such file" in said
    assert sorted(os.listdir(victim / ".git")) == before


def test_a_git_folder_that_a_command_made_opens_no_folder_outside(mine: HomeFolders) -> None:
    victim = mine.outside / "victim"
    made_repository(victim)
    mine.run(
        "mkdir sub made; echo 'ref: refs/heads/main' > made/HEAD; "
        f"echo 'gitdir: {mine.workspace}/made' > sub/.git; "
        f"echo {mine.workspace}/sub/.git > made/gitdir; echo {victim}/.git > made/commondir"
    )
    assert find_git_parts(mine.workspace).outside_folders == ()


def test_a_link_in_place_of_a_nested_repository_opens_no_folder_outside(mine: HomeFolders) -> None:
    victim = mine.outside / "victim"
    made_repository(victim)
    made_repository(mine.workspace / "sub")
    assert mine.workspace / "sub" / ".git" in find_git_parts(mine.workspace).entries
    mine.run(f"mv sub away; ln -s {victim} sub")
    # The search before that still holds.
    parts = find_git_parts(mine.workspace)
    assert (parts.entries, parts.missing) == ((), ())
    [[code, _]] = mine.run(f"touch sub/.git/new {victim}/.git/new")
    assert code != 0
    assert not (victim / ".git" / "new").exists()


@pytest.mark.parametrize("name", [".git", "sub/.git"])
def test_a_link_named_git_shows_no_file_outside(mine: HomeFolders, name: str) -> None:
    secret = mine.outside / "file"
    mine.run(f"mkdir sub; ln -s {secret} {name}")
    said = mine.output(f"cat {name} {secret}")
    assert said.count("No such file or directory") == 2
    assert SECRET not in said


def test_a_git_folder_behind_a_link_is_protected(mine: HomeFolders) -> None:
    made_repository(mine.workspace)
    (mine.workspace / ".git").rename(mine.workspace / "real")
    (mine.workspace / ".git").symlink_to("real")
    before = snapshot(mine.workspace / "real")
    said = mine.output("echo x >> .git/config; echo x > real/hooks/pre-commit; git status --short")
    assert snapshot(mine.workspace / "real") == before
    assert said.endswith("?? notes\n?? real/\n"), said


def test_a_git_folder_with_links_in_place_of_its_parts_is_read_only(mine: HomeFolders) -> None:
    made_repository(mine.workspace)
    hooks = mine.workspace / ".git" / "hooks"
    shutil.rmtree(hooks)
    (mine.workspace / "shared").mkdir()
    hooks.symlink_to(mine.workspace / "shared")
    said = mine.output("rm .git/hooks && mkdir .git/hooks; git status --short")
    assert "Read-only file system" in said
    assert hooks.is_symlink()


def test_a_repository_above_the_workspace_is_not_shown(mine: HomeFolders) -> None:
    made_repository(mine.home)
    [[code, said]] = mine.run("git status")
    assert code != 0
    assert "not a git repository" in said


def test_placeholders_are_removed_by_the_last_who_holds_them(tmp_path: Path) -> None:
    names = [Placeholder(tmp_path / "hooks", None), Placeholder(tmp_path / "commondir", ".\n")]
    with create_placeholders(names) as made:
        assert made == (tmp_path / "hooks", tmp_path / "commondir")
        with create_placeholders(names):
            assert (tmp_path / "commondir").read_text() == ".\n"
        assert sorted(os.listdir(tmp_path)) == ["commondir", "hooks"]
    assert os.listdir(tmp_path) == []


def test_what_somebody_put_in_a_placeholders_place_stays(tmp_path: Path) -> None:
    names = [Placeholder(tmp_path / "hooks", None), Placeholder(tmp_path / "commondir", ".\n")]
    with create_placeholders(names):
        (tmp_path / "hooks" / "pre-commit").touch()  # by the person, meanwhile
        (tmp_path / "commondir").write_text("../other\n")
    assert sorted(os.listdir(tmp_path)) == ["commondir", "hooks"]


def test_what_a_killed_process_left_changes_nothing_for_git(tmp_path: Path) -> None:
    made_repository(tmp_path / "r")
    (tmp_path / "r" / ".git" / "commondir").write_text(".\n")
    git(tmp_path / "r", "commit", "-q", "--allow-empty", "-m", "second")
    assert git(tmp_path / "r", "log", "--format=%s").split() == ["second", "first"]


def test_the_search_for_repositories_is_bounded(tmp_path: Path) -> None:
    made_repository(tmp_path)
    (tmp_path / "node_modules" / "package" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/")
    assert find_git_parts(tmp_path).entries == (tmp_path / ".git",)
