"""An index: an SQLite file that finds words in all runs. Its user stays on one thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ...protocol.pages import SearchHit, SearchHitPlace
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
from ...protocol.values import Commit, Event, EventKind, EventSide, HaltPoint, RowNote, Run
from .documents import (
    SCHEMA,
    UNTIDY,
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

#: Pages that may be free without its being worth the time to give them back.
_ROOM: Final = 32
#: Pages that FTS5 writes in one step of merging.
_STEP: Final = 200


class SearchIndex:
    """The words of all runs, and where they stand.

    Args:
        path: The file, made where it is missing; None holds it in memory.
        journal: SQLite's journal mode.

    Attributes:
        untidy: Whether bytes of deleted runs may still be in the file, or much of it is free.

    Raises:
        OSError: The file can't be made.
        sqlite3.Error: It is damaged, of another version or can't be used, or SQLite lacks FTS5.
    """

    def __init__(self, path: Path | None, journal: str = "WAL") -> None:
        if path is not None:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner alone
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None)
        self._db.text_factory = decode_text
        self._documents = Documents(self._db)
        self.untidy = False
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
        self.untidy = run("PRAGMA application_id").fetchone()[0] == UNTIDY
        run("SELECT count(*) FROM words, runs, documents, seen WHERE words MATCH '\"a\"' LIMIT 0")

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def changes(self) -> dict[str, int | None]:
        """The number of each run that is known, as `keep` was told it."""
        return dict(self._db.execute("SELECT id, changes FROM runs"))

    def keep(self, records: Iterable[Record], changes: Mapping[str, int]) -> None:
        """Take records in, all of them or none.

        Args:
            records: In their order.
            changes: The number of each run that they touch.
        """
        with self._transaction():
            for record in records:
                keep = KEEPERS.get(type(record))
                if keep is not None:
                    keep(self, record)
            self._number(changes)
        self.untidy = self.untidy or self._has_room()

    def replace(self, history: RunHistory, changes: int) -> None:
        """Take a run in whole, in place of what is known of it.

        Args:
            history: The run.
            changes: Its number.
        """
        with self._transaction():
            self._replace(history)
            self._number({history.run.id: changes})

    def forget(self, run: str) -> None:
        """Forget a run. Its bytes are gone after `tidy`."""
        with self._transaction():
            self._forget(run)

    def find(self, query: str, run: str | None, limit: int) -> list[SearchHit]:
        """Where words stand: `find`."""
        return find_hits(self._db, query, run, limit)

    def tidy(self, goes_on: Callable[[], bool]) -> bool:
        """Take what was deleted out of the file, step by step.

        Args:
            goes_on: Asked after each step; False breaks off.

        Returns:
            Whether it is done.
        """
        pages = -_STEP  # negative: begins to merge all there is into one
        while self._merge(pages) > 1:
            if not goes_on():
                return False
            pages = _STEP
        self._db.executescript("PRAGMA incremental_vacuum")  # execute() frees one page and stops
        busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if not busy:  # else the journal still has them, for somebody who reads
            self._db.execute("PRAGMA application_id = 0")
            self.untidy = False
        return not busy

    def check(self) -> None:
        """Compare all that the file holds with itself: 100 MB take a second.

        Raises:
            sqlite3.DatabaseError: It is damaged.
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
            if not isinstance(item, Event) and item.sentence:
                self._sentence(item.run, item.id, item.sentence)
        for note in history.notes:
            self._note(note)
        self._run(history.run)

    def _forget(self, run: str) -> None:
        if self._documents.knows(run):
            self._documents.forget(self._documents.number(run))
            self.untidy = True

    def _run(self, run: Run) -> None:
        self._put(run.id, SearchHitPlace.RUN, "", _CONTENT, collect_run_texts(run))

    def _halt_point(self, halt_point: HaltPoint) -> None:
        # A prompt has all that was said before once more; what else is said again is found again.
        anew = halt_point.kind is EventKind.LLM_QUERY and halt_point.side is EventSide.BEGIN
        self._row(
            halt_point.run,
            halt_point.id,
            collect_halt_point_texts(halt_point),
            halt_point.data,
            anew=anew,
        )

    def _event(self, event: Event) -> None:
        if event.kind is EventKind.DEBUG_MESSAGE:
            self._row(event.run, event.id, [], event.data or "", anew=False)

    def _row(self, run: str, row: str, words: list[str], data: str, *, anew: bool) -> None:
        """Take a row in: of its content all, or only what is new in the run."""
        number = self._documents.number(run)
        # It never changes, and what is in it is no longer new: a second time nothing would be left.
        if self._documents.find(number, SearchHitPlace.ROW, row, _CONTENT) is None:
            strings = self._documents.new if anew else self._documents.all
            text = join_texts([*words, *strings(number, data)])
            self._documents.put(number, SearchHitPlace.ROW, row, _CONTENT, text)

    def _edit(self, run: str, row: str, edit: str | None) -> None:
        new = self._documents.unseen(self._documents.number(run), edit or "")
        self._put(run, SearchHitPlace.ROW, row, _EDIT, join_texts(new))

    def _commit(self, commit: Commit) -> None:
        number = self._documents.number(commit.run)
        self._documents.put(
            number, SearchHitPlace.COMMIT, commit.id, _CONTENT, collect_commit_texts(commit)
        )

    def _note(self, note: RowNote) -> None:
        self._put(note.run, SearchHitPlace.NOTE, note.message, _CONTENT, join_texts([note.text]))

    def _sentence(self, run: str, id: str, text: str) -> None:
        commit = self._documents.find(
            self._documents.number(run), SearchHitPlace.COMMIT, id, _CONTENT
        )
        place = SearchHitPlace.ROW if commit is None else SearchHitPlace.COMMIT
        self._put(run, place, id, _SENTENCE, join_texts([text]))

    def _put(self, run: str, place: SearchHitPlace, id: str, part: str, text: str) -> None:
        """Set a document; an empty one isn't kept."""
        number = self._documents.number(run)
        if text:
            self._documents.put(number, place, id, part, text)
        else:
            self._documents.remove(number, place, id, part)

    def _index_halt_point(self, record: HaltPointSaved) -> None:
        self._halt_point(record.halt_point)

    def _keep_event(self, record: EventSaved) -> None:
        self._event(record.event)

    def _keep_run(self, record: RunStarted | RunHeaderSaved | RunRenamed | RunTagged) -> None:
        self._run(record.run)

    def _keep_edit(self, record: HaltPointEdited) -> None:
        self._edit(record.run, record.halt_point, record.edit)

    def _keep_commit(self, record: CommitSaved) -> None:
        self._commit(record.commit)

    def _keep_note(self, record: NoteSaved) -> None:
        self._note(record.note)

    def _keep_sentence(self, record: SummarySaved) -> None:
        self._sentence(record.run, record.id, record.text)

    def _keep_import(self, record: ImportedRunSaved) -> None:
        self._replace(record.history)

    def _keep_deletion(self, record: RunDeleted) -> None:
        self._forget(record.run)

    # ---- SQLite -------------------------------------------------------------------------------------

    def _number(self, changes: Mapping[str, int]) -> None:
        rows = [(number, run) for run, number in changes.items()]
        self._db.executemany("UPDATE runs SET changes = ? WHERE id = ?", rows)

    def _has_room(self) -> bool:
        """Whether many of the file's pages are free: merging leaves them."""
        ((free,),) = self._db.execute("PRAGMA freelist_count")
        ((pages,),) = self._db.execute("PRAGMA page_count")
        return bool(free > _ROOM and free * 10 > pages)

    def _merge(self, pages: int) -> int:
        """Merge what FTS5 keeps apart. Gives the rows that this changed: fewer than two is none."""
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


#: What keeps a record, by its type; the others have no words.
KEEPERS: Final[dict[type[Record], Callable[[SearchIndex, Any], None]]] = {
    RunStarted: SearchIndex._keep_run,
    RunHeaderSaved: SearchIndex._keep_run,
    RunRenamed: SearchIndex._keep_run,
    RunTagged: SearchIndex._keep_run,
    ImportedRunSaved: SearchIndex._keep_import,
    RunDeleted: SearchIndex._keep_deletion,
    EventSaved: SearchIndex._keep_event,
    HaltPointSaved: SearchIndex._index_halt_point,
    HaltPointEdited: SearchIndex._keep_edit,
    CommitSaved: SearchIndex._keep_commit,
    NoteSaved: SearchIndex._keep_note,
    SummarySaved: SearchIndex._keep_sentence,
}


def _in_order(history: RunHistory) -> list[HaltPoint | Event | Commit]:
    """What a run holds, as it came."""
    placed: list[tuple[tuple[int, int], HaltPoint | Event | Commit]] = []
    placed += [((point.seq, 0), point) for point in history.halt_points]
    placed += [((event.seq, 0), event) for event in history.events]
    placed += [((commit.seq, 1), commit) for commit in history.commits]
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]
