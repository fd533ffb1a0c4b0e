"""A commit in the making: `git fast-import`, fed file by file.

It makes blobs, trees, commit and branch in one go and moves the branch last. There is no index and no
work tree: a process killed at any point leaves no lock behind and no half a commit, and any number of
runs can write at a time.
"""

from __future__ import annotations

import subprocess

from .command import Git, GitError, end
from .names import quoted

#: Who commits; nobody's real address.
NAME, EMAIL = "AgentStepper", "agentstepper@localhost"


class Draft:
    """A commit in the making.

    git is started by the first change: a draft without any costs nothing. Leaving its context before
    `finish` makes no commit.

    Args:
        git: The private repository's.
        branch: The branch to move, below `refs/heads/`.
        parent: The commit it follows; without one the branch is new and starts empty.
        message: What the commit says.
        at: Its time, in POSIX seconds.
    """

    def __init__(self, git: Git, branch: str, parent: str | None, message: str, at: float) -> None:
        self._git = git
        self._branch, self._parent, self._at = branch, parent, at
        self._header = _header(branch, parent, message.encode(), at)
        # A run owns its branch: a commit that it couldn't tell of, or that is reworded, is replaced.
        self._options = ["--force"] if parent else []
        self._changes: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            end(self._process)

    def put(self, path: bytes, mode: str, blob: str, data: bytes | None) -> None:
        """Add or replace a file.

        Args:
            path: Its path; one that was a folder, or lies in what was a file, must be removed first.
            mode: git's mode.
            blob: git's hash of what to store.
            data: What to store; None where the repository has it already.
        """
        name = quoted(path)
        self._changes.append(b"M %b %b %b\n" % (mode.encode(), blob.encode(), name))
        if data is None:
            self._feed(self._changes[-1])
        else:
            self._feed(b"M %b inline %b\n" % (mode.encode(), name), *_data(data))

    def remove(self, path: bytes) -> None:
        """Remove a file."""
        self._changes.append(b"D %b\n" % quoted(path))
        self._feed(self._changes[-1])

    def begin(self) -> None:
        """Make the commit even where nothing changes."""
        self._feed()

    def finish(self) -> str | None:
        """Make the commit.

        Returns:
            Its hash; None where nothing changed.

        Raises:
            GitError: git refused, and the branch hasn't moved.
        """
        if self._process is None:
            return None
        process = self._process
        # `done` is what tells the end from the death of this process.
        self._feed(b"get-mark :1\ndone\n")
        out, err = process.communicate()
        if process.returncode != 0:
            raise self._git.failure("fast-import", process.returncode, err)
        return out.decode().strip()

    def reworded(self, message: str) -> str:
        """Make the finished commit again, with another message.

        Returns:
            The hash of the commit that is in its place.

        Raises:
            GitError: git refused, and the branch hasn't moved.
        """
        with Draft(self._git, self._branch, self._parent, message, self._at) as draft:
            draft._feed(*self._changes)
            return draft.finish() or ""

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
        """What a git said that died while it was fed."""
        said = process.stderr.read() if process.stderr else b""
        return self._git.failure("fast-import", process.wait(), said)


def _header(branch: str, parent: str | None, message: bytes, at: float) -> list[bytes]:
    start = f"commit refs/heads/{branch}\nmark :1\ncommitter {NAME} <{EMAIL}> {int(at)} +0000\n"
    follows = [f"from {parent}\n".encode()] if parent else []
    return [start.encode(), *_data(message), *follows]


def _data(data: bytes) -> tuple[bytes, ...]:
    return b"data %d\n" % len(data), data, b"\n"
