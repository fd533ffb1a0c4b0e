"""A store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from ..protocol.data_model import Commit, Event, EventKind, HaltPoint, RowNote, Run
from ..protocol.records import (
    AgentCredentials,
    CommitSaved,
    EventSaved,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    ImportedRunSaved,
    NoteSaved,
    Record,
    RunDeleted,
    RunHeaderSaved,
    RunHistory,
    RunRenamed,
    RunStarted,
    RunTagged,
    SummarySaved,
)
from ..protocol.run_queries import SearchHit
from ..protocol.store_info import StoreInfo
from .base import CommitPage, ContentPredicate, RowConsumer, RowPage, do_nothing, strip_contents
from .search import SearchService


@dataclass
class _MemoryRun:
    run: Run
    credentials: AgentCredentials | None = None
    events: dict[str, Event] = field(default_factory=dict)
    halt_points: dict[str, HaltPoint] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    notes: dict[str, RowNote] = field(default_factory=dict)
    sentences: dict[str, str] = field(default_factory=dict)  # by key; they go with the run
    rows: dict[int, str] = field(default_factory=dict)  # ids, by number

    def page(self, first: int, last: int) -> RowPage:
        ids = (self.rows.get(seq) for seq in range(first, min(last, len(self.rows)) + 1))
        rows = [self.halt_points.get(id) or self.events[id] for id in ids if id is not None]
        events = {row.id if isinstance(row, Event) else row.event for row in rows}
        there = (
            commit
            for commit in self.commits
            if first <= commit.seq <= last or (commit.event and commit.event in events)
        )
        return RowPage(tuple(rows), tuple(strip_contents(commit) for commit in there))

    def commit_page(self, before: int | None, limit: int) -> CommitPage:
        end = len(self.commits) if before is None else before
        first = max(0, end - limit)
        commits = tuple(strip_contents(commit) for commit in self.commits[first:end])
        return CommitPage(commits, first or None)

    def history(self) -> RunHistory:
        return RunHistory(
            run=self.run,
            events=tuple(self.events.values()),
            halt_points=tuple(self.halt_points.values()),
            commits=tuple(self.commits),
            notes=tuple(self.notes.values()),
        )


class MemoryStore:
    """Stores runs in memory; they are lost with the process."""

    def __init__(self) -> None:
        self._runs: dict[str, _MemoryRun] = {}
        self._search: SearchService | None = None  # from the first search on
        self.on_write_trouble: Callable[[StoreInfo], None] = lambda info: (
            None
        )  # memory doesn't fail

    def load(self) -> Iterable[Record]:
        """Yield nothing: the store is new."""
        return ()

    def append(
        self,
        records: Sequence[Record],
        on_recorded: Callable[[], None] = do_nothing,
        *,
        durable: bool = False,
        on_synced: Callable[[], None] | None = None,
    ) -> None:
        """Store records and call back at once: nothing here outlives the process."""
        for record in records:
            handler = RECORD_HANDLERS.get(type(record))
            if handler is not None:
                handler(self, record)
        if self._search is not None:
            self._search.apply(records)
        on_recorded()
        if on_synced is not None:
            on_synced()

    @property
    def is_write_blocked(self) -> bool:
        """Never: memory doesn't fail."""
        return False

    def call_when_recorded(self, on_recorded: Callable[[], None]) -> None:
        """Call back at once."""
        on_recorded()

    async def history(self, run: str) -> RunHistory:
        """Read a whole run."""
        return self._runs[run].history()

    async def message(self, run: str, message: str) -> HaltPoint | Event | None:
        """A row's halt point or debug message."""
        stored_run = self._runs[run]
        return stored_run.halt_points.get(message) or stored_run.events.get(message)

    async def commit(self, run: str, commit: str) -> Commit | None:
        """A commit with the contents of its files."""
        return next((each for each in self._runs[run].commits if each.id == commit), None)

    async def page(self, run: str, first: int, last: int) -> RowPage:
        """Read the rows with these numbers, and their commits."""
        return self._runs[run].page(first, last)

    async def visit_rows(
        self, run: str, first: int, last: int, on_row: RowConsumer, needs_content: ContentPredicate
    ) -> tuple[Commit, ...]:
        """Visit the rows with these numbers one by one, and return their commits."""
        page = self._runs[run].page(first, last)
        # On a thread: to look at long contents takes a while, in which others would wait.
        await asyncio.to_thread(_each, on_row, page.rows)
        return page.commits

    async def find_seq(self, run: str, message: str) -> int | None:
        """The number of a row."""
        found = await self.message(run, message)
        return None if found is None else found.seq or None

    async def commits(self, run: str, before: int | None = None, limit: int = 200) -> CommitPage:
        """The last commits, or those before one of them."""
        return self._runs[run].commit_page(before, limit)

    async def notes(self, run: str) -> tuple[RowNote, ...]:
        """Read the notes beside a run's rows."""
        return tuple(self._runs[run].notes.values())

    async def search(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        """Find text, newest first."""
        if self._search is None:
            self._search = SearchService()
            self._search.apply(
                [
                    ImportedRunSaved(history=stored_run.history())
                    for stored_run in self._runs.values()
                ]
            )
        return await self._search.search(query, run, limit)

    async def agent_credentials(self, run: str) -> AgentCredentials | None:
        """Read the credentials of a run's agent."""
        return self._runs[run].credentials

    async def find_model_summary(self, key: str) -> str | None:
        """Find a summary that a model has made for the same key."""
        found = (stored_run.sentences.get(key) for stored_run in self._runs.values())
        return next((text for text in found if text is not None), None)

    async def info(self) -> StoreInfo:
        """Report the store's kind."""
        return StoreInfo(kind="memory")

    def close(self) -> None:
        """Close the search index."""
        if self._search is not None:
            self._search.close()

    # ---- runs ---------------------------------------------------------------------------------------

    def _start(self, record: RunStarted) -> None:
        self._runs[record.run.id] = _MemoryRun(record.run, record.agent_credentials)

    def _set_header(self, record: RunHeaderSaved | RunRenamed | RunTagged) -> None:
        self._runs[record.run.id].run = record.run

    def _import(self, record: ImportedRunSaved) -> None:
        history = record.history
        self._runs[history.run.id] = _MemoryRun(
            history.run,
            None,
            {event.id: event for event in history.events},
            {halt_point.id: halt_point for halt_point in history.halt_points},
            list(history.commits),
            {note.message: note for note in history.notes},
            rows=dict(_places(history)),
        )

    def _delete(self, record: RunDeleted) -> None:
        del self._runs[record.run]

    # ---- what a run has -----------------------------------------------------------------------------

    def _add_event(self, record: EventSaved) -> None:
        event = record.event
        stored_run = self._runs[event.run]
        stored_run.events[event.id] = event
        if event.kind is EventKind.DEBUG_MESSAGE:
            stored_run.rows[event.seq] = event.id

    def _add_halt_point(self, record: HaltPointSaved) -> None:
        halt_point = record.halt_point
        stored_run = self._runs[halt_point.run]
        stored_run.halt_points[halt_point.id] = halt_point
        stored_run.rows[halt_point.seq] = halt_point.id

    def _edit(self, record: HaltPointEdited) -> None:
        halt_points = self._runs[record.run].halt_points
        halt_points[record.halt_point] = replace(
            halt_points[record.halt_point],
            revision=record.revision,
            edit=record.edit,
            sticky=record.sticky,
            guides=record.guides,
            edit_rules=record.edit_rules,
            model_summary=None,
        )

    def _answer(self, record: HaltPointAnswered) -> None:
        halt_points = self._runs[record.run].halt_points
        halt_points[record.halt_point] = replace(
            halt_points[record.halt_point],
            answer=record.answer,
            answered_at=record.at,
            reason=record.reason,
            always=record.always,
            supplied=record.supplied,
            raised=record.raised,
        )

    def _add_commit(self, record: CommitSaved) -> None:
        self._runs[record.commit.run].commits.append(record.commit)

    def _set_note(self, record: NoteSaved) -> None:
        note = record.note
        notes = self._runs[note.run].notes
        if note.text:
            notes[note.message] = note
        else:
            notes.pop(note.message, None)

    def _set_model_summary(self, record: SummarySaved) -> None:
        stored_run = self._runs[record.run]
        stored_run.sentences[record.key] = record.text
        if record.id in stored_run.halt_points:
            point = stored_run.halt_points[record.id]
            stored_run.halt_points[record.id] = replace(point, model_summary=record.text)
        for at, commit in enumerate(stored_run.commits):
            if commit.id == record.id:
                stored_run.commits[at] = replace(commit, model_summary=record.text)


#: The function that stores a record, by the record's type; others matter only to a restarted Core.
RECORD_HANDLERS: Final[dict[type[Record], Callable[[MemoryStore, Any], None]]] = {
    RunStarted: MemoryStore._start,
    RunHeaderSaved: MemoryStore._set_header,
    RunRenamed: MemoryStore._set_header,
    RunTagged: MemoryStore._set_header,
    ImportedRunSaved: MemoryStore._import,
    RunDeleted: MemoryStore._delete,
    EventSaved: MemoryStore._add_event,
    HaltPointSaved: MemoryStore._add_halt_point,
    HaltPointEdited: MemoryStore._edit,
    HaltPointAnswered: MemoryStore._answer,
    CommitSaved: MemoryStore._add_commit,
    NoteSaved: MemoryStore._set_note,
    SummarySaved: MemoryStore._set_model_summary,
}


def _places(history: RunHistory) -> Iterator[tuple[int, str]]:
    for point in history.halt_points:
        yield point.seq, point.id
    for event in history.events:
        if event.kind is EventKind.DEBUG_MESSAGE:
            yield event.seq, event.id


def _each(on_row: RowConsumer, rows: Iterable[HaltPoint | Event]) -> None:
    for row in rows:
        on_row(row)
