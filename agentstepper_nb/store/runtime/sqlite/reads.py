"""What is asked of the tables, without changing them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ....protocol.runtime import LIVE, ActionStatus, AgentState, AgentStep, SessionSummary
from ....protocol.runtime_asks import (
    ActionQuery,
    Actions,
    ConversationQuery,
    Conversations,
    CursorAt,
    CursorQuery,
    MessageQuery,
    Messages,
    ParticipantQuery,
    Participants,
    RuntimeStoreInfo,
    Sessions,
    SessionsOf,
    StateQuery,
    States,
    StepQuery,
    Steps,
)
from .rows import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    SELECT_STATES,
    STEPS,
    Value,
    select,
    state_of,
)
from .writing import place

_OPEN: Final = frozenset({ActionStatus.QUEUED, ActionStatus.CLAIMED})


@dataclass
class Where:
    """Conditions, all of which hold, and their values."""

    terms: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, term: str, *values: Value) -> Where:
        """One more, where none of its values is None."""
        if None not in values:
            self.terms.append(term)
            self.values += values
        return self

    def any_of(self, column: str, values: Iterable[Value]) -> Where:
        """One more: the column has one of these, where there are any."""
        found = tuple(values)
        if found:
            self.add(f"{column} IN ({', '.join('?' * len(found))})", *found)
        return self

    @property
    def text(self) -> str:
        """As it stands in a statement."""
        return f" WHERE {' AND '.join(self.terms)}" if self.terms else ""


def actions(connection: sqlite3.Connection, ask: ActionQuery) -> Actions:
    """See `RuntimeStore.actions`."""
    where = (
        Where()
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
        f"{select(ACTIONS)}{where.text} ORDER BY n LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return Actions(actions=ACTIONS.values(rows))


def states(connection: sqlite3.Connection, ask: StateQuery) -> States:
    """See `RuntimeStore.states`."""
    where = (
        Where()
        .add("s.session_id = ?", ask.session_id)
        .add("s.agent_id = ?", ask.agent_id)
        .any_of("s.status", ask.status)
    )
    rows = connection.execute(
        f"{SELECT_STATES}{where.text} ORDER BY s.created_at DESC, s.n DESC LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return States(states=tuple(state_of(row) for row in rows))


def steps(connection: sqlite3.Connection, ask: StepQuery) -> Steps:
    """See `RuntimeStore.steps`."""
    where = (
        Where()
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
        f"{select(STEPS)}{where.text} ORDER BY session_id, iteration, event_seq LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return Steps(steps=STEPS.values(rows))


def _latest_steps(connection: sqlite3.Connection, ask: StepQuery, filters: Where) -> Steps:
    """Of each session the last step that the filters let through; the others aren't read."""
    sessions = Where().add("session_id = ?", ask.session_id).add("agent_id = ?", ask.agent_id)
    of_it = Where(["t.session_id = sessions.id", *filters.terms], [*filters.values])
    of_it.add("agent_id = ?", ask.agent_id)
    rows = connection.execute(
        f"WITH RECURSIVE {distinct_sessions(sessions)}"
        f" {select(STEPS)} WHERE n IN (SELECT (SELECT t.n FROM agent_steps AS t{of_it.text}"
        " ORDER BY t.iteration DESC, t.event_seq DESC LIMIT 1) FROM sessions)"
        " ORDER BY session_id LIMIT ? OFFSET ?",
        (*sessions.values, *sessions.values, *of_it.values, ask.limit, ask.offset),
    )
    return Steps(steps=STEPS.values(rows))


def distinct_sessions(where: Where) -> str:
    """A common table `sessions (id)` of those that steps name, each found by one look into an index.

    Args:
        where: Which steps; its values are needed twice.
    """
    after = Where([*where.terms, "session_id > sessions.id"], [])
    return (
        f"sessions (id) AS (SELECT min(session_id) FROM agent_steps{where.text}"
        f" UNION ALL SELECT (SELECT min(session_id) FROM agent_steps{after.text})"
        " FROM sessions WHERE id IS NOT NULL)"
    )


def conversations(connection: sqlite3.Connection, ask: ConversationQuery) -> Conversations:
    """See `RuntimeStore.conversations`."""
    where = (
        Where()
        .add("conversation_id = ?", ask.conversation_id)
        .add("status = ?", ask.status)
        .add(
            "CASE WHEN json_valid(tags) THEN EXISTS"
            " (SELECT 1 FROM json_each(tags) WHERE value = ?) END",
            ask.tag,
        )
    )
    rows = connection.execute(
        f"{select(CONVERSATIONS)}{where.text} ORDER BY created_at DESC, n DESC LIMIT ? OFFSET ?",
        (*where.values, ask.limit, ask.offset),
    )
    return Conversations(conversations=CONVERSATIONS.values(rows))


def participants(connection: sqlite3.Connection, ask: ParticipantQuery) -> Participants:
    """See `RuntimeStore.participants`."""
    where = Where().add("conversation_id = ?", ask.conversation_id)
    where.add("session_id = ?", ask.session_id)
    if ask.here:
        where.add("left_at IS NULL")
    rows = connection.execute(f"{select(PARTICIPANTS)}{where.text} ORDER BY n", where.values)
    return Participants(participants=PARTICIPANTS.values(rows))


def messages(connection: sqlite3.Connection, ask: MessageQuery) -> Messages:
    """See `RuntimeStore.messages`."""
    where = Where().add("conversation_id = ?", ask.conversation_id)
    where.add("message_id = ?", ask.message_id)
    if ask.after is not None:
        where.add("n > ?", place(connection, ask.conversation_id, ask.after))
    rows = connection.execute(
        f"{select(MESSAGES)}{where.text} ORDER BY n {'DESC' if ask.last else 'ASC'} LIMIT ?",
        (*where.values, ask.limit),
    )
    found = MESSAGES.values(rows)
    return Messages(messages=found[::-1] if ask.last else found)


def cursor(connection: sqlite3.Connection, ask: CursorQuery) -> CursorAt:
    """See `RuntimeStore.cursor`."""
    row = connection.execute(
        f"{select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (ask.session_id, ask.conversation_id),
    ).fetchone()
    return CursorAt(cursor=None if row is None else CURSORS.value(row))


# ---- sessions, and how much there is of everything ------------------------------------------------


def sessions(connection: sqlite3.Connection, ask: SessionsOf) -> Sessions:
    """See `RuntimeStore.sessions`."""
    kept = states(connection, StateQuery(agent_id=ask.agent_id, limit=ask.limit)).states
    found = [_of_state(state) for state in kept]
    found += [_of_steps(connection, session) for session in _orphans(connection, ask.agent_id)]
    found.sort(key=lambda each: each.first_at, reverse=True)
    return Sessions(sessions=tuple(found[: ask.limit]))


def info(connection: sqlite3.Connection, path: Path | None) -> RuntimeStoreInfo:
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
    where = Where().add("agent_id = ?", agent)
    rows = connection.execute(
        f"WITH RECURSIVE {distinct_sessions(where)} SELECT id FROM sessions WHERE id IS NOT NULL"
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
        f"{select(STEPS)} WHERE session_id = ?"
        f" ORDER BY iteration {order}, event_seq {order} LIMIT 1",
        (session,),
    )
    return STEPS.value(row)


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
