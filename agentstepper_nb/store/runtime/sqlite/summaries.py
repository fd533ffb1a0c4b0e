"""An agent's sessions, and how much there is of everything."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ....protocol.runtime import LIVE, AgentState, AgentStep, SessionSummary
from ....protocol.runtime_asks import RuntimeStoreInfo, Sessions, SessionsOf, StateQuery
from .reads import Where, distinct_sessions, states
from .rows import STEPS, select


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
