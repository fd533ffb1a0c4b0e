"""The tables: what each keeps, by what key, in which columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import msgspec
from msgspec import NODEFAULT, Struct

from ...errors import StoreError
from ...protocol.runtime import (
    Action,
    AgentState,
    AgentStep,
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
)

#: How a column holds its values: as they are, or any value as JSON text.
ColumnType = Literal["text", "int", "float", "bool", "json"]

#: The column of every table by which its rows are told apart and merged.
KEY: Final = "key"
#: The column that says in which order rows came to be; of all tables together.
ORDER: Final = "n"
#: Stands in keys between their parts: no id that travels as JSON needs it.
_BETWEEN: Final = "\x1f"


class Row(Struct, frozen=True):
    """A row: its value, and its place in the order in which rows came to be."""

    number: int
    value: Any


@dataclass(frozen=True)
class TableSpec:
    """A table.

    Args:
        name: As the guide to queue-driven agents calls it.
        type: The class of its values, whose fields are columns.
        key: The fields that a value is known by.
        columns: Each field's column.
        indexed_columns: The columns that rows are looked up by, beside the key.
    """

    name: str
    type: type[Struct]
    key: tuple[str, ...]
    columns: dict[str, ColumnType]
    indexed_columns: tuple[str, ...] = ()

    @cached_property
    def json_columns(self) -> tuple[str, ...]:
        """The columns that hold JSON text."""
        return tuple(name for name, type in self.columns.items() if type == "json")

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        """What a field is where its column has nothing."""
        fields = msgspec.structs.fields(self.type)
        return {each.name: _default(each) for each in fields}

    def key_of(self, value: Struct) -> str:
        """The key of a value."""
        return _BETWEEN.join(_sortable(getattr(value, name)) for name in self.key)

    def to_columns(self, row: Row) -> dict[str, Any]:
        """A row as it is kept."""
        found: dict[str, Any] = {KEY: self.key_of(row.value), ORDER: row.number}
        plain = msgspec.to_builtins({name: getattr(row.value, name) for name in self._plain})
        for name in self.columns:
            found[name] = plain[name] if name in plain else _dumped(getattr(row.value, name))
        return found

    def from_columns(self, columns: dict[str, Any]) -> Row:
        """A row as it was kept. Text that is no JSON stands for itself in a JSON column.

        Raises:
            StoreError: The columns make no such value.
        """
        found = {name: columns.get(name) for name in self.columns}
        for name in self.json_columns:
            found[name] = _loaded(found[name])
        for name, value in found.items():
            if value is None:
                found[name] = self._defaults[name]
        try:
            return Row(int(columns[ORDER]), msgspec.convert(found, self.type))
        except (msgspec.ValidationError, TypeError, KeyError) as error:
            raise StoreError(
                f"The row {str(columns.get(KEY))[:80]!r} of the table {self.name} is damaged: "
                f"{error}. Restore a copy of the folder, or start with another folder."
            ) from None

    @cached_property
    def _plain(self) -> tuple[str, ...]:
        return tuple(name for name, type in self.columns.items() if type != "json")


def _default(field: msgspec.structs.FieldInfo) -> Any:
    """A field's default as JSON has it; None where it has none."""
    return None if field.default is NODEFAULT else msgspec.to_builtins(field.default)


def _sortable(part: object) -> str:
    return f"{part:016d}" if isinstance(part, int) else str(part)


def _dumped(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _loaded(text: Any) -> Any:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, TypeError):
        return text


ACTIONS: Final = TableSpec(
    "actions",
    Action,
    ("id",),
    {
        "id": "text",
        "created_at": "float",
        "kind": "text",
        "agent_id": "text",
        "session_id": "text",
        "urgency": "int",
        "payload": "json",
        "metadata": "json",
        "status": "text",
        "owner": "text",
        "lease_until": "float",
        "attempts": "int",
        "idem_key": "text",
        "error": "text",
        "processed_at": "float",
    },
    ("session_id", "idem_key", "status"),
)
STATES: Final = TableSpec(
    "agent_state",
    AgentState,
    ("session_id",),  # no two agents have a session of the same id
    {
        "agent_id": "text",
        "session_id": "text",
        "status": "text",
        "iteration": "int",
        "step_token": "text",
        "next_step_token": "text",
        "state": "json",
        "result": "json",
        "context": "json",
        "guidance": "json",
        "last_error": "text",
        "moniker": "text",
        "config": "json",
        "limits": "json",
        "conversation_id": "text",
        "run_id": "text",
        "step": "bool",
        "ran_s": "float",
        "epoch": "int",
        "owner": "text",
        "lease_until": "float",
        "created_at": "float",
        "updated_at": "float",
    },
    ("agent_id", "status"),
)
STEPS: Final = TableSpec(
    "agent_steps",
    AgentStep,
    ("session_id", "iteration", "event_seq"),
    {
        "id": "text",
        "created_at": "float",
        "agent_id": "text",
        "session_id": "text",
        "iteration": "int",
        "event_seq": "int",
        "step_token": "text",
        "next_step_token": "text",
        "status": "text",
        "text": "text",
        "data": "json",
        "state": "json",
        "guidance": "json",
        "notes": "text",
        "latency_ms": "float",
        "error": "text",
    },
    ("session_id", "agent_id"),
)
CONVERSATIONS: Final = TableSpec(
    "conversations",
    Conversation,
    ("conversation_id",),
    {
        "conversation_id": "text",
        "title": "text",
        "created_by": "text",
        "status": "text",
        "tags": "json",
        "created_at": "float",
    },
)
PARTICIPANTS: Final = TableSpec(
    "conversation_participants",
    Participant,
    ("participant_id",),
    {
        "participant_id": "text",
        "conversation_id": "text",
        "kind": "text",
        "user_id": "text",
        "agent_id": "text",
        "session_id": "text",
        "role": "text",
        "delivery": "text",
        "joined_at": "float",
        "left_at": "float",
    },
    ("conversation_id",),
)
MESSAGES: Final = TableSpec(
    "conversation_messages",
    ConversationMessage,
    ("message_id",),
    {
        "message_id": "text",
        "conversation_id": "text",
        "created_at": "float",
        "sender_type": "text",
        "user_id": "text",
        "agent_id": "text",
        "session_id": "text",
        "text": "text",
        "data": "json",
        "status": "text",
        "event_type": "text",
        "iteration": "int",
        "step_token": "text",
        "next_step_token": "text",
        "notes": "text",
    },
    ("conversation_id",),
)
CURSORS: Final = TableSpec(
    "session_cursors",
    ConversationCursor,
    ("session_id", "conversation_id"),
    {"session_id": "text", "conversation_id": "text", "last_message_id": "text"},
)
ALL_TABLES: Final = (ACTIONS, STATES, STEPS, CONVERSATIONS, PARTICIPANTS, MESSAGES, CURSORS)
TABLES_BY_NAME: Final = {spec.name: spec for spec in ALL_TABLES}


class Changes:
    """Rows that are to be kept together: the last one of each key."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Row]] = {spec.name: {} for spec in ALL_TABLES}

    def put(self, spec: TableSpec, row: Row) -> None:
        """Keep a row in the place of the one of its key."""
        self.rows[spec.name][spec.key_of(row.value)] = row

    def __bool__(self) -> bool:
        return any(self.rows.values())

    def rows_of(self, spec: TableSpec) -> Iterable[Row]:
        """The rows of a table."""
        return self.rows[spec.name].values()
