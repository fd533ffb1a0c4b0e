"""What became of a session: its snapshot, its steps, what it said, and the actions that are over."""

from __future__ import annotations

import sqlite3
from typing import Final

from msgspec.structs import replace

from ....errors import CommandError
from ....protocol.runtime import (
    LIVE,
    Action,
    ActionStatus,
    AgentState,
    AgentStep,
    ConversationMessage,
)
from ....protocol.runtime_asks import Finish, Write, Written
from . import talk
from .actions import refresh, standing
from .rows import ACTIONS, STATES, STEPS, find, find_state, select

_CHANGE: Final = STATES.update("session_id")
_STATUS: Final = STATES.columns.index("status")
_ADD_STEP: Final = STEPS.insert()


def write(connection: sqlite3.Connection, ask: Write) -> Written:
    """See `RuntimeStore.write`."""
    _check(ask, *standing(connection, ask.session_id))
    changed = ask.state is not None and _state(connection, ask.state, ask.epoch)
    steps = tuple(step for step in ask.steps if _step(connection, step))
    messages: tuple[ConversationMessage, ...] = tuple(
        message for message in ask.messages if talk.append(connection, message)
    )
    finished = tuple(_finish(connection, ask.session_id, each) for each in ask.finished)
    refresh(connection, ask.session_id)
    return Written(
        state=find_state(connection, ask.session_id) if changed else None,
        steps=steps,
        messages=messages,
        actions=tuple(action for action in finished if action is not None),
    )


def _check(ask: Write, epoch: int, owner: str | None) -> None:
    if ask.epoch != epoch or owner not in (None, ask.owner):
        raise CommandError(
            "stale_epoch", f"Session {ask.session_id} is another worker's by now: it goes on there."
        )
    others = {each.session_id for each in (*ask.steps, *((ask.state,) if ask.state else ()))}
    if others - {ask.session_id}:
        raise CommandError(
            "invalid_message", f"A write of session {ask.session_id} has another session's rows."
        )


def _state(connection: sqlite3.Connection, state: AgentState, epoch: int) -> bool:
    """Keep a snapshot; False where it is kept already."""
    row = STATES.row(replace(state, epoch=epoch))
    before = connection.execute(
        f"{select(STATES)} WHERE session_id = ?", (state.session_id,)
    ).fetchone()
    if row == before:
        return False
    if before[_STATUS] not in LIVE:
        raise CommandError(
            "session_over", f"Session {state.session_id} has ended: nothing of it changes any more."
        )
    if state.status not in LIVE:
        connection.execute("DELETE FROM holds WHERE session_id = ?", (state.session_id,))
    connection.execute(_CHANGE, (*row, state.session_id))
    return True


def _step(connection: sqlite3.Connection, step: AgentStep) -> bool:
    """Keep a step; False where it is kept already."""
    found = connection.execute(
        "SELECT id, session_id, iteration, event_seq FROM agent_steps"
        " WHERE id = ? OR (session_id = ? AND iteration = ? AND event_seq = ?)",
        (step.id, step.session_id, step.iteration, step.event_seq),
    ).fetchall()
    if not found:
        connection.execute(_ADD_STEP, STEPS.row(step))
        return True
    if found != [(step.id, step.session_id, step.iteration, step.event_seq)]:
        raise CommandError(
            "duplicate_step",
            f"Another step stands at iteration {step.iteration} of session {step.session_id}.",
        )
    return False


def _finish(connection: sqlite3.Connection, session: str, finish: Finish) -> Action | None:
    """Close an action of its owner's and of this session; None where it is closed so already."""
    action = find(connection, ACTIONS, "id", finish.id)
    if action is None or (action.owner, action.session_id) != (finish.owner, session):
        raise _stale(finish)
    if action.status is not ActionStatus.CLAIMED:
        if (action.status, action.error) != (finish.status, finish.error):
            raise _stale(finish)
        return None
    connection.execute(
        "UPDATE actions SET status = ?, error = ?, processed_at = ?, lease_until = NULL, rank = NULL"
        " WHERE id = ?",
        (finish.status, finish.error, finish.processed_at, finish.id),
    )
    return find(connection, ACTIONS, "id", finish.id)


def _stale(finish: Finish) -> CommandError:
    return CommandError(
        "stale_claim", f"Action {finish.id} isn't {finish.owner}'s any more: it is done elsewhere."
    )
