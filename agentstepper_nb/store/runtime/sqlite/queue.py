"""The queue: who may claim what next, and who has which session."""

from __future__ import annotations

import logging
import sqlite3
from typing import Final

from ....errors import StoreError
from ....protocol.runtime import LIVE_STATUSES, Action
from ....protocol.runtime_store_messages import (
    ActionList,
    AdoptSessions,
    AgentSessionCreated,
    AgentStateList,
    ClaimAction,
    ClaimedAction,
    CreateAgentSession,
    EnqueueActions,
    LeasedSession,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
)
from . import mutations
from .row_codec import ACTIONS, STATES, Value, find_row, find_state, make_select, to_json

log = logging.getLogger(__name__)

#: The next action that is ready for an owner: the first of those that are anybody's and of its own. Each
#: is the first row of a range of an index.
CLAIM_NEXT_ACTION: Final = f"""
UPDATE actions SET status = 'claimed', owner = :owner, lease_until = :until, attempts = attempts + 1
 WHERE n = (
  SELECT action FROM (
   SELECT * FROM (SELECT action, urgency FROM heads WHERE busy = 0 AND owner = ''
                   ORDER BY urgency DESC, action LIMIT 1)
   UNION ALL
   SELECT * FROM (SELECT action, urgency FROM heads WHERE busy = 0 AND owner = :owner
                   ORDER BY urgency DESC, action LIMIT 1)
  ) ORDER BY urgency DESC, action LIMIT 1)
RETURNING {", ".join(ACTIONS.columns)}
"""
#: Sessions that a lease which is over kept from others.
SELECT_DUE_SESSIONS: Final = "SELECT session_id FROM heads WHERE due <= ?"
#: What an owner has claimed. (By itself SQLite takes all that anybody has.)
SELECT_CLAIMED_ACTIONS: Final = (
    "SELECT id, lease_until FROM actions INDEXED BY actions_claimed"
    " WHERE status = 'claimed' AND owner = ? ORDER BY n"
)
#: Sessions that go on by themselves, and that nobody has any more.
SELECT_ADOPTABLE_SESSIONS: Final = (
    "SELECT s.session_id FROM agent_state AS s INDEXED BY agent_state_begun"
    " LEFT JOIN holds AS h ON h.session_id = s.session_id"
    " WHERE s.status IN ('running', 'paused', 'stopping')"
    " AND (h.lease_until IS NULL OR h.lease_until <= ?) ORDER BY s.created_at LIMIT ?"
)
_FAIL_ACTION: Final = (
    "UPDATE actions SET status = 'failed', error = ?, processed_at = ?, lease_until = NULL,"
    " rank = NULL WHERE id = ?"
)
_FAIL_SESSION: Final = "UPDATE agent_state SET status = 'error' WHERE session_id = ?"
_REQUEUE_CLAIMED: Final = (
    "UPDATE actions INDEXED BY actions_under_way"
    " SET status = 'queued', owner = NULL, lease_until = NULL"
    " WHERE session_id = ? AND status = 'claimed'"
)


def create(connection: sqlite3.Connection, request: CreateAgentSession) -> AgentSessionCreated:
    """See `RuntimeStore.create`."""
    known = find_state(connection, request.state.session_id)
    if known is not None:
        return AgentSessionCreated(
            state=known, action=_find_creation(connection, known.session_id), is_new=False
        )
    action = mutations.find_known_action(connection, request.action)
    if action is not None:  # by its `idem_key`: the first one's session
        known = mutations.read_session(connection, action.session_id)
        return AgentSessionCreated(state=known, action=action, is_new=False)
    connection.execute(STATES.insert(), STATES.encode_row(request.state))
    mutations.add_action(connection, request.action)
    if request.participant is not None:
        mutations.join(connection, request.participant)
    if request.message is not None:
        mutations.append_message(connection, request.message)
    mutations.refresh_first_action(connection, request.state.session_id)
    return AgentSessionCreated(state=request.state, action=request.action, is_new=True)


def enqueue(connection: sqlite3.Connection, request: EnqueueActions) -> ActionList:
    """See `RuntimeStore.enqueue`."""
    return ActionList(
        actions=tuple(mutations.enqueue_action(connection, each)[0] for each in request.actions)
    )


def claim(connection: sqlite3.Connection, request: ClaimAction) -> ClaimedAction:
    """See `RuntimeStore.claim`."""
    for (session,) in connection.execute(SELECT_DUE_SESSIONS, (request.now,)).fetchall():
        mutations.refresh_first_action(connection, session, request.now)
    while (
        action := _find_unacknowledged_claim(connection, request)
        or _claim_next(connection, request)
    ) is not None:
        _requeue_expired(connection, action)
        _lease_if_free(connection, action.session_id, request)
        mutations.refresh_first_action(connection, action.session_id)
        try:
            return ClaimedAction(action=action, state=find_state(connection, action.session_id))
        except StoreError as error:
            _fail(connection, action.id, action.session_id, request, error)
    return ClaimedAction()


def renew(connection: sqlite3.Connection, request: RenewLeases) -> RenewedLeases:
    """See `RuntimeStore.renew`."""
    until, owner = request.lease_until, request.owner
    where = "h.owner = ?"
    values: tuple[Value, ...] = (owner,)
    if request.sessions is not None:
        where += " AND h.session_id IN (SELECT value FROM json_each(?))"
        values += (to_json(request.sessions),)
    connection.execute(f"UPDATE holds AS h SET lease_until = ? WHERE {where}", (until, *values))
    connection.execute(
        "UPDATE actions INDEXED BY actions_claimed SET lease_until = ?"
        " WHERE status = 'claimed' AND owner = ?",
        (until, owner),
    )
    _refresh_sessions_of(connection, owner)
    held = connection.execute(
        "SELECT h.session_id, s.epoch FROM holds AS h JOIN agent_state AS s"
        f" ON s.session_id = h.session_id WHERE {where} ORDER BY s.n",
        values,
    )
    return RenewedLeases(
        sessions=tuple(LeasedSession(session_id=session, epoch=epoch) for session, epoch in held),
        actions=tuple(
            action_id for action_id, _ in connection.execute(SELECT_CLAIMED_ACTIONS, (owner,))
        ),
    )


def adopt(connection: sqlite3.Connection, request: AdoptSessions) -> AgentStateList:
    """See `RuntimeStore.adopt`."""
    adopted = []
    for (session,) in connection.execute(
        SELECT_ADOPTABLE_SESSIONS, (request.now, request.limit)
    ).fetchall():
        _lease_session(connection, session, request.owner, request.lease_until)
        _requeue_all(connection, session)
        mutations.refresh_first_action(connection, session)
        try:
            adopted.append(mutations.read_session(connection, session))
        except StoreError as error:
            log.error("%s The session ends.", error)
            connection.execute(_FAIL_SESSION, (session,))
    return AgentStateList(states=tuple(adopted))


def release(connection: sqlite3.Connection, request: ReleaseLeases) -> None:
    """See `RuntimeStore.release`."""
    for table, where in (
        ("holds", "owner = ?"),
        ("actions INDEXED BY actions_claimed", "status = 'claimed' AND owner = ?"),
    ):
        connection.execute(
            f"UPDATE {table} SET lease_until = min(lease_until, ?) WHERE {where}",
            (request.until, request.owner),
        )
    _refresh_sessions_of(connection, request.owner)


# ---- actions ----------------------------------------------------------------------------------------


def _find_creation(connection: sqlite3.Connection, session: str) -> Action:
    row = connection.execute(
        f"{make_select(ACTIONS)} WHERE session_id = ? AND kind = 'agent_create' ORDER BY n LIMIT 1",
        (session,),
    ).fetchone()
    if row is None:
        raise StoreError(f"The action that created session {session} is missing: create another.")
    return ACTIONS.decode_row(row)


# ---- claiming ---------------------------------------------------------------------------------------


def _find_unacknowledged_claim(
    connection: sqlite3.Connection, request: ClaimAction
) -> Action | None:
    """An action that the owner claimed and doesn't know of: the answer got lost."""
    held = frozenset(request.held)
    for action_id, until in connection.execute(SELECT_CLAIMED_ACTIONS, (request.owner,)).fetchall():
        if action_id not in held and until > request.now:
            connection.execute(
                "UPDATE actions SET lease_until = ? WHERE id = ?", (request.lease_until, action_id)
            )
            return find_row(connection, ACTIONS, "id", action_id)
    return None


def _claim_next(connection: sqlite3.Connection, request: ClaimAction) -> Action | None:
    values = {"owner": request.owner, "until": request.lease_until}
    while found := connection.execute(CLAIM_NEXT_ACTION, values).fetchall():
        try:
            return ACTIONS.decode_row(found[0])
        except StoreError as error:
            row = dict(zip(ACTIONS.columns, found[0], strict=True))
            _fail(connection, row["id"], row["session_id"], request, error)
    return None


def _fail(
    connection: sqlite3.Connection,
    action: str,
    session: str,
    request: ClaimAction,
    error: StoreError,
) -> None:
    """An action can't be read, or its session: it is over, and so not in the way of all others."""
    log.error("%s The action %s ends as well.", error, action)
    connection.execute(_FAIL_ACTION, (str(error), request.now, action))
    mutations.refresh_first_action(connection, session)


def _requeue_expired(connection: sqlite3.Connection, action: Action) -> None:
    """One at a time: what of the session was claimed under a lease that is over waits again."""
    connection.execute(
        f"{_REQUEUE_CLAIMED} AND id <> ?",
        (action.session_id, action.id),
    )


def _requeue_all(connection: sqlite3.Connection, session: str) -> None:
    """Whoever had the session before has none of its actions any more."""
    connection.execute(_REQUEUE_CLAIMED, (session,))


def _lease_if_free(connection: sqlite3.Connection, session: str, request: ClaimAction) -> None:
    """The claimed action's session is the owner's from now on, where it is live."""
    hold = connection.execute(
        "SELECT owner, lease_until FROM holds WHERE session_id = ?", (session,)
    ).fetchone()
    if hold is not None and hold[0] == request.owner and hold[1] > request.now:
        connection.execute(
            "UPDATE holds SET lease_until = max(lease_until, ?) WHERE session_id = ?",
            (request.lease_until, session),
        )
        return
    status = connection.execute(
        "SELECT status FROM agent_state WHERE session_id = ?", (session,)
    ).fetchone()
    if status is not None and status[0] in LIVE_STATUSES:
        _lease_session(connection, session, request.owner, request.lease_until)


def _lease_session(connection: sqlite3.Connection, session: str, owner: str, until: float) -> None:
    connection.execute("UPDATE agent_state SET epoch = epoch + 1 WHERE session_id = ?", (session,))
    connection.execute(
        "INSERT OR REPLACE INTO holds (session_id, owner, lease_until) VALUES (?, ?, ?)",
        (session, owner, until),
    )


def _refresh_sessions_of(connection: sqlite3.Connection, owner: str) -> None:
    found = connection.execute(
        "SELECT session_id FROM heads WHERE session_id IN"
        " (SELECT session_id FROM holds WHERE owner = ?1"
        " UNION SELECT session_id FROM actions INDEXED BY actions_claimed"
        " WHERE status = 'claimed' AND owner = ?1)",
        (owner,),
    ).fetchall()
    for (session,) in found:
        mutations.refresh_first_action(connection, session)
