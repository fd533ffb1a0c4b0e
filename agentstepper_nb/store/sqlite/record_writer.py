"""Writes records into tables: the changes of each record, for the writing thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec

from ...protocol.data_model import (
    Commit,
    Event,
    EventKind,
    FileChange,
    HaltPoint,
    RowNote,
    Run,
    RunState,
)
from ...protocol.records import (
    BreakpointDeleted,
    BreakpointSaved,
    CommitSaved,
    EditRuleDeleted,
    EditRuleSaved,
    EndedRunLoaded,
    EventSaved,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    ImportedRunSaved,
    MessagesReceived,
    NoteSaved,
    PricesSet,
    Record,
    RunDeleted,
    RunHeaderSaved,
    RunRenamed,
    RunStarted,
    RunTagged,
    SummarySaved,
)
from .contents import ContentWriter
from .row_codec import (
    CHANGE,
    COLUMNS,
    COMMIT,
    COUNTED_TABLES,
    EVENT,
    HALT_POINT,
    NOTE,
    POSITION_COLUMNS,
    RUN,
    RUN_TABLES,
    BodyCodec,
    ConfigRecord,
    RunRow,
    Value,
    add_checksum,
    decode_text,
    is_intact,
    make_replace,
    make_select,
    store_config_row,
)

_PUT: Final = {table: make_replace(table) for table in COLUMNS}
_BY_KEY: Final = {
    table: make_select(table, f"run = ? AND {COLUMNS[table][2]} = ?")
    for table in ("events", "breakpoints", "commits", "notes", "sentences")
}
_RUN: Final = make_select("runs", "id = ?")
_FILES: Final = "SELECT name FROM files WHERE run = ?"
#: The tables whose summaries a model makes, which are stored separately.
_SUMMARIZED_TABLES: Final[dict[str, BodyCodec[Any]]] = {
    "breakpoints": HALT_POINT,
    "commits": COMMIT,
}

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class TransactionChanges:
    """The changes of a transaction.

    Args:
        changes: Each touched run, with the number of its transactions.
        deleted: The deleted runs.
        files: The files of version 1 that deleted runs were imported from.
    """

    changes: dict[str, int]
    deleted: tuple[str, ...]
    files: tuple[str, ...]


class RecordWriter:
    """Changes the tables, for the only writer.

    Args:
        connection: The writer's connection, inside a transaction whenever a record is written.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = decode_text
        self._connection = connection
        self._execute = connection.execute
        self._contents = ContentWriter(connection, self._next_number)
        self._last: dict[str, int] = {}  # number given, by table or column
        self._runs: dict[str, RunRow] = {}  # those that live, and those that were touched
        self._touched: dict[str, RunRow] = {}
        self._deleted: list[str] = []
        self._files: list[str] = []

    def write_record(self, record: Record) -> None:
        """Change the tables by one record.

        Raises:
            LookupError: The record concerns something that doesn't exist.
            sqlite3.Error: SQLite refuses.
        """
        RECORD_HANDLERS[type(record)](self, record)

    def finish(self) -> TransactionChanges:
        """Write the rows of the runs that were touched: the end of the transaction, but for COMMIT."""
        for row in self._touched.values():
            row.changes += 1
            self._execute(_PUT["runs"], row.columns())
            if row.active is None:
                self._runs.pop(row.id, None)
        touched = TransactionChanges(
            {row.id: row.changes for row in self._touched.values()},
            tuple(self._deleted),
            tuple(self._files),
        )
        self._clear()
        return touched

    def roll_back(self) -> None:
        """Forget the records since `finish`: the transaction is rolled back."""
        self._last.clear()
        self._runs.clear()
        self._contents.clear_cache()
        self._clear()

    def note_imported_file(self, name: str, run_id: str) -> None:
        """Note which run a file of version 1 became."""
        run = self._row(run_id).n
        self._execute("INSERT OR REPLACE INTO files (name, run) VALUES (?, ?)", (name, run))

    def _clear(self) -> None:
        self._touched.clear()
        self._deleted.clear()
        self._files.clear()

    # ---- runs ---------------------------------------------------------------------------------------

    def _row(self, run_id: str) -> RunRow:
        row = self._runs.get(run_id)
        if row is None:
            columns = self._execute(_RUN, (run_id,)).fetchone()
            # A hurt row that is written again would have a right checksum.
            if columns is None or not is_intact("runs", run_id, columns):
                raise LookupError(f"The store has no run {run_id}, or its header is damaged")
            row = self._runs[run_id] = RunRow.from_columns(columns)
        return row

    def _touch(self, run_id: str) -> RunRow:
        row = self._touched[run_id] = self._row(run_id)
        return row

    def _add(self, run: Run, proof: bytes | None, active: int | None) -> RunRow:
        row = RunRow(self._next_number("runs"), run.id, RUN.encode(run), proof, active=active)
        self._execute(_PUT["runs"], row.columns())
        self._runs[run.id] = self._touched[run.id] = row
        return row

    def _start(self, record: RunStarted) -> None:
        proof = _encode(record.agent_credentials) if record.agent_credentials else None
        self._add(record.run, proof, self._next_number("active"))

    def _set_header_texts(self, record: RunRenamed | RunTagged) -> None:
        self._touch(record.run.id).header = RUN.encode(record.run)

    def _set_received_count(self, record: MessagesReceived) -> None:
        self._touch(record.run).heard = record.n

    def _set_header(self, record: RunHeaderSaved) -> None:
        run = record.run
        row = self._touch(run.id)
        row.header = RUN.encode(run)
        if run.state is RunState.HALTED:
            row.active = self._next_number("active")
        if not run.live:
            row.active = None

    def _import(self, record: ImportedRunSaved) -> None:
        history = record.history
        row = self._add(history.run, None, None)
        for event in history.events:
            self._event(row, event)
        for halt_point in history.halt_points:
            self._halt_point(row, halt_point)
        for commit in history.commits:
            self._commit(row, commit)
        for note in history.notes:
            self._note(row, note)

    def _delete(self, record: RunDeleted) -> None:
        run_id = record.run
        found = self._execute("SELECT n FROM runs WHERE id = ?", (run_id,)).fetchone()
        if found is None:
            return
        self._files += [name for (name,) in self._execute(_FILES, found)]
        for table in (*RUN_TABLES, "files"):
            self._execute(f"DELETE FROM {table} WHERE run = ?", found)
        self._execute("DELETE FROM runs WHERE n = ?", found)
        self._runs.pop(run_id, None)
        self._touched.pop(run_id, None)
        self._deleted.append(run_id)
        self._contents.clear_cache()

    # ---- what a run has -----------------------------------------------------------------------------

    def _add_event(self, record: EventSaved) -> None:
        self._event(self._touch(record.event.run), record.event)

    def _add_halt_point(self, record: HaltPointSaved) -> None:
        self._halt_point(self._touch(record.halt_point.run), record.halt_point)

    def _add_commit(self, record: CommitSaved) -> None:
        self._commit(self._touch(record.commit.run), record.commit)

    def _set_note(self, record: NoteSaved) -> None:
        self._note(self._touch(record.note.run), record.note)

    def _event(self, run: RunRow, event: Event) -> None:
        data = self._contents.put(run.n, run.id, event.data)
        place = (event.seq if event.kind is EventKind.DEBUG_MESSAGE else None,)
        self._put("events", run, event.id, EVENT.encode(event), data, place=place)

    def _halt_point(self, run: RunRow, halt_point: HaltPoint) -> None:
        data = self._contents.put(run.n, run.id, halt_point.data)
        edit = self._contents.put(run.n, run.id, halt_point.edit)
        columns = (HALT_POINT.encode(halt_point), data, edit)
        self._put("breakpoints", run, halt_point.id, *columns, place=(halt_point.seq,))

    def _commit(self, run: RunRow, commit: Commit) -> None:
        columns = (COMMIT.encode(commit), len(commit.changes))
        place = (commit.seq, commit.event)
        n = self._put("commits", run, commit.id, *columns, place=place)
        for change in commit.changes:
            self._change(run, n, change)

    def _change(self, run: RunRow, commit: int, change: FileChange) -> None:
        body = change.body
        texts = (body.diff, body.content, body.previous_content) if body else (None, None, None)
        contents = [self._contents.put(run.n, run.id, text) for text in texts]
        columns = (self._next_number("changes"), run.n, commit, CHANGE.encode(change), *contents)
        self._execute(_PUT["changes"], add_checksum("changes", run.id, *columns))

    def _note(self, run: RunRow, note: RowNote) -> None:
        if note.text:
            self._put("notes", run, note.message, NOTE.encode(note))
            return
        gone = self._execute(
            "DELETE FROM notes WHERE run = ? AND message = ?", (run.n, note.message)
        )
        run.notes -= gone.rowcount

    def _edit(self, record: HaltPointEdited) -> None:
        run = self._touch(record.run)
        n, _, id, body, data, _ = self._find("breakpoints", run, record.halt_point)
        body = HALT_POINT.replace_fields(
            body,
            revision=record.revision,
            sticky=record.sticky,
            guides=record.guides,
            edit_rules=record.edit_rules,
            model_summary=None,
        )
        edit = self._contents.put(run.n, run.id, record.edit)
        self._put_at("breakpoints", run, n, id, body, data, edit)

    def _answer(self, record: HaltPointAnswered) -> None:
        run = self._touch(record.run)
        n, _, id, body, *contents = self._find("breakpoints", run, record.halt_point)
        body = HALT_POINT.replace_fields(
            body,
            answer=record.answer,
            answered_at=record.at,
            reason=record.reason,
            always=record.always,
            supplied=record.supplied,
            raised=record.raised,
        )
        self._put_at("breakpoints", run, n, id, body, *contents)

    def _store_model_summary(self, record: SummarySaved) -> None:
        run = self._touch(record.run)
        self._put("sentences", run, record.key, record.text)
        for table, kind in _SUMMARIZED_TABLES.items():
            if self._execute(_BY_KEY[table], (run.n, record.id)).fetchone():
                n, _, id, body, *rest = self._find(table, run, record.id)
                body = kind.replace_fields(body, model_summary=record.text)
                self._put_at(table, run, n, id, body, *rest)

    def _set_config_row(self, record: ConfigRecord) -> None:
        store_config_row(self._connection, record, partial(self._next_number, "rules"))

    def _ignore(self, record: EndedRunLoaded) -> None:
        """Do nothing: only `load` makes these records."""

    # ---- rows ---------------------------------------------------------------------------------------

    def _put(
        self, table: str, run: RunRow, key: str, *columns: Value, place: Sequence[Value] = ()
    ) -> int:
        """Put a row in the place of the one with this key, or at the end; its number."""
        before = self._execute(_BY_KEY[table], (run.n, key)).fetchone()
        if before is None:
            n = self._next_number(table)
            if table in COUNTED_TABLES:
                setattr(run, table, getattr(run, table) + 1)
        else:
            n = before[0]
        self._put_at(table, run, n, key, *columns, place=place)
        return n

    def _put_at(
        self,
        table: str,
        run: RunRow,
        n: int,
        key: str,
        *columns: Value,
        place: Sequence[Value] | None = None,
    ) -> None:
        """Write a whole row; an existing row keeps its place."""
        if place is None:
            place = (None,) * len(POSITION_COLUMNS.get(table, ()))
        self._execute(_PUT[table], (*add_checksum(table, run.id, n, run.n, key, *columns), *place))

    def _find(self, table: str, run: RunRow, key: str) -> Sequence[Any]:
        """A row's columns but for its checksum, which they agree with."""
        row: Sequence[Any] | None = self._execute(_BY_KEY[table], (run.n, key)).fetchone()
        if row is None or not is_intact(table, run.id, row):
            raise LookupError(f"Row {key} of run {run.id} is missing in {table}, or damaged")
        return row[:-1]

    def _next_number(self, of: str) -> int:
        last = self._last.get(of)
        if last is None:
            # An ended run's place among the live ones is forgotten: only their order counts.
            column, table = ("active", "runs") if of == "active" else ("n", of)
            last = self._execute(f"SELECT max({column}) FROM {table}").fetchone()[0] or 0
        self._last[of] = last + 1
        return last + 1


#: The method that writes a record, by the record's type: each type of `Record` has one.
RECORD_HANDLERS: Final[dict[type[Record], Callable[[RecordWriter, Any], None]]] = {
    RunStarted: RecordWriter._start,
    EndedRunLoaded: RecordWriter._ignore,
    ImportedRunSaved: RecordWriter._import,
    RunDeleted: RecordWriter._delete,
    RunRenamed: RecordWriter._set_header_texts,
    RunTagged: RecordWriter._set_header_texts,
    RunHeaderSaved: RecordWriter._set_header,
    MessagesReceived: RecordWriter._set_received_count,
    EventSaved: RecordWriter._add_event,
    HaltPointSaved: RecordWriter._add_halt_point,
    HaltPointEdited: RecordWriter._edit,
    HaltPointAnswered: RecordWriter._answer,
    SummarySaved: RecordWriter._store_model_summary,
    CommitSaved: RecordWriter._add_commit,
    NoteSaved: RecordWriter._set_note,
    BreakpointSaved: RecordWriter._set_config_row,
    BreakpointDeleted: RecordWriter._set_config_row,
    EditRuleSaved: RecordWriter._set_config_row,
    EditRuleDeleted: RecordWriter._set_config_row,
    PricesSet: RecordWriter._set_config_row,
}
