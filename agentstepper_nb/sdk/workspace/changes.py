"""The changes between two commits, file by file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from agentstepper_nb.protocol.data_model import ChangeKind, FileBody, FileChange

from .files import FileEntry, sha256
from .git_names import format_wire_name, unquote_name
from .repository import Blobs, Repository

_SECTION = b"diff --git "
_TYPE_CHANGED = "T"  # a file has become a link, or a link a file
_KINDS = {
    "A": ChangeKind.ADDED,
    "M": ChangeKind.CHANGED,
    _TYPE_CHANGED: ChangeKind.CHANGED,
    "D": ChangeKind.DELETED,
    "R": ChangeKind.RENAMED,
}


class CommitVersion(NamedTuple):
    """A commit, its tree and its files."""

    commit: str
    tree: str
    files: Mapping[bytes, FileEntry]


class _Change(NamedTuple):
    """A line of `git diff-tree --raw`, and the patch that belongs to it."""

    status: str
    old: bytes | None
    new: bytes | None
    patch: list[bytes]  # lines


def compare_commits(
    repository: Repository, old: CommitVersion, new: CommitVersion, max_bodies_bytes: int
) -> tuple[FileChange, ...]:
    """Compare two commits.

    Args:
        repository: The repository of the commits.
        old: The older one.
        new: The newer one.
        max_bodies_bytes: Bytes that the contents of all changed files may have together.

    Raises:
        GitError: git can't compare them.
    """
    with repository.open_blobs() as blobs:
        describer = _Describer(blobs, old.files, new.files, max_bodies_bytes)
        lines = repository.diff(old.commit, new.commit)
        return tuple(describer.describe(change) for change in _parsed(lines))


class _Describer:
    """Says what a change is, with contents while there is room for them."""

    def __init__(
        self,
        blobs: Blobs,
        old: Mapping[bytes, FileEntry],
        new: Mapping[bytes, FileEntry],
        max_bodies_bytes: int,
    ) -> None:
        self._blobs = blobs
        self._old, self._new = old, new
        self._remaining_bytes = max_bodies_bytes

    def describe(self, change: _Change) -> FileChange:
        old = None if change.old is None else self._old[change.old]
        new = None if change.new is None else self._new[change.new]
        sides = [side for side in (new, old) if side]
        readable = all(side.digest is None for side in sides)
        added, removed = _lines(change.patch) if readable else (0, 0)
        body = self._body(old, new, change.patch) if readable else None
        name = change.old if change.new is None else change.new
        assert name is not None
        return FileChange(
            path=format_wire_name(name),
            kind=_KINDS[change.status],
            previous_path=format_wire_name(change.old) if change.old not in (None, name) else None,
            added=added,
            removed=removed,
            binary=any(side.binary for side in sides),
            size=None if body else sides[0].size,
            digest=None if body else self._digest(sides[0]),
            body=body,
        )

    def _body(
        self, old: FileEntry | None, new: FileEntry | None, patch: list[bytes]
    ) -> FileBody | None:
        self._remaining_bytes -= (old.size if old else 0) + (new.size if new else 0)
        if self._remaining_bytes < 0:
            return None
        return FileBody(
            # Beside each hunk git shows a line's beginning, which may end within a character.
            diff=b"".join(patch).decode("utf-8", "replace"),
            content=self._text(new),
            previous_content=self._text(old),
        )

    def _text(self, side: FileEntry | None) -> str:
        return self._blobs.read(side.blob).decode() if side else ""

    def _digest(self, side: FileEntry) -> str:
        return side.digest or sha256(self._blobs.read(side.blob))


def _parsed(lines: Iterator[bytes]) -> Iterator[_Change]:
    raw = list(itertools.takewhile(lambda line: line != b"\n", lines))
    sections = _sections(lines)
    for line in raw:
        about, *names = line.removesuffix(b"\n").split(b"\t")
        status = about.split()[-1][:1].decode()
        section = next(sections)
        if status == _TYPE_CHANGED:  # shown as a deletion and an addition
            section += next(sections)
        paths = [unquote_name(name) for name in names]
        old = None if status == "A" else paths[0]
        new = None if status == "D" else paths[-1]
        yield _Change(status, old, new, section)


def _sections(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Cut a patch into those of its files."""
    section: list[bytes] = []
    for line in lines:
        # Never a line of a file: git gives those a sign of their own. Nor of a file's name: one with a
        # line break is quoted.
        if line.startswith(_SECTION) and section:
            yield section
            section = []
        section.append(line)
    yield section


def _lines(patch: list[bytes]) -> tuple[int, int]:
    """Count the lines a patch adds and removes; its headers begin with the same signs."""
    added = removed = 0
    in_hunk = False
    for line in patch:
        if line.startswith((b"@@", _SECTION)):
            in_hunk = line.startswith(b"@@")
        elif in_hunk:
            added += line.startswith(b"+")
            removed += line.startswith(b"-")
    return added, removed
