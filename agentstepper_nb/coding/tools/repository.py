"""git of the workspace's own repository, harmless: it runs no program but itself."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ...sdk.workspace.command import Git
from ...sdk.workspace.owner import Owner
from ..workspace import Workspace


def repository(workspace: Workspace, config: Mapping[str, str] | None = None) -> Git | None:
    """The git of the repository the workspace lies in; None where it lies in none.

    It runs in the workspace's root. Nothing that the repository brings is run: hooks, filters, file
    system monitors, external diffs, pagers.

    Args:
        workspace: The workspace.
        config: Settings beside the disarming ones.

    Raises:
        WorkspaceError: git is missing or too old.
        GitError: The repository's settings can't be read.
    """
    owner = Owner.find(workspace.root)
    if owner is None:
        return None
    return owner.git().with_config(config or {})


def below(workspace: Workspace, path: str) -> str | None:
    """A path as git takes it: from the root, without links. None where it is unsafe."""
    real = workspace.resolve_path(path)
    return None if real is None else os.path.relpath(real, workspace.root)


class Unignored:
    """What git doesn't ignore, below a folder."""

    def __init__(self, listed: bytes) -> None:
        self._files: set[str] = set()
        self._folders: set[str] = set()  # those that lead to the files
        self._whole: set[str] = set()  # repositories in the repository
        for name in map(os.fsdecode, filter(None, listed.split(b"\0"))):
            (self._whole if name.endswith("/") else self._files).add(name.rstrip("/"))
            self._folders.update(map(str, Path(name).parents))

    def has(self, path: str) -> bool:
        """Whether it has a path, or may have what lies below it."""
        if path in self._files or path in self._folders or path in self._whole:
            return True
        # A submodule is listed as if it were a file.
        return any(
            folder in self._whole or folder in self._files
            for folder in map(str, Path(path).parents)
        )


def unignored(workspace: Workspace, path: str) -> Unignored | None:
    """Ask git what it doesn't ignore below a folder; None where there is no repository.

    Raises:
        WorkspaceError: git is missing or too old.
        GitError: git can't tell.
    """
    git = repository(workspace)
    folder = below(workspace, path)
    if git is None or folder is None:
        return None
    options = ("--cached", "--others", "--exclude-standard")
    return Unignored(git.run("ls-files", "-z", *options, "--", folder))
