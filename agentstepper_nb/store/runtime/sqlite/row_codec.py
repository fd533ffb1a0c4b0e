"""Rows of the tables and the values that they are: a column a field, JSON as its text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from ....errors import StoreError
from ....protocol.runtime import (
    Action,
    AgentState,
    AgentStep,
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
)

#: What a column may hold.
Value = int | float | str | bytes | None

T = TypeVar("T", bound=Struct)

_encode = msgspec.json.Encoder().encode


def to_json(value: Any) -> str | None:
    """A JSON column's text; of nothing there is none."""
    return None if value is None else _encode(value).decode()


def from_json(column: Value) -> Any:
    """What a JSON column holds: where it is no JSON, its text."""
    if not isinstance(column, str):
        return column
    try:
        return msgspec.json.decode(column)
    except (msgspec.DecodeError, RecursionError):
        return column


@dataclass(frozen=True)
class RowTable(Generic[T]):
    """Where the values of a class are kept.

    Args:
        name: The table's.
        type: The class.
        json: The fields whose columns hold JSON.
        bool_columns: The fields that are true or false.
        joined_columns: The fields that other tables have.
    """

    name: str
    type: type[T]
    json: frozenset[str] = frozenset()
    bool_columns: frozenset[str] = frozenset()
    joined_columns: frozenset[str] = frozenset()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the fields, in their order."""
        return tuple(
            field for field in self.type.__struct_fields__ if field not in self.joined_columns
        )

    def encode_row(self, value: T) -> tuple[Value, ...]:
        """A value's columns.

        Raises:
            ValueError: JSON can't carry it; `TypeError` and `RecursionError` say the same.
        """
        return tuple(
            to_json(getattr(value, name)) if name in self.json else getattr(value, name)
            for name in self.columns
        )

    def insert(self, extra_columns: Sequence[str] = ()) -> str:
        """The statement that adds a row, with more columns after these."""
        columns = (*self.columns, *extra_columns)
        placeholders = ", ".join("?" * len(columns))
        return f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES ({placeholders})"

    def update(self, key: str) -> str:
        """The statement that changes a whole row, found by a column: its value comes last."""
        return (
            f"UPDATE {self.name} SET {', '.join(f'{c} = ?' for c in self.columns)} WHERE {key} = ?"
        )

    def decode_row(self, row: Sequence[Value], extra_columns: Sequence[str] = ()) -> T:
        """The value of a row.

        Args:
            row: Its columns.
            extra_columns: The fields that follow them, from other tables.

        Raises:
            StoreError: It is hurt.
        """
        fields = {
            name: from_json(column) if name in self.json else column
            for name, column in zip((*self.columns, *extra_columns), row, strict=True)
        }
        for name in self.bool_columns:
            fields[name] = bool(fields[name])
        try:
            return msgspec.convert(fields, self.type)
        except msgspec.ValidationError as error:
            key = row[0] if isinstance(row[0], str) else "?"
            raise StoreError(
                f"A row of {self.name} ({key}) is damaged: {error}. Repair or delete the "
                "row with `sqlite3 FILE`, or with `psql`, with no Core running."
            ) from error

    def decode_rows(self, rows: Iterable[Sequence[Value]]) -> tuple[T, ...]:
        """The values of rows. Raises as `value`."""
        return tuple(self.decode_row(row) for row in rows)


ACTIONS: Final = RowTable("actions", Action, frozenset({"payload", "metadata"}))
STATES: Final = RowTable(
    "agent_state",
    AgentState,
    frozenset({"state", "result", "context", "guidance", "config", "limits", "losses", "requires"}),
    frozenset({"step", "is_sharing", "is_pausing"}),
    frozenset({"owner", "lease_until"}),
)
STEPS: Final = RowTable("agent_steps", AgentStep, frozenset({"data", "state", "guidance"}))
CONVERSATIONS: Final = RowTable("conversations", Conversation, frozenset({"tags"}))
PARTICIPANTS: Final = RowTable("conversation_participants", Participant)
MESSAGES: Final = RowTable("conversation_messages", ConversationMessage, frozenset({"data"}))
CURSORS: Final = RowTable("session_cursors", ConversationCursor)


def make_select(table: RowTable[Any]) -> str:
    """The statement that reads whole rows, without its conditions."""
    return f"SELECT {', '.join(table.columns)} FROM {table.name}"


#: The same of snapshots, with who has them.
SELECT_STATES: Final = (
    f"SELECT {', '.join(f's.{column}' for column in STATES.columns)}, h.owner, h.lease_until"
    " FROM agent_state AS s LEFT JOIN holds AS h ON h.session_id = s.session_id"
)
_LEASE_COLUMNS: Final = ("owner", "lease_until")


def decode_state(row: Sequence[Value]) -> AgentState:
    """A snapshot of `SELECT_STATES`."""
    return STATES.decode_row(row, _LEASE_COLUMNS)


def find_state(connection: sqlite3.Connection, session_id: str) -> AgentState | None:
    """A session's snapshot."""
    row = connection.execute(f"{SELECT_STATES} WHERE s.session_id = ?", (session_id,)).fetchone()
    return None if row is None else decode_state(row)


def find_row(
    connection: sqlite3.Connection, table: RowTable[T], column: str, key: Value
) -> T | None:
    """The one value that has this in a column."""
    row = connection.execute(f"{make_select(table)} WHERE {column} = ?", (key,)).fetchone()
    return None if row is None else table.decode_row(row)
