"""Writes: changes of a session, and actions that are enqueued."""

from __future__ import annotations

import math
import sqlite3
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from ....errors import CommandError
from ....protocol.runtime import (
    CONTROL_ACTIONS,
    LIVE_STATUSES,
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    AgentStep,
    ConversationMessage,
)
from ....protocol.runtime_store_messages import (
    ActionCompletion,
    CreateAgentSession,
    PostMessage,
    SessionWrite,
    SessionWriteResult,
)
from .. import schedules
from .conversations import advance, append_message, join
from .routes import add_route
from .row_codec import (
    ACTIONS,
    CONVERSATIONS,
    STATES,
    STEPS,
    find_row,
    find_state,
    make_select,
)

#: The statuses of actions that aren't finished.
OPEN_STATUSES: Final = frozenset({ActionStatus.QUEUED, ActionStatus.CLAIMED})

_UPDATE_STATE: Final = STATES.update("session_id")
_STATUS: Final = STATES.columns.index("status")
#: The columns that never change: a worker of an earlier version doesn't know them.
_FIXED: Final = tuple(map(STATES.columns.index, ("moniker", "moniker_version", "requires")))
_ADD_STEP: Final = STEPS.insert()


def write(connection: sqlite3.Connection, request: SessionWrite) -> SessionWriteResult:
    """See `RuntimeStore.write`."""
    _check(request, *read_epoch_and_owner(connection, request.session_id))
    changed = request.state is not None and _store_snapshot(
        connection, request.state, request.epoch
    )
    steps = tuple(step for step in request.steps if _store_step(connection, step))
    messages: tuple[ConversationMessage, ...] = tuple(
        message for message in request.messages if append_message(connection, message)
    )
    finished = tuple(
        _complete_action(connection, request.session_id, each) for each in request.finished
    )
    for cursor in request.cursors:
        # One whose message is gone is no reason to lose the step.
        with suppress(CommandError):
            advance(connection, cursor)
    ended = tuple(action for action in finished if action is not None)
    following = enqueue_following(connection, request, ended)
    enqueued = _enqueue_new(connection, request.actions)
    refresh_first_action(connection, request.session_id)
    return SessionWriteResult(
        state=find_state(connection, request.session_id) if changed else None,
        steps=steps,
        messages=messages,
        actions=(*ended, *(each for each in following if isinstance(each, Action)), *enqueued),
        created=tuple(each for each in following if isinstance(each, CreateAgentSession)),
    )


def _check(request: SessionWrite, epoch: int, owner: str | None) -> None:
    if request.epoch != epoch or owner not in (None, request.owner):
        raise CommandError(
            "stale_epoch",
            f"Session {request.session_id} now belongs to another worker, where it continues.",
        )
    others = {
        each.session_id for each in (*request.steps, *((request.state,) if request.state else ()))
    }
    if others - {request.session_id}:
        raise CommandError(
            "invalid_message",
            f"A write of session {request.session_id} contains rows of another session.",
        )


def _store_snapshot(connection: sqlite3.Connection, state: AgentState, epoch: int) -> bool:
    """Store a snapshot; False if it is stored already."""
    row = list(STATES.encode_row(replace(state, epoch=epoch)))
    before = connection.execute(
        f"{make_select(STATES)} WHERE session_id = ?", (state.session_id,)
    ).fetchone()
    for column in _FIXED:
        row[column] = before[column]
    if tuple(row) == before:
        return False
    if before[_STATUS] not in LIVE_STATUSES:
        raise CommandError(
            "session_over", f"Session {state.session_id} has ended and can't change any more."
        )
    if state.status not in LIVE_STATUSES:
        end_lease(connection, state.session_id)
    connection.execute(_UPDATE_STATE, (*row, state.session_id))
    return True


def update_snapshot(connection: sqlite3.Connection, state: AgentState) -> None:
    """Write a session's snapshot over the present one; an ended session has no owner."""
    if state.status not in LIVE_STATUSES:
        end_lease(connection, state.session_id)
    connection.execute(_UPDATE_STATE, (*STATES.encode_row(state), state.session_id))


def end_lease(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session's owner and lease."""
    connection.execute("DELETE FROM holds WHERE session_id = ?", (session_id,))


def _store_step(connection: sqlite3.Connection, step: AgentStep) -> bool:
    """Store a step; False if it is stored already."""
    found = connection.execute(
        "SELECT id, session_id, iteration, event_seq FROM agent_steps"
        " WHERE id = ? OR (session_id = ? AND iteration = ? AND event_seq = ?)",
        (step.id, step.session_id, step.iteration, step.event_seq),
    ).fetchall()
    if not found:
        connection.execute(_ADD_STEP, STEPS.encode_row(step))
        return True
    if found != [(step.id, step.session_id, step.iteration, step.event_seq)]:
        raise CommandError(
            "duplicate_step",
            f"Session {step.session_id} already has another step at iteration {step.iteration}.",
        )
    return False


def _complete_action(
    connection: sqlite3.Connection, session: str, completion: ActionCompletion
) -> Action | None:
    """Close an action of its owner's and of this session; None where it is closed so already."""
    action = find_row(connection, ACTIONS, "id", completion.id)
    if action is None or (action.owner, action.session_id) != (completion.owner, session):
        raise _make_stale_claim_error(completion)
    if action.status is not ActionStatus.CLAIMED:
        if (action.status, action.error) != (completion.status, completion.error):
            raise _make_stale_claim_error(completion)
        return None
    connection.execute(
        "UPDATE actions SET status = ?, error = ?, processed_at = ?, lease_until = NULL, rank = NULL"
        " WHERE id = ?",
        (completion.status, completion.error, completion.processed_at, completion.id),
    )
    return find_row(connection, ACTIONS, "id", completion.id)


def _make_stale_claim_error(completion: ActionCompletion) -> CommandError:
    return CommandError(
        "stale_claim",
        f"Action {completion.id} no longer belongs to {completion.owner}: another worker does it.",
    )


# ---- a session's actions: how they come into the queue, and which of them is first ----------------


def post(connection: sqlite3.Connection, request: PostMessage) -> SessionWriteResult:
    """See `RuntimeStore.post`."""
    messages = (request.message,) if append_message(connection, request.message) else ()
    actions = _enqueue_new(connection, request.actions)
    return SessionWriteResult(messages=messages, actions=actions)


#: The first open action of a session that doesn't wait for its time, but for a creation, which others
#: can't overtake.
SELECT_FIRST_ACTION: Final = (
    "SELECT n, urgency, due_at FROM actions WHERE session_id = ? AND rank IS NOT NULL AND rank < 3"
    " ORDER BY rank, urgency DESC, n LIMIT 1"
)
_CONTROL_KINDS: Final = ", ".join(f"'{kind.value}'" for kind in sorted(CONTROL_ACTIONS))
#: Puts due actions into their place among the others of their sessions.
PROMOTE_DUE_ACTIONS: Final = (
    "UPDATE actions SET due_at = NULL, rank = CASE WHEN kind = 'agent_create' THEN 0"
    f" WHEN kind IN ({_CONTROL_KINDS}) THEN 1 ELSE 2 END WHERE due_at <= ? RETURNING session_id"
)
#: The rank of an action that waits for its time.
_WAITING: Final = 3
#: Until when one of a session's is claimed.
SELECT_CLAIMED_UNTIL: Final = (
    "SELECT max(lease_until) FROM actions INDEXED BY actions_under_way"
    " WHERE session_id = ? AND status = 'claimed'"
)
#: A session's requirements (empty if it has ended), and its owner.
_SELECT_ROUTE_AND_HOLD: Final = (
    "SELECT CASE WHEN s.status IN ('created', 'running', 'paused', 'stopping') THEN s.route ELSE 0 END,"
    " h.owner, h.lease_until FROM (SELECT ?1 AS id) AS t"
    " LEFT JOIN agent_state AS s ON s.session_id = t.id"
    " LEFT JOIN holds AS h ON h.session_id = t.id"
)
_INSERT: Final = ACTIONS.insert(("rank", "due_at"))


def enqueue_action(connection: sqlite3.Connection, action: Action) -> tuple[Action, bool]:
    """Enqueue an action for an existing session, or find the known one. Returns also whether it is new.

    Raises:
        CommandError: `unknown_session`.
    """
    known = find_known_action(connection, action)
    if known is not None:
        return known, False
    read_epoch_and_owner(connection, action.session_id)
    add_action(connection, action)
    refresh_first_action(connection, action.session_id)
    return action, True


def _enqueue_new(connection: sqlite3.Connection, actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Enqueue actions. Returns those that weren't known."""
    enqueued = [enqueue_action(connection, each) for each in actions]
    return tuple(action for action, is_new in enqueued if is_new)


def add_action(connection: sqlite3.Connection, action: Action) -> None:
    """Add an action to the queue; one that has ended is stored unchanged."""
    rank: int | None = None
    if action.status in OPEN_STATUSES:
        rank = 0 if action.kind is ActionKind.CREATE else 1 if action.kind in CONTROL_ACTIONS else 2
    is_waiting = schedules.is_delayed(action)
    if is_waiting and rank:
        rank = _WAITING
    due_at = action.not_before if is_waiting else None
    connection.execute(_INSERT, (*ACTIONS.encode_row(action), rank, due_at))


def insert_session(connection: sqlite3.Connection, creation: CreateAgentSession) -> None:
    """Insert a new session, with the other rows that its creation writes."""
    route = add_route(connection, creation.state)
    connection.execute(STATES.insert(("route",)), (*STATES.encode_row(creation.state), route))
    add_action(connection, creation.action)
    if creation.participant is not None:
        join(connection, creation.participant)
    if creation.message is not None:
        append_message(connection, creation.message)
    refresh_first_action(connection, creation.state.session_id)


def enqueue_following(
    connection: sqlite3.Connection, request: SessionWrite, ended: tuple[Action, ...]
) -> list[Action | CreateAgentSession]:
    """Enqueue the next occurrences of periodic actions that a write ends; see `schedules`."""
    found: list[Action | CreateAgentSession] = []
    for action in filter(schedules.is_periodic, ended):
        ((status,),) = connection.execute(
            "SELECT status FROM agent_state WHERE session_id = ?", (request.session_id,)
        )
        at = request.now or action.processed_at or action.created_at
        following = schedules.make_next_occurrence(action, at, status in LIVE_STATUSES)
        if isinstance(following, Action):
            add_action(connection, following)
        elif following is not None:
            following = _without_lost_conversation(connection, following)
            insert_session(connection, following)
        if following is not None:
            found.append(following)
    return found


def _without_lost_conversation(
    connection: sqlite3.Connection, creation: CreateAgentSession
) -> CreateAgentSession:
    """Remove the conversation from a creation if the conversation was deleted."""
    id = creation.state.conversation_id
    if id is None or find_row(connection, CONVERSATIONS, "conversation_id", id) is not None:
        return creation
    state = replace(creation.state, conversation_id=None)
    return CreateAgentSession(state=state, action=creation.action)


def promote_due_actions(connection: sqlite3.Connection, now: float) -> None:
    """Make due actions claimable."""
    for session in {row[0] for row in connection.execute(PROMOTE_DUE_ACTIONS, (now,)).fetchall()}:
        refresh_first_action(connection, session, now)


def find_known_action(connection: sqlite3.Connection, action: Action) -> Action | None:
    """Find an action with the same id or `idem_key`."""
    known = find_row(connection, ACTIONS, "id", action.id)
    if known is None and action.idem_key is not None:
        known = find_row(connection, ACTIONS, "idem_key", action.idem_key)
    return known


def refresh_first_action(
    connection: sqlite3.Connection, session_id: str, now: float = -math.inf
) -> None:
    """Recompute which action of a session is first, and which owner may claim it.

    Args:
        connection: The writer's connection.
        session_id: The session's id.
        now: The time at which leases expire. Without it all leases count as valid, until the next claim.
    """
    first = connection.execute(SELECT_FIRST_ACTION, (session_id,)).fetchone()
    if first is None or first[2] is not None:
        connection.execute("DELETE FROM heads WHERE session_id = ?", (session_id,))
        return
    ((claimed_until,),) = connection.execute(SELECT_CLAIMED_UNTIL, (session_id,))
    ((route, held_by, held_until),) = connection.execute(_SELECT_ROUTE_AND_HOLD, (session_id,))
    owner, is_busy, due = "", False, None
    if claimed_until is not None and claimed_until > now:
        is_busy, due = True, claimed_until
    elif held_until is not None and held_until > now:
        owner, due = held_by, held_until
    connection.execute(
        "INSERT OR REPLACE INTO heads (session_id, action, urgency, owner, busy, due, route)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session_id, *first[:2], owner, is_busy, due, route),
    )


def read_session(connection: sqlite3.Connection, session_id: str) -> AgentState:
    """A session's snapshot.

    Raises:
        CommandError: `unknown_session`.
    """
    state = find_state(connection, session_id)
    if state is None:
        raise _make_unknown_session_error(session_id)
    return state


def read_epoch_and_owner(connection: sqlite3.Connection, session_id: str) -> tuple[int, str | None]:
    """Read a session's epoch and owner, without its snapshot. Raises as `session`."""
    row = connection.execute(
        "SELECT s.epoch, h.owner FROM agent_state AS s LEFT JOIN holds AS h"
        " ON h.session_id = s.session_id WHERE s.session_id = ?",
        (session_id,),
    ).fetchone()
    if row is None:
        raise _make_unknown_session_error(session_id)
    epoch, owner = row
    return epoch, owner


def _make_unknown_session_error(session_id: str) -> CommandError:
    return CommandError("unknown_session", f"There is no session {session_id}.")
