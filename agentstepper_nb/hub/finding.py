"""Which rows of a run a filter leaves: those that hold each of its words, as the view finds them, or
whose results and answers do, of which a view has a line alone.

`js/src/view/timeline/filter.ts` does the same with the rows that a view has; one table of cases,
`js/tests/helpers/filter_cases.json`, holds both to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..protocol.values import Actor, Breakpoint, Commit, FileChange, Outcome, Row, Side
from ..store.search.words import LONGEST, strings

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
    """Tells which rows it leaves, once it knows their files. A file stands at the last row of its event.

    Args:
        text: Words, all of which a row or the files that it changed have to hold, each somewhere.
    """

    def __init__(self, text: str) -> None:
        self._words = tuple(word for word in _SPACE.split(text.lower()) if word)
        self._shown: dict[str, int] = {}  # the row at which the files of an event stand
        self._left: set[int] = set()
        self._files: Mapping[str, Sequence[FileChange]] = {}
        self._contents: dict[int, frozenset[str]] = {}  # words that stand in contents of the page

    def turn_page(self) -> None:
        """Forget what stands in the contents of the page before."""
        self._contents = {}

    def reads(self, breakpoint: Breakpoint) -> bool:
        """Whether it looks into a breakpoint's contents: into results and answers.

        Prompts repeat what was said before, so that all rows after a word would be left.
        """
        return breakpoint.side is Side.END

    def read(self, breakpoint: Breakpoint) -> None:
        """Look into a breakpoint's contents for the words."""
        if self._words and self.reads(breakpoint):
            data = breakpoint.current.encode(errors="replace")
            text = "\n".join(strings(data[:LONGEST])).lower()
            self._contents[breakpoint.seq] = frozenset(word for word in self._words if word in text)

    def learn(self, rows: Sequence[Row], commits: Iterable[Commit]) -> None:
        """Learn what some rows changed, before they are asked about.

        Args:
            rows: Those of a page, by number; between them and the run's end all were learned of.
            commits: All of the rows' events.
        """
        self.recall(commits)
        for row in reversed(rows):
            before = self._shown.get(row.event, 0)
            if row.event in self._files and row.seq > before:
                self._shown[row.event] = row.seq
                self._left.add(before)

    def recall(self, commits: Iterable[Commit]) -> None:
        """Learn what rows of another page changed: where files stand is known from before.

        Args:
            commits: All of the rows' events.
        """
        self._files = files_of_events(commits)

    def leaves(self, row: Row) -> bool:
        """Whether it leaves a row of the last page."""
        files: Sequence[FileChange] = ()
        if self._shown.get(row.event) == row.seq:
            files = self._files.get(row.event, ())
        text, contents = text_of(row), self._contents.get(row.seq, frozenset())
        return all(
            word in text or word in contents or any(word in _names(file) for file in files)
            for word in self._words
        )

    def left(self) -> set[int]:
        """The rows, by number, at which files stood before a later one of their event was learned of."""
        left, self._left = self._left - {0}, set()
        return left


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
