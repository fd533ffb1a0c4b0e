"""An index: an SQLite file that finds words in all runs. Its user stays on one thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ...protocol.data_model import Commit, Event, EventKind, EventSide, HaltPoint, RowNote, Run
from ...protocol.records import (
    CommitSaved,
    EventSaved,
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
from ...protocol.run_queries import SearchHit, SearchHitPlace
from .documents import (
    NEEDS_CLEANUP_APPLICATION_ID,
    SCHEMA,
    VERSION,
    Documents,
    collect_commit_texts,
    collect_halt_point_texts,
    collect_run_texts,
    join_texts,
)
from .query import decode_text, find_hits

#: The documents that a row or a commit may have.
_CONTENT, _EDIT, _SENTENCE = "content", "edit", "sentence"

#: The most free pages that aren't worth a cleanup.
_MAX_FREE_PAGES: Final = 32
#: Pages that FTS5 writes in one step of merging.
_MERGE_PAGES: Final = 200


class SearchIndex:
    """The words of all runs, and their places.

    Args:
        path: The file, created if it doesn't exist; None: in memory.
        journal: SQLite's journal mode.

    Attributes:
        needs_cleanup: Whether bytes of deleted runs may still be in the file, or much of it is free.

    Raises:
        OSError: The file can't be created.
        sqlite3.Error: The file is damaged, of another version or unusable, or SQLite lacks FTS5.
    """

    def __init__(self, path: Path | None, journal: str = "WAL") -> None:
        if path is not None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner alone
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None)
        self._db.text_factory = decode_text
        self._documents = Documents(self._db)
        self.needs_cleanup = False
        try:
            self._open(journal)
        except BaseException:
            self._db.close()
            raise

    def _open(self, journal: str) -> None:
        run = self._db.execute
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        run("PRAGMA auto_vacuum = INCREMENTAL")
        run(f"PRAGMA journal_mode = {journal}")
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA secure_delete = ON")
        version = run("PRAGMA user_version").fetchone()[0]
        if version == 0:
            self._db.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        elif version != VERSION:
            raise sqlite3.DatabaseError(f"the index is of version {version}")
        self.needs_cleanup = (
            run("PRAGMA application_id").fetchone()[0] == NEEDS_CLEANUP_APPLICATION_ID
        )
        run("SELECT count(*) FROM words, runs, documents, seen WHERE words MATCH '\"a\"' LIMIT 0")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def read_change_counts(self) -> dict[str, int | None]:
        """Read the change count of each indexed run, as passed to `apply`."""
        return dict(self._db.execute("SELECT id, changes FROM runs"))

    def apply(self, records: Iterable[Record], change_counts: Mapping[str, int]) -> None:
        """Index records, all of them or none.

        Args:
            records: The records, in order.
            change_counts: The change count of each run that the records touch.
        """
        with self._transaction():
            for record in records:
                apply = RECORD_HANDLERS.get(type(record))
                if apply is not None:
                    apply(self, record)
            self._set_change_numbers(change_counts)
        self.needs_cleanup = self.needs_cleanup or self._has_free_pages()

    def replace(self, history: RunHistory, change_count: int) -> None:
        """Index a whole run, in place of its present documents.

        Args:
            history: The run.
            change_count: The run's change count.
        """
        with self._transaction():
            self._replace(history)
            self._set_change_numbers({history.run.id: change_count})

    def forget(self, run: str) -> None:
        """Remove a run. Its bytes are removed from the file by `clean_up`."""
        with self._transaction():
            self._forget(run)

    def find(self, query: str, run: str | None, limit: int) -> list[SearchHit]:
        """Find text: see `find_hits`."""
        return find_hits(self._db, query, run, limit)

    def clean_up(self, should_continue: Callable[[], bool]) -> bool:
        """Remove deleted data from the file, step by step.

        Args:
            should_continue: Called after each step; False stops.

        Returns:
            Whether the cleanup is complete.
        """
        pages = -_MERGE_PAGES  # negative: begins to merge all there is into one
        while self._merge(pages) > 1:
            if not should_continue():
                return False
            pages = _MERGE_PAGES
        self._db.executescript("PRAGMA incremental_vacuum")  # execute() frees one page and stops
        busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if not busy:  # else the journal still has them, for somebody who reads
            self._db.execute("PRAGMA application_id = 0")
            self.needs_cleanup = False
        return not busy

    def check(self) -> None:
        """Check the integrity of the file: 100 MB take a second.

        Raises:
            sqlite3.DatabaseError: The file is damaged.
        """
        ((found,),) = self._db.execute("PRAGMA quick_check(1)")
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        self._db.execute("INSERT INTO words (words) VALUES ('integrity-check')")

    # ---- records ------------------------------------------------------------------------------------

    def _replace(self, history: RunHistory) -> None:
        self._forget(history.run.id)
        for item in _in_order(history):
            match item:
                case HaltPoint():
                    self._halt_point(item)
                    self._edit(item.run, item.id, item.edit)
                case Event():
                    self._event(item)
                case Commit():
                    self._commit(item)
            if not isinstance(item, Event) and item.model_summary:
                self._index_text_of_summary(item.run, item.id, item.model_summary)
        for note in history.notes:
            self._note(note)
        self._run(history.run)

    def _forget(self, run: str) -> None:
        if self._documents.has_run(run):
            self._documents.forget(self._documents.ensure_run_number(run))
            self.needs_cleanup = True

    def _run(self, run: Run) -> None:
        self._put(run.id, SearchHitPlace.RUN, "", _CONTENT, collect_run_texts(run))

    def _halt_point(self, halt_point: HaltPoint) -> None:
        # A prompt has all that was said before once more; what else is said again is found again.
        is_incremental = (
            halt_point.kind is EventKind.LLM_QUERY and halt_point.side is EventSide.BEGIN
        )
        self._row(
            halt_point.run,
            halt_point.id,
            collect_halt_point_texts(halt_point),
            halt_point.data,
            is_incremental=is_incremental,
        )

    def _event(self, event: Event) -> None:
        if event.kind is EventKind.DEBUG_MESSAGE:
            self._row(event.run, event.id, [], event.data or "", is_incremental=False)

    def _row(
        self, run: str, row: str, words: list[str], data: str, *, is_incremental: bool
    ) -> None:
        """Index a row: its whole content, or only what is new in the run."""
        number = self._documents.ensure_run_number(run)
        # It never changes, and what is in it is no longer new: a second time nothing would be left.
        if self._documents.find(number, SearchHitPlace.ROW, row, _CONTENT) is None:
            strings = (
                self._documents.add_new_strings
                if is_incremental
                else self._documents.add_all_strings
            )
            text = join_texts([*words, *strings(number, data)])
            self._documents.put(number, SearchHitPlace.ROW, row, _CONTENT, text)

    def _edit(self, run: str, row: str, edit: str | None) -> None:
        new = self._documents.find_unseen_strings(
            self._documents.ensure_run_number(run), edit or ""
        )
        self._put(run, SearchHitPlace.ROW, row, _EDIT, join_texts(new))

    def _commit(self, commit: Commit) -> None:
        number = self._documents.ensure_run_number(commit.run)
        self._documents.put(
            number, SearchHitPlace.COMMIT, commit.id, _CONTENT, collect_commit_texts(commit)
        )

    def _note(self, note: RowNote) -> None:
        self._put(note.run, SearchHitPlace.NOTE, note.message, _CONTENT, join_texts([note.text]))

    def _index_text_of_summary(self, run: str, id: str, text: str) -> None:
        commit = self._documents.find(
            self._documents.ensure_run_number(run), SearchHitPlace.COMMIT, id, _CONTENT
        )
        place = SearchHitPlace.ROW if commit is None else SearchHitPlace.COMMIT
        self._put(run, place, id, _SENTENCE, join_texts([text]))

    def _put(self, run: str, place: SearchHitPlace, id: str, part: str, text: str) -> None:
        """Set a document; an empty one isn't stored."""
        number = self._documents.ensure_run_number(run)
        if text:
            self._documents.put(number, place, id, part, text)
        else:
            self._documents.remove(number, place, id, part)

    def _index_halt_point(self, record: HaltPointSaved) -> None:
        self._halt_point(record.halt_point)

    def _index_event(self, record: EventSaved) -> None:
        self._event(record.event)

    def _index_run(self, record: RunStarted | RunHeaderSaved | RunRenamed | RunTagged) -> None:
        self._run(record.run)

    def _index_edit(self, record: HaltPointEdited) -> None:
        self._edit(record.run, record.halt_point, record.edit)

    def _index_commit(self, record: CommitSaved) -> None:
        self._commit(record.commit)

    def _index_note(self, record: NoteSaved) -> None:
        self._note(record.note)

    def _index_model_summary(self, record: SummarySaved) -> None:
        self._index_text_of_summary(record.run, record.id, record.text)

    def _index_import(self, record: ImportedRunSaved) -> None:
        self._replace(record.history)

    def _index_deletion(self, record: RunDeleted) -> None:
        self._forget(record.run)

    # ---- SQLite -------------------------------------------------------------------------------------

    def _set_change_numbers(self, change_counts: Mapping[str, int]) -> None:
        rows = [(number, run) for run, number in change_counts.items()]
        self._db.executemany("UPDATE runs SET changes = ? WHERE id = ?", rows)

    def _has_free_pages(self) -> bool:
        """Whether many of the file's pages are free: merging leaves them."""
        ((free,),) = self._db.execute("PRAGMA freelist_count")
        ((pages,),) = self._db.execute("PRAGMA page_count")
        return bool(free > _MAX_FREE_PAGES and free * 10 > pages)

    def _merge(self, pages: int) -> int:
        """Merge FTS5's segments. Returns the number of changed rows: below two, nothing was merged."""
        before = self._db.total_changes
        self._db.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
        return self._db.total_changes - before

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:  # some errors end it by themselves
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


#: The function that indexes a record, by the record's type; other records have no words.
RECORD_HANDLERS: Final[dict[type[Record], Callable[[SearchIndex, Any], None]]] = {
    RunStarted: SearchIndex._index_run,
    RunHeaderSaved: SearchIndex._index_run,
    RunRenamed: SearchIndex._index_run,
    RunTagged: SearchIndex._index_run,
    ImportedRunSaved: SearchIndex._index_import,
    RunDeleted: SearchIndex._index_deletion,
    EventSaved: SearchIndex._index_event,
    HaltPointSaved: SearchIndex._index_halt_point,
    HaltPointEdited: SearchIndex._index_edit,
    CommitSaved: SearchIndex._index_commit,
    NoteSaved: SearchIndex._index_note,
    SummarySaved: SearchIndex._index_model_summary,
}


def _in_order(history: RunHistory) -> list[HaltPoint | Event | Commit]:
    """A run's halt points, events and commits, in order."""
    placed: list[tuple[tuple[int, int], HaltPoint | Event | Commit]] = []
    placed += [((point.seq, 0), point) for point in history.halt_points]
    placed += [((event.seq, 0), event) for event in history.events]
    placed += [((commit.seq, 1), commit) for commit in history.commits]
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]
