"""The files that `.gitignore` leaves out, as git itself decides."""

from __future__ import annotations

import functools
import os
import stat
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from .files import FileStamp
from .git_command import TIMEOUT_S, Git, GitError
from .special_files import refuse_special_file

IGNORE_FILE = b".gitignore"

# git refuses a whole question for one path beyond a link. Where none is to be seen, the agent may have
# put the folder back since: git is asked again, so often at most.
_MAX_TRIES = 5

#: The state that the decisions in one directory depend on: the stamps of the files with its rules,
#: outermost first. While the stamps are equal, git needn't be asked again.
IgnoreRulesKey = tuple[object, ...]


class IgnoreQuery(NamedTuple):
    """Whether a path is ignored."""

    path: bytes  # below the workspace
    directory: bool
    rules: IgnoreRulesKey  # of the directory it stands in


class _Answer(NamedTuple):
    """Git's decisions on some paths."""

    ignored: set[bytes]
    #: Paths that git can't decide: they lie beyond a link by now, so that they aren't in the workspace.
    missing: set[bytes]


class IgnoreChecker:
    """Answers whether paths of the workspace are ignored.

    Args:
        git_dir: A repository that has no rules of its own.
        top: The folder whose `.gitignore` counts first: the root of the user's repository, where the
            workspace lies in one.
        folder: The workspace, at or below `top`.
        exclude: The user's `.git/info/exclude`.
        git_timeout_s: Seconds that a git command may take.
    """

    def __init__(
        self,
        git_dir: Path,
        top: Path,
        folder: Path,
        exclude: Path | None = None,
        git_timeout_s: float = TIMEOUT_S,
    ) -> None:
        exclude = exclude or Path(os.devnull)
        self._folder = os.fsencode(folder)
        config = {"core.excludesFile": str(exclude)}
        self._git = Git(git_dir, work_tree=top, config=config, timeout_s=git_timeout_s)
        parts = folder.relative_to(top).parts
        # `./`, for a path that starts with a colon would be taken for a pattern.
        self._prefix = b"".join(os.fsencode(part) + b"/" for part in (".", *parts))
        parents = [top.joinpath(*parts[:depth]) for depth in range(len(parts))]
        self._outside = [exclude, *(parent / os.fsdecode(IGNORE_FILE) for parent in parents)]
        self._last_answers: dict[IgnoreQuery, bool] = {}
        self._answers: dict[IgnoreQuery, bool] = {}

    def begin(self) -> IgnoreRulesKey:
        """Begin a look at the whole workspace.

        Returns:
            The rules from outside it.

        Raises:
            SpecialFileError: A file with rules is a pipe.
        """
        # What wasn't asked last time is forgotten.
        self._last_answers, self._answers = (
            self._answers,
            {},
        )
        rules: IgnoreRulesKey = ()
        for source in self._outside:
            refuse_special_file(source)
            rules = extend_rules(rules, stat_file(source))
        return rules

    def select_ignored(self, queries: Collection[IgnoreQuery]) -> set[bytes]:
        """Choose the paths that are ignored, and those that are gone: beyond a link by now.

        Raises:
            GitError: git can't tell.
        """
        known = self._last_answers
        answer = self._run_check([query.path for query in queries if query not in known])
        # Of what is gone nothing is known: when it is back, git is asked.
        answers = {
            query: known.get(query, query.path in answer.ignored)
            for query in queries
            if query.path not in answer.missing
        }
        self._answers |= answers
        return answer.missing | {query.path for query, is_ignored in answers.items() if is_ignored}

    def ignores_folder(self) -> bool:
        """Whether the workspace as a whole is ignored from above."""
        return self._prefix != b"./" and bool(self._run_check([b""]).ignored)

    def _run_check(self, paths: list[bytes]) -> _Answer:
        """Ask git, while the agent may be replacing folders by links."""
        missing: set[bytes] = set()
        tries = _MAX_TRIES
        while True:
            try:
                return _Answer(self._check(paths), missing)
            except GitError:
                beyond = self._beyond_links(paths)
                if not beyond:
                    tries -= 1
                if not tries:
                    raise
            missing |= beyond
            paths = [path for path in paths if path not in beyond]

    def _check(self, paths: list[bytes]) -> set[bytes]:
        if not paths:
            return set()
        # Exit status 1: none of them. The index isn't asked: what is tracked is never asked about.
        answer = self._git.run(
            "check-ignore",
            "-z",
            "--stdin",
            "--no-index",
            stdin=b"".join(b"%b%b\0" % (self._prefix, path) for path in paths),
            allowed_statuses=(0, 1),
        )
        return {path.removeprefix(self._prefix) for path in answer.split(b"\0")[:-1]}

    def _beyond_links(self, paths: list[bytes]) -> set[bytes]:
        """The paths that are reached only through a link."""

        @functools.cache
        def is_link(folder: bytes) -> bool:
            found = stat_file(self._folder + b"/" + folder)
            return found is not None and stat.S_ISLNK(found.st_mode)

        return {
            path for path in paths if any(is_link(folder) for folder in list_folders_above(path))
        }


def extend_rules(rules: IgnoreRulesKey, source: os.stat_result | None) -> IgnoreRulesKey:
    """The rules of a directory: those from above, and its own file where it has one."""
    if source is None:
        return rules
    stamp = FileStamp.from_stat(source)
    # A file that may still change unseen is equal to nothing, so that git is asked again.
    return (*rules, stamp if stamp.can_detect_change_after(time.time_ns()) else object())


def list_folders_above(path: bytes) -> Iterator[bytes]:
    """The folders a path lies in, innermost first."""
    while path := path.rpartition(b"/")[0]:
        yield path


def stat_file(path: bytes | Path | os.DirEntry[bytes]) -> os.stat_result | None:
    """Look at a file that may be gone."""
    try:
        return os.lstat(path)
    except OSError:
        return None
