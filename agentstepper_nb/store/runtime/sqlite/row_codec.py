"""Rows of the tables and the values that they are: a column a field, JSON as its text."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import Struct

from .... import typed_json
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

#: The types of a column's value.
Value = int | float | str | bytes | None

T = TypeVar("T", bound=Struct)

_encode = msgspec.json.Encoder().encode


def to_json(value: Any) -> str | None:
    """Encode a value as a JSON column; None stays None."""
    return None if value is None else _encode(value).decode()


def from_json(column: Value) -> Any:
    """Decode a JSON column; invalid JSON is returned as text."""
    if not isinstance(column, str):
        return column
    try:
        return msgspec.json.decode(column)
    except (msgspec.DecodeError, RecursionError):
        return column


@dataclass(frozen=True)
class RowTable(Generic[T]):
    """The table that stores the values of a class.

    Args:
        name: The table's name.
        type: The class.
        json: The fields whose columns hold JSON.
        bool_columns: The boolean fields.
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
        """Encode a value as its columns.

        Raises:
            ValueError: JSON can't encode it; `TypeError` and `RecursionError` mean the same.
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
        """The statement that updates a whole row by a key column, whose value is the last parameter."""
        return (
            f"UPDATE {self.name} SET {', '.join(f'{c} = ?' for c in self.columns)} WHERE {key} = ?"
        )

    def decode_row(self, row: Sequence[Value], extra_columns: Sequence[str] = ()) -> T:
        """Decode a row to its value.

        Args:
            row: The row's columns.
            extra_columns: The names of further columns, from other tables.

        Raises:
            StoreError: The row is damaged.
        """
        fields = {
            name: from_json(column) if name in self.json else column
            for name, column in zip((*self.columns, *extra_columns), row, strict=True)
        }
        for name in self.bool_columns:
            fields[name] = bool(fields[name])
        try:
            return typed_json.convert(fields, self.type)
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


#: Selects snapshots, with their owners.
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
    """Find the one row with this value in a column, and decode it."""
    row = connection.execute(f"{make_select(table)} WHERE {column} = ?", (key,)).fetchone()
    return None if row is None else table.decode_row(row)
