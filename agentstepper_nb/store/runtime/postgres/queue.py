"""The queue: the locks around SQLite's statements, and how claims of several Cores avoid waiting.

A change of a session locks the session's row of `agent_state`, a change of a conversation the
conversation's row: so later statements see all committed changes, and derived rows agree. Sessions
are locked before conversations, and several sessions in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ....errors import StoreError
from ....protocol.runtime import Action
from ....protocol.runtime_store_messages import (
    AdoptedSessions,
    AdoptSessions,
    ClaimAction,
    ClaimedAction,
)
from ..sqlite import mutations
from ..sqlite import queue as rules
from ..sqlite.routes import find_fitting_routes
from ..sqlite.row_codec import ACTIONS
from .statements import Statements, as_sqlite

#: Actions that a claim chooses from: so many concurrent claims take different actions without waiting.
_CHOICE: Final = 16
_FIRST: Final = f"ORDER BY urgency DESC, action LIMIT {_CHOICE}"
_READY: Final = "SELECT session_id, urgency, action FROM heads WHERE NOT busy AND owner ="
#: The first ready actions of an owner: those of each route that it accepts, and its own. Each is the
#: first in a range of an index.
_FIND_READY: Final = f"""
SELECT session_id, urgency, action FROM (
  (SELECT h.* FROM unnest(?::bigint[]) AS r (id)
    CROSS JOIN LATERAL ({_READY} '' AND route = r.id {_FIRST}) AS h)
  UNION ALL ({_READY} ? {_FIRST})) AS found
 {_FIRST}
"""
#: The session of the first of these that isn't locked.
_LOCK_NEXT: Final = f"""
SELECT s.session_id FROM ({_FIND_READY}) AS h JOIN agent_state AS s USING (session_id)
 ORDER BY h.urgency DESC, h.action LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""
_CLAIM_FIRST: Final = f"""
UPDATE actions SET status = 'claimed', owner = ?, lease_until = ?, attempts = attempts + 1
 WHERE n = (SELECT action FROM heads WHERE session_id = ? AND NOT busy
             AND (owner = ? OR (owner = '' AND route = ANY(?::bigint[]))))
RETURNING {", ".join(ACTIONS.columns)}
"""
_PROMOTE_DUE: Final = mutations.PROMOTE_DUE_ACTIONS.replace(
    " WHERE due_at <= ?", " WHERE due_at <= ? AND session_id = ANY(?::text[])"
)
_FIND_UNACKNOWLEDGED: Final = (
    "SELECT session_id FROM actions WHERE status = 'claimed' AND owner = ?"
    " AND NOT id = ANY(?::text[]) AND lease_until > ? ORDER BY n LIMIT 1"
)
_EXISTS_CLAIMABLE: Final = f"""
SELECT EXISTS (SELECT 1 FROM heads WHERE due <= ?) OR EXISTS (SELECT 1 FROM actions WHERE due_at <= ?)
 OR EXISTS ({_FIND_READY}) OR EXISTS ({_FIND_UNACKNOWLEDGED})
"""
_ADOPTABLE: Final = (
    "s.status IN ('running', 'paused', 'stopping') AND s.route = ANY(?::bigint[]) AND NOT EXISTS"
    " (SELECT 1 FROM holds AS h WHERE h.session_id = s.session_id AND h.lease_until > ?)"
)
_EXISTS_ADOPTABLE: Final = f"SELECT EXISTS (SELECT 1 FROM agent_state AS s WHERE {_ADOPTABLE})"
_LOCK_ADOPTABLE: Final = (
    f"SELECT s.session_id FROM agent_state AS s WHERE {_ADOPTABLE}"
    " ORDER BY s.created_at LIMIT ? FOR UPDATE OF s SKIP LOCKED"
)
#: The sessions that no other owner took before they were locked.
_STILL_ADOPTABLE: Final = (
    f"SELECT s.session_id FROM agent_state AS s WHERE {_ADOPTABLE}"
    " AND s.session_id = ANY(?::text[]) ORDER BY s.created_at"
)
_SESSIONS_OF_ACTION: Final = (
    "SELECT session_id FROM actions WHERE id = ?1"
    " UNION SELECT session_id FROM actions WHERE rank IS NOT NULL AND series_id IN"
    " (SELECT ?1 UNION ALL SELECT series_id FROM actions WHERE id = ?1)"
)
_SESSIONS_OF_OWNER: Final = (
    "SELECT session_id FROM holds WHERE owner = ?1"
    " UNION SELECT session_id FROM actions WHERE status = 'claimed' AND owner = ?1"
)


# ---- locks ------------------------------------------------------------------------------------------


def lock_sessions(connection: Statements, session_ids: Iterable[str]) -> None:
    """Lock sessions against other changes until the transaction ends."""
    connection.execute(
        "SELECT 1 FROM agent_state WHERE session_id = ANY(?::text[]) ORDER BY session_id FOR UPDATE",
        (sorted({*session_ids}),),
    )


def lock_sessions_of(connection: Statements, owner: str) -> None:
    """Lock all sessions in which an owner has a lease or an action."""
    lock_sessions(
        connection, [session for (session,) in connection.execute(_SESSIONS_OF_OWNER, (owner,))]
    )


def lock_action(connection: Statements, action_id: str) -> None:
    """Lock the session of an action, and the sessions of the open occurrences of its series."""
    found = connection.execute(_SESSIONS_OF_ACTION, (action_id,))
    lock_sessions(connection, [session for (session,) in found])


def lock_conversations(connection: Statements, conversation_ids: Iterable[str]) -> None:
    """Lock conversations against other messages until the transaction ends."""
    if ids := sorted({*conversation_ids}):
        connection.execute(
            "SELECT 1 FROM conversations WHERE conversation_id = ANY(?::text[])"
            " ORDER BY conversation_id FOR UPDATE",
            (ids,),
        )


# ---- claiming ---------------------------------------------------------------------------------------


def has_claimable(connection: Statements, request: ClaimAction) -> bool:
    """Whether a claim may find something."""
    fitting = find_fitting_routes(as_sqlite(connection), request.offer)
    owner, held = request.owner, [*request.held]
    values = (request.now, request.now, fitting, owner, owner, held, request.now)
    ((found,),) = connection.execute(_EXISTS_CLAIMABLE, values)
    return bool(found)


def claim(connection: Statements, request: ClaimAction) -> ClaimedAction:
    """See `RuntimeStore.claim`."""
    _promote_due(connection, request.now)
    _refresh_due(connection, request.now)
    fitting = find_fitting_routes(as_sqlite(connection), request.offer)

    def find_next() -> Action | None:
        found = _find_unacknowledged(connection, request)
        return found or _claim_next(connection, request, fitting)

    return rules.claim_first(as_sqlite(connection), request, find_next)


def _promote_due(connection: Statements, now: float) -> None:
    """Put due actions into their place among the others of their sessions."""
    found = connection.execute("SELECT session_id FROM actions WHERE due_at <= ?", (now,))
    sessions = sorted({session for (session,) in found})
    if sessions:
        lock_sessions(connection, sessions)
        connection.execute(_PROMOTE_DUE, (now, sessions))
    for session in sessions:
        mutations.refresh_first_action(as_sqlite(connection), session, now)


def _refresh_due(connection: Statements, now: float) -> None:
    """Make sessions claimable whose expired lease has reserved them for an owner."""
    found = connection.execute(rules.SELECT_DUE_SESSIONS, (now,)).fetchall()
    if found:
        lock_sessions(connection, [session for (session,) in found])
    for (session,) in found:
        mutations.refresh_first_action(as_sqlite(connection), session, now)


def _find_unacknowledged(connection: Statements, request: ClaimAction) -> Action | None:
    """An action that the owner claimed and doesn't know of: the answer got lost."""
    values = (request.owner, [*request.held], request.now)
    found = connection.execute(_FIND_UNACKNOWLEDGED, values).fetchone()
    if found is None:
        return None
    lock_sessions(connection, found)
    return rules.find_unacknowledged_claim(as_sqlite(connection), request)


def _claim_next(
    connection: Statements, request: ClaimAction, fitting: Sequence[int]
) -> Action | None:
    owner, until = request.owner, request.lease_until
    while (session := _lock_next(connection, owner, fitting)) is not None:
        values = (owner, until, session, owner, fitting)
        row = connection.execute(_CLAIM_FIRST, values).fetchone()
        if row is None:  # another one had claimed it before the session was locked
            continue
        try:
            return ACTIONS.decode_row(row)
        except StoreError as error:
            id = row[ACTIONS.columns.index("id")]
            rules.fail_claim(as_sqlite(connection), id, session, request, error)
    return None


def _lock_next(connection: Statements, owner: str, fitting: Sequence[int]) -> str | None:
    """Lock the session of the next action that is ready, or seems so. Where all are locked, the first is
    waited for: it may be ready then.
    """
    found = connection.execute(_LOCK_NEXT, (fitting, owner)).fetchone()
    if found is None:
        found = connection.execute(_FIND_READY, (fitting, owner)).fetchone()
        if found is None:
            return None
        lock_sessions(connection, found[:1])
    return str(found[0])


# ---- adopting ---------------------------------------------------------------------------------------


def has_adoptable(connection: Statements, request: AdoptSessions) -> bool:
    """Whether an owner may find a session without an owner."""
    values = _make_adoption_values(connection, request)
    ((found,),) = connection.execute(_EXISTS_ADOPTABLE, values)
    return bool(found)


def adopt(connection: Statements, request: AdoptSessions) -> AdoptedSessions:
    """See `RuntimeStore.adopt`."""
    values = _make_adoption_values(connection, request)
    locked = connection.execute(_LOCK_ADOPTABLE, (*values, request.limit)).fetchall()
    ids = [session for (session,) in locked]
    found = connection.execute(_STILL_ADOPTABLE, (*values, ids)).fetchall()
    return rules.adopt_each(as_sqlite(connection), request, [session for (session,) in found])


def _make_adoption_values(connection: Statements, request: AdoptSessions) -> tuple[Any, ...]:
    fitting = find_fitting_routes(as_sqlite(connection), request.offer)
    return fitting, request.now if request.over_by is None else min(request.now, request.over_by)
