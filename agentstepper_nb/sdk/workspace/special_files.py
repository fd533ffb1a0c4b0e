"""Pipes and devices where git expects files: it would wait for their contents for ever."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from agentstepper_nb.errors import WorkspaceError

#: Files that git reads in every folder of a work tree.
_READ: Final = (".gitignore", ".gitattributes", ".gitmodules")

#: Folders of a repository whose entries git reads; `refs` is one with all below it.
_FOLDERS: Final = ("", "info", "objects/info", "objects/pack")

_GITFILE_BYTES: Final = 64 * 1024


class SpecialFileError(WorkspaceError):
    """A file that git reads is a pipe or a device."""


def refuse_special_files_in_folders(folders: Iterable[Path]) -> None:
    """Check the files that git reads in folders of a work tree.

    Raises:
        SpecialFileError: One is a pipe or a device.
    """
    for folder in folders:
        for name in _READ:
            refuse_special_file(folder / name)


def refuse_special_files_in_repository(dot_git: Path) -> None:
    """Check the files that git reads of a repository.

    Args:
        dot_git: A `.git`: a folder, or a file that names one.

    Raises:
        SpecialFileError: One is a pipe or a device.
    """
    for git_dir in _git_dirs(dot_git):
        for path in _files(git_dir):
            refuse_special_file(path)


def refuse_special_file(path: Path) -> None:
    """Check one file, which needn't exist.

    Raises:
        SpecialFileError: The file is a pipe or a device, or a link to one.
    """
    try:
        found = path.stat()
    except (OSError, ValueError):
        return
    mode = found.st_mode
    is_device = stat.S_ISCHR(mode) and not os.path.samestat(found, Path(os.devnull).stat())
    if stat.S_ISFIFO(mode) or is_device:
        what = "pipe" if stat.S_ISFIFO(mode) else "device"
        raise SpecialFileError(f"{path} is a {what}, which git would read without end. Remove it.")


def _git_dirs(dot_git: Path) -> Iterator[Path]:
    """The folders a repository consists of: its own and, for a second work tree, the shared one."""
    refuse_special_file(dot_git)
    git_dir = _named_in(dot_git, "gitdir:") if dot_git.is_file() else dot_git
    if git_dir is not None:
        yield git_dir
        refuse_special_file(git_dir / "commondir")
        common = _named_in(git_dir / "commondir", "")
        if common is not None:
            yield common


def _named_in(file: Path, prefix: str) -> Path | None:
    """The folder that a file of git's names."""
    try:
        with file.open("rb") as opened:
            said = os.fsdecode(opened.read(_GITFILE_BYTES))
    except OSError:
        return None
    return file.parent / said.removeprefix(prefix).strip() if said.startswith(prefix) else None


def _files(git_dir: Path) -> Iterator[Path]:
    for name in _FOLDERS:
        try:
            with os.scandir(git_dir / name) as entries:
                yield from [Path(entry.path) for entry in entries]
        except OSError:
            continue  # git knows what to say of it
    for folder, _, names in os.walk(git_dir / "refs"):
        for name in names:
            yield Path(folder, name)
