"""Finds the files of the workspace that a call would change or delete and that can't be recovered."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

from ...errors import WorkspaceError
from ...sdk.workspace.git_command import Git, GitError
from ...sdk.workspace.outer_repository import OuterRepository
from ...sdk.workspace.special_files import SpecialFileError
from .command_model import (
    CommandReport,
    CommandWord,
    ProgramCall,
    Redirect,
    find_option,
    is_long_option,
    pair_with_next_word,
    resolve_links,
    select_operands,
    select_options,
)
from .dangerous_commands import parse_git_command

#: The most files of one call that are checked, and the most folders in which a command may run.
FILES_LIMIT: Final = 500
FOLDERS_LIMIT: Final = 16

_OVERWRITES = frozenset({">", ">|", "&>", ">&"})
_IN_PLACE = re.compile(r"-[0acnpsSwlrEzuTtUWX]*i|-I$|--in-p")
_DESCRIPTOR = re.compile(r"\d+-?|-")
#: `-t` of `cp` and the like, in a group of options of which none before takes the rest as its value.
_TARGET_OPTION = re.compile(r"-[^-tSgmo]*t(.*)", re.DOTALL)


class RecoverableFiles(Protocol):
    """The interface of a check whether a file's present content can be recovered."""

    def is_recoverable(self, path: Path) -> bool:
        """Whether a commit or a snapshot contains the file as it is now. May block.

        Args:
            path: The absolute path, with symbolic links resolved; a link itself if the link is deleted.
        """


class CommittedFiles:
    """Treats only files in their last committed state as recoverable.

    Args:
        root: The workspace's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def is_recoverable(self, path: Path) -> bool:
        """Whether the file is in its last committed state. See `RecoverableFiles`."""
        options = ("--porcelain", "-z", "--untracked-files=all", "--ignored=matching")
        try:
            git = _git(self._root)
            relative = os.path.relpath(path, self._root)
            return git is not None and not git.run("status", *options, "--", relative)
        except (GitError, SpecialFileError, WorkspaceError):
            return False


def find_unrecoverable_file(
    files: Iterable[Path], recoverable_files: RecoverableFiles
) -> Path | None:
    """Find the first file that can't be recovered; None: all can.

    Args:
        files: The files that a call changes or deletes. Missing files are skipped. The first file
            beyond `FILES_LIMIT` counts as one that can't be recovered.
        recoverable_files: The check whether a file can be recovered.
    """
    present = (path for path in dict.fromkeys(files) if _path_exists(path))
    for number, path in enumerate(present):
        if number >= FILES_LIMIT or not recoverable_files.is_recoverable(path):
            return path
    return None


def find_affected_files(report: CommandReport, folder: Path, root: Path) -> Iterator[Path]:
    """Find the files of the workspace that a command would change or delete, by the command's words.

    Args:
        report: The analysis of the command.
        folder: The folder in which the command runs.
        root: The workspace's folder.
    """
    command = _Command(report, folder, root)
    yield from (path for path in command.files() if _is_inside(path, root))


def _is_inside(path: Path, root: Path) -> bool:
    return path.is_relative_to(root) and ".git" not in path.relative_to(root).parts


def _git(root: Path) -> Git | None:
    owner = OuterRepository.find(root)
    return owner.git() if owner else None


class _Command:
    """Finds the files of one command. See `find_affected_files`."""

    def __init__(self, report: CommandReport, folder: Path, root: Path) -> None:
        self._report = report
        self._root = root
        self._folders = [folder]
        for call in report.calls:
            if call.name in ("cd", "pushd") and call.args and call.args[0].is_certain:
                more = [each / call.args[0].text for each in self._folders]
                self._folders = list(dict.fromkeys(self._folders + more))[:FOLDERS_LIMIT]

    def files(self) -> Iterator[Path]:
        for redirect in self._report.redirects:
            if redirect.operator in _OVERWRITES and not _is_descriptor(redirect):
                yield from map(resolve_links, self._paths((redirect.target,)))
        for call in self._report.calls:
            change = _CHANGES.get(call.name)
            if change:
                yield from change(self, call)

    # ---- by program ----

    def removed(self, call: ProgramCall) -> Iterator[Path]:
        """`rm`, `unlink`, `shred`: the operands, and all files below folders."""
        for path in self._paths(select_operands(call.args)):
            # The name goes, and not what a link leads to.
            yield from _below(resolve_links(path.parent) / path.name)

    def written(self, call: ProgramCall) -> Iterator[Path]:
        """`tee`, `truncate`: all operands."""
        if not (call.name == "tee" and find_option(call.args, "--append", shorts="a")):
            yield from map(resolve_links, self._paths(select_operands(call.args)))

    def edited(self, call: ProgramCall) -> Iterator[Path]:
        """`sed -i`, `perl -i`: the operands that are files, without the script."""
        if any(_IN_PLACE.match(word.text) for word in call.args):
            yield from map(resolve_links, self._paths(select_operands(call.args)))

    def placed(self, call: ProgramCall) -> Iterator[Path]:
        """`cp`, `mv`, `ln -f`, `install`: the files that are overwritten."""
        if call.name == "ln" and not find_option(call.args, "--force", shorts="f"):
            return
        sources, target = _parted(call)
        if target is None:
            return
        sources_there = list(self._paths(sources))
        for place in map(resolve_links, self._paths((target,))):
            if call.name == "mv" and not _is_inside(place, self._root):
                for source in sources_there:
                    yield from _below(resolve_links(source))
            for source in sources_there:
                yield from _overwritten(source, place)

    def git(self, call: ProgramCall) -> Iterator[Path]:
        """`git checkout`, `restore`, `switch -f`, `rm`, `apply`: files with changes."""
        command = parse_git_command(call.args)
        if not command or not command[0].is_certain:
            return
        name, args = command[0].text, command[1:]
        if name not in _GIT_CHANGES or _is_harmless_git(name, args):
            return
        forced = name != "rm" and find_option(args, "--force", shorts="f")
        everything = forced or name in ("apply", "reset", "switch")
        if everything or any(map(_is_pattern, select_operands(args))):
            yield from self._changed()
            return
        paths = [resolve_links(path) for path in self._paths(select_operands(args))]
        for file in self._changed():
            if any(file.is_relative_to(path) for path in paths):
                yield file

    # ---- parts ----

    def _changed(self) -> list[Path]:
        """List the tracked files that differ from the last commit."""
        with suppress(GitError, SpecialFileError, WorkspaceError):
            git = _git(self._root)
            if git is not None:
                found = git.run("diff", "--name-only", "-z", "--relative", "HEAD", "--", ".")
                return [self._root / os.fsdecode(name) for name in found.split(b"\0") if name]
        return []

    def _paths(self, words: Iterable[CommandWord]) -> Iterator[Path]:
        """Iterate over the paths that words may expand to, in each folder where the command may run."""
        for word in words:
            for folder in self._folders:
                if word.is_certain:
                    yield folder / word.text
                elif word.is_glob:
                    # Path.glob takes no pattern that begins with a slash.
                    found = glob.iglob(word.pattern, root_dir=folder)  # noqa: PTH207
                    yield from (folder / name for name in islice(found, FILES_LIMIT))


def _is_descriptor(redirect: Redirect) -> bool:
    """Whether a redirection duplicates a file descriptor, as `2>&1` does."""
    target = redirect.target
    return (
        redirect.operator == ">&" and target.is_certain and bool(_DESCRIPTOR.fullmatch(target.text))
    )


# Path's own methods raise for paths that are too long, or may not be looked at.


def _path_exists(path: Path) -> bool:
    return os.path.islink(path) or os.path.isfile(path)  # noqa: PTH113, PTH114


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112


def _below(path: Path) -> Iterator[Path]:
    """Iterate over a file, or over the files below a folder."""
    if os.path.islink(path) or not _is_folder(path):  # noqa: PTH114
        yield path
        return
    for folder, _, names in islice(os.walk(path), FILES_LIMIT):
        yield from (Path(folder, name) for name in names)


def _parted(call: ProgramCall) -> tuple[tuple[CommandWord, ...], CommandWord | None]:
    """Return the sources and the target of `cp` and the like."""
    words = select_operands(call.args)
    options = select_options(call.args)
    for word, following in pair_with_next_word(call.args):
        value = _find_target_folder(word.text) if any(word is each for each in options) else None
        if value:
            return words, CommandWord(value, word.is_certain)
        if value is not None:
            return tuple(each for each in words if each is not following), following
    return (words[:-1], words[-1]) if len(words) > 1 else (words, None)


def _find_target_folder(option: str) -> str | None:
    """Return the value of `-t` in a word of options; "": the next word is it; None: there is no `-t`."""
    if is_long_option(option, "--target-directory"):
        return option.partition("=")[2]
    found = _TARGET_OPTION.fullmatch(option)
    return found[1] if found else None


def _overwritten(source: Path, place: Path) -> Iterator[Path]:
    """Iterate over the files that a copy of a file or folder would overwrite."""
    if not _is_folder(place):
        yield place
        return
    inside = place / source.name
    if not _is_folder(source):
        yield resolve_links(inside)
    for file in _below(source) if _is_folder(source) else ():
        yield resolve_links(inside / file.relative_to(source))


_GIT_CHANGES: Final = frozenset({"checkout", "restore", "switch", "rm", "apply", "reset"})


def _is_pattern(word: CommandWord) -> bool:
    """Whether git may parse a word as a pattern, or the word isn't fully known."""
    return (
        not word.is_certain or word.text.startswith(":") or any(each in word.text for each in "*?[")
    )


def _is_harmless_git(name: str, args: tuple[CommandWord, ...]) -> bool:
    """Whether a git subcommand leaves changed files alone, or refuses to overwrite them."""
    match name:
        case "switch":
            return not find_option(args, "--force", "--discard-changes", shorts="f")
        case "rm":
            return not find_option(args, "--force", shorts="f")
        case "restore":
            staged = find_option(args, "--staged", shorts="S") is not None
            return staged and not find_option(args, "--worktree", shorts="W")
        case "reset":
            return not find_option(args, "--merge", "--hard")
        case "apply":
            return find_option(args, "--check", "--stat", "--cached") is not None
    return False


_CHANGES: Final[dict[str, Callable[[_Command, ProgramCall], Iterator[Path]]]] = {
    **dict.fromkeys(("rm", "unlink", "shred"), _Command.removed),
    **dict.fromkeys(("tee", "truncate"), _Command.written),
    **dict.fromkeys(("sed", "gsed", "perl", "ruby"), _Command.edited),
    **dict.fromkeys(("cp", "mv", "ln", "install"), _Command.placed),
    "git": _Command.git,
}
