"""Titles of commits that nobody named: made by rule from the changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from agentstepper_nb.protocol.data_model import ChangeKind, FileChange

from .git_names import escape_invalid, escape_line_breaks

_MAX_NAMED = 3  # files; more are counted
_MAX_TITLE_CHARS = 72  # characters: one line of a list

_VERBS = {
    ChangeKind.CHANGED: "change",
    ChangeKind.ADDED: "add",
    ChangeKind.DELETED: "delete",
    ChangeKind.RENAMED: "rename",
}


class CommitMessage(NamedTuple):
    """A commit's message."""

    title: str
    description: str

    def __str__(self) -> str:
        return f"{self.title}\n\n{self.description}".strip() + "\n"


def make_message(summary: str, description: str) -> CommitMessage:
    """Make a message from the agent's texts; the title is empty where the agent gave none."""
    title, _, rest = escape_invalid(summary).strip().partition("\n")
    parts = (rest.strip(), escape_invalid(description).strip())
    return CommitMessage(title.strip(), "\n\n".join(part for part in parts if part))


def make_title(changes: Sequence[FileChange]) -> str:
    """Name a commit: "Change app.py, add b.txt", or with many files "Change 5 files, add 2 files"."""
    if len(changes) > _MAX_NAMED:
        return _join_parts(_count_changes(changes))
    named = _join_parts(_name_changes(changes, lambda path: path))
    if len(named) <= _MAX_TITLE_CHARS:
        return named
    return _join_parts(_name_changes(changes, lambda path: PurePosixPath(path).name))


def _name_changes(changes: Sequence[FileChange], name: Callable[[str], str]) -> Iterator[str]:
    for kind, verb in _VERBS.items():
        paths = [_renaming(change, name) for change in changes if change.kind is kind]
        if paths:
            yield f"{verb} {', '.join(paths)}"


def _renaming(change: FileChange, name: Callable[[str], str]) -> str:
    new = escape_line_breaks(name(change.path))
    if change.previous_path is None:
        return new
    return f"{escape_line_breaks(name(change.previous_path))} to {new}"


def _count_changes(changes: Sequence[FileChange]) -> Iterator[str]:
    for kind, verb in _VERBS.items():
        count = sum(change.kind is kind for change in changes)
        if count:
            yield f"{verb} {count} file{'s' if count > 1 else ''}"


def _join_parts(parts: Iterable[str]) -> str:
    text = ", ".join(parts)
    return text[:1].upper() + text[1:]
