"""The parts of git's folders from which git runs programs: commands may not change or make them."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

GIT: Final = ".git"
# Folders that are not searched for repositories: large, and of packages.
_NOT_SEARCHED: Final = frozenset(
    {"node_modules", "__pycache__", "site-packages", ".venv", "venv", ".tox", ".nox"}
)
# Names that a search for repositories looks at, and seconds for which its result holds: a command that
# clones a repository chooses its hooks anyway.
_MAX_SEARCHED_ENTRIES: Final = 20_000
_SEARCH_TTL_S: Final = 30.0
_MAX_DEPTH: Final = 8  # of a submodule's name
_MAX_FILE_BYTES: Final = 1 << 20
_WORKTREE: Final = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE | re.IGNORECASE)


class Placeholder(Struct, frozen=True):
    """A name in a git folder that doesn't exist, and that a command may not make.

    Args:
        path: The name.
        content: What a file there would have to hold in order to change nothing; None: an empty folder.
    """

    path: Path
    content: str | None


class GitPaths(Struct, frozen=True, kw_only=True):
    """The paths of git in a folder and its repositories.

    Args:
        entries: Each `.git` in the folder: a folder, or a file that names a folder.
        outside_folders: The git folders outside of the folder that those files name, for a linked
            worktree or a submodule. Git writes to these folders.
        read_only: The paths from which git runs programs, and the settings that name such paths.
        missing: The paths of `read_only` that don't exist.
    """

    entries: tuple[Path, ...] = ()
    outside_folders: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()
    missing: tuple[Placeholder, ...] = ()


def find_git_parts(*folders: Path) -> GitPaths:
    """Find what git has in folders: in their own `.git`, and in those of repositories in them.

    A repository above a folder isn't shown: of its files all others would look deleted.

    Args:
        folders: The folders, absolute and without links; a file has nothing of git's.
    """
    found = [_parts_of(folder) for folder in folders if folder.is_dir()]
    return GitPaths(
        entries=tuple(path for each in found for path in each.entries),
        outside_folders=tuple(path for each in found for path in each.outside_folders),
        read_only=tuple(path for each in found for path in each.read_only),
        missing=tuple(name for each in found for name in each.missing),
    )


def _parts_of(folder: Path) -> GitPaths:
    found = dict.fromkeys([folder / GIT, *_search(folder, int(time.monotonic() / _SEARCH_TTL_S))])
    entries = tuple(dict.fromkeys(_entries(folder, found)))
    outside: list[Path] = []
    git_folders: dict[Path, None] = {}
    read_only: list[Path] = []
    for entry in entries:
        if entry.is_file():
            read_only.append(entry)
            named = _resolve_git_file(entry)
            git_folders |= dict.fromkeys(named)
            outside += [each for each in named if not each.is_relative_to(folder)]
        else:
            git_folders |= dict.fromkeys([entry, *_modules(entry)])
    missing: list[Placeholder] = []
    for git_folder in git_folders:
        _add_parts(git_folder, read_only, missing)
    return GitPaths(
        entries=entries,
        outside_folders=tuple(dict.fromkeys(outside)),
        read_only=tuple(dict.fromkeys(read_only)),
        missing=tuple(missing),
    )


def _entries(folder: Path, found: Iterable[Path]) -> Iterator[Path]:
    """What is still there of a search. A link counts only for a git folder in the folder itself."""
    for path in found:
        real = path.resolve()
        if real == path and os.path.lexists(path):
            yield path
        elif folder in real.parents and (real / "HEAD").is_file():
            yield real


@contextmanager
def create_placeholders(missing: Iterable[Placeholder]) -> Iterator[tuple[Path, ...]]:
    """Make missing names, so that something can be mounted on them, and remove them at the end.

    Several processes may hold the same name; the last one removes it. What a killed process leaves
    changes nothing: empty hooks, an empty config, a common folder that is the folder itself.

    Args:
        missing: The names.

    Yields:
        The names that could be made. Where this process may not, no command may.
    """
    held: list[tuple[Placeholder, int]] = []
    try:
        for each in missing:
            with suppress(OSError):
                held.append((each, _hold(each)))
        yield tuple(each.path for each, _ in held)
    finally:
        for each, lock in held:
            _release(each, lock)


def _add_parts(git: Path, read_only: list[Path], missing: list[Placeholder]) -> None:
    """The parts of one git folder. One whose parts are links is read-only: links can't be held."""
    needed: dict[str, str | None] = {"hooks": None, "config": ""}
    if _has_worktree_config(git):
        needed["config.worktree"] = ""
    needed["commondir"] = ".\n"  # another one has other hooks
    optional = ("config.worktree", "worktrees", "gitdir")
    present = {name for name in (*needed, *optional) if os.path.lexists(git / name)}
    if any((git / name).is_symlink() for name in present):
        read_only.append(git)
        return
    read_only += [git / name for name in sorted(present)]
    if (
        git / "commondir"
    ).exists() and "gitdir" in present:  # a linked worktree has its hooks elsewhere
        return
    missing += [
        Placeholder(git / name, text) for name, text in needed.items() if name not in present
    ]


def _has_worktree_config(git: Path) -> bool:
    return "worktreeconfig" in _text(git / "config").lower()


def _modules(git: Path, depth: int = 0) -> Iterator[Path]:
    """The git folders of a repository's submodules, and of theirs."""
    folder = git / "modules" if depth == 0 else git
    if depth > _MAX_DEPTH or folder.is_symlink() or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_dir():
            continue
        if (path / "HEAD").exists():
            yield path
            yield from _modules(path)
        else:  # a submodule's name may have slashes
            yield from _modules(path, depth + 1)


def _resolve_git_file(entry: Path) -> tuple[Path, ...]:
    """The git folder that a `.git` file names, and the common one, if that folder names the file, too.

    A command could write a file that names any folder. It could not make that folder name the file. And
    it could make a git folder that names any common one: that must be the one which has it.
    """
    prefix, _, text = _text(entry).strip().partition(":")
    if prefix != "gitdir":
        return ()
    git = (entry.parent / text.strip()).resolve()
    if not (git / "HEAD").is_file():
        return ()
    if git.is_relative_to(entry.parent):
        return (git,)
    if _path_in(git, _text(git / "gitdir")) == entry:
        common = git.parent.parent
        is_linked = common / "worktrees" == git.parent
        is_there = _path_in(git, _text(git / "commondir")) == common
        return (common, git) if is_linked and is_there else ()
    worktree = _WORKTREE.search(_text(git / "config"))
    if worktree and _path_in(git, worktree.group(1)) == entry.parent:
        return (git, *_modules(git))
    return ()


def _path_in(folder: Path, text: str) -> Path | None:
    text = text.strip().strip('"')
    return (folder / text).resolve() if text else None


def _text(path: Path) -> str:
    """A small file's text; empty where there is none."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
            return ""
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""


@lru_cache(maxsize=16)
def _search(folder: Path, period: int) -> tuple[Path, ...]:
    """Each `.git` below a folder, those near the top first, as far as the limit goes."""
    found: list[Path] = []
    seen, todo = 0, deque([folder])
    while todo and seen < _MAX_SEARCHED_ENTRIES:
        try:
            with os.scandir(todo.popleft()) as entries:
                for entry in entries:
                    seen += 1
                    if entry.name.casefold() == GIT:
                        found.append(Path(entry.path))
                    elif entry.name not in _NOT_SEARCHED and entry.is_dir(follow_symlinks=False):
                        todo.append(Path(entry.path))
        except OSError:
            continue
    return tuple(found)


def _hold(each: Placeholder) -> int:
    """Make a name and hold it. Raises OSError."""
    while True:
        with suppress(FileExistsError):
            _make(each)
        with suppress(FileNotFoundError):  # somebody else's was removed just now
            lock = os.open(each.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            fcntl.flock(lock, fcntl.LOCK_SH)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), each.path.lstat()):
                    return lock
            os.close(lock)


def _make(each: Placeholder) -> None:
    if each.content is None:
        each.path.mkdir(mode=0o755)
        return
    # Linked to its name when it is whole: git fails on an empty one.
    descriptor, name = tempfile.mkstemp(dir=each.path.parent)
    try:
        os.write(descriptor, each.content.encode())
        os.fchmod(descriptor, 0o644)
        each.path.hardlink_to(name)
    finally:
        os.close(descriptor)
        Path(name).unlink()


def _release(each: Placeholder, lock: int) -> None:
    with suppress(OSError):  # somebody else holds it, or put something there
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if each.content is None:
            each.path.rmdir()
        elif os.pread(lock, len(each.content) + 1, 0).decode() == each.content:
            each.path.unlink()
    os.close(lock)
