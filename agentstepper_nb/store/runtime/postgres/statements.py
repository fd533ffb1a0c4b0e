"""SQL as SQLite's store has it, for PostgreSQL: the statements of both stores are the same ones.

What SQLite alone knows and PostgreSQL can define are functions of the schema: see `migrations/0001.sql`.
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

#: What `INSERT OR REPLACE` finds a row by, and all that it replaces.
_REPLACED_COLUMNS: Final = {
    "heads": (("session_id",), ("action", "urgency", "owner", "busy", "due", "route")),
    "holds": (("session_id",), ("owner", "lease_until", "ending", "route")),
    "session_cursors": (("session_id", "conversation_id"), ("last_message_id",)),
}
_REPLACE: Final = re.compile(r"INSERT OR REPLACE INTO (\w+) (\(.*)", re.DOTALL)
#: What stands for the same elsewhere. A value that is no column's has a collation of its own.
_OTHER_WORDS: Final = (
    (re.compile(r" INDEXED BY \w+"), ""),
    (re.compile(r" IS NOT \?"), " IS DISTINCT FROM ?"),
    (re.compile(r" LIKE \?"), " ILIKE ?"),
    (re.compile(r"\(SELECT \?1 AS id\)"), '(SELECT ?1::text COLLATE "C" AS id)'),
)
_PLACEHOLDER: Final = re.compile(r"\?(\d*)")

#: PostgreSQL's texts have no NUL: it is written as these two, of which the first is written twice.
_ESCAPE, _ESCAPED_NUL = "\x10", "\x100"
_ESCAPES: Final = re.compile("\x10(.)", re.DOTALL)


class Statements:
    """A connection that takes SQLite's statements: the part of `sqlite3.Connection` that they need.

    Args:
        connection: Where they are executed.
    """

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor:
        """Execute a statement, and fetch all of its rows.

        Args:
            statement: With `?`, or `?1`, where values stand.
            values: The values.
        """
        translated, is_numbered = _translate(statement)
        params: Sequence[Any] | Mapping[str, Any] = values
        if is_numbered:
            params = {f"p{number}": value for number, value in enumerate(values, 1)}
        return self._connection.execute(translated, params)


def as_sqlite(statements: Statements) -> sqlite3.Connection:
    """The same, for functions of SQLite's store: it has all of a connection that these use."""
    return cast("sqlite3.Connection", statements)


@cache
def _translate(statement: str) -> tuple[bytes, bool]:
    """A statement for PostgreSQL, and whether its values have numbers."""
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
    """Let texts of any characters be written and read."""
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
