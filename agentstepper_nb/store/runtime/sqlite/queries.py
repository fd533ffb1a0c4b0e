"""Queries of the tables, without changes."""

from __future__ import annotations

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ....errors import StoreError
from ....protocol.runtime import (
    LIVE_STATUSES,
    AgentSessionInfo,
    AgentState,
    AgentStep,
)
from ....protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentSessionList,
    AgentSessionQuery,
    AgentStateList,
    AgentStepList,
    ChangedRows,
    ChangeQuery,
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
from .conversations import find_message_number
from .mutations import OPEN_STATUSES
from .row_codec import (
    ACTIONS,
    CONVERSATIONS,
    CURSORS,
    MESSAGES,
    PARTICIPANTS,
    SELECT_STATES,
    STATES,
    STEPS,
    RowTable,
    Value,
    decode_state,
    make_select,
    to_json,
)

log = logging.getLogger(__name__)

#: The tables of `ChangedRows`, by its fields.
CHANGED_TABLES: Final[dict[str, RowTable[Any]]] = {
    "states": STATES,
    "steps": STEPS,
    "actions": ACTIONS,
    "messages": MESSAGES,
    "participants": PARTICIPANTS,
    "conversations": CONVERSATIONS,
}


@dataclass
class WhereClause:
    """Conditions that all must hold, and their values."""

    terms: list[str] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)

    def add(self, term: str, *values: Value) -> WhereClause:
        """Add a condition, unless one of its values is None."""
        if None not in values:
            self.terms.append(term)
            self.values += values
        return self

    def any_of(self, column: str, values: Iterable[Value]) -> WhereClause:
        """Add the condition that the column has one of these values, unless there are none."""
        found = tuple(values)
        if found:
            self.add(f"{column} IN ({', '.join('?' * len(found))})", *found)
        return self

    @property
    def text(self) -> str:
        """The clause's text in a statement."""
        return f" WHERE {' AND '.join(self.terms)}" if self.terms else ""


def find_actions(connection: sqlite3.Connection, request: ActionQuery) -> ActionList:
    """See `RuntimeStore.actions`."""
    where = (
        WhereClause()
        .add("id = ?", request.id)
        .add("idem_key = ?", request.idem_key)
        .add("session_id = ?", request.session_id)
        .add("agent_id = ?", request.agent_id)
        .add("kind = ?", request.kind)
        .add("series_id = ?", request.series_id)
    )
    if request.status is not None:
        where.add(f"status = '{request.status.value}'")  # as the conditions of indexes have it
    if request.status in OPEN_STATUSES:
        where.add("rank IS NOT NULL")
    rows = connection.execute(
        f"{make_select(ACTIONS)}{where.text} ORDER BY n LIMIT ? OFFSET ?",
        (*where.values, request.limit, request.offset),
    )
    return ActionList(actions=ACTIONS.decode_rows(rows))


def find_states(connection: sqlite3.Connection, request: StateQuery) -> AgentStateList:
    """See `RuntimeStore.states`."""
    where = (
        WhereClause()
        .add("s.session_id = ?", request.session_id)
        .add("s.agent_id = ?", request.agent_id)
        .any_of("s.status", request.status)
    )
    rows = connection.execute(
        f"{SELECT_STATES}{where.text} ORDER BY s.created_at DESC, s.n DESC LIMIT ? OFFSET ?",
        (*where.values, request.limit, request.offset),
    )
    return AgentStateList(states=tuple(decode_state(row) for row in rows))


def find_steps(connection: sqlite3.Connection, request: StepQuery) -> AgentStepList:
    """See `RuntimeStore.steps`."""
    where = (
        WhereClause()
        .add("iteration >= ?", request.min_iteration)
        .add("iteration <= ?", request.max_iteration)
        .add("iteration > ?", request.after_iteration)
        .add("created_at >= ?", request.since)
        .add("status = ?", request.status)
    )
    if request.latest:
        return _latest_steps(connection, request, where)
    where.add("session_id = ?", request.session_id).add("agent_id = ?", request.agent_id)
    rows = connection.execute(
        f"{make_select(STEPS)}{where.text} ORDER BY session_id, iteration, event_seq LIMIT ? OFFSET ?",
        (*where.values, request.limit, request.offset),
    )
    return AgentStepList(steps=STEPS.decode_rows(rows))


def _latest_steps(
    connection: sqlite3.Connection, request: StepQuery, filters: WhereClause
) -> AgentStepList:
    """Read the last step of each session that passes the filters, without reading the others."""
    sessions = (
        WhereClause()
        .add("session_id = ?", request.session_id)
        .add("agent_id = ?", request.agent_id)
    )
    of_it = WhereClause(["t.session_id = sessions.id", *filters.terms], [*filters.values])
    of_it.add("agent_id = ?", request.agent_id)
    rows = connection.execute(
        f"WITH RECURSIVE {select_distinct_sessions(sessions)}"
        f" {make_select(STEPS)} WHERE n IN (SELECT (SELECT t.n FROM agent_steps AS t{of_it.text}"
        " ORDER BY t.iteration DESC, t.event_seq DESC LIMIT 1) FROM sessions)"
        " ORDER BY session_id LIMIT ? OFFSET ?",
        (*sessions.values, *sessions.values, *of_it.values, request.limit, request.offset),
    )
    return AgentStepList(steps=STEPS.decode_rows(rows))


def select_distinct_sessions(where: WhereClause) -> str:
    """A common table `sessions (id)` of the sessions that steps name, each found by one index lookup.

    Args:
        where: The conditions on the steps; their values are needed twice.
    """
    after = WhereClause([*where.terms, "session_id > sessions.id"], [])
    return (
        f"sessions (id) AS (SELECT min(session_id) FROM agent_steps{where.text}"
        f" UNION ALL SELECT (SELECT min(session_id) FROM agent_steps{after.text})"
        " FROM sessions WHERE id IS NOT NULL)"
    )


def find_conversations(
    connection: sqlite3.Connection, request: ConversationQuery
) -> ConversationList:
    """See `RuntimeStore.conversations`."""
    where = (
        WhereClause()
        .add("conversation_id = ?", request.conversation_id)
        .add("status = ?", request.status)
        .add(
            "CASE WHEN json_valid(tags) THEN EXISTS"
            " (SELECT 1 FROM json_each(tags) WHERE value = ?) END",
            request.tag,
        )
    )
    rows = connection.execute(
        f"{make_select(CONVERSATIONS)}{where.text} ORDER BY created_at DESC, n DESC LIMIT ? OFFSET ?",
        (*where.values, request.limit, request.offset),
    )
    return ConversationList(conversations=CONVERSATIONS.decode_rows(rows))


def find_participants(connection: sqlite3.Connection, request: ParticipantQuery) -> ParticipantList:
    """See `RuntimeStore.participants`."""
    where = WhereClause().add("conversation_id = ?", request.conversation_id)
    where.add("session_id = ?", request.session_id)
    if request.is_present:
        where.add("left_at IS NULL")
    rows = connection.execute(f"{make_select(PARTICIPANTS)}{where.text} ORDER BY n", where.values)
    return ParticipantList(participants=PARTICIPANTS.decode_rows(rows))


def find_messages(connection: sqlite3.Connection, request: MessageQuery) -> ConversationMessageList:
    """See `RuntimeStore.messages`."""
    where = WhereClause().add("conversation_id = ?", request.conversation_id)
    where.add("message_id = ?", request.message_id)
    if request.after is not None:
        where.add("n > ?", find_message_number(connection, request.conversation_id, request.after))
    rows = connection.execute(
        f"{make_select(MESSAGES)}{where.text} ORDER BY n {'DESC' if request.last else 'ASC'} LIMIT ?",
        (*where.values, request.limit),
    )
    found = MESSAGES.decode_rows(rows)
    return ConversationMessageList(messages=found[::-1] if request.last else found)


def find_cursor(connection: sqlite3.Connection, request: CursorQuery) -> CursorResult:
    """See `RuntimeStore.cursor`."""
    row = connection.execute(
        f"{make_select(CURSORS)} WHERE session_id = ? AND conversation_id = ?",
        (request.session_id, request.conversation_id),
    ).fetchone()
    return CursorResult(cursor=None if row is None else CURSORS.decode_row(row))


def find_changes(connection: sqlite3.Connection, request: ChangeQuery) -> ChangedRows:
    """See `RuntimeStore.changes`."""
    found = connection.execute(
        "SELECT n, kind, key FROM changes WHERE n > ? ORDER BY n LIMIT ?",
        (request.after, request.limit),
    ).fetchall()
    if not found:
        return ChangedRows(last=_find_last_change(connection))
    keys: dict[str, list[int]] = defaultdict(list)
    for _, kind, key in found:
        keys[kind].append(key)
    rows = {kind: _read_changed(connection, CHANGED_TABLES[kind], keys[kind]) for kind in keys}
    return ChangedRows(last=found[-1][0], **rows)


def _read_changed(
    connection: sqlite3.Connection, table: RowTable[Any], keys: list[int]
) -> tuple[Any, ...]:
    """Read the rows with these numbers, in order; a damaged row is left out."""
    values = []
    for row in connection.execute(
        f"SELECT {', '.join(f't.{column}' for column in table.columns)} FROM json_each(?) AS k"
        f" JOIN {table.name} AS t ON t.n = k.value ORDER BY k.key",
        (to_json(keys),),
    ):
        try:
            values.append(table.decode_row(row))
        except StoreError as error:
            log.error("%s The projection goes on without it.", error)
    return tuple(values)


def _find_last_change(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchone()
    return 0 if row is None else int(row[0])


# ---- sessions, and how much there is of everything ------------------------------------------------


def find_sessions(connection: sqlite3.Connection, request: AgentSessionQuery) -> AgentSessionList:
    """See `RuntimeStore.sessions`."""
    states = find_states(
        connection, StateQuery(agent_id=request.agent_id, limit=request.limit)
    ).states
    found = [_summarize_state(state) for state in states]
    found += [
        _summarize_steps(connection, session)
        for session in _find_sessions_without_state(connection, request.agent_id)
    ]
    found.sort(key=lambda each: each.first_at, reverse=True)
    return AgentSessionList(sessions=tuple(found[: request.limit]))


def read_info(connection: sqlite3.Connection, path: Path | None) -> RuntimeStoreInfo:
    """See `RuntimeStore.info`."""
    marks = ", ".join("?" * len(LIVE_STATUSES))
    ((live,),) = connection.execute(
        f"SELECT count(*) FROM agent_state WHERE status IN ({marks})", tuple(LIVE_STATUSES)
    )
    ((open_,),) = connection.execute("SELECT count(*) FROM actions WHERE rank IS NOT NULL")
    ((delayed, creations, next_due),) = connection.execute(
        "SELECT count(*), count(CASE kind WHEN 'agent_create' THEN 1 END), min(due_at)"
        " FROM actions WHERE due_at IS NOT NULL"
    )
    oldest = connection.execute(
        "SELECT max(created_at, coalesce(not_before, 0)) FROM actions"
        " WHERE rank IS NOT NULL AND status = 'queued' AND due_at IS NULL ORDER BY n LIMIT 1"
    ).fetchone()
    return RuntimeStoreInfo(
        kind="memory" if path is None else "sqlite",
        place="memory" if path is None else str(path),
        live=live - creations,
        open=open_,
        size=None if path is None else _size(path),
        delayed=delayed,
        next_due=next_due,
        waiting=creations,
        waits_since=None if oldest is None else oldest[0],
    )


def _summarize_state(state: AgentState) -> AgentSessionInfo:
    return AgentSessionInfo(
        agent_id=state.agent_id,
        session_id=state.session_id,
        status=state.status,
        iteration=state.iteration,
        first_at=state.created_at,
        last_at=state.updated_at,
        state=state,
    )


def _find_sessions_without_state(connection: sqlite3.Connection, agent: str) -> list[str]:
    """List the agent's sessions that have steps but no snapshot."""
    where = WhereClause().add("agent_id = ?", agent)
    rows = connection.execute(
        f"WITH RECURSIVE {select_distinct_sessions(where)} SELECT id FROM sessions WHERE id IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM agent_state AS s WHERE s.session_id = sessions.id)",
        (*where.values, *where.values),
    )
    return [session for (session,) in rows]


def _summarize_steps(connection: sqlite3.Connection, session: str) -> AgentSessionInfo:
    first, last = (_find_end_step(connection, session, order) for order in ("ASC", "DESC"))
    return AgentSessionInfo(
        agent_id=last.agent_id,
        session_id=session,
        status=last.status,
        iteration=last.iteration + 1,
        first_at=first.created_at,
        last_at=last.created_at,
    )


def _find_end_step(connection: sqlite3.Connection, session: str, order: str) -> AgentStep:
    (row,) = connection.execute(
        f"{make_select(STEPS)} WHERE session_id = ?"
        f" ORDER BY iteration {order}, event_seq {order} LIMIT 1",
        (session,),
    )
    return STEPS.decode_row(row)


def _size(path: Path) -> int:
    return sum(each.stat().st_size for each in path.parent.glob(f"{path.name}*"))
