"""Real folders, real repositories, and what a folder is in every detail."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from agentstepper_nb.protocol.data_model import Commit, FileChange
from agentstepper_nb.sdk.workspace import Workspace
from tests.helpers.forked_python import fork_programs

#: Opens a workspace: the fixture `watch`.
Open = Callable[..., Workspace]

IDENTITY = {
    "GIT_AUTHOR_NAME": "User",
    "GIT_AUTHOR_EMAIL": "user@localhost",
    "GIT_COMMITTER_NAME": "User",
    "GIT_COMMITTER_EMAIL": "user@localhost",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as the user would."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", folder, "-c", "protocol.file.allow=always", *arguments],
        env={**clean, **IDENTITY},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def make_repository(folder: Path, **files: str) -> Path:
    """A repository of the user's, with one commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in (files or {"readme": "hello\n"}).items():
        (folder / name).write_text(text)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def fingerprint(folder: Path) -> dict[str, tuple[object, ...]]:
    """Every path below a folder, with all there is to know about it but when it was read."""
    found: dict[str, tuple[object, ...]] = {}
    for parent, folders, files in os.walk(os.fsencode(folder)):
        for name in [b"", *folders, *files]:
            path = os.path.join(parent, name)
            looked = os.lstat(path)
            found[os.fsdecode(path)] = (
                looked.st_mode,
                looked.st_ino,
                looked.st_nlink,
                looked.st_uid,
                looked.st_gid,
                looked.st_mtime_ns,
                looked.st_ctime_ns,
                _content(path),
            )
    return found


def _content(path: bytes) -> object:
    if os.path.islink(path):
        return os.readlink(path)
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except PermissionError:  # root reads even this
        return None


def private_repository(data: Path) -> Path:
    (found,) = (data / "workspaces").iterdir()
    return found


def files_of(data: Path, commit: str) -> dict[str, str]:
    """The files a commit of the private repository holds: path and mode."""
    lines = git(private_repository(data), "ls-tree", "-r", "-z", commit).split("\0")
    return {line.partition("\t")[2]: line.split()[0] for line in lines if line}


def by_path(commit: Commit | None) -> dict[str, FileChange]:
    assert commit is not None
    assert len({change.path for change in commit.changes}) == len(commit.changes)
    return {change.path: change for change in commit.changes}


def kinds(commit: Commit | None) -> dict[str, str]:
    return {path: change.kind.value for path, change in by_path(commit).items()}


def run_python(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own, which may come to a bad end."""
    with fork_programs("agentstepper_nb.sdk.workspace"):
        return subprocess.run(
            [sys.executable, "-c", code, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=Path(__file__).parents[3],
        )
