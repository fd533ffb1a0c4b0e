"""The queue: who may claim what next, and who has which session."""

from __future__ import annotations

from msgspec.structs import replace

from ...errors import CommandError, StoreError
from ...protocol.runtime import Action, ActionKind, ActionStatus, AgentState, SessionStatus
from ...protocol.runtime_store_messages import (
    ActionList,
    AdoptSessions,
    AgentSessionCreated,
    AgentStateList,
    ClaimAction,
    ClaimedAction,
    CreateAgentSession,
    EnqueueActions,
    LeasedSession,
    PostMessage,
    ReleaseLeases,
    RenewedLeases,
    RenewLeases,
    SessionWriteResult,
)
from . import conversations
from .index import is_lease_active
from .table_specs import ACTIONS, STATES, Row
from .transaction import Transaction

#: Sessions that go on by themselves.
_BEGUN = frozenset({SessionStatus.RUNNING, SessionStatus.PAUSED, SessionStatus.STOPPING})


async def create(transaction: Transaction, request: CreateAgentSession) -> AgentSessionCreated:
    """See `RuntimeStore.create`."""
    known = await transaction.get(STATES, request.state.session_id)
    if known is not None:
        return AgentSessionCreated(
            state=known, action=await _creation(transaction, known.session_id), is_new=False
        )
    action = await _find_known(transaction, request.action)
    if action is not None:
        known = await transaction.get(STATES, action.session_id)
        return AgentSessionCreated(state=known or request.state, action=action, is_new=False)
    transaction.put(STATES, request.state)
    transaction.put(ACTIONS, request.action)
    if request.participant is not None:
        await conversations.join(transaction, request.participant)
    if request.message is not None:
        await conversations.append(transaction, request.message)
    return AgentSessionCreated(state=request.state, action=request.action, is_new=True)


async def enqueue(transaction: Transaction, request: EnqueueActions) -> ActionList:
    """See `RuntimeStore.enqueue`."""
    await transaction.find(ACTIONS, [action.id for action in request.actions])  # all at one go
    return ActionList(
        actions=tuple([(await enqueue_one(transaction, each))[0] for each in request.actions])
    )


async def enqueue_one(transaction: Transaction, action: Action) -> tuple[Action, bool]:
    """Enqueue an action for a session that exists, or give the one that is known; whether it is new.

    Raises:
        CommandError: `unknown_session`.
    """
    known = await _find_known(transaction, action)
    if known is not None:
        return known, False
    await require_session(transaction, action.session_id)
    transaction.put(ACTIONS, action)
    return action, True


async def post(transaction: Transaction, request: PostMessage) -> SessionWriteResult:
    """See `RuntimeStore.post`."""
    messages = (
        (request.message,) if await conversations.append(transaction, request.message) else ()
    )
    found = [await enqueue_one(transaction, each) for each in request.actions]
    return SessionWriteResult(
        messages=messages, actions=tuple(action for action, fresh in found if fresh)
    )


async def claim(transaction: Transaction, request: ClaimAction) -> ClaimedAction:
    """See `RuntimeStore.claim`."""
    row = transaction.index.find_lost_claim(request.owner, request.held, request.now)
    if row is not None:
        action = replace(row.value, lease_until=request.lease_until)
    else:
        row = transaction.index.find_claimable(request.owner, request.now)
        if row is None:
            return ClaimedAction()
        action = replace(
            row.value,
            status=ActionStatus.CLAIMED,
            owner=request.owner,
            lease_until=request.lease_until,
            attempts=row.value.attempts + 1,
        )
    _requeue_actions(transaction, action.session_id)  # one at a time
    transaction.replace(ACTIONS, row, action)
    return ClaimedAction(
        action=action, state=await _take_lease_if_free(transaction, action.session_id, request)
    )


async def renew(transaction: Transaction, request: RenewLeases) -> RenewedLeases:
    """See `RuntimeStore.renew`."""
    named = None if request.sessions is None else frozenset(request.sessions)
    held = transaction.index.sessions_held_by(request.owner)
    sessions = sorted(
        (row for row in held if named is None or row.value.session_id in named),
        key=lambda row: row.number,
    )
    actions = sorted(
        transaction.index.actions_claimed_by(request.owner), key=lambda row: row.number
    )
    for row in sessions:
        transaction.replace(STATES, row, replace(row.value, lease_until=request.lease_until))
    for row in actions:
        transaction.replace(ACTIONS, row, replace(row.value, lease_until=request.lease_until))
    return RenewedLeases(
        sessions=tuple(
            LeasedSession(session_id=row.value.session_id, epoch=row.value.epoch)
            for row in sessions
        ),
        actions=tuple(row.value.id for row in actions),
    )


async def adopt(transaction: Transaction, request: AdoptSessions) -> AgentStateList:
    """See `RuntimeStore.adopt`."""
    rows = (row for row in transaction.index.states.values() if row.value.status in _BEGUN)
    free = (row for row in rows if not is_lease_active(row.value.lease_until, request.now))
    oldest = sorted(free, key=lambda row: (row.value.created_at, row.number))[: request.limit]
    for row in oldest:
        _requeue_actions(transaction, row.value.session_id)
    return AgentStateList(
        states=tuple(
            _take_lease(transaction, row, request.owner, request.lease_until) for row in oldest
        )
    )


async def release(transaction: Transaction, request: ReleaseLeases) -> None:
    """See `RuntimeStore.release`."""
    for spec, rows in (
        (STATES, transaction.index.sessions_held_by(request.owner)),
        (ACTIONS, transaction.index.actions_claimed_by(request.owner)),
    ):
        for row in rows:
            if is_lease_active(row.value.lease_until, request.until):
                transaction.replace(spec, row, replace(row.value, lease_until=request.until))


async def require_session(transaction: Transaction, session: str) -> AgentState:
    """A session's snapshot.

    Raises:
        CommandError: `unknown_session`.
    """
    state: AgentState | None = await transaction.get(STATES, session)
    if state is None:
        raise CommandError("unknown_session", f"There is no session {session}.")
    return state


async def _find_known(transaction: Transaction, action: Action) -> Action | None:
    """The action that has the same id or the same `idem_key`."""
    known: Action | None = await transaction.get(ACTIONS, action.id)
    if known is None and action.idem_key is not None:
        found = await transaction.find_by_fields(ACTIONS, idem_key=action.idem_key)
        known = found[0] if found else None
    return known


async def _creation(transaction: Transaction, session: str) -> Action:
    found: list[Action] = await transaction.find_by_fields(
        ACTIONS, session_id=session, kind=ActionKind.CREATE
    )
    if not found:
        raise StoreError(f"The action that created session {session} is missing: create another.")
    return found[0]


def _requeue_actions(transaction: Transaction, session: str) -> None:
    """What of a session was claimed under a lease that is over waits again."""
    for row in transaction.index.claimed_actions_of(session):
        waiting = replace(row.value, status=ActionStatus.QUEUED, owner=None, lease_until=None)
        transaction.replace(ACTIONS, row, waiting)


async def _take_lease_if_free(
    transaction: Transaction, session: str, request: ClaimAction
) -> AgentState | None:
    """The claimed action's session is the owner's from now on, where it is live."""
    row = transaction.index.states.get(session)
    if row is None:
        found: AgentState | None = await transaction.get(STATES, session)
        return found
    state: AgentState = row.value
    if state.owner != request.owner or not is_lease_active(state.lease_until, request.now):
        return _take_lease(transaction, row, request.owner, request.lease_until)
    until = max(state.lease_until or 0.0, request.lease_until)
    state = replace(state, lease_until=until)
    transaction.replace(STATES, row, state)
    return state


def _take_lease(transaction: Transaction, row: Row, owner: str, until: float) -> AgentState:
    state: AgentState = row.value
    taken = replace(state, epoch=state.epoch + 1, owner=owner, lease_until=until)
    transaction.replace(STATES, row, taken)
    return taken
