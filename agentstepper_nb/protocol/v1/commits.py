"""Commits in version 1's words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...errors import ProtocolError
from ..data_model import ChangeKind, Commit, FileBody, FileChange
from ..line_count import count_lines, count_lines_with_prefix
from .agent import V1Change, V1Commit

_WORDS: Final[dict[ChangeKind, str]] = {
    ChangeKind.ADDED: "new file",
    ChangeKind.CHANGED: "change",
    ChangeKind.DELETED: "deleted file",
}
_KINDS: Final = {word: kind for kind, word in _WORDS.items()}


def select_commits(commits: Iterable[Commit]) -> list[Commit]:
    """The commits that version 1 knows of: without snapshots, whose changes these have too."""
    return [commit for commit in commits if not commit.snapshot]


def dump_changes(commit: Commit) -> list[tuple[str, str, FileBody]]:
    """A commit's changes in version 1's words: path, change type, contents."""
    found = []
    for change in commit.changes:
        body = change.body or FileBody()
        if change.kind is ChangeKind.RENAMED:
            gone = FileBody(previous_content=body.previous_content)
            new = FileBody(diff=body.diff, content=body.content)
            found.append((change.previous_path or change.path, "deleted file", gone))
            found.append((change.path, "new file", new))
        else:
            found.append((change.path, _WORDS[change.kind], body))
    return found


def dump_commit(commit: Commit) -> V1Commit:
    """A commit as version 1 sends and files it."""
    own = [
        V1Change(
            path=path,
            change_type=kind,
            diff=body.diff,
            content=body.content,
            previous_content=body.previous_content,
        )
        for path, kind, body in dump_changes(commit)
    ]
    return V1Commit(id=commit.id, date=commit.at, title=commit.title, changes=own)


def load_commit(commit: V1Commit) -> Commit:
    """A commit of version 1; its run is still to be set.

    Raises:
        ProtocolError: `invalid_message`: a change of unknown type.
    """
    return Commit(
        id=commit.id,
        at=commit.date,
        title=commit.title,
        changes=tuple(_load_change(change) for change in commit.changes),
    )


def _load_change(change: V1Change) -> FileChange:
    kind = _KINDS.get(change.change_type)
    if kind is None:
        raise ProtocolError(
            "invalid_message",
            f"“{change.change_type[:80]}” is no change type; known: {', '.join(_KINDS)}.",
        )
    return FileChange(
        path=change.path,
        kind=kind,
        added=_marked(change.diff, "+") if change.diff else count_lines(change.content),
        removed=_marked(change.diff, "-") if change.diff else count_lines(change.previous_content),
        body=FileBody(
            diff=change.diff, content=change.content, previous_content=change.previous_content
        ),
    )


def _marked(diff: str, mark: str) -> int:
    """The lines of a diff with a mark; its head has three of them."""
    return count_lines_with_prefix(diff, mark, 3 * mark)
