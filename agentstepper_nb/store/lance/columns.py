"""The columns of the guide's tables in LanceDB: those of the SQLite store, JSON as its text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import inspect

from ... import typed_json
from ...errors import StoreError
from ..runtime.sqlite.row_codec import (
    ACTIONS,
    CONVERSATIONS,
    MESSAGES,
    PARTICIPANTS,
    STATES,
    STEPS,
    RowTable,
    T,
    from_json,
)

#: The key column of each table.
KEY_COLUMNS: Final = {
    ACTIONS.name: "id",
    STATES.name: "session_id",
    STEPS.name: "id",
    CONVERSATIONS.name: "conversation_id",
    PARTICIPANTS.name: "participant_id",
    MESSAGES.name: "message_id",
}


def import_lancedb() -> Any:
    """Import LanceDB, which takes seconds.

    Raises:
        StoreError: LanceDB isn't installed.
    """
    try:
        import lancedb
    except ImportError as error:
        raise StoreError(
            'LanceDB isn\'t installed: run `pip install "agentstepper_nb[lance]"`.'
        ) from error
    return lancedb


def make_schema(table: RowTable[Any], vector_dimensions: int | None = None) -> Any:
    """A table's Arrow schema. Its key is declared to LanceDB, so that two writers add no row twice.

    Args:
        table: The table.
        vector_dimensions: The length of the column `vector`; None: the table has none.
    """
    import pyarrow as pa

    key = KEY_COLUMNS[table.name]
    fields = {each.name: each.type for each in inspect.type_info(table.type).fields}  # type: ignore[attr-defined]
    primary = {b"lance-schema:unenforced-primary-key:position": b"1"}
    columns = [
        pa.field(
            name,
            pa.utf8() if name in table.json else _arrow_type(fields[name]),
            nullable=name != key,
            metadata=primary if name == key else None,
        )
        for name in table.columns
    ]
    if vector_dimensions is not None:
        columns.append(pa.field("vector", pa.list_(pa.float32(), vector_dimensions)))
    return pa.schema(columns)


def _arrow_type(field: inspect.Type) -> Any:
    import pyarrow as pa

    kinds = field.types if isinstance(field, inspect.UnionType) else (field,)
    for kind, arrow in (
        (inspect.BoolType, pa.bool_()),
        (inspect.IntType, pa.int64()),
        (inspect.FloatType, pa.float64()),
    ):
        if any(isinstance(each, kind) for each in kinds):
            return arrow
    return pa.utf8()


def encode_columns(table: RowTable[T], values: Sequence[T]) -> list[dict[str, Any]]:
    """Rows as dictionaries of columns."""
    return [dict(zip(table.columns, table.encode_row(value), strict=True)) for value in values]


def decode_columns(table: RowTable[T], columns: dict[str, Any]) -> T:
    """Decode a row to a value. An empty or missing column means the field's default.

    Raises:
        StoreError: The columns are invalid.
    """
    fields = {
        name: from_json(columns[name]) if name in table.json else columns[name]
        for name in table.type.__struct_fields__
        if columns.get(name) is not None
    }
    try:
        return typed_json.convert(fields, table.type)
    except msgspec.ValidationError as error:
        raise StoreError(
            f"A row of the table {table.name} is damaged: {error}. Restore a copy of the folder, or "
            "build the projection again with --rebuild."
        ) from error
