"""What became of a session: its snapshot, its steps, what it said, and the actions that are over."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import CommandError
from ...protocol.runtime import LIVE_STATUSES, Action, ActionStatus, AgentState, AgentStep
from ...protocol.runtime_store_messages import ActionCompletion, SessionWrite, SessionWriteResult
from . import conversations
from .draft import Draft
from .kinds import ACTIONS, KEY, MESSAGES, STATES, STEPS
from .queue import require_session
from .sql import any_of


async def write(draft: Draft, ask: SessionWrite) -> SessionWriteResult:
    """See `RuntimeStore.write`."""
    kept = await require_session(draft, ask.session_id)
    _check(kept, ask)
    state = None if ask.state is None else _state(draft, kept, ask.state)
    steps = await _steps(draft, ask)
    await draft.find(MESSAGES, [each.message_id for each in ask.messages])  # all at one go
    messages = tuple([each for each in ask.messages if await conversations.append(draft, each)])
    finished = [await _finish(draft, ask.session_id, each) for each in ask.finished]
    return SessionWriteResult(
        state=state,
        steps=steps,
        messages=messages,
        actions=tuple(action for action in finished if action is not None),
    )


def _check(kept: AgentState, ask: SessionWrite) -> None:
    if ask.epoch != kept.epoch or kept.owner not in (None, ask.owner):
        raise CommandError(
            "stale_epoch",
            f"Session {ask.session_id} now belongs to another worker, where it continues.",
        )
    others = {each.session_id for each in (*ask.steps, *((ask.state,) if ask.state else ()))}
    if others - {ask.session_id}:
        raise CommandError(
            "invalid_message",
            f"A write of session {ask.session_id} contains rows of another session.",
        )


def _state(draft: Draft, kept: AgentState, state: AgentState) -> AgentState | None:
    """Keep a snapshot; None where it is kept already."""
    live = state.status in LIVE_STATUSES
    new = replace(
        state,
        epoch=kept.epoch,
        owner=kept.owner if live else None,
        lease_until=kept.lease_until if live else None,
    )
    if new == kept:
        return None
    if kept.status not in LIVE_STATUSES:
        raise CommandError(
            "session_over", f"Session {state.session_id} has ended and can't change any more."
        )
    draft.put(STATES, new)
    return new


async def _steps(draft: Draft, ask: SessionWrite) -> tuple[AgentStep, ...]:
    """Keep steps; gives those that aren't kept already."""
    if not ask.steps:
        return ()
    keys = {STEPS.key_of(step) for step in ask.steps}
    ids = {step.id for step in ask.steps}
    known = await draft.where(
        STEPS,
        f"({any_of(KEY, keys)} OR {any_of('id', ids)})",
        lambda step: step.id in ids or STEPS.key_of(step) in keys,
    )
    places = {STEPS.key_of(step): step.id for step in known}
    by_id = {step.id: STEPS.key_of(step) for step in known}
    for step in ask.steps:
        key = STEPS.key_of(step)
        if places.setdefault(key, step.id) != step.id or by_id.setdefault(step.id, key) != key:
            raise CommandError(
                "duplicate_step",
                f"Session {step.session_id} already has another step at iteration "
                f"{step.iteration}.",
            )
    kept = {step.id for step in known}
    fresh = {step.id: step for step in ask.steps if step.id not in kept}
    for step in fresh.values():
        draft.put(STEPS, step)
    return tuple(fresh.values())


async def _finish(draft: Draft, session: str, finish: ActionCompletion) -> Action | None:
    """Close an action of its owner's and of this session; None where it is closed so already."""
    action: Action | None = await draft.get(ACTIONS, finish.id)
    if action is None or (action.owner, action.session_id) != (finish.owner, session):
        raise _stale(finish)
    if action.status is not ActionStatus.CLAIMED:
        if (action.status, action.error) != (finish.status, finish.error):
            raise _stale(finish)
        return None
    closed = replace(
        action,
        status=finish.status,
        error=finish.error,
        processed_at=finish.processed_at,
        lease_until=None,
    )
    draft.put(ACTIONS, closed)
    return closed


def _stale(finish: ActionCompletion) -> CommandError:
    return CommandError(
        "stale_claim",
        f"Action {finish.id} no longer belongs to {finish.owner}: another worker does it.",
    )
