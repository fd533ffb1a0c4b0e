"""Which rows of a run a filter leaves: those that hold each of its words, as the view finds them.

`js/src/view/timeline/filter.ts` does the same with the rows that a view has; one table of cases,
`js/tests/helpers/filter_cases.json`, holds both to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..protocol.values import Actor, Commit, FileChange, Outcome, Row

_ACTORS: Final = {
    Actor.AGENT: "Agent",
    Actor.LLM: "LLM",
    Actor.TOOLS: "Tools",
    Actor.SYSTEM: "System",
}
#: What JavaScript takes for white space: it differs from Python's in a few signs.
_SPACE: Final = re.compile(
    "[\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)


class Filter:
    """Goes through a run's pages from the last to the first, and collects what it leaves.

    Args:
        text: Words, all of which a row or the files that it changed have to hold, each somewhere.
    """

    def __init__(self, text: str) -> None:
        self._words = tuple(word for word in _SPACE.split(text.lower()) if word)
        self._shown: set[str] = set()  # events whose files stand at a later row
        self.seqs: list[int] = []  # falling

    def take(self, rows: Sequence[Row], commits: Iterable[Commit]) -> None:
        """Take the next page.

        Args:
            rows: The rows before those that came last, by their numbers.
            commits: Those of the rows' events.
        """
        files = files_of_events(commits)
        for row in reversed(rows):
            those: Sequence[FileChange] = ()
            if row.event in files and row.event not in self._shown:
                those = files[row.event]
                self._shown.add(row.event)
            if self._leaves(row, those):
                self.seqs.append(row.seq)

    def _leaves(self, row: Row, files: Sequence[FileChange]) -> bool:
        text = text_of(row)
        return all(
            word in text or any(word in _names(file) for file in files) for word in self._words
        )


def files_of_events(commits: Iterable[Commit]) -> Mapping[str, Sequence[FileChange]]:
    """What each event changed, as far as snapshots say so."""
    files: dict[str, list[FileChange]] = {}
    for commit in commits:
        if commit.snapshot and commit.event is not None and commit.changes:
            files.setdefault(commit.event, []).extend(commit.changes)
    return files


def text_of(row: Row) -> str:
    """What a row is looked for by."""
    return " ".join(_parts(row)).lower()


def _parts(row: Row) -> Iterator[str]:
    yield str(row.seq)
    yield _ACTORS[row.source]
    yield _ACTORS[row.target]
    yield row.name or ""
    yield row.summary
    if row.edited:
        yield "edited"
    if row.outcome is Outcome.ERROR:
        yield "failed"
    if row.pending:
        yield "halted"


def _names(file: FileChange) -> str:
    return f"{file.path} {file.previous_path or ''}".lower()
