"""What is asked of the tables, without changing them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ....protocol.runtime import LIVE, ActionStatus, AgentState, AgentStep, SessionSummary
from ....protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CursorQuery,
    CursorResult,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    RuntimeStoreInfo,
    StateQuery,
    StepQuery,
)
from .mutations import find_message_number
from .row_codec import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    SELECT_STATES,
    STEPS,
    Value,
    decode_state,
    make_select,
)

_OPEN: Final = frozenset({ActionStatus.QUEUED, ActionStatus.CLAIMED})


@dataclass
class WhereClause:
    """Conditions, all of which hold, and their values."""

    terms: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, term: str, *values: Value) -> WhereClause:
        """One more, where none of its values is None."""
        if None not in values:
            self.terms.append(term)
            self.values += values
        return self

    def any_of(self, column: str, values: Iterable[Value]) -> WhereClause:
        """One more: the column has one of these, where there are any."""
        found = tuple(values)
        if found:
            self.add(f"{column} IN ({', '.join('?' * len(found))})", *found)
        return self

    @property
    def text(self) -> str:
        """As it stands in a statement."""
        return f" WHERE {' AND '.join(self.terms)}" if self.terms else ""


def find_actions(connection: sqlite3.Connection, ask: ActionQuery) -> ActionList:
    """See `RuntimeStore.actions`."""
    where = (
        WhereClause()
        .add("id = ?", ask.id)
        .add("idem_key = ?", ask.idem_key)
        .add("session_id = ?", ask.session_id)
        .add("agent_id = ?", ask.agent_id)
        .add("kind = ?", ask.kind)
    )
    if ask.status is not None:
        where.add(f"status = '{ask.status.value}'")  # as the conditions of indexes have it
    if ask.status in _OPEN:
        where.add("rank IS NOT NULL")
    rows = connection.execute(
        f"{make_select(ACTIONS)}{where.text} ORDER BY n LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return ActionList(actions=ACTIONS.values(rows))


def find_states(connection: sqlite3.Connection, ask: StateQuery) -> AgentStateList:
    """See `RuntimeStore.states`."""
    where = (
        WhereClause()
        .add("s.session_id = ?", ask.session_id)
        .add("s.agent_id = ?", ask.agent_id)
        .any_of("s.status", ask.status)
    )
    rows = connection.execute(
        f"{SELECT_STATES}{where.text} ORDER BY s.created_at DESC, s.n DESC LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return AgentStateList(states=tuple(decode_state(row) for row in rows))


def find_steps(connection: sqlite3.Connection, ask: StepQuery) -> AgentStepList:
    """See `RuntimeStore.steps`."""
    where = (
        WhereClause()
        .add("iteration >= ?", ask.min_iteration)
        .add("iteration <= ?", ask.max_iteration)
        .add("iteration > ?", ask.after_iteration)
        .add("created_at >= ?", ask.since)
        .add("status = ?", ask.status)
    )
    if ask.latest:
        return _latest_steps(connection, ask, where)
    where.add("session_id = ?", ask.session_id).add("agent_id = ?", ask.agent_id)
    rows = connection.execute(
        f"{make_select(STEPS)}{where.text} ORDER BY session_id, iteration, event_seq LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return AgentStepList(steps=STEPS.values(rows))


def _latest_steps(
    connection: sqlite3.Connection, ask: StepQuery, filters: WhereClause
) -> AgentStepList:
    """Of each session the last step that the filters let through; the others aren't read."""
    sessions = WhereClause().add("session_id = ?", ask.session_id).add("agent_id = ?", ask.agent_id)
    of_it = WhereClause(["t.session_id = sessions.id", *filters.terms], [*filters.values])
    of_it.add("agent_id = ?", ask.agent_id)
    rows = connection.execute(
        f"WITH RECURSIVE {select_distinct_sessions(sessions)}"
        f" {make_select(STEPS)} WHERE n IN (SELECT (SELECT t.n FROM agent_steps AS t{of_it.text}"
        " ORDER BY t.iteration DESC, t.event_seq DESC LIMIT 1) FROM sessions)"
        " ORDER BY session_id LIMIT ? OFFSET ?",
        (*sessions.values, *sessions.values, *of_it.values, ask.limit, ask.offset),
    )
    return AgentStepList(steps=STEPS.values(rows))


def select_distinct_sessions(where: WhereClause) -> str:
    """A common table `sessions (id)` of those that steps name, each found by one look into an index.

    Args:
        where: Which steps; its values are needed twice.
    """
    after = WhereClause([*where.terms, "session_id > sessions.id"], [])
    return (
        f"sessions (id) AS (SELECT min(session_id) FROM agent_steps{where.text}"
        f" UNION ALL SELECT (SELECT min(session_id) FROM agent_steps{after.text})"
        " FROM sessions WHERE id IS NOT NULL)"
    )


def find_conversations(connection: sqlite3.Connection, ask: ConversationQuery) -> ConversationList:
    """See `RuntimeStore.conversations`."""
    where = (
        WhereClause()
        .add("conversation_id = ?", ask.conversation_id)
        .add("status = ?", ask.status)
        .add(
            "CASE WHEN json_valid(tags) THEN EXISTS"
            " (SELECT 1 FROM json_each(tags) WHERE value = ?) END",
            ask.tag,
        )
    )
    rows = connection.execute(
        f"{make_select(CONVERSATIONS)}{where.text} ORDER BY created_at DESC, n DESC LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return ConversationList(conversations=CONVERSATIONS.values(rows))


def find_participants(connection: sqlite3.Connection, ask: ParticipantQuery) -> ParticipantList:
    """See `RuntimeStore.participants`."""
    where = WhereClause().add("conversation_id = ?", ask.conversation_id)
    where.add("session_id = ?", ask.session_id)
    if ask.here:
        where.add("left_at IS NULL")
    rows = connection.execute(f"{make_select(PARTICIPANTS)}{where.text} ORDER BY n", where.values)
    return ParticipantList(participants=PARTICIPANTS.values(rows))


def find_messages(connection: sqlite3.Connection, ask: MessageQuery) -> ConversationMessageList:
    """See `RuntimeStore.messages`."""
    where = WhereClause().add("conversation_id = ?", ask.conversation_id)
    where.add("message_id = ?", ask.message_id)
    if ask.after is not None:
        where.add("n > ?", find_message_number(connection, ask.conversation_id, ask.after))
    rows = connection.execute(
        f"{make_select(MESSAGES)}{where.text} ORDER BY n {'DESC' if ask.last else 'ASC'} LIMIT ?",
        (*where.values, ask.limit),
    )
    found = MESSAGES.values(rows)
    return ConversationMessageList(messages=found[::-1] if ask.last else found)


def find_cursor(connection: sqlite3.Connection, ask: CursorQuery) -> CursorResult:
    """See `RuntimeStore.cursor`."""
    row = connection.execute(
        f"{make_select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (ask.session_id, ask.conversation_id),
    ).fetchone()
    return CursorResult(cursor=None if row is None else CURSORS.value(row))


# ---- sessions, and how much there is of everything ------------------------------------------------


def find_sessions(connection: sqlite3.Connection, ask: AgentSessionQuery) -> AgentSessionList:
    """See `RuntimeStore.sessions`."""
    kept = find_states(connection, StateQuery(agent_id=ask.agent_id, limit=ask.limit)).states
    found = [_of_state(state) for state in kept]
    found += [_of_steps(connection, session) for session in _orphans(connection, ask.agent_id)]
    found.sort(key=lambda each: each.first_at, reverse=True)
    return AgentSessionList(sessions=tuple(found[: ask.limit]))


def read_info(connection: sqlite3.Connection, path: Path | None) -> RuntimeStoreInfo:
    """See `RuntimeStore.info`."""
    marks = ", ".join("?" * len(LIVE))
    ((live,),) = connection.execute(
        f"SELECT count(*) FROM agent_state WHERE status IN ({marks})", tuple(LIVE)
    )
    ((open_,),) = connection.execute("SELECT count(*) FROM actions WHERE rank IS NOT NULL")
    return RuntimeStoreInfo(
        kind="memory" if path is None else "sqlite",
        place="memory" if path is None else str(path),
        live=live,
        open=open_,
        size=None if path is None else _size(path),
    )


def _of_state(state: AgentState) -> SessionSummary:
    return SessionSummary(
        agent_id=state.agent_id,
        session_id=state.session_id,
        status=state.status,
        iteration=state.iteration,
        first_at=state.created_at,
        last_at=state.updated_at,
        state=state,
    )


def _orphans(connection: sqlite3.Connection, agent: str) -> list[str]:
    """The agent's sessions that have steps and no snapshot."""
    where = WhereClause().add("agent_id = ?", agent)
    rows = connection.execute(
        f"WITH RECURSIVE {select_distinct_sessions(where)} SELECT id FROM sessions WHERE id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM agent_state AS s WHERE s.session_id = sessions.id)",
        (*where.values, *where.values),
    )
    return [session for (session,) in rows]


def _of_steps(connection: sqlite3.Connection, session: str) -> SessionSummary:
    first, last = (_end(connection, session, order) for order in ("ASC", "DESC"))
    return SessionSummary(
        agent_id=last.agent_id,
        session_id=session,
        status=last.status,
        iteration=last.iteration + 1,
        first_at=first.created_at,
        last_at=last.created_at,
    )


def _end(connection: sqlite3.Connection, session: str, order: str) -> AgentStep:
    (row,) = connection.execute(
        f"{make_select(STEPS)} WHERE session_id = ?"
        f" ORDER BY iteration {order}, event_seq {order} LIMIT 1",
        (session,),
    )
    return STEPS.value(row)


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
