"""Deletes expired rows: sessions that have ended, and conversations that no session needs."""

from __future__ import annotations

import sqlite3
from typing import Final

from ....protocol.runtime_store_messages import PrunedRows, PruneRows
from .row_codec import Value

_IS_OVER: Final = "s.status IN ('stopped', 'done', 'error')"
#: Ended sessions without open actions, which may be deleted.
_ENDED: Final = (
    f"FROM agent_state AS s INDEXED BY agent_state_ended WHERE {_IS_OVER} AND NOT EXISTS"
    " (SELECT 1 FROM actions AS a WHERE a.session_id = s.session_id AND a.rank IS NOT NULL)"
)
SELECT_OLD_SESSION: Final = (
    f"SELECT s.session_id {_ENDED} AND s.updated_at < ? ORDER BY s.updated_at, s.n LIMIT 1"
)
SELECT_SURPLUS_SESSION: Final = (
    f"SELECT s.session_id {_ENDED} ORDER BY s.updated_at DESC, s.n DESC LIMIT 1 OFFSET ?"
)
#: Deletable conversations: no remaining session belongs to them or participates.
_UNUSED: Final = (
    "FROM conversations AS c INDEXED BY conversations_by_age WHERE NOT EXISTS"
    " (SELECT 1 FROM agent_state AS s WHERE s.conversation_id = c.conversation_id)"
    " AND NOT EXISTS (SELECT 1 FROM conversation_participants AS p JOIN agent_state AS s"
    " ON s.session_id = p.session_id"
    " WHERE p.conversation_id = c.conversation_id AND p.left_at IS NULL)"
)
SELECT_OLD_CONVERSATION: Final = (
    f"SELECT c.conversation_id {_UNUSED} AND c.created_at < ?1 AND NOT EXISTS"
    " (SELECT 1 FROM conversation_messages AS m"
    " WHERE m.conversation_id = c.conversation_id AND m.created_at >= ?1)"
    " ORDER BY c.created_at, c.n LIMIT 1"
)
SELECT_SURPLUS_CONVERSATION: Final = (
    f"SELECT c.conversation_id {_UNUSED} ORDER BY c.created_at DESC, c.n DESC LIMIT 1 OFFSET ?"
)


def prune(connection: sqlite3.Connection, request: PruneRows) -> PrunedRows:
    """See `RuntimeStore.prune`."""
    batch = _Batch(connection, request.limit)
    while batch.left > 0 and (session := _find_session(connection, request)) is not None:
        batch.delete_session(session)
    while batch.left > 0 and (conversation := _find_conversation(connection, request)) is not None:
        batch.delete_conversation(conversation)
    counts = batch.counts
    return PrunedRows(
        sessions=counts.get("agent_state", 0),
        actions=counts.get("actions", 0),
        steps=counts.get("agent_steps", 0),
        conversations=counts.get("conversations", 0),
        messages=counts.get("conversation_messages", 0),
        has_more=batch.left <= 0,
    )


class _Batch:
    """Deletes rows, up to a limit.

    A row is deleted before the row that it belongs to: if a batch ends between the two, the next batch
    continues.
    """

    def __init__(self, connection: sqlite3.Connection, limit: int) -> None:
        self.left = limit
        self.counts: dict[str, int] = {}
        self._connection = connection

    def delete_session(self, session: str) -> None:
        for table in ("agent_steps", "actions"):
            self._delete(table, "session_id", session)
        if self.left > 0:
            self._connection.execute("DELETE FROM session_cursors WHERE session_id = ?", (session,))
            self._connection.execute(
                "UPDATE conversation_participants SET left_at ="
                " (SELECT s.updated_at FROM agent_state AS s WHERE s.session_id = ?1)"
                " WHERE session_id = ?1 AND left_at IS NULL",
                (session,),
            )
            self._delete("agent_state", "session_id", session)

    def delete_conversation(self, conversation: str) -> None:
        for table in ("conversation_messages", "conversation_participants", "conversations"):
            self._delete(table, "conversation_id", conversation)
        if self.left > 0:
            self._connection.execute(
                "DELETE FROM session_cursors WHERE conversation_id = ?", (conversation,)
            )

    def _delete(self, table: str, column: str, value: str) -> None:
        if self.left <= 0:
            return
        deleted = self._connection.execute(
            f"DELETE FROM {table} WHERE n IN (SELECT n FROM {table} WHERE {column} = ? LIMIT ?)",
            (value, self.left),
        ).rowcount
        self.counts[table] = self.counts.get(table, 0) + deleted
        self.left -= deleted


def _find_session(connection: sqlite3.Connection, request: PruneRows) -> str | None:
    if request.before is not None and (
        found := _first(connection, SELECT_OLD_SESSION, request.before)
    ):
        return found
    return _first(connection, SELECT_SURPLUS_SESSION, request.keep)


def _find_conversation(connection: sqlite3.Connection, request: PruneRows) -> str | None:
    if request.before is not None and (
        found := _first(connection, SELECT_OLD_CONVERSATION, request.before)
    ):
        return found
    return _first(connection, SELECT_SURPLUS_CONVERSATION, request.keep)


def _first(connection: sqlite3.Connection, statement: str, value: Value) -> str | None:
    if value is None:
        return None
    row = connection.execute(statement, (value,)).fetchone()
    return None if row is None else str(row[0])
