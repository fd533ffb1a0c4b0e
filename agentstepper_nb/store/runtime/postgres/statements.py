"""Executes SQLite's SQL on PostgreSQL: both stores share their statements.

SQLite functions that PostgreSQL lacks are defined in the schema: see `migrations/0001.sql`.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.types.string import StrDumperUnknown, TextLoader

#: For `INSERT OR REPLACE`: each table's key, and the replaced columns.
_REPLACED_COLUMNS: Final = {
    "heads": (("session_id",), ("action", "urgency", "owner", "busy", "due", "route")),
    "holds": (("session_id",), ("owner", "lease_until", "ending", "route")),
    "session_cursors": (("session_id", "conversation_id"), ("last_message_id",)),
}
_REPLACE: Final = re.compile(r"INSERT OR REPLACE INTO (\w+) (\(.*)", re.DOTALL)
#: PostgreSQL's words for SQLite's. A value that isn't a column's needs an explicit collation.
_OTHER_WORDS: Final = (
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r" IS NOT \?"), " IS DISTINCT FROM ?"),
    (re.compile(r" LIKE \?"), " ILIKE ?"),
    (re.compile(r"\(SELECT \?1 AS id\)"), '(SELECT ?1::text COLLATE "C" AS id)'),
)
_PLACEHOLDER: Final = re.compile(r"\?(\d*)")

#: PostgreSQL's texts can't have NUL: it is written as these two characters; the first itself is doubled.
_ESCAPE, _ESCAPED_NUL = "\x10", "\x100"
_ESCAPES: Final = re.compile("\x10(.)", re.DOTALL)


class Statements:
    """A connection that executes SQLite's statements, with the needed part of `sqlite3.Connection`.

    Args:
        connection: The connection.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor:
        """Execute a statement, and fetch all of its rows.

        Args:
            statement: The statement, with `?` or `?1` as placeholders.
            values: The values.
        """
        translated, is_numbered = _translate(statement)
        params: Sequence[Any] | Mapping[str, Any] = values
        if is_numbered:
            params = {f"p{number}": value for number, value in enumerate(values, 1)}
        return self._connection.execute(translated, params)


def as_sqlite(statements: Statements) -> sqlite3.Connection:
    """Return this object typed as SQLite's connection, for functions of SQLite's store."""
    return cast("sqlite3.Connection", statements)


@cache
def _translate(statement: str) -> tuple[bytes, bool]:
    """Translate a statement to PostgreSQL. Returns also whether its placeholders are numbered."""
    for words, others in _OTHER_WORDS:
        statement = words.sub(others, statement)
    replace = _REPLACE.match(statement)
    if replace is not None:
        table, rest = replace.groups()
        keys, columns = _REPLACED_COLUMNS[table]
        changes = ", ".join(f"{column} = EXCLUDED.{column}" for column in columns)
        statement = (
            f"INSERT INTO {table} {rest} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {changes}"
        )
    is_numbered = "?1" in statement
    translated = _PLACEHOLDER.sub(r"%(p\1)s" if is_numbered else "%s", statement)
    return translated.encode(), is_numbered


# ---- texts ------------------------------------------------------------------------------------------


def register_texts(adapters: AdaptersMap) -> None:
    """Register codecs so that texts may have any characters."""
    adapters.register_dumper(str, _TextDumper)
    adapters.register_loader("text", _TextLoader)


class _TextDumper(StrDumperUnknown):
    def dump(self, text: str) -> Any:
        if "\0" in text or _ESCAPE in text:
            text = text.replace(_ESCAPE, _ESCAPE * 2).replace("\0", _ESCAPED_NUL)
        return super().dump(text)


class _TextLoader(TextLoader):
    def load(self, data: Any) -> str | bytes:
        text = super().load(data)
        if isinstance(text, str) and _ESCAPE in text:
            return _ESCAPES.sub(lambda found: "\0" if found[1] == "0" else found[1], text)
        return text
