"""The user's own repository, where the workspace lies in one: read only, and no program of it runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from .git_command import TIMEOUT_S, Git, GitError
from .git_names import escape_line_breaks, format_wire_name
from .ignore_rules import IgnoreChecker
from .special_files import (
    SpecialFileError,
    refuse_special_files_in_folders,
    refuse_special_files_in_repository,
)

_log = logging.getLogger("agentstepper_nb.workspace")

_STATUS_TIMEOUT_S = 300.0  # every file that was touched is read again

_SUBMODULE = b"160000"  # git's mode


class OuterRepository:
    """The user's repository around a folder.

    Args:
        top: The repository's root, where `.git` is.
        folder: The folder in question, at or below the root.
        git_timeout_s: Seconds that a git command may take.
    """

    def __init__(self, top: Path, folder: Path, git_timeout_s: float = TIMEOUT_S) -> None:
        self.top = top
        self._git_timeout_s = git_timeout_s
        self._folder = folder
        self._git = Git(top / ".git", work_tree=top, folder=folder, timeout_s=git_timeout_s)

    @classmethod
    def find(cls, folder: Path, git_timeout_s: float = TIMEOUT_S) -> OuterRepository | None:
        """Look for the repository a folder lies in, as git does: upwards.

        One that git can't read is passed over, and so is one with pipes in the place of files.

        Args:
            folder: The folder.
            git_timeout_s: Seconds that a git command may take.
        """
        for top in (folder, *folder.parents):
            if os.path.lexists(top / ".git"):
                owner = cls(top, folder, git_timeout_s)
                if owner._is_usable():
                    return owner
        return None

    def find_exclude_file(self) -> Path:
        """The file with the user's private ignore rules, which needn't exist."""
        where = ("rev-parse", "--path-format=absolute", "--git-path", "info/exclude")
        return Path(os.fsdecode(self._git.run(*where).removesuffix(b"\n")))

    def list_tracked_ignored_files(self) -> frozenset[bytes]:
        """Files below the folder that the user tracks though `.gitignore` leaves them out."""
        try:
            found = self._git.run("ls-files", "-z", "--cached", "--ignored", "--exclude-standard")
        except GitError as error:
            _log.debug("The user's index can't be read: %s", error)
            return frozenset()
        return frozenset(filter(None, found.split(b"\0")))

    def list_uncommitted(self) -> list[str]:
        """Name what below the folder isn't as last committed, in submodules too; seen from the root.

        Raises:
            GitError: git can't tell.
        """
        status = self.git().run(
            "status",
            "--porcelain",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--",
            ".",
            timeout_s=_STATUS_TIMEOUT_S,
        )
        paths = [
            escape_line_breaks(format_wire_name(line[3:])) for line in status.split(b"\0") if line
        ]
        for folder in self._submodules():
            below = escape_line_breaks(format_wire_name(os.fsencode(folder.relative_to(self.top))))
            paths += [
                f"{below}/{path}" for path in OuterRepository(folder, folder).list_uncommitted()
            ]
        return paths

    def git(self) -> Git:
        """The repository's git, run in the folder: none of its own filters is run.

        Raises:
            GitError: The repository's settings can't be read.
            SpecialFileError: A file that git reads is a pipe.
        """
        below = self._folder.relative_to(self.top).parts
        refuse_special_files_in_folders(
            self.top.joinpath(*below[:depth]) for depth in range(len(below) + 1)
        )
        return self._git.with_config(self._filters())

    def _is_usable(self) -> bool:
        try:
            refuse_special_files_in_repository(self._git.git_dir)
            self._git.run("rev-parse", "--git-dir")
        except (GitError, SpecialFileError) as error:
            _log.debug("%s isn't a repository: %s", self.top / ".git", error)
            return False
        return True

    def _submodules(self) -> Iterator[Path]:
        """The submodules that are checked out."""
        for line in self._git.run("ls-files", "-z", "--stage").split(b"\0"):
            if line.startswith(_SUBMODULE):
                folder = self._folder / os.fsdecode(line.partition(b"\t")[2])
                if os.path.lexists(folder / ".git"):
                    yield folder

    def _filters(self) -> dict[str, str]:
        """Settings that disarm the repository's own filters, such as LFS."""
        names = self._git.run(
            "config", "-z", "--name-only", "--get-regexp", r"^filter\.", allowed_statuses=(0, 1)
        )
        return {
            name: "false" if name.endswith(".required") else ""
            for name in map(os.fsdecode, filter(None, names.split(b"\0")))
        }


def make_ignore_checker(
    git_dir: Path, folder: Path, owner: OuterRepository | None, git_timeout_s: float = TIMEOUT_S
) -> IgnoreChecker:
    """Make what answers whether files of a folder are ignored.

    Args:
        git_dir: The private repository.
        folder: The workspace.
        owner: The user's repository around the folder, where there is one.
        git_timeout_s: Seconds that a git command may take.

    Raises:
        GitError: git can't tell.
    """
    make_checker = partial(IgnoreChecker, git_dir, git_timeout_s=git_timeout_s)
    if owner is not None:
        checker = make_checker(owner.top, folder, owner.find_exclude_file())
        if (
            not checker.ignores_folder()
        ):  # else its rules are about others: nothing would be watched
            return checker
    return make_checker(folder, folder)
