"""Deletes expired rows: a session, or a conversation, is locked before it is deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import psycopg

from ....protocol.runtime_store_messages import PrunedRows, PruneRows
from ..sqlite import retention
from .queue import lock_conversations, lock_sessions
from .statements import Statements, as_sqlite

#: The function that locks the row that a statement finds.
_LOCKS: Final[dict[str, Callable[[Statements, Iterable[str]], None]]] = {
    retention.SELECT_OLD_SESSION: lock_sessions,
    retention.SELECT_SURPLUS_SESSION: lock_sessions,
    retention.SELECT_OLD_CONVERSATION: lock_conversations,
    retention.SELECT_SURPLUS_CONVERSATION: lock_conversations,
}


def prune(connection: Statements, request: PruneRows) -> PrunedRows:
    """See `RuntimeStore.prune`."""
    return retention.prune(as_sqlite(_LockingStatements(connection)), request)


class _LockingStatements(Statements):
    """Repeats each search once its rows are locked: meanwhile another row may have come to need them.

    Args:
        statements: Executes all statements.
    """

    def __init__(self, statements: Statements) -> None:
        self._statements = statements

    def execute(self, statement: str, values: Sequence[Any] = ()) -> psycopg.Cursor:
        lock = _LOCKS.get(statement)
        locked: str | None = None
        while True:
            found = self._statements.execute(statement, values)
            if lock is None or not found.rowcount:
                return found
            ((id,),) = found
            if id == locked:
                found.scroll(0, mode="absolute")
                return found
            lock(self._statements, [id])
            locked = id
