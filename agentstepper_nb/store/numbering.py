"""The numbers of a run's rows: from 1 without gaps, since its pages are found by them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from msgspec.structs import replace

from ..protocol.records import RunHistory
from ..protocol.values import Breakpoint, Event, EventKind


def numbered(history: RunHistory) -> RunHistory:
    """A run whose rows are numbered without gaps, and keep their order.

    Args:
        history: The run; no two rows have the same number.
    """
    said = [event for event in history.events if event.kind is EventKind.DEBUG_MESSAGE]
    rows: list[Breakpoint | Event] = [*history.breakpoints, *said]
    seqs = sorted(row.seq for row in rows)
    if seqs == list(range(1, len(seqs) + 1)):
        return history
    return _renumbered(history, lambda seq: bisect_right(seqs, seq))


def _renumbered(history: RunHistory, new: Callable[[int], int]) -> RunHistory:
    """With each row's number, and those of the rows that commits and hits name, set anew."""
    run = history.run
    hits = tuple(replace(each, last=new(each.last)) for each in run.hits)
    return replace(
        history,
        run=replace(run, hits=hits),
        events=tuple(
            replace(event, seq=new(event.seq)) if event.kind is EventKind.DEBUG_MESSAGE else event
            for event in history.events
        ),
        breakpoints=tuple(replace(point, seq=new(point.seq)) for point in history.breakpoints),
        commits=tuple(replace(commit, seq=new(commit.seq)) for commit in history.commits),
    )
