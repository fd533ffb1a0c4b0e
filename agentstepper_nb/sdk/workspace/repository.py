"""The private repository, which stores a workspace's commits and compares them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .commit_draft import EMAIL, NAME, CommitDraft
from .git_command import Git, GitError

_CONFIG = f"""\
[user]
	name = {NAME}
	email = {EMAIL}
	useConfigOnly = true
[gc]
	auto = 0
"""
# Whatever `.gitattributes` says, git treats every file as what it is.
_ATTRIBUTES = "* -text !eol -filter -ident !diff !working-tree-encoding\n"

_COMMIT: Final = re.compile("[0-9a-f]{40}")
#: Questions that git has at a time: it reads a question while a pipe is full of answers, so that their
#: text must fit into a pipe (16 KiB on macOS).
_MAX_OPEN_QUESTIONS: Final = 256


class StoredFile(NamedTuple):
    """A file of a commit."""

    mode: str  # git's
    blob: str  # git's hash of what is stored of it; see `FileEntry`


def find_git_dir(data_dir: Path, folder: Path) -> Path:
    """The folder of a workspace's repository."""
    name = hashlib.blake2b(os.fsencode(folder), digest_size=16).hexdigest()
    return data_dir / "workspaces" / name


class Repository:
    """The private repository of one workspace.

    Args:
        git_dir: The repository's folder.
        folder: The workspace.
    """

    def __init__(self, git_dir: Path, folder: Path) -> None:
        self.git_dir = git_dir
        self._git = Git(git_dir, workspace=folder)

    @classmethod
    def open(cls, git_dir: Path, folder: Path) -> Repository:
        """Open the repository, made on first use.

        Raises:
            OSError: The repository can't be written.
            GitError: git refuses.
        """
        if not git_dir.is_dir():
            _create(git_dir, folder)
        for report in git_dir.glob("fast_import_crash_*"):  # what a killed agent left
            report.unlink(missing_ok=True)
        return cls(git_dir, folder)

    def draft(
        self, branch: str, parent: str | None, message: str, at: float, author: str = NAME
    ) -> CommitDraft:
        """Begin a commit on a branch.

        Args:
            branch: The branch's name, below `refs/heads/`.
            parent: The commit it follows; without one the branch is new.
            message: The commit's message.
            at: The commit's time, in POSIX seconds.
            author: The author of the changes.
        """
        return CommitDraft(self._git, branch, parent, message, at, author)

    def has_branch(self, branch: str) -> bool:
        """Whether a branch exists."""
        ref = f"refs/heads/{branch}"
        return bool(self._git.run("rev-parse", "--verify", "--quiet", ref, allowed_statuses=(0, 1)))

    def has_commit(self, commit: str) -> bool:
        """Whether a commit is stored here, with its files.

        Args:
            commit: git's hash, as a run names it; anything else is no commit.
        """
        if not _COMMIT.fullmatch(commit) or not self.git_dir.is_dir():
            return False
        name = f"{commit}^{{tree}}"
        return bool(
            self._git.run("rev-parse", "--verify", "--quiet", name, allowed_statuses=(0, 1, 128))
        )

    def list_files(self, commit: str) -> dict[bytes, StoredFile]:
        """The files of a commit, by path.

        Raises:
            GitError: There is no such commit.
        """
        listed = self._git.run("ls-tree", "-r", "-z", "--full-tree", commit)
        files = {}
        for line in listed.split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            mode, _, blob = about.decode().split()
            files[path] = StoredFile(mode, blob)
        return files

    def diff(self, old: str, new: str) -> Iterator[bytes]:
        """Compare two commits.

        Yields:
            Line by line, for it may be long: `git diff-tree --raw`, an empty line, and the patch.

        Raises:
            GitError: git can't.
        """
        with self._git.started("diff-tree", "-r", "-M", "--raw", "--patch", old, new) as process:
            assert process.stdout is not None and process.stderr is not None
            yield from process.stdout
            said = process.stderr.read()
            if process.wait() != 0:
                raise self._git.failure("diff-tree", process.returncode, said)

    @contextlib.contextmanager
    def open_blobs(self) -> Iterator[Blobs]:
        """Open the repository's contents for reading, within the context."""
        with self._git.started("cat-file", "--batch") as process:
            yield Blobs(process)


class Blobs:
    """Reads the repository's contents by git's hash.

    Args:
        process: A `git cat-file --batch`.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def read(self, blob: str) -> bytes:
        """Read one content.

        Raises:
            GitError: The repository doesn't have the content.
        """
        self._ask(blob)
        return self._read_answer(blob)

    def read_many(self, blobs: Iterable[str]) -> Iterator[bytes]:
        """Read many, in their order, without a wait for each.

        Raises:
            GitError: One isn't there.
        """
        asked: deque[str] = deque()
        for blob in blobs:
            self._ask(blob)
            asked.append(blob)
            if len(asked) == _MAX_OPEN_QUESTIONS:
                yield self._read_answer(asked.popleft())
        while asked:
            yield self._read_answer(asked.popleft())

    def _ask(self, blob: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(blob.encode() + b"\n")
        self._process.stdin.flush()

    def _read_answer(self, blob: str) -> bytes:
        stdout = self._process.stdout
        assert stdout is not None
        header = stdout.readline().split()  # hash, type, size; or hash, "missing"
        if len(header) != 3:
            raise GitError("cat-file", 0, f"{blob} is missing")
        return stdout.read(int(header[2]) + 1)[:-1]


def _create(git_dir: Path, folder: Path) -> None:
    """Make an empty repository, which appears whole or not at all."""
    git_dir.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f"{git_dir.name}.new-", dir=git_dir.parent))  # for us alone
    try:
        Git(new, workspace=folder).run(
            "init", "--quiet", "--bare", "--template=", "--object-format=sha1"
        )
        with (new / "config").open("a") as config:
            config.write(_CONFIG)
        (new / "info").mkdir()
        (new / "info/attributes").write_text(_ATTRIBUTES)
        (new / "description").write_bytes(os.fsencode(folder) + b"\n")
        new.rename(git_dir)
    except OSError:
        if not git_dir.is_dir():  # else another run was faster
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
