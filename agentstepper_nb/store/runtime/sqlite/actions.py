"""A session's actions: how they come into the queue, and which of them is first."""

from __future__ import annotations

import math
import sqlite3
from typing import Final

from ....errors import CommandError
from ....protocol.runtime import CONTROL, Action, ActionKind, AgentState
from .rows import ACTIONS, find, find_state

#: The first open action of a session.
FIRST: Final = (
    "SELECT n, urgency FROM actions WHERE session_id = ? AND rank IS NOT NULL"
    " ORDER BY rank, urgency DESC, n LIMIT 1"
)
#: Until when one of a session's is claimed.
UNDER_WAY: Final = (
    "SELECT max(lease_until) FROM actions INDEXED BY actions_under_way"
    " WHERE session_id = ? AND status = 'claimed'"
)
_INSERT: Final = ACTIONS.insert(("rank",))


def enqueue_one(connection: sqlite3.Connection, action: Action) -> tuple[Action, bool]:
    """Enqueue an action for a session that exists, or give the one that is known; whether it is new.

    Raises:
        CommandError: `unknown_session`.
    """
    known = known_action(connection, action)
    if known is not None:
        return known, False
    standing(connection, action.session_id)
    add(connection, action)
    refresh(connection, action.session_id)
    return action, True


def add(connection: sqlite3.Connection, action: Action) -> None:
    """Put an action into the queue."""
    rank = 0 if action.kind is ActionKind.CREATE else 1 if action.kind in CONTROL else 2
    connection.execute(_INSERT, (*ACTIONS.row(action), rank))


def known_action(connection: sqlite3.Connection, action: Action) -> Action | None:
    """The action that has the same id or the same `idem_key`."""
    known = find(connection, ACTIONS, "id", action.id)
    if known is None and action.idem_key is not None:
        known = find(connection, ACTIONS, "idem_key", action.idem_key)
    return known


def refresh(connection: sqlite3.Connection, session_id: str, now: float = -math.inf) -> None:
    """Write anew which action of a session is first, and who may claim it.

    Args:
        connection: The writer's.
        session_id: The session.
        now: Leases that are over by then count no more. Without it all do, until the next claim.
    """
    first = connection.execute(FIRST, (session_id,)).fetchone()
    if first is None:
        connection.execute("DELETE FROM heads WHERE session_id = ?", (session_id,))
        return
    ((under_way,),) = connection.execute(UNDER_WAY, (session_id,))
    hold = connection.execute(
        "SELECT owner, lease_until FROM holds WHERE session_id = ?", (session_id,)
    ).fetchone()
    owner, busy, due = "", False, None
    if under_way is not None and under_way > now:
        busy, due = True, under_way
    elif hold is not None and hold[1] > now:
        owner, due = hold
    connection.execute(
        "INSERT OR REPLACE INTO heads (session_id, action, urgency, owner, busy, due)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (session_id, *first, owner, busy, due),
    )


def session(connection: sqlite3.Connection, session_id: str) -> AgentState:
    """A session's snapshot.

    Raises:
        CommandError: `unknown_session`.
    """
    state = find_state(connection, session_id)
    if state is None:
        raise _unknown(session_id)
    return state


def standing(connection: sqlite3.Connection, session_id: str) -> tuple[int, str | None]:
    """A session's epoch, and who has it, without its snapshot. Raises as `session`."""
    row = connection.execute(
        "SELECT s.epoch, h.owner FROM agent_state AS s LEFT JOIN holds AS h"
        " ON h.session_id = s.session_id WHERE s.session_id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        raise _unknown(session_id)
    epoch, owner = row
    return epoch, owner


def _unknown(session_id: str) -> CommandError:
    return CommandError("unknown_session", f"No session is called {session_id}.")
