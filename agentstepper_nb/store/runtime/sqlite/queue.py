"""The queue: which owner may claim which action next, and the owners of sessions."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from ....errors import CommandError, StoreError
from ....protocol.runtime import (
    LIVE_STATUSES,
    Action,
    AgentState,
    SessionStatus,
    StepLoss,
)
from ....protocol.runtime_store_messages import (
    ActionList,
    AdoptedSessions,
    AdoptSessions,
    AgentSessionCreated,
    ClaimAction,
    ClaimedAction,
    CreateAgentSession,
    EnqueueActions,
    LeasedSession,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    RetrySession,
)
from ....protocol.step_losses import add_loss, clear_tries, is_suspect, pause_between_steps
from . import mutations, routes
from .row_codec import ACTIONS, Value, find_row, find_state, make_select, to_json

log = logging.getLogger(__name__)

#: Sessions that an expired lease has reserved for an owner.
SELECT_DUE_SESSIONS: Final = "SELECT session_id FROM heads WHERE due <= ?"
#: An owner's claimed actions. (SQLite's own plan would read the claims of all owners.)
SELECT_CLAIMED_ACTIONS: Final = (
    "SELECT id, lease_until FROM actions INDEXED BY actions_claimed"
    " WHERE status = 'claimed' AND owner = ? ORDER BY n"
)
_FAIL_ACTION: Final = (
    "UPDATE actions SET status = 'failed', error = ?, processed_at = ?, lease_until = NULL,"
    " rank = NULL WHERE id = ?"
)
#: The value of `holds.ending` for an owner that interrupted its steps itself.
_HANDED_OVER: Final = ""
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
    mutations.insert_session(connection, request)
    return AgentSessionCreated(state=request.state, action=request.action, is_new=True)


def enqueue(connection: sqlite3.Connection, request: EnqueueActions) -> ActionList:
    """See `RuntimeStore.enqueue`."""
    return ActionList(
        actions=tuple(mutations.enqueue_action(connection, each)[0] for each in request.actions)
    )


def claim(connection: sqlite3.Connection, request: ClaimAction) -> ClaimedAction:
    """See `RuntimeStore.claim`."""
    mutations.promote_due_actions(connection, request.now)
    for (session,) in connection.execute(SELECT_DUE_SESSIONS, (request.now,)).fetchall():
        mutations.refresh_first_action(connection, session, request.now)
    return claim_first(
        connection,
        request,
        lambda: find_unacknowledged_claim(connection, request) or _claim_next(connection, request),
    )


def claim_first(
    connection: sqlite3.Connection, request: ClaimAction, find_next: Callable[[], Action | None]
) -> ClaimedAction:
    """Return the first claim whose session can be read.

    Args:
        connection: The writer's connection.
        request: The owner's request.
        find_next: Claims the next action.
    """
    while (action := find_next()) is not None:
        _requeue_expired(connection, action)
        try:
            _lease_if_free(connection, action.session_id, request)
            mutations.refresh_first_action(connection, action.session_id)
            return ClaimedAction(action=action, state=find_state(connection, action.session_id))
        except StoreError as error:
            fail_claim(connection, action.id, action.session_id, request, error)
    return ClaimedAction()


def renew(connection: sqlite3.Connection, request: RenewLeases) -> RenewedLeases:
    """See `RuntimeStore.renew`."""
    until, owner = request.lease_until, request.owner
    where = "h.owner = ? AND h.ending IS NOT ?"
    values: tuple[Value, ...] = (owner, _HANDED_OVER)
    if request.sessions is not None:
        where += " AND h.session_id IN (SELECT value FROM json_each(?))"
        values += (to_json(request.sessions),)
    connection.execute(
        f"UPDATE holds AS h SET lease_until = ?, ending = NULL WHERE {where}", (until, *values)
    )
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


def adopt(connection: sqlite3.Connection, request: AdoptSessions) -> AdoptedSessions:
    """See `RuntimeStore.adopt`."""
    values = {
        "routes": routes.encode_fitting_routes(connection, request.offer),
        "over_by": request.now if request.over_by is None else min(request.now, request.over_by),
        "limit": request.limit,
    }
    found = connection.execute(routes.SELECT_ADOPTABLE_SESSIONS, values).fetchall()
    return adopt_each(connection, request, [session for (session,) in found])


def adopt_each(
    connection: sqlite3.Connection, request: AdoptSessions, sessions: Iterable[str]
) -> AdoptedSessions:
    """Give sessions to an owner, or end them.

    Args:
        connection: The writer's connection.
        request: The new owner's request.
        sessions: The ids of running sessions without an owner.
    """
    adopted: list[AgentState] = []
    ended: list[AgentState] = []
    for session in sessions:
        _requeue_all(connection, session)
        try:
            state = _take_over(connection, session, request)
        except StoreError as error:
            log.error("%s The session ends.", error)
            connection.execute(_FAIL_SESSION, (session,))
        else:
            (adopted if state.status in LIVE_STATUSES else ended).append(state)
        mutations.refresh_first_action(connection, session)
    return AdoptedSessions(states=tuple(adopted), ended=tuple(ended))


def release(connection: sqlite3.Connection, request: ReleaseLeases) -> None:
    """See `RuntimeStore.release`."""
    which = "owner = ?"
    values: tuple[Value, ...] = (request.owner,)
    if request.sessions is not None:
        which += " AND session_id IN (SELECT value FROM json_each(?))"
        values += (to_json(request.sessions),)
    connection.execute(
        "UPDATE actions INDEXED BY actions_claimed SET lease_until = min(lease_until, ?)"
        f" WHERE status = 'claimed' AND {which}",
        (request.until, *values),
    )
    connection.execute(
        "UPDATE holds SET lease_until = min(lease_until, ?),"
        f" ending = CASE ending WHEN '' THEN '' ELSE coalesce(?, ending) END WHERE {which}",
        (request.until, _HANDED_OVER if request.is_handover else request.ending, *values),
    )
    _refresh_sessions_of(connection, request.owner)


def retry(connection: sqlite3.Connection, request: RetrySession) -> AgentState:
    """See `RuntimeStore.retry`."""
    state = mutations.read_session(connection, request.session_id)
    if state.status in LIVE_STATUSES:
        return state
    if state.status is not SessionStatus.ERROR:
        raise CommandError(
            "session_over",
            f"The session {request.session_id} ended as {state.status}, not as an error: create "
            "another session.",
        )
    state = replace(
        clear_tries(state),
        status=SessionStatus.RUNNING,
        epoch=state.epoch + 1,  # who had it before writes nothing more
        updated_at=request.now,
    )
    mutations.update_snapshot(connection, state)
    mutations.refresh_first_action(connection, request.session_id)  # not any worker's any more
    return state


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


def find_unacknowledged_claim(
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
    values: dict[str, Value] = {"owner": request.owner, "until": request.lease_until}
    statement = routes.CLAIM_NEXT_ACTION
    if request.offer is not None:
        statement = routes.CLAIM_FITTING_ACTION
        values["routes"] = routes.encode_fitting_routes(connection, request.offer)
    while found := connection.execute(statement, values).fetchall():
        try:
            return ACTIONS.decode_row(found[0])
        except StoreError as error:
            row = dict(zip(ACTIONS.columns, found[0], strict=True))
            fail_claim(connection, row["id"], row["session_id"], request, error)
    return None


def fail_claim(
    connection: sqlite3.Connection,
    action: str,
    session: str,
    request: ClaimAction,
    error: StoreError,
) -> None:
    """Fail an action that can't be read, or whose session can't, so that it doesn't block others."""
    log.error("%s The action %s ends as well.", error, action)
    connection.execute(_FAIL_ACTION, (str(error), request.now, action))
    mutations.refresh_first_action(connection, session)


def _requeue_expired(connection: sqlite3.Connection, action: Action) -> None:
    """Requeue the session's other actions that were claimed under an expired lease."""
    connection.execute(
        f"{_REQUEUE_CLAIMED} AND id <> ?",
        (action.session_id, action.id),
    )


def _requeue_all(connection: sqlite3.Connection, session: str) -> None:
    """Whoever had the session before has none of its actions any more."""
    connection.execute(_REQUEUE_CLAIMED, (session,))


def _lease_if_free(connection: sqlite3.Connection, session: str, request: ClaimAction) -> None:
    """Lease the claimed action's session to the owner, if the session is live."""
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
        _take_over(connection, session, request)


def _take_over(
    connection: sqlite3.Connection, session: str, request: ClaimAction | AdoptSessions
) -> AgentState:
    """Give a session to an owner, or end it: see `protocol.step_losses`. No step may be in progress.

    Raises:
        StoreError: The session's row is damaged.
    """
    loss = _find_loss(connection, session, request)
    connection.execute("UPDATE agent_state SET epoch = epoch + 1 WHERE session_id = ?", (session,))
    connection.execute(
        "INSERT OR REPLACE INTO holds (session_id, owner, lease_until, route)"
        " SELECT session_id, ?, ?, route FROM agent_state WHERE session_id = ?",
        (request.owner, request.lease_until, session),
    )
    state = mutations.read_session(connection, session)
    taken = state
    if loss is not None and is_suspect(state, loss, request.halted_runs, request.present_owners):
        taken = add_loss(state, replace(loss, is_shared=state.is_sharing))
    taken = pause_between_steps(taken)
    if taken is not state:
        mutations.update_snapshot(connection, taken)
        taken = mutations.read_session(connection, session)  # which nobody has where it ended
    return taken


def _find_loss(
    connection: sqlite3.Connection, session: str, request: ClaimAction | AdoptSessions
) -> StepLoss | None:
    """Find how a session's owner was lost; None if it had none, or the owner handed it over."""
    hold = connection.execute(
        "SELECT owner, lease_until, ending FROM holds WHERE session_id = ?", (session,)
    ).fetchone()
    if hold is None or hold[2] == _HANDED_OVER:
        return None
    owner, lease_until, ending = hold
    return StepLoss(worker=owner, at=max(0.0, min(lease_until, request.now)), ending=ending)


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
