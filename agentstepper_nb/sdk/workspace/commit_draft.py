"""A commit in the making: `git fast-import`, fed file by file.

It makes blobs, trees, commit and branch in one go and moves the branch last. There is no index and no
work tree: a process killed at any point leaves no lock behind and no half a commit, and any number of
runs can write at a time.
"""

from __future__ import annotations

import subprocess
from typing import NamedTuple

from .git_command import Git, GitError, end_process
from .git_names import quote_name

#: The committer; the address is nobody's real address.
NAME, EMAIL = "AgentStepper", "agentstepper@localhost"


class CommitResult(NamedTuple):
    """A finished commit, by git's hashes."""

    commit: str
    tree: str


class CommitDraft:
    """A commit in the making.

    git is started by the first change: a draft without any costs nothing. Leaving its context before
    `finish` makes no commit.

    Args:
        git: Runs git on the private repository.
        branch: The branch to move, below `refs/heads/`.
        parent: The commit it follows; without one the branch is new and starts empty.
        message: The commit's message.
        at: The commit's time, in POSIX seconds.
        author: The author of the changes.
    """

    def __init__(
        self,
        git: Git,
        branch: str,
        parent: str | None,
        message: str,
        at: float,
        author: str = NAME,
    ) -> None:
        self._git = git
        self._header = _header(branch, parent, message.encode(), at, author)
        # A run owns its branches: a commit that it couldn't tell of is replaced.
        self._options = ["--force"] if parent else []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CommitDraft:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            end_process(self._process)

    def put(self, path: bytes, mode: str, blob: str, data: bytes | None) -> None:
        """Add or replace a file.

        Args:
            path: The file's path; remove a folder there, or a file in its folder's place, first.
            mode: git's mode.
            blob: git's hash of the contents.
            data: The contents; None where the repository has them already.
        """
        name = quote_name(path)
        if data is None:
            self._feed(b"M %b %b %b\n" % (mode.encode(), blob.encode(), name))
        else:
            self._feed(b"M %b inline %b\n" % (mode.encode(), name), *_data(data))

    def remove(self, path: bytes) -> None:
        """Remove a file."""
        self._feed(b"D %b\n" % quote_name(path))

    def set_tree(self, tree: str) -> None:
        """Put the files of another commit in the place of all.

        Args:
            tree: git's hash of its tree.
        """
        self._feed(b'M 040000 %b ""\n' % tree.encode())

    def begin(self) -> None:
        """Make the commit even where nothing changes."""
        self._feed()

    def finish(self) -> CommitResult | None:
        """Make the commit.

        Returns:
            What was made; None where nothing changed.

        Raises:
            GitError: git refused, and the branch hasn't moved.
        """
        if self._process is None:
            return None
        process = self._process
        # `done` is what tells the end from the death of this process.
        self._feed(b'get-mark :1\nls :1 ""\ndone\n')
        out, err = process.communicate()
        if process.returncode != 0:
            raise self._git.failure("fast-import", process.returncode, err)
        commit, root = out.decode().splitlines()
        return CommitResult(commit, tree=root.split()[2])  # "040000 tree <hash>"

    def _feed(self, *parts: bytes) -> None:
        if self._process is None:
            self._process = self._git.start("fast-import", "--quiet", "--done", *self._options)
            parts = (*self._header, *parts)
        assert self._process.stdin is not None
        try:
            for part in parts:
                self._process.stdin.write(part)
        except BrokenPipeError:
            raise self._death(self._process) from None

    def _death(self, process: subprocess.Popen[bytes]) -> GitError:
        """Make the error for a git process that died while it was fed."""
        said = process.stderr.read() if process.stderr else b""
        return self._git.failure("fast-import", process.wait(), said)


def _header(branch: str, parent: str | None, message: bytes, at: float, author: str) -> list[bytes]:
    moment = f"<{EMAIL}> {int(at)} +0000"
    who = f"author {author} {moment}\ncommitter {NAME} {moment}\n"
    follows = [f"from {parent}\n".encode()] if parent else []
    return [f"commit refs/heads/{branch}\nmark :1\n{who}".encode(), *_data(message), *follows]


def _data(data: bytes) -> tuple[bytes, ...]:
    return b"data %d\n" % len(data), data, b"\n"
