"""Nothing of the user's git has a say: no hook, filter, setting or variable."""

import os
import subprocess
from pathlib import Path

import pytest

from agentstepper_nb.errors import WorkspaceError
from tests.sdk.workspace.helpers import (
    Open,
    by_path,
    files_of,
    fingerprint,
    git,
    kinds,
    make_repository,
    private_repository,
    run_python,
)

HOOKS = (
    "pre-commit",
    "post-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-index-change",
    "reference-transaction",
    "post-checkout",
    "pre-auto-gc",
    "fsmonitor-watchman",
)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is run; the mark."""
    mark = tmp_path / "mark"
    program = tmp_path / "trap.sh"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {mark}\ncat\n')
    program.chmod(0o755)
    return mark


def settings_that_run(program: Path, hooks: Path) -> dict[str, str]:
    return {
        "core.fsmonitor": str(program),
        "core.hooksPath": str(hooks),
        "core.pager": str(program),
        "core.editor": str(program),
        "core.sshCommand": str(program),
        "core.autocrlf": "true",
        "core.attributesFile": str(hooks / "attributes"),
        "core.excludesFile": str(hooks / "ignore"),
        "filter.trap.clean": str(program),
        "filter.trap.smudge": str(program),
        "filter.trap.process": str(program),
        "filter.trap.required": "true",
        "filter.na=me.clean": str(program),
        "diff.trap.textconv": str(program),
        "diff.trap.command": str(program),
        "diff.external": str(program),
        "diff.noprefix": "true",
        "diff.renames": "false",
        "color.ui": "always",
        "commit.gpgSign": "true",
        "tag.gpgSign": "true",
        "gpg.program": str(program),
        "user.name": "Someone",
        "init.templateDir": str(hooks / "template"),
        "init.defaultObjectFormat": "sha256",
        "fetch.fsckObjects": "true",
        "gc.auto": "1",
        "alias.fast-import": f"!{program}",
    }


def make_hooks(folder: Path, program: Path) -> Path:
    (folder / "template/hooks").mkdir(parents=True)
    for name in HOOKS:
        (folder / name).symlink_to(program)
        (folder / "template/hooks" / name).symlink_to(program)
    (folder / "attributes").write_text("* filter=trap diff=trap text eol=crlf\n")
    (folder / "ignore").write_text("*\n")
    return folder


def work_as_ever(folder: Path, data: Path, watch: Open) -> None:
    """A run whose contents would differ, had anybody had a say in them."""
    workspace = watch(require_clean=False)
    text = "a\r\nb\n$Id$\n"
    (folder / "crlf.txt").write_text(text, newline="")
    (folder / "gone").rename(folder / "renamed")
    commit = workspace.commit()
    found = by_path(commit)
    assert kinds(commit) == {"crlf.txt": "added", "renamed": "renamed"}
    body = found["crlf.txt"].body
    assert body and body.content == text
    assert "+++ b/crlf.txt\n" in body.diff
    assert "\x1b" not in body.diff
    stored = subprocess.run(
        ["git", f"--git-dir={private_repository(data)}", "show", f"{workspace.head}:crlf.txt"],
        capture_output=True,
        check=True,
        env={"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": os.devnull},
    )
    assert stored.stdout == text.encode()
    assert "gone" not in files_of(data, workspace.head)
    assert git(private_repository(data), "log", "-1", "--format=%cn", workspace.head) == (
        "AgentStepper"
    )


def test_the_users_repository_runs_nothing(
    folder: Path, data: Path, watch: Open, trap: Path
) -> None:
    program = trap.with_name("trap.sh")
    make_repository(folder, gone="gone\n" * 10, kept="kept\n")
    hooks = make_hooks(folder.parent / "hooks", program)
    for name in HOOKS:
        (folder / ".git/hooks" / name).unlink(missing_ok=True)
        (folder / ".git/hooks" / name).symlink_to(program)
    (folder / ".gitattributes").write_text(
        "* filter=trap diff=trap text eol=crlf ident working-tree-encoding=UTF-16 export-subst\n"
        "kept binary -diff\n"
    )
    with (folder / ".git/config").open("a") as config:
        for name, value in settings_that_run(program, hooks).items():
            section, _, rest = name.partition(".")
            sub, _, key = rest.rpartition(".")
            header = f'[{section} "{sub}"]' if sub else f"[{section}]"
            config.write(f"{header}\n\t{key} = {value}\n")
    before = fingerprint(folder / ".git")
    work_as_ever(folder, data, watch)
    with pytest.raises(WorkspaceError, match="uncommitted"):
        watch(require_clean=True)
    assert not trap.exists(), trap.read_text()
    assert fingerprint(folder / ".git") == before
    springs(folder, trap)


def springs(folder: Path, trap: Path) -> None:
    """The trap is a trap: the user's git walks into it."""
    subprocess.run(["git", "status"], cwd=folder, capture_output=True, timeout=60, check=False)
    subprocess.run(
        ["git", "add", "."],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert trap.exists()


@pytest.mark.parametrize("place", ["home", "xdg"])
def test_the_users_settings_run_nothing(
    folder: Path,
    data: Path,
    watch: Open,
    trap: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    program = trap.with_name("trap.sh")
    hooks = make_hooks(tmp_path / "hooks", program)
    home = tmp_path / "home"
    (home / ".config/git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    if place == "xdg":
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    target = home / (".gitconfig" if place == "home" else ".config/git/config")
    target.touch()
    for name, value in settings_that_run(program, hooks).items():
        git(home, "config", "--file", str(target), name, value)
    (home / ".config/git/ignore").write_text("*\n")
    (home / ".config/git/attributes").write_text("* filter=trap text eol=crlf\n")
    (folder / "gone").write_text("gone\n" * 10)
    work_as_ever(folder, data, watch)
    assert not trap.exists(), trap.read_text()
    make_repository(folder)
    springs(folder, trap)


def test_the_environments_git_variables_are_ignored(
    folder: Path,
    data: Path,
    watch: Open,
    trap: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = make_repository(tmp_path / "other")
    before = fingerprint(other)
    program = trap.with_name("trap.sh")
    for name, value in {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": other / ".git/objects",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": other / ".git/objects",
        "GIT_COMMON_DIR": other / ".git",
        "GIT_NAMESPACE": "elsewhere",
        "GIT_QUARANTINE_PATH": other,
        "GIT_CEILING_DIRECTORIES": "/",
        "GIT_CONFIG": other / ".git/config",
        "GIT_CONFIG_GLOBAL": other / ".git/config",
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{program}'",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": program,
        "GIT_EXTERNAL_DIFF": program,
        "GIT_PAGER": program,
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_TEMPLATE_DIR": other,
        "GIT_AUTHOR_DATE": "nonsense",
        "GIT_COMMITTER_NAME": "",
        "GIT_TRACE": tmp_path / "trace",
        "GIT_REDIRECT_STDOUT": tmp_path / "trace",
        "GIT_EXEC_PATH": tmp_path,
        "GIT_ATTR_SOURCE": "HEAD",
        "GIT_PREFIX": "x/",
    }.items():
        monkeypatch.setenv(name, str(value))
    (folder / "gone").write_text("gone\n" * 10)
    work_as_ever(folder, data, watch)
    assert not trap.exists()
    assert not (tmp_path / "trace").exists()
    assert fingerprint(other) == before


def test_folders_and_repositories_of_other_owners(folder: Path, data: Path, watch: Open) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    make_repository(folder, **{".gitignore": "*.log\n", "a": "a\n"})
    (folder / "x.log").touch()
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    workspace = watch(require_clean=True)  # git itself would speak of dubious ownership
    assert files_of(data, workspace.head).keys() == {".gitignore", "a"}


def test_a_git_folder_that_is_no_repository(folder: Path, data: Path, watch: Open) -> None:
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("[broken\n")
    (folder / "a").touch()
    assert files_of(data, watch().head).keys() == {"a"}
    with pytest.raises(WorkspaceError, match="Repair the repository"):
        watch(require_clean=True)


@pytest.mark.slow
def test_without_git_the_error_says_so(folder: Path, data: Path, tmp_path: Path) -> None:
    code = """
import os, sys
os.environ["PATH"] = sys.argv[3]
if sys.argv[4] == "git-variables":
    os.environ["GIT_DIR"] = "x"
from agentstepper_nb.errors import WorkspaceError
from agentstepper_nb.sdk.workspace import Workspace
try:
    Workspace(sys.argv[1], "agent", data_dir=__import__("pathlib").Path(sys.argv[2]))
except WorkspaceError as error:
    print(error)
"""
    (tmp_path / "old").mkdir()
    for case in ("plain", "git-variables"):
        done = run_python(code, folder, data, tmp_path / "old", case)
        assert "install git" in done.stdout, (case, done.stderr)
    old = tmp_path / "old/git"
    old.write_text("#!/bin/sh\necho git version 2.17.1\n")
    old.chmod(0o755)
    done = run_python(code, folder, data, f"{tmp_path / 'old'}:/usr/bin:/bin", "plain")
    assert "git 2.17 is too old" in done.stdout, done.stderr
    assert not data.exists()
