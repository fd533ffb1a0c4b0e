"""A run's timeline for its own agent: without contents, and small however long the run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from msgspec.structs import replace

from ..core import Vocabulary, debug_row, row
from ..protocol.agent import Timeline
from ..protocol.records import RunHistory
from ..protocol.values import (
    Breakpoint,
    Commit,
    Event,
    EventKind,
    Failure,
    FileChange,
    Row,
    Run,
)

#: Rows, and commits, from the run's start and as many from its end; what is between is left out.
EDGE: Final = 250
#: Files of all commits together.
_FILES: Final = 2000
#: Characters of a text that an agent may have made as long as it liked.
_TEXT: Final = 1000

Item = TypeVar("Item")


def timeline(history: RunHistory, vocabulary: Vocabulary) -> Timeline:
    """Make it.

    Args:
        history: Of the run.
        vocabulary: What extensions add to the debugger's words.
    """
    spoken: list[Breakpoint | Event] = [*history.breakpoints]
    spoken += [event for event in history.events if event.kind is EventKind.DEBUG_MESSAGE]
    spoken.sort(key=lambda each: each.seq)
    return Timeline(
        run=_short_run(history.run),
        rows=tuple(_row(each, vocabulary) for each in _edges(spoken)),
        commits=_short_commits(_edges(history.commits)),
    )


def _edges(items: Sequence[Item]) -> list[Item]:
    if len(items) <= 2 * EDGE:
        return list(items)
    return [*items[:EDGE], *items[-EDGE:]]


def _row(spoken: Breakpoint | Event, vocabulary: Vocabulary) -> Row:
    if isinstance(spoken, Event):
        return debug_row(spoken)
    made = row(spoken, vocabulary)
    return replace(made, failure=_short_failure(made.failure))


def _short_run(run: Run) -> Run:
    return replace(
        run,
        name=_cut(run.name),
        workspace=None if run.workspace is None else _cut(run.workspace),
        failure=_short_failure(run.failure),
    )


def _short_failure(failure: Failure | None) -> Failure | None:
    if failure is None:
        return None
    return Failure(type=_cut(failure.type), message=_cut(failure.message))


def _short_commits(commits: Sequence[Commit]) -> tuple[Commit, ...]:
    left = _FILES
    short = []
    for commit in commits:
        changes = commit.changes[:left]
        left -= len(changes)
        short.append(
            replace(
                commit,
                title=_cut(commit.title),
                description=_cut(commit.description),
                changes=tuple(_short_change(change) for change in changes),
            )
        )
    return tuple(short)


def _short_change(change: FileChange) -> FileChange:
    previous = change.previous_path
    return replace(
        change,
        path=_cut(change.path),
        previous_path=None if previous is None else _cut(previous),
        body=None,
    )


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
