"""Rows of the tables: their columns, the JSON of their bodies, and the checksum over all of a row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

import msgspec
from msgspec import Struct, structs

from ...protocol.breakpoint_rules import BreakpointRule, Price
from ...protocol.data_model import Commit, Event, FileChange, HaltPoint, RowNote, Run
from ...protocol.edit_rules import EditRuleDefinition
from ...protocol.records import (
    AgentCredentials,
    BreakpointDeleted,
    BreakpointSaved,
    EditRuleDeleted,
    EditRuleSaved,
    PricesSet,
    Record,
)

#: The types of a column's value.
Value = int | float | str | bytes | None
#: The stored form of a text: nothing, the text itself in UTF-8, or the last node of its chain.
Content = int | bytes | None

#: Each table's columns in the order of its definition.
COLUMNS: Final = {
    "runs": (
        *("n", "id", "header", "proof", "heard", "events", "breakpoints", "commits", "notes"),
        *("changes", "active", "checksum"),
    ),
    "events": ("n", "run", "id", "body", "data", "checksum"),
    "breakpoints": ("n", "run", "id", "body", "data", "edit", "checksum"),
    "commits": ("n", "run", "id", "body", "files", "checksum"),
    "changes": ("n", "run", "of", "body", "diff", "content", "previous_content", "checksum"),
    "notes": ("n", "run", "message", "body", "checksum"),
    "blobs": ("n", "run", "hash", "bytes"),
    "nodes": ("n", "run", "parent", "blob", "checksum"),
    "sentences": ("n", "run", "key", "text", "checksum"),
    "rules": ("n", "kind", "id", "body", "checksum"),
}
#: Columns besides these that repeat values of the body, for indexes (migrations/0003.sql). They aren't
#: covered by the checksum, and never change.
POSITION_COLUMNS: Final[dict[str, tuple[str, ...]]] = {
    "events": ("seq",),
    "breakpoints": ("seq",),
    "commits": ("seq", "event"),
}
#: The tables whose rows belong to a run.
RUN_TABLES: Final = tuple(table for table, columns in COLUMNS.items() if "run" in columns)
#: The tables whose rows are counted in their run's row.
COUNTED_TABLES: Final = ("events", "breakpoints", "commits", "notes")

_pack = msgspec.msgpack.Encoder().encode


def decode_text(column: bytes) -> str:
    """Decode a text column for `sqlite3`; a damaged one becomes a text that its checksum rejects."""
    return column.decode(errors="replace")


def make_select(table: str, where: str) -> str:
    """The statement that reads whole rows of a table."""
    return f"SELECT {', '.join(COLUMNS[table])} FROM {table} WHERE {where}"


def make_replace(table: str) -> str:
    """Make the statement that writes a whole row, in place of the row with its number.

    The place (`POSITION_COLUMNS`) follows the columns, and is that of the replaced row.
    """
    columns = (*COLUMNS[table], *POSITION_COLUMNS.get(table, ()))
    # Not REPLACE, which would take away a row that has the same id.
    assignments = ", ".join(f"{column} = excluded.{column}" for column in COLUMNS[table][1:])
    return (
        f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
        f"ON CONFLICT (n) DO UPDATE SET {assignments}"
    )


def compute_checksum(table: str, run: str, columns: Sequence[Value]) -> bytes:
    """Compute a row's checksum, its last column.

    Args:
        table: The row's table.
        run: The id of the row's run.
        columns: All other columns in their order; for a node, the hash of its blob as well.
    """
    return blake2b(_pack([table, run, *columns]), digest_size=8).digest()


def add_checksum(table: str, run: str, *columns: Value) -> tuple[Value, ...]:
    """A whole row: the columns and their checksum."""
    return (*columns, compute_checksum(table, run, columns))


def is_intact(table: str, run: str, row: Sequence[Value], *more: Value) -> bool:
    """Whether a whole row agrees with its checksum.

    Args:
        table: The row's table.
        run: The id of the row's run.
        row: All columns, the checksum last.
        more: Further values under the checksum: the hash of a node's blob.
    """
    try:
        return row[-1] == compute_checksum(table, run, (*row[:-1], *more))
    except (UnicodeEncodeError, OverflowError):  # a hurt text
        return False


T = TypeVar("T", bound=Struct)


class BodyCodec(Generic[T]):
    """Encodes a value as JSON without the fields that have columns of their own.

    Args:
        struct_type: The value's type.
        column_names: The names of the fields in columns.
    """

    def __init__(self, struct_type: type[T], *column_names: str) -> None:
        self._struct_type = struct_type
        # A struct takes its members in this order: first those without a default.
        fields = sorted(
            (field for field in structs.fields(struct_type) if field.name not in column_names),
            key=lambda field: not field.required,
        )
        body = msgspec.defstruct(
            f"{struct_type.__name__}Body",
            [
                (field.name, field.type)
                if field.required
                else (field.name, field.type, field.default)
                for field in fields
            ],
            omit_defaults=True,
            rename={field.name: field.encode_name for field in fields},
        )
        self._body: Any = body
        self._members = attrgetter(*(field.name for field in fields))
        self._encoder = msgspec.json.Encoder()
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(body)

    def encode(self, value: T) -> bytes:
        """Encode the fields without columns; fields at their default are left out."""
        return self._encoder.encode(self._body(*self._members(value)))

    def replace_fields(self, body: Value, /, **members: object) -> bytes:
        """The JSON with some members changed. Raises as `decode`."""
        small = self._decoder.decode(cast(bytes, body))
        return self._encoder.encode(structs.replace(small, **members))

    def decode(self, body: Value, /, **apart: object) -> T:
        """Decode a value.

        Args:
            body: The result of `encode`.
            apart: The fields in columns.

        Raises:
            msgspec.DecodeError: The body isn't a result of `encode`.
        """
        try:
            found = self._decoder.decode(cast(bytes, body))
        except UnicodeDecodeError as error:
            raise msgspec.DecodeError(str(error)) from error
        return self._struct_type(**apart, **structs.asdict(found))


RUN: Final = BodyCodec(Run, "id")
EVENT: Final = BodyCodec(Event, "id", "run", "data")
HALT_POINT: Final = BodyCodec(HaltPoint, "id", "run", "data", "edit")
COMMIT: Final = BodyCodec(Commit, "id", "run", "changes")
CHANGE: Final = BodyCodec(FileChange, "body")
NOTE: Final = BodyCodec(RowNote, "run", "message")
PROOF: Final = msgspec.json.Decoder(AgentCredentials)


@dataclass(slots=True)
class RunRow:
    """A run's row; `rows` of the run's other tables are known by its number."""

    n: int
    id: str
    header: bytes
    proof: bytes | None
    heard: int = 0
    events: int = 0
    breakpoints: int = 0
    commits: int = 0
    notes: int = 0
    changes: int = 0
    active: int | None = None

    @classmethod
    def from_columns(cls, row: Sequence[Any]) -> RunRow:
        """From the columns."""
        return cls(*row[:-1])

    @property
    def run(self) -> Run:
        """The header."""
        return RUN.decode(self.header, id=self.id)

    def columns(self) -> tuple[Value, ...]:
        """All columns, with the checksum."""
        return add_checksum("runs", self.id, *_RUN_COLUMNS(self))


_RUN_COLUMNS: Final = attrgetter(*COLUMNS["runs"][:-1])


# ---- breakpoints, edit rules, and what models cost ---------------------------------------------------


_PUT_CONFIG_ROW: Final = make_replace("rules")
_CONFIG_ROWS: Final = make_select("rules", "1 ORDER BY n")
_FIND_CONFIG_ROW: Final = "SELECT n FROM rules WHERE kind = ? AND id = ?"
_DELETE_CONFIG_ROW: Final = "DELETE FROM rules WHERE kind = ? AND id = ?"

_BREAKPOINT, _EDIT_RULE, _PRICES = "stop", "edit_rule", "prices"
#: The records of rules and prices, which people set for all runs.
ConfigRecord = BreakpointSaved | BreakpointDeleted | EditRuleSaved | EditRuleDeleted | PricesSet

_encode = msgspec.json.Encoder().encode
_breakpoint: Final = msgspec.json.Decoder(BreakpointRule)
_edit_rule: Final = msgspec.json.Decoder(EditRuleDefinition)
_prices: Final = msgspec.json.Decoder(tuple[Price, ...])


class StoredConfigRows(NamedTuple):
    """The stored breakpoints, edit rules and prices.

    Args:
        records: The records that set them, in the order of their creation.
        damaged: The number of unreadable rows.
    """

    records: tuple[Record, ...] = ()
    damaged: int = 0


def read_config_rows(connection: sqlite3.Connection) -> StoredConfigRows:
    """Read the breakpoints, edit rules and prices, without damaged rows."""
    try:
        return decode_config_rows(connection.execute(_CONFIG_ROWS).fetchall())
    except sqlite3.DatabaseError:
        return StoredConfigRows(damaged=1)


def decode_config_rows(rows: Sequence[Sequence[Any]]) -> StoredConfigRows:
    """The breakpoints and prices that whole rows hold."""
    found = [_decode_config_row(row) for row in rows]
    sound = tuple(record for record in found if record is not None)
    return StoredConfigRows(sound, len(found) - len(sound))


def store_config_row(
    connection: sqlite3.Connection,
    record: ConfigRecord,
    number: Callable[[], int],
) -> None:
    """Change the table by one record, inside a transaction.

    Args:
        connection: A connection to the store.
        record: The record.
        number: Returns a new row's number.
    """
    match record:
        case BreakpointSaved(breakpoint=breakpoint):
            _put_config_row(connection, (_BREAKPOINT, breakpoint.id), _encode(breakpoint), number)
        case BreakpointDeleted(breakpoint=id):
            connection.execute(_DELETE_CONFIG_ROW, (_BREAKPOINT, id))
        case EditRuleSaved(rule=rule):
            _put_config_row(connection, (_EDIT_RULE, rule.id), _encode(rule), number)
        case EditRuleDeleted(rule=id):
            connection.execute(_DELETE_CONFIG_ROW, (_EDIT_RULE, id))
        case PricesSet(prices=prices):
            _put_config_row(connection, (_PRICES, ""), _encode(prices), number)


def _put_config_row(
    connection: sqlite3.Connection, key: tuple[str, str], body: bytes, number: Callable[[], int]
) -> None:
    before = connection.execute(_FIND_CONFIG_ROW, key).fetchone()
    n = number() if before is None else before[0]
    connection.execute(_PUT_CONFIG_ROW, add_checksum("rules", "", n, *key, body))


def _decode_config_row(row: Sequence[Any]) -> Record | None:
    """Decode a row; None if it is damaged."""
    if not is_intact("rules", "", row):
        return None
    _, kind, _, body, _ = row
    try:
        if kind == _BREAKPOINT:
            return BreakpointSaved(breakpoint=_breakpoint.decode(body))
        if kind == _EDIT_RULE:
            return EditRuleSaved(rule=_edit_rule.decode(body))
        return PricesSet(prices=_prices.decode(body))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
