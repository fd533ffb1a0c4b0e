"""What became of a session: its snapshot, its steps, what it said, and the actions that are over."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.runtime import LIVE_STATUSES, Action, ActionStatus, AgentState, AgentStep
from ...protocol.runtime_store_messages import ActionCompletion, SessionWrite, SessionWriteResult
from . import conversations
from .queue import require_session
from .sql import any_of
from .table_specs import ACTIONS, KEY, MESSAGES, STATES, STEPS
from .transaction import Transaction


async def write(transaction: Transaction, request: SessionWrite) -> SessionWriteResult:
    """See `RuntimeStore.write`."""
    stored = await require_session(transaction, request.session_id)
    _check(stored, request)
    state = None if request.state is None else _state(transaction, stored, request.state)
    steps = await _steps(transaction, request)
    await transaction.find(
        MESSAGES, [each.message_id for each in request.messages]
    )  # all at one go
    messages = tuple(
        [each for each in request.messages if await conversations.append(transaction, each)]
    )
    finished = [await _finish(transaction, request.session_id, each) for each in request.finished]
    return SessionWriteResult(
        state=state,
        steps=steps,
        messages=messages,
        actions=tuple(action for action in finished if action is not None),
    )


def _check(stored: AgentState, request: SessionWrite) -> None:
    if request.epoch != stored.epoch or stored.owner not in (None, request.owner):
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


def _state(transaction: Transaction, stored: AgentState, state: AgentState) -> AgentState | None:
    """Keep a snapshot; None where it is kept already."""
    live = state.status in LIVE_STATUSES
    new = replace(
        state,
        epoch=stored.epoch,
        owner=stored.owner if live else None,
        lease_until=stored.lease_until if live else None,
    )
    if new == stored:
        return None
    if stored.status not in LIVE_STATUSES:
        raise CommandError(
            "session_over", f"Session {state.session_id} has ended and can't change any more."
        )
    transaction.put(STATES, new)
    return new


async def _steps(transaction: Transaction, request: SessionWrite) -> tuple[AgentStep, ...]:
    """Keep steps; gives those that aren't kept already."""
    if not request.steps:
        return ()
    keys = {STEPS.key_of(step) for step in request.steps}
    ids = {step.id for step in request.steps}
    known = await transaction.find_where(
        STEPS,
        f"({any_of(KEY, keys)} OR {any_of('id', ids)})",
        lambda step: step.id in ids or STEPS.key_of(step) in keys,
    )
    places = {STEPS.key_of(step): step.id for step in known}
    by_id = {step.id: STEPS.key_of(step) for step in known}
    for step in request.steps:
        key = STEPS.key_of(step)
        if places.setdefault(key, step.id) != step.id or by_id.setdefault(step.id, key) != key:
            raise CommandError(
                "duplicate_step",
                f"Session {step.session_id} already has another step at iteration "
                f"{step.iteration}.",
            )
    stored = {step.id for step in known}
    fresh = {step.id: step for step in request.steps if step.id not in stored}
    for step in fresh.values():
        transaction.put(STEPS, step)
    return tuple(fresh.values())


async def _finish(
    transaction: Transaction, session: str, finish: ActionCompletion
) -> Action | None:
    """Close an action of its owner's and of this session; None where it is closed so already."""
    action: Action | None = await transaction.get(ACTIONS, finish.id)
    if action is None or (action.owner, action.session_id) != (finish.owner, session):
        raise _make_lost_claim_error(finish)
    if action.status is not ActionStatus.CLAIMED:
        if (action.status, action.error) != (finish.status, finish.error):
            raise _make_lost_claim_error(finish)
        return None
    closed = replace(
        action,
        status=finish.status,
        error=finish.error,
        processed_at=finish.processed_at,
        lease_until=None,
    )
    transaction.put(ACTIONS, closed)
    return closed


def _make_lost_claim_error(finish: ActionCompletion) -> CommandError:
    return CommandError(
        "stale_claim",
        f"Action {finish.id} no longer belongs to {finish.owner}: another worker does it.",
    )
