"""Finds the rows that a filter matches, for one UI. A repeated search examines only changed rows."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET, UnsetType

from ..core import RecordOutput
from ..core.summaries import summarize_without_contents
from ..errors import CommandError
from ..protocol import records
from ..protocol import ui as v2
from ..protocol.data_model import (
    Actor,
    Commit,
    EventOutcome,
    EventSide,
    FileChange,
    HaltPoint,
    TimelineRow,
)
from ..protocol.field_types import ScopePath
from ..protocol.lanes import MAIN_LANE, Lane, find_label, find_lane
from ..store.search.documents import MAX_DOCUMENT_CHARS, extract_strings
from . import pagination
from .run_service import RunService

_ACTORS: Final = {
    Actor.AGENT: "Agent",
    Actor.LLM: "LLM",
    Actor.TOOLS: "Tools",
    Actor.SYSTEM: "System",
}
#: White space as JavaScript defines it: Python's definition differs in a few characters.
_SPACE: Final = re.compile(
    "[\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)


class RowFilter:
    """Decides which rows match. The files of an event count for the event's last row.

    Args:
        text: Words that a row, or the files that it changed, must contain, each somewhere.
        lanes: The lanes whose rows match, besides pending rows; UNSET: all.
    """

    def __init__(self, text: str, lanes: Iterable[ScopePath] | UnsetType = UNSET) -> None:
        self._lanes = None if isinstance(lanes, UnsetType) else frozenset(lanes)
        self._words = tuple(word for word in _SPACE.split(text.lower()) if word)
        self._shown: dict[str, int] = {}  # the row at which the files of an event stand
        self._stale: set[int] = set()
        self._files: Mapping[str, Sequence[FileChange]] = {}
        self._contents: dict[int, frozenset[str]] = {}  # words that stand in contents of the page

    def start_page(self) -> None:
        """Forget the contents of the page before."""
        self._contents = {}

    def reads_contents(self, halt_point: HaltPoint) -> bool:
        """Whether the filter searches a halt point's contents: only those of results and answers.

        Prompts repeat earlier messages, so that all rows after a matching message would match.
        """
        return bool(self._words) and halt_point.side is EventSide.END

    def read(self, halt_point: HaltPoint) -> None:
        """Look into a halt point's contents for the words."""
        if self.reads_contents(halt_point):
            data = halt_point.current.encode(errors="replace")
            text = "\n".join(extract_strings(data[:MAX_DOCUMENT_CHARS])).lower()
            self._contents[halt_point.seq] = frozenset(word for word in self._words if word in text)

    def add_page(self, rows: Sequence[TimelineRow], commits: Iterable[Commit]) -> None:
        """Learn the files that rows changed, before the rows are matched.

        Args:
            rows: The rows of a page, by number. All rows after them must have been added already.
            commits: All commits of the rows' events.
        """
        self.set_files(commits)
        for row in reversed(rows):
            before = self._shown.get(row.event, 0)
            if row.event in self._files and row.seq > before:
                self._shown[row.event] = row.seq
                self._stale.add(before)

    def set_files(self, commits: Iterable[Commit]) -> None:
        """Set the files that rows of another page changed; the rows that the files count for are known.

        Args:
            commits: All commits of the rows' events.
        """
        self._files = map_event_files(commits)

    def matches(self, row: TimelineRow) -> bool:
        """Whether a row of the last page matches."""
        if self._lanes is not None and not row.pending and find_lane(row) not in self._lanes:
            return False
        files: Sequence[FileChange] = ()
        if self._shown.get(row.event) == row.seq:
            files = self._files.get(row.event, ())
        text, contents = make_search_text(row), self._contents.get(row.seq, frozenset())
        return all(
            word in text or word in contents or any(word in _names(file) for file in files)
            for word in self._words
        )

    def pop_outdated_rows(self) -> set[int]:
        """Return, and forget, the numbers of rows whose files now count for a later row."""
        left, self._stale = self._stale - {0}, set()
        return left


def map_event_files(commits: Iterable[Commit]) -> Mapping[str, Sequence[FileChange]]:
    """Map each event to the files that it changed, by its snapshots."""
    files: dict[str, list[FileChange]] = {}
    for commit in commits:
        if commit.snapshot and commit.event is not None and commit.changes:
            files.setdefault(commit.event, []).extend(commit.changes)
    return files


def make_search_text(row: TimelineRow) -> str:
    """Make the text in which a row is searched, in lower case."""
    return " ".join(_parts(row)).lower()


def _parts(row: TimelineRow) -> Iterator[str]:
    yield str(row.seq)
    yield _ACTORS[row.source]
    yield _ACTORS[row.target]
    yield row.name or ""
    yield row.summary
    label = find_label(row)
    if label is not None:
        yield label.name
        yield label.node or ""
    if row.edited:
        yield "edited"
    if row.outcome is EventOutcome.ERROR:
        yield "failed"
    if row.pending:
        yield "halted"


def _names(file: FileChange) -> str:
    return f"{file.path} {file.previous_path or ''}".lower()


_MAX_FOUND: Final = 10_000


@dataclass
class _SearchState:
    """The progress of a filter in a run, and the rows found."""

    command: v2.FindRows
    filter: RowFilter
    lanes: dict[ScopePath, Lane] = field(default_factory=dict)  # each at its first known row
    last_seq: int = 0  # the number of the last row
    seqs: array[int] = field(default_factory=lambda: array("q"))  # rising
    changed: set[int] = field(default_factory=set)  # rows to be looked at again, by number
    events: set[str] = field(default_factory=set)  # those that changed files since

    @property
    def run(self) -> str:
        return self.command.run

    def add_lanes(self, rows: Iterable[TimelineRow]) -> None:
        """Note where the lanes of some rows begin."""
        for row in rows:
            path = find_lane(row)
            known = self.lanes.get(path)
            if path != MAIN_LANE and (known is None or row.seq < known.seq):
                self.lanes[path] = Lane(path=path, seq=row.seq, label=find_label(row))


class RowSearch:
    """The row searches of one UI, one at a time.

    Args:
        hub: The Core's service.
    """

    def __init__(self, hub: RunService) -> None:
        self._hub = hub
        self._state: _SearchState | None = None

    async def find(self, command: v2.FindRows, is_wanted: Callable[[], bool]) -> v2.RowsFound:
        """Find the rows that a filter matches.

        Args:
            command: The search request.
            is_wanted: Whether the UI still waits for the answer.

        Raises:
            CommandError: `unknown_run`; `superseded`: the answer isn't wanted any more.
            DamagedRunError: The stored run is damaged.
        """
        self._hub.run(command.run)
        state = self._state
        if state is None or state.command != command:
            filter = RowFilter(command.text, command.lanes)
            state = self._state = _SearchState(command, filter)
        try:
            await _SearchPass(self._hub, state, is_wanted).on()
        except BaseException:
            self.forget(command.run)  # it has looked at a part
            raise
        seqs = tuple(state.seqs[-_MAX_FOUND:])
        lanes = tuple(sorted(state.lanes.values(), key=lambda lane: lane.seq))
        return v2.RowsFound(run=command.run, seqs=seqs, total=len(state.seqs), lanes=lanes or UNSET)

    def notify(self, output: RecordOutput) -> None:
        """Handle a record, which may change a row that was examined."""
        state = self._state
        if state is None:
            return
        match output.record:
            case records.RunDeleted(run=run):
                self.forget(run)
            case records.CommitSaved(commit=commit) if commit.run == state.run:
                if commit.snapshot and commit.event is not None and commit.changes:
                    state.events.add(commit.event)
        point = output.halt_point
        if point is not None and point.run == state.run and point.seq <= state.last_seq:
            state.changed.add(point.seq)
        if len(state.changed) + len(state.events) > self._hub.limits.max_changed_rows:
            self._state = None

    def forget(self, run: str) -> None:
        """Drop the rows found in a run."""
        if self._state is not None and self._state.run == run:
            self._state = None


class _SearchPass:
    """One pass over the new and changed rows."""

    def __init__(self, hub: RunService, state: _SearchState, is_wanted: Callable[[], bool]) -> None:
        self._hub = hub
        self._page_rows = hub.limits.search_page_rows
        self._state = state
        self._is_wanted = is_wanted

    async def on(self) -> None:
        """Look on."""
        state = self._state
        since, state.last_seq = state.last_seq, self._hub.run(state.run).rows
        # What changes from now on is for the next time: a page may have been read before.
        changed, state.changed = state.changed, set()
        events, state.events = state.events, set()
        first = await self._search_new(since, events)
        await self._search_changed(
            {seq for seq in changed | state.filter.pop_outdated_rows() if seq < first}
        )

    async def _search_new(self, since: int, events: set[str]) -> int:
        """Search from the end back to the last searched row, and further to the last rows of some
        events.

        Returns:
            The number of the first row examined.
        """
        state = self._state
        found: list[int] = []
        first = state.last_seq + 1
        while first > since + 1 or (events and first > 1):
            last = first - 1
            first = max(1, since + 1 if last > since else 1, last - self._page_rows + 1)
            rows, commits = await self._page(first, last)
            state.filter.add_page(rows, commits)
            state.add_lanes(rows)
            if last == state.last_seq:  # less of it may be recorded
                state.last_seq = rows[-1].seq if rows else since
            found += [each.seq for each in reversed(rows) if state.filter.matches(each)]
            events -= {each.event for each in rows}
        del state.seqs[bisect_left(state.seqs, first) :]
        state.seqs.extend(reversed(found))
        return first

    async def _search_changed(self, seqs: Iterable[int]) -> None:
        """Look at certain rows again."""
        left = sorted(seqs)
        while left:
            first = bisect_left(left, left[-1] - self._page_rows + 1)
            those, left = set(left[first:]), left[:first]
            rows, commits = await self._page(min(those), max(those))
            self._state.filter.set_files(commits)
            for each in rows:
                if each.seq in those:
                    _set_member(
                        self._state.seqs, each.seq, is_match=self._state.filter.matches(each)
                    )

    async def _page(self, first: int, last: int) -> pagination.ViewPage:
        """Rows by number, with their commits."""
        if not self._is_wanted():
            raise CommandError(
                "superseded",
                "A newer search replaced this one. Wait for the answer to the newer one.",
                self._state.run,
            )
        run, filter = self._state.run, self._state.filter
        filter.start_page()

        def needs(halt_point: HaltPoint) -> bool:
            return filter.reads_contents(halt_point) or not summarize_without_contents(halt_point)

        return await pagination.iterate_rows(self._hub, run, first, last, needs, filter.read)


def _set_member(seqs: array[int], seq: int, *, is_match: bool) -> None:
    """Add a number to sorted numbers, or remove it."""
    at = bisect_left(seqs, seq)
    if (at < len(seqs) and seqs[at] == seq) != is_match:
        seqs.insert(at, seq) if is_match else seqs.pop(at)
