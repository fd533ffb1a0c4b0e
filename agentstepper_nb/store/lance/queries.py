"""What is asked of the tables, without changing them."""

from __future__ import annotations

from ...protocol.runtime import AgentSessionInfo, AgentStep
from ...protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    StateQuery,
    StepQuery,
)
from .kinds import ACTIONS, CONVERSATIONS, KEY, MESSAGES, ORDER, PARTICIPANTS, STATES, STEPS
from .sql import any_of, both, compare, equal
from .tables import Tables

_OLDEST = ((ORDER, True),)
_NEWEST = (("created_at", False), (ORDER, False))
_BY_ITERATION = (("session_id", True), ("iteration", True), ("event_seq", True))
_LAST_FIRST = (("session_id", True), ("iteration", False), ("event_seq", False))


async def actions(tables: Tables, ask: ActionQuery) -> ActionList:
    """See `RuntimeStore.actions`."""
    where = _equal(
        id=ask.id,
        idem_key=ask.idem_key,
        session_id=ask.session_id,
        agent_id=ask.agent_id,
        kind=ask.kind,
        status=ask.status,
    )
    rows = await tables.select(ACTIONS, where, _OLDEST, ask.limit, ask.offset)
    return ActionList(actions=tuple(row.value for row in rows))


async def states(tables: Tables, ask: StateQuery) -> AgentStateList:
    """See `RuntimeStore.states`."""
    where = both(
        _equal(session_id=ask.session_id, agent_id=ask.agent_id),
        any_of("status", ask.status) if ask.status else None,
    )
    rows = await tables.select(STATES, where, _NEWEST, ask.limit, ask.offset)
    return AgentStateList(states=tuple(row.value for row in rows))


async def steps(tables: Tables, ask: StepQuery) -> AgentStepList:
    """See `RuntimeStore.steps`."""
    where = both(
        _equal(session_id=ask.session_id, agent_id=ask.agent_id, status=ask.status),
        _compared("iteration", ">=", ask.min_iteration),
        _compared("iteration", "<=", ask.max_iteration),
        _compared("iteration", ">", ask.after_iteration),
        _compared("created_at", ">=", ask.since),
    )
    if not ask.latest:
        rows = await tables.select(STEPS, where, _BY_ITERATION, ask.limit, ask.offset)
    elif ask.session_id is not None:
        rows = await tables.select(STEPS, where, _LAST_FIRST, 1)
        rows = rows[ask.offset :]
    else:
        keys = await tables.first_of_each(STEPS, "session_id", where, _LAST_FIRST)
        wanted = keys[ask.offset : ask.offset + ask.limit]
        rows = await tables.select(STEPS, any_of(KEY, wanted), _BY_ITERATION) if wanted else []
    return AgentStepList(steps=tuple(row.value for row in rows))


async def sessions(tables: Tables, ask: AgentSessionQuery) -> AgentSessionList:
    """See `RuntimeStore.sessions`."""
    kept = await states(tables, StateQuery(agent_id=ask.agent_id, limit=ask.limit))
    found = [
        AgentSessionInfo(
            agent_id=state.agent_id,
            session_id=state.session_id,
            status=state.status,
            iteration=state.iteration,
            first_at=state.created_at,
            last_at=state.updated_at,
            state=state,
        )
        for state in kept.states
    ]
    found += [await _of_steps(tables, session) for session in await _orphans(tables, ask.agent_id)]
    found.sort(key=lambda each: each.first_at, reverse=True)
    return AgentSessionList(sessions=tuple(found[: ask.limit]))


async def conversations(tables: Tables, ask: ConversationQuery) -> ConversationList:
    """See `RuntimeStore.conversations`."""
    where = _equal(conversation_id=ask.conversation_id, status=ask.status)
    if ask.tag is None:
        rows = await tables.select(CONVERSATIONS, where, _NEWEST, ask.limit, ask.offset)
    else:
        rows = await tables.select(CONVERSATIONS, where, _NEWEST)
        rows = [row for row in rows if ask.tag in row.value.tags]
        rows = rows[ask.offset : ask.offset + ask.limit]
    return ConversationList(conversations=tuple(row.value for row in rows))


async def participants(tables: Tables, ask: ParticipantQuery) -> ParticipantList:
    """See `RuntimeStore.participants`."""
    where = both(
        _equal(conversation_id=ask.conversation_id, session_id=ask.session_id),
        "left_at IS NULL" if ask.is_present else None,
    )
    rows = await tables.select(PARTICIPANTS, where, _OLDEST)
    return ParticipantList(participants=tuple(row.value for row in rows))


async def messages(tables: Tables, ask: MessageQuery, after: int | None) -> ConversationMessageList:
    """See `RuntimeStore.messages`.

    Args:
        tables: Where.
        ask: What is asked.
        after: The place of the message that it is to come after.
    """
    named = _equal(conversation_id=ask.conversation_id, message_id=ask.message_id)
    where = both(named, _compared(ORDER, ">", after))
    order = ((ORDER, not ask.last),)
    rows = await tables.select(MESSAGES, where, order, ask.limit)
    return ConversationMessageList(
        messages=tuple(row.value for row in (reversed(rows) if ask.last else rows))
    )


async def _orphans(tables: Tables, agent: str) -> list[str]:
    """The agent's sessions that have steps and no snapshot."""
    found = await tables.distinct(STEPS, "session_id", equal("agent_id", agent))
    if not found:
        return []
    kept = await tables.distinct(STATES, "session_id", any_of("session_id", found))
    return sorted(set(found) - set(kept))


async def _of_steps(tables: Tables, session: str) -> AgentSessionInfo:
    where = equal("session_id", session)
    (first,) = await tables.select(STEPS, where, _BY_ITERATION, 1)
    (last,) = await tables.select(STEPS, where, _LAST_FIRST, 1)
    step: AgentStep = last.value
    return AgentSessionInfo(
        agent_id=step.agent_id,
        session_id=session,
        status=step.status,
        iteration=step.iteration + 1,
        first_at=first.value.created_at,
        last_at=step.created_at,
    )


def _equal(**columns: str | None) -> str | None:
    """Those that aren't None are equal."""
    return both(*(equal(name, value) for name, value in columns.items() if value is not None))


def _compared(column: str, how: str, value: float | None) -> str | None:
    return None if value is None else compare(column, how, value)
