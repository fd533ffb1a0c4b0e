"""What is written: what became of a session, conversations, and actions that come into the queue."""

from __future__ import annotations

import math
import sqlite3
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
    Conversation,
    ConversationCursor,
    ConversationMessage,
    Participant,
    ParticipantKind,
)
from ....protocol.runtime_store_messages import (
    ActionCompletion,
    EndParticipation,
    PostMessage,
    SessionWrite,
    SessionWriteResult,
)
from .row_codec import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    STATES,
    STEPS,
    find_row,
    find_state,
    make_select,
)

_UPDATE_STATE: Final = STATES.update("session_id")
_STATUS: Final = STATES.columns.index("status")
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
    refresh_first_action(connection, request.session_id)
    return SessionWriteResult(
        state=find_state(connection, request.session_id) if changed else None,
        steps=steps,
        messages=messages,
        actions=tuple(action for action in finished if action is not None),
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
    """Keep a snapshot; False where it is kept already."""
    row = STATES.encode_row(replace(state, epoch=epoch))
    before = connection.execute(
        f"{make_select(STATES)} WHERE session_id = ?", (state.session_id,)
    ).fetchone()
    if row == before:
        return False
    if before[_STATUS] not in LIVE_STATUSES:
        raise CommandError(
            "session_over", f"Session {state.session_id} has ended and can't change any more."
        )
    if state.status not in LIVE_STATUSES:
        connection.execute("DELETE FROM holds WHERE session_id = ?", (state.session_id,))
    connection.execute(_UPDATE_STATE, (*row, state.session_id))
    return True


def _store_step(connection: sqlite3.Connection, step: AgentStep) -> bool:
    """Keep a step; False where it is kept already."""
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


# ---- conversations: who takes part, what is said, and how far each has read -----------------------


def save_conversation(connection: sqlite3.Connection, request: Conversation) -> Conversation:
    """See `RuntimeStore.save_conversation`."""
    row = CONVERSATIONS.encode_row(request)
    changed = connection.execute(
        CONVERSATIONS.update("conversation_id"), (*row, request.conversation_id)
    )
    if not changed.rowcount:
        connection.execute(CONVERSATIONS.insert(), row)
    return request


def join(connection: sqlite3.Connection, request: Participant) -> Participant:
    """See `RuntimeStore.join`."""
    require_conversation(connection, request.conversation_id)
    known = find_row(connection, PARTICIPANTS, "participant_id", request.participant_id)
    known = known or _find_present_participant(connection, request)
    if known is None:
        connection.execute(PARTICIPANTS.insert(), PARTICIPANTS.encode_row(request))
    return known or request


def leave(connection: sqlite3.Connection, request: EndParticipation) -> Participant:
    """See `RuntimeStore.leave`."""
    connection.execute(
        "UPDATE conversation_participants SET left_at = ?"
        " WHERE participant_id = ? AND left_at IS NULL",
        (request.at, request.participant_id),
    )
    participant = find_row(connection, PARTICIPANTS, "participant_id", request.participant_id)
    if participant is None:
        raise CommandError(
            "unknown_participant", f"There is no participant {request.participant_id}."
        )
    return participant


def post(connection: sqlite3.Connection, request: PostMessage) -> SessionWriteResult:
    """See `RuntimeStore.post`."""
    messages = (request.message,) if append_message(connection, request.message) else ()
    actions: tuple[Action, ...] = ()
    for each in request.actions:
        action, fresh = enqueue_action(connection, each)
        actions += (action,) if fresh else ()
    return SessionWriteResult(messages=messages, actions=actions)


def append_message(connection: sqlite3.Connection, message: ConversationMessage) -> bool:
    """Add a message to its conversation; False where it is there already.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find_row(connection, MESSAGES, "message_id", message.message_id) is not None:
        return False
    require_conversation(connection, message.conversation_id)
    connection.execute(MESSAGES.insert(), MESSAGES.encode_row(message))
    return True


def advance(connection: sqlite3.Connection, request: ConversationCursor) -> ConversationCursor:
    """See `RuntimeStore.advance`."""
    new = find_message_number(connection, request.conversation_id, request.last_message_id)
    row = connection.execute(
        f"{make_select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (request.session_id, request.conversation_id),
    ).fetchone()
    if row is not None:
        stored_cursor = CURSORS.decode_row(row)
        if (
            find_message_number(connection, request.conversation_id, stored_cursor.last_message_id)
            >= new
        ):
            return stored_cursor
    connection.execute(
        CURSORS.insert().replace("INSERT", "INSERT OR REPLACE"), CURSORS.encode_row(request)
    )
    return request


def find_message_number(connection: sqlite3.Connection, conversation: str, message: str) -> int:
    """The number of a message: those after it have greater ones.

    Raises:
        CommandError: `unknown_message_id`: this conversation has none of this id.
    """
    row = connection.execute(
        "SELECT n FROM conversation_messages WHERE message_id = ? AND conversation_id = ?",
        (message, conversation),
    ).fetchone()
    if row is None:
        raise CommandError(
            "unknown_message_id", f"Conversation {conversation} has no message {message}."
        )
    return int(row[0])


def require_conversation(connection: sqlite3.Connection, conversation: str) -> None:
    """See that there is such a conversation.

    Raises:
        CommandError: `unknown_conversation`.
    """
    if find_row(connection, CONVERSATIONS, "conversation_id", conversation) is None:
        raise CommandError("unknown_conversation", f"There is no conversation {conversation}.")


def _find_present_participant(
    connection: sqlite3.Connection, request: Participant
) -> Participant | None:
    """The same user or session, where it takes part and hasn't left."""
    who = "user_id" if request.kind is ParticipantKind.USER else "session_id"
    row = connection.execute(
        f"{make_select(PARTICIPANTS)} WHERE conversation_id = ? AND kind = ? AND {who} = ?"
        " AND left_at IS NULL LIMIT 1",
        (request.conversation_id, request.kind, getattr(request, who)),
    ).fetchone()
    return None if row is None else PARTICIPANTS.decode_row(row)


# ---- a session's actions: how they come into the queue, and which of them is first ----------------


#: The first open action of a session.
SELECT_FIRST_ACTION: Final = (
    "SELECT n, urgency FROM actions WHERE session_id = ? AND rank IS NOT NULL"
    " ORDER BY rank, urgency DESC, n LIMIT 1"
)
#: Until when one of a session's is claimed.
SELECT_CLAIMED_UNTIL: Final = (
    "SELECT max(lease_until) FROM actions INDEXED BY actions_under_way"
    " WHERE session_id = ? AND status = 'claimed'"
)
_INSERT: Final = ACTIONS.insert(("rank",))


def enqueue_action(connection: sqlite3.Connection, action: Action) -> tuple[Action, bool]:
    """Enqueue an action for a session that exists, or give the one that is known; whether it is new.

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


def add_action(connection: sqlite3.Connection, action: Action) -> None:
    """Put an action into the queue."""
    rank = 0 if action.kind is ActionKind.CREATE else 1 if action.kind in CONTROL_ACTIONS else 2
    connection.execute(_INSERT, (*ACTIONS.encode_row(action), rank))


def find_known_action(connection: sqlite3.Connection, action: Action) -> Action | None:
    """The action that has the same id or the same `idem_key`."""
    known = find_row(connection, ACTIONS, "id", action.id)
    if known is None and action.idem_key is not None:
        known = find_row(connection, ACTIONS, "idem_key", action.idem_key)
    return known


def refresh_first_action(
    connection: sqlite3.Connection, session_id: str, now: float = -math.inf
) -> None:
    """Write anew which action of a session is first, and who may claim it.

    Args:
        connection: The writer's.
        session_id: The session.
        now: Leases that are over by then count no more. Without it all do, until the next claim.
    """
    first = connection.execute(SELECT_FIRST_ACTION, (session_id,)).fetchone()
    if first is None:
        connection.execute("DELETE FROM heads WHERE session_id = ?", (session_id,))
        return
    ((claimed_until,),) = connection.execute(SELECT_CLAIMED_UNTIL, (session_id,))
    hold = connection.execute(
        "SELECT owner, lease_until FROM holds WHERE session_id = ?", (session_id,)
    ).fetchone()
    owner, is_busy, due = "", False, None
    if claimed_until is not None and claimed_until > now:
        is_busy, due = True, claimed_until
    elif hold is not None and hold[1] > now:
        owner, due = hold
    connection.execute(
        "INSERT OR REPLACE INTO heads (session_id, action, urgency, owner, busy, due)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (session_id, *first, owner, is_busy, due),
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
    """A session's epoch, and who has it, without its snapshot. Raises as `session`."""
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
