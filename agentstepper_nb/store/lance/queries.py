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
from .sql import all_of, any_of, compare, equals
from .table_specs import ACTIONS, CONVERSATIONS, KEY, MESSAGES, ORDER, PARTICIPANTS, STATES, STEPS
from .tables import Tables

_OLDEST = ((ORDER, True),)
_NEWEST = (("created_at", False), (ORDER, False))
_BY_ITERATION = (("session_id", True), ("iteration", True), ("event_seq", True))
_LAST_FIRST = (("session_id", True), ("iteration", False), ("event_seq", False))


async def actions(tables: Tables, request: ActionQuery) -> ActionList:
    """See `RuntimeStore.actions`."""
    where = _equal(
        id=request.id,
        idem_key=request.idem_key,
        session_id=request.session_id,
        agent_id=request.agent_id,
        kind=request.kind,
        status=request.status,
    )
    rows = await tables.select(ACTIONS, where, _OLDEST, request.limit, request.offset)
    return ActionList(actions=tuple(row.value for row in rows))


async def states(tables: Tables, request: StateQuery) -> AgentStateList:
    """See `RuntimeStore.states`."""
    where = all_of(
        _equal(session_id=request.session_id, agent_id=request.agent_id),
        any_of("status", request.status) if request.status else None,
    )
    rows = await tables.select(STATES, where, _NEWEST, request.limit, request.offset)
    return AgentStateList(states=tuple(row.value for row in rows))


async def steps(tables: Tables, request: StepQuery) -> AgentStepList:
    """See `RuntimeStore.steps`."""
    where = all_of(
        _equal(session_id=request.session_id, agent_id=request.agent_id, status=request.status),
        _compare_optional("iteration", ">=", request.min_iteration),
        _compare_optional("iteration", "<=", request.max_iteration),
        _compare_optional("iteration", ">", request.after_iteration),
        _compare_optional("created_at", ">=", request.since),
    )
    if not request.latest:
        rows = await tables.select(STEPS, where, _BY_ITERATION, request.limit, request.offset)
    elif request.session_id is not None:
        rows = await tables.select(STEPS, where, _LAST_FIRST, 1)
        rows = rows[request.offset :]
    else:
        keys = await tables.first_of_each(STEPS, "session_id", where, _LAST_FIRST)
        wanted = keys[request.offset : request.offset + request.limit]
        rows = await tables.select(STEPS, any_of(KEY, wanted), _BY_ITERATION) if wanted else []
    return AgentStepList(steps=tuple(row.value for row in rows))


async def sessions(tables: Tables, request: AgentSessionQuery) -> AgentSessionList:
    """See `RuntimeStore.sessions`."""
    stored = await states(tables, StateQuery(agent_id=request.agent_id, limit=request.limit))
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
        for state in stored.states
    ]
    found += [
        await _summarize_steps(tables, session)
        for session in await _orphans(tables, request.agent_id)
    ]
    found.sort(key=lambda each: each.first_at, reverse=True)
    return AgentSessionList(sessions=tuple(found[: request.limit]))


async def conversations(tables: Tables, request: ConversationQuery) -> ConversationList:
    """See `RuntimeStore.conversations`."""
    where = _equal(conversation_id=request.conversation_id, status=request.status)
    if request.tag is None:
        rows = await tables.select(CONVERSATIONS, where, _NEWEST, request.limit, request.offset)
    else:
        rows = await tables.select(CONVERSATIONS, where, _NEWEST)
        rows = [row for row in rows if request.tag in row.value.tags]
        rows = rows[request.offset : request.offset + request.limit]
    return ConversationList(conversations=tuple(row.value for row in rows))


async def participants(tables: Tables, request: ParticipantQuery) -> ParticipantList:
    """See `RuntimeStore.participants`."""
    where = all_of(
        _equal(conversation_id=request.conversation_id, session_id=request.session_id),
        "left_at IS NULL" if request.is_present else None,
    )
    rows = await tables.select(PARTICIPANTS, where, _OLDEST)
    return ParticipantList(participants=tuple(row.value for row in rows))


async def messages(
    tables: Tables, request: MessageQuery, after: int | None
) -> ConversationMessageList:
    """See `RuntimeStore.messages`.

    Args:
        tables: Where.
        request: What is asked.
        after: The place of the message that it is to come after.
    """
    named = _equal(conversation_id=request.conversation_id, message_id=request.message_id)
    where = all_of(named, _compare_optional(ORDER, ">", after))
    order = ((ORDER, not request.last),)
    rows = await tables.select(MESSAGES, where, order, request.limit)
    return ConversationMessageList(
        messages=tuple(row.value for row in (reversed(rows) if request.last else rows))
    )


async def _orphans(tables: Tables, agent: str) -> list[str]:
    """The agent's sessions that have steps and no snapshot."""
    found = await tables.distinct(STEPS, "session_id", equals("agent_id", agent))
    if not found:
        return []
    stored = await tables.distinct(STATES, "session_id", any_of("session_id", found))
    return sorted(set(found) - set(stored))


async def _summarize_steps(tables: Tables, session: str) -> AgentSessionInfo:
    where = equals("session_id", session)
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
    return all_of(*(equals(name, value) for name, value in columns.items() if value is not None))


def _compare_optional(column: str, how: str, value: float | None) -> str | None:
    return None if value is None else compare(column, how, value)
