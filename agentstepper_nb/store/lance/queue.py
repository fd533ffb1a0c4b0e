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
from .draft import Draft
from .index import lasts
from .kinds import ACTIONS, STATES, Row

#: Sessions that go on by themselves.
_BEGUN = frozenset({SessionStatus.RUNNING, SessionStatus.PAUSED, SessionStatus.STOPPING})


async def create(draft: Draft, ask: CreateAgentSession) -> AgentSessionCreated:
    """See `RuntimeStore.create`."""
    known = await draft.get(STATES, ask.state.session_id)
    if known is not None:
        return AgentSessionCreated(
            state=known, action=await _creation(draft, known.session_id), is_new=False
        )
    action = await _known(draft, ask.action)
    if action is not None:
        known = await draft.get(STATES, action.session_id)
        return AgentSessionCreated(state=known or ask.state, action=action, is_new=False)
    draft.put(STATES, ask.state)
    draft.put(ACTIONS, ask.action)
    if ask.participant is not None:
        await conversations.join(draft, ask.participant)
    if ask.message is not None:
        await conversations.append(draft, ask.message)
    return AgentSessionCreated(state=ask.state, action=ask.action, is_new=True)


async def enqueue(draft: Draft, ask: EnqueueActions) -> ActionList:
    """See `RuntimeStore.enqueue`."""
    await draft.find(ACTIONS, [action.id for action in ask.actions])  # all at one go
    return ActionList(actions=tuple([(await enqueue_one(draft, each))[0] for each in ask.actions]))


async def enqueue_one(draft: Draft, action: Action) -> tuple[Action, bool]:
    """Enqueue an action for a session that exists, or give the one that is known; whether it is new.

    Raises:
        CommandError: `unknown_session`.
    """
    known = await _known(draft, action)
    if known is not None:
        return known, False
    await require_session(draft, action.session_id)
    draft.put(ACTIONS, action)
    return action, True


async def post(draft: Draft, ask: PostMessage) -> SessionWriteResult:
    """See `RuntimeStore.post`."""
    messages = (ask.message,) if await conversations.append(draft, ask.message) else ()
    found = [await enqueue_one(draft, each) for each in ask.actions]
    return SessionWriteResult(
        messages=messages, actions=tuple(action for action, fresh in found if fresh)
    )


async def claim(draft: Draft, ask: ClaimAction) -> ClaimedAction:
    """See `RuntimeStore.claim`."""
    row = draft.index.lost(ask.owner, ask.held, ask.now)
    if row is not None:
        action = replace(row.value, lease_until=ask.lease_until)
    else:
        row = draft.index.ready(ask.owner, ask.now)
        if row is None:
            return ClaimedAction()
        action = replace(
            row.value,
            status=ActionStatus.CLAIMED,
            owner=ask.owner,
            lease_until=ask.lease_until,
            attempts=row.value.attempts + 1,
        )
    _give_back(draft, action.session_id)  # one at a time
    draft.change(ACTIONS, row, action)
    return ClaimedAction(action=action, state=await _take_if_free(draft, action.session_id, ask))


async def renew(draft: Draft, ask: RenewLeases) -> RenewedLeases:
    """See `RuntimeStore.renew`."""
    named = None if ask.sessions is None else frozenset(ask.sessions)
    held = draft.index.held_by(ask.owner)
    sessions = sorted(
        (row for row in held if named is None or row.value.session_id in named),
        key=lambda row: row.n,
    )
    actions = sorted(draft.index.claimed_by(ask.owner), key=lambda row: row.n)
    for row in sessions:
        draft.change(STATES, row, replace(row.value, lease_until=ask.lease_until))
    for row in actions:
        draft.change(ACTIONS, row, replace(row.value, lease_until=ask.lease_until))
    return RenewedLeases(
        sessions=tuple(
            LeasedSession(session_id=row.value.session_id, epoch=row.value.epoch)
            for row in sessions
        ),
        actions=tuple(row.value.id for row in actions),
    )


async def adopt(draft: Draft, ask: AdoptSessions) -> AgentStateList:
    """See `RuntimeStore.adopt`."""
    rows = (row for row in draft.index.states.values() if row.value.status in _BEGUN)
    free = (row for row in rows if not lasts(row.value.lease_until, ask.now))
    oldest = sorted(free, key=lambda row: (row.value.created_at, row.n))[: ask.limit]
    for row in oldest:
        _give_back(draft, row.value.session_id)
    return AgentStateList(
        states=tuple(_take(draft, row, ask.owner, ask.lease_until) for row in oldest)
    )


async def release(draft: Draft, ask: ReleaseLeases) -> None:
    """See `RuntimeStore.release`."""
    for kind, rows in (
        (STATES, draft.index.held_by(ask.owner)),
        (ACTIONS, draft.index.claimed_by(ask.owner)),
    ):
        for row in rows:
            if lasts(row.value.lease_until, ask.until):
                draft.change(kind, row, replace(row.value, lease_until=ask.until))


async def require_session(draft: Draft, session: str) -> AgentState:
    """A session's snapshot.

    Raises:
        CommandError: `unknown_session`.
    """
    state: AgentState | None = await draft.get(STATES, session)
    if state is None:
        raise CommandError("unknown_session", f"There is no session {session}.")
    return state


async def _known(draft: Draft, action: Action) -> Action | None:
    """The action that has the same id or the same `idem_key`."""
    known: Action | None = await draft.get(ACTIONS, action.id)
    if known is None and action.idem_key is not None:
        found = await draft.matching(ACTIONS, idem_key=action.idem_key)
        known = found[0] if found else None
    return known


async def _creation(draft: Draft, session: str) -> Action:
    found: list[Action] = await draft.matching(ACTIONS, session_id=session, kind=ActionKind.CREATE)
    if not found:
        raise StoreError(f"The action that created session {session} is missing: create another.")
    return found[0]


def _give_back(draft: Draft, session: str) -> None:
    """What of a session was claimed under a lease that is over waits again."""
    for row in draft.index.claimed_of(session):
        waiting = replace(row.value, status=ActionStatus.QUEUED, owner=None, lease_until=None)
        draft.change(ACTIONS, row, waiting)


async def _take_if_free(draft: Draft, session: str, ask: ClaimAction) -> AgentState | None:
    """The claimed action's session is the owner's from now on, where it is live."""
    row = draft.index.states.get(session)
    if row is None:
        found: AgentState | None = await draft.get(STATES, session)
        return found
    state: AgentState = row.value
    if state.owner != ask.owner or not lasts(state.lease_until, ask.now):
        return _take(draft, row, ask.owner, ask.lease_until)
    until = max(state.lease_until or 0.0, ask.lease_until)
    state = replace(state, lease_until=until)
    draft.change(STATES, row, state)
    return state


def _take(draft: Draft, row: Row, owner: str, until: float) -> AgentState:
    state: AgentState = row.value
    taken = replace(state, epoch=state.epoch + 1, owner=owner, lease_until=until)
    draft.change(STATES, row, taken)
    return taken
