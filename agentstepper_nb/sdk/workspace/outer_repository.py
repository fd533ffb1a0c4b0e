"""The user's own repository, where the workspace lies in one: only asked, and nothing of it runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from .git_command import Git, GitError
from .git_names import escape_line_breaks, format_wire_name
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
        top: Its root, where `.git` is.
        folder: The folder asked about, at or below it.
    """

    def __init__(self, top: Path, folder: Path) -> None:
        self.top = top
        self._folder = folder
        self._git = Git(top / ".git", work_tree=top, folder=folder)

    @classmethod
    def find(cls, folder: Path) -> OuterRepository | None:
        """Look for the repository a folder lies in, as git does: upwards.

        One that git can't read is passed over, and so is one with pipes in the place of files.
        """
        for top in (folder, *folder.parents):
            if os.path.lexists(top / ".git"):
                owner = cls(top, folder)
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
            GitError: Its settings can't be read.
            SpecialFileError: A file that git reads is a pipe.
        """
        below = self._folder.relative_to(self.top).parts
        refuse_special_files_in_folders(
            self.top.joinpath(*below[:depth]) for depth in range(len(below) + 1)
        )
        return Git(
            self._git.git_dir, work_tree=self.top, folder=self._folder, config=self._filters()
        )

    def _is_usable(self) -> bool:
        try:
            refuse_special_files_in_repository(self._git.git_dir)
            self._git.run("rev-parse", "--git-dir")
        except (GitError, SpecialFileError) as error:
            _log.debug("%s isn't a repository: %s", self.top / ".git", error)
            return False
        return True

    def _submodules(self) -> Iterator[Path]:
        """Those that are checked out."""
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
