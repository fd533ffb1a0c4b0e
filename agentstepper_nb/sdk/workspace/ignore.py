"""Which files `.gitignore` leaves out, as git itself decides it."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from .command import Git
from .files import Stamp

IGNORE_FILE = b".gitignore"

#: What the verdicts in one directory hang on: the stamps of the files that hold its rules, outermost
#: first. While these are equal nobody need be asked again.
Rules = tuple[object, ...]


class Question(NamedTuple):
    """Whether a path is ignored."""

    path: bytes  # below the workspace
    directory: bool
    rules: Rules  # of the directory it stands in


class Ignore:
    """Answers whether paths of the workspace are ignored.

    Args:
        git_dir: A repository that has no rules of its own.
        top: The folder whose `.gitignore` counts first: the root of the user's repository, where the
            workspace lies in one.
        folder: The workspace, at or below `top`.
        exclude: The user's `.git/info/exclude`.
    """

    def __init__(self, git_dir: Path, top: Path, folder: Path, exclude: Path | None = None) -> None:
        exclude = exclude or Path(os.devnull)
        self._git = Git(git_dir, work_tree=top, config={"core.excludesFile": str(exclude)})
        parts = folder.relative_to(top).parts
        # `./`, for a path that starts with a colon would be taken for a pattern.
        self._prefix = b"".join(os.fsencode(part) + b"/" for part in (".", *parts))
        parents = [top.joinpath(*parts[:depth]) for depth in range(len(parts))]
        self._outside = [exclude, *(parent / os.fsdecode(IGNORE_FILE) for parent in parents)]
        self._known: dict[Question, bool] = {}
        self._asked: dict[Question, bool] = {}

    def begin(self) -> Rules:
        """Begin a look at the whole workspace.

        Returns:
            The rules from outside it.
        """
        self._known, self._asked = self._asked, {}  # what wasn't asked last time is forgotten
        rules: Rules = ()
        for source in self._outside:
            rules = extended(rules, lstat(source))
        return rules

    def ignored(self, questions: Collection[Question]) -> set[bytes]:
        """Choose the paths that are ignored.

        Raises:
            GitError: git can't tell: a folder was replaced by a link a moment ago.
        """
        known = self._known
        found = self._ask([question.path for question in questions if question not in known])
        verdicts = {asked: known.get(asked, asked.path in found) for asked in questions}
        self._asked |= verdicts
        return {asked.path for asked, verdict in verdicts.items() if verdict}

    def ignores_folder(self) -> bool:
        """Whether the workspace as a whole is ignored from above."""
        return self._prefix != b"./" and bool(self._ask([b""]))

    def _ask(self, paths: list[bytes]) -> set[bytes]:
        """Ask git."""
        if not paths:
            return set()
        # Exit status 1: none of them. The index isn't asked: what is tracked is never asked about.
        answer = self._git.run(
            "check-ignore",
            "-z",
            "--stdin",
            "--no-index",
            stdin=b"".join(b"%b%b\0" % (self._prefix, path) for path in paths),
            allowed=(0, 1),
        )
        return {path.removeprefix(self._prefix) for path in answer.split(b"\0")[:-1]}


def extended(rules: Rules, source: os.stat_result | None) -> Rules:
    """The rules of a directory: those from above, and its own file where it has one."""
    if source is None:
        return rules
    stamp = Stamp.of(source)
    # A file that may still change unseen is equal to nothing, so that git is asked again.
    return (*rules, stamp if stamp.settled(time.time_ns()) else object())


def lstat(path: Path | os.DirEntry[bytes]) -> os.stat_result | None:
    """Look at a file that may be gone."""
    try:
        return os.lstat(path)
    except OSError:
        return None
