"""The state of all sessions, counted by SQLite: see `RuntimeStore.fleet`.

The parameter with the halted runs is a JSON list, so that the statement is the same for any number of
runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from .... import typed_json
from ....protocol.fleet import (
    MAX_ERROR_CHARS,
    MAX_FLEET_ROWS,
    MAX_WORDS_CHARS,
    FailedAction,
    FleetCount,
    FleetQuery,
    FleetReport,
    FleetSession,
    FleetStatus,
    find_fleet_status,
    group_errors,
    make_error_key,
)
from ....protocol.runtime import SessionStatus
from .queries import WhereClause
from .row_codec import Value, from_json

#: Whether a session's run is one that a person halted.
_IS_HALTED: Final = "coalesce(run_id IN (SELECT value FROM json_each(?)), false)"
#: All columns are in the index, so that no row is read.
_COUNT_SESSIONS: Final = (
    f"SELECT status, moniker, attempt > 0, status = 'running' AND {_IS_HALTED}, count(*)"
    " FROM agent_state INDEXED BY agent_state_fleet GROUP BY 1, 2, 3, 4"
)
#: Counts quarantined sessions, among the few whose next step was tried before.
_COUNT_QUARANTINED: Final = (
    "SELECT moniker, count(*) FROM agent_state INDEXED BY agent_state_fleet"
    " WHERE status = 'error' AND attempt > 0 AND losses <> '[]' GROUP BY moniker"
)
_COUNT_ERRORS: Final = (
    "SELECT last_error, count(*) FROM agent_state INDEXED BY agent_state_failed"
    " WHERE status = 'error' GROUP BY last_error"
)
_COUNT_FAILED_ACTIONS: Final = (
    "SELECT error, count(*) FROM actions INDEXED BY actions_failed"
    " WHERE status = 'failed' GROUP BY error"
)

#: A step's text, unless its result is so large that reading it for one line is wasteful.
_WORDS: Final = (
    "CASE WHEN length(result) < 100000 AND json_valid(result)"
    f" THEN substr(json_extract(result, '$.text'), 1, {MAX_WORDS_CHARS}) END"
)
_SELECT_SESSIONS: Final = (
    f"SELECT agent_id, session_id, status, moniker, iteration, run_id, {_WORDS},"
    f" substr(last_error, 1, {MAX_ERROR_CHARS}), attempt, next_try_at, losses, is_pausing,"
    f" created_at, updated_at, {_IS_HALTED} FROM agent_state"
)
_SELECT_FAILED_ACTIONS: Final = (
    f"SELECT id, kind, agent_id, session_id, substr(coalesce(error, ''), 1, {MAX_ERROR_CHARS}),"
    " created_at FROM actions WHERE status = 'failed'"
    " AND coalesce(error, '') IN (SELECT value FROM json_each(?)) ORDER BY n LIMIT ?"
)

_WAITS: Final = f"status = 'running' AND {_IS_HALTED}"
_GOES_ON: Final = f"status = 'running' AND NOT {_IS_HALTED}"
#: The conditions of these statuses; for the others, the condition is the status itself.
_CONDITIONS: Final = {
    FleetStatus.HALTED: _WAITS,
    FleetStatus.RUNNING: f"{_GOES_ON} AND attempt = 0",
    FleetStatus.RETRYING: f"{_GOES_ON} AND attempt > 0",
    FleetStatus.QUARANTINED: "status = 'error' AND losses <> '[]'",
    FleetStatus.ERROR: "status = 'error' AND losses = '[]'",
}
#: The statuses that depend on which runs are halted.
_OF_HALTED: Final = frozenset({FleetStatus.HALTED, FleetStatus.RUNNING, FleetStatus.RETRYING})

#: An error and its number of occurrences.
_ErrorCount = tuple[str | None, int]


def read_fleet(connection: sqlite3.Connection, request: FleetQuery) -> FleetReport:
    """See `RuntimeStore.fleet`."""
    halted = msgspec.json.encode(request.halted_runs).decode()
    errors: list[_ErrorCount] = connection.execute(_COUNT_ERRORS).fetchall()
    failed: list[_ErrorCount] = connection.execute(_COUNT_FAILED_ACTIONS).fetchall()
    where = _make_filter(request, halted, errors)
    return FleetReport(
        counts=_count_sessions(connection, halted),
        errors=group_errors(errors),
        failed_actions=group_errors(failed),
        sessions=_list_sessions(connection, request, halted, where),
        matching=_count_matching(connection, where),
        actions=_list_failed_actions(connection, request.failed_action, failed),
        halted=_list_halted(connection, request.halted_runs[:MAX_FLEET_ROWS], halted),
    )


def _count_sessions(connection: sqlite3.Connection, halted: str) -> tuple[FleetCount, ...]:
    counts: dict[tuple[str, FleetStatus], int] = {}
    for status, moniker, is_tried, is_halted, count in connection.execute(
        _COUNT_SESSIONS, (halted,)
    ):
        found = find_fleet_status(
            SessionStatus(status), attempt=is_tried, has_losses=False, is_halted=bool(is_halted)
        )
        counts[moniker, found] = counts.get((moniker, found), 0) + count
    for moniker, count in connection.execute(_COUNT_QUARANTINED):
        counts[moniker, FleetStatus.ERROR] -= count
        counts[moniker, FleetStatus.QUARANTINED] = count
    return tuple(
        FleetCount(status=status, moniker=moniker, count=count)
        for (moniker, status), count in sorted(counts.items())
        if count
    )


def _make_filter(
    request: FleetQuery, halted: str, errors: Sequence[_ErrorCount]
) -> WhereClause | None:
    """The conditions of the page; None if no page is requested."""
    if not request.limit:
        return None
    where = WhereClause().add("moniker = ?", request.moniker)
    where.add("created_at <= ?", request.created_until)
    if request.status:
        terms = [_CONDITIONS.get(each, f"status = '{each.value}'") for each in request.status]
        values = [halted for each in request.status if each in _OF_HALTED]
        where.add(f"({' OR '.join(f'({term})' for term in terms)})", *values)
    if request.text:
        columns = ("agent_id", "session_id", "moniker", "coalesce(last_error, '')")
        found = " OR ".join(f"{column} LIKE ? ESCAPE '\\'" for column in columns)
        where.add(f"({found})", *[_make_pattern(request.text)] * len(columns))
    if request.error is not None:
        where.add(
            "status = 'error' AND coalesce(last_error, '') IN (SELECT value FROM json_each(?))",
            _find_messages(request.error, errors),
        )
    return where


def _make_pattern(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _find_messages(key: str, counts: Sequence[_ErrorCount]) -> str:
    """The errors of a key, as a JSON list."""
    found = [message or "" for message, _ in counts if make_error_key(message or "") == key]
    return msgspec.json.encode(found).decode()


def _list_sessions(
    connection: sqlite3.Connection, request: FleetQuery, halted: str, where: WhereClause | None
) -> tuple[FleetSession, ...]:
    if where is None:
        return ()
    rows = connection.execute(
        f"{_SELECT_SESSIONS}{where.text} ORDER BY created_at DESC, n DESC LIMIT ? OFFSET ?",
        (halted, *where.values, request.limit, request.offset),
    )
    return tuple(_decode_session(row) for row in rows)


def _count_matching(connection: sqlite3.Connection, where: WhereClause | None) -> int:
    if where is None:
        return 0
    ((count,),) = connection.execute(f"SELECT count(*) FROM agent_state{where.text}", where.values)
    return int(count)


def _list_halted(
    connection: sqlite3.Connection, runs: Sequence[str], halted: str
) -> tuple[FleetSession, ...]:
    """List the sessions of these runs: a run belongs to one session, which has one run at a time."""
    if not runs:
        return ()
    listed = msgspec.json.encode(runs).decode()
    live = ", ".join(f"'{status}'" for status in _WITH_RUN)
    rows = connection.execute(
        f"{_SELECT_SESSIONS} INDEXED BY agent_state_fleet WHERE status IN ({live})"
        f" AND {_IS_HALTED}",
        (halted, listed),
    )
    return tuple(_decode_session(row) for row in rows)


#: The statuses of sessions whose run may be live.
_WITH_RUN: Final = (SessionStatus.RUNNING, SessionStatus.PAUSED, SessionStatus.STOPPING)


def _list_failed_actions(
    connection: sqlite3.Connection, key: str | None, counts: Sequence[_ErrorCount]
) -> tuple[FailedAction, ...]:
    if key is None:
        return ()
    rows = connection.execute(_SELECT_FAILED_ACTIONS, (_find_messages(key, counts), MAX_FLEET_ROWS))
    return tuple(
        typed_json.convert(
            dict(zip(FailedAction.__struct_fields__, row, strict=True)), FailedAction
        )
        for row in rows
    )


def _decode_session(row: Sequence[Value]) -> FleetSession:
    *columns, is_halted = row
    fields: dict[str, Any] = dict(zip(FleetSession.__struct_fields__, columns, strict=True))
    losses = from_json(fields["losses"])
    status = find_fleet_status(
        SessionStatus(fields["status"]),
        attempt=fields["attempt"],
        has_losses=bool(losses),
        is_halted=bool(is_halted),
    )
    words = fields["words"] if isinstance(fields["words"], str) else ""
    own = {"losses": losses, "status": status, "words": words}
    own["is_pausing"] = bool(fields["is_pausing"])
    return typed_json.convert(fields | own, FleetSession)
