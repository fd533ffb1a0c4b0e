"""Sessions' requirements as route numbers; the routes that a worker accepts, and counts per worker."""

from __future__ import annotations

import sqlite3
from typing import Final

from ....protocol.routes import (
    LoadQuery,
    OwnerLoad,
    RouteLoad,
    RouteLoads,
    SessionRoute,
    WorkerOffer,
    find_route,
    is_fitting,
)
from ....protocol.runtime import AgentState
from .row_codec import ACTIONS, Value, from_json, to_json

#: The route for any worker: the actions of ended sessions.
_ANY_WORKER: Final = 0
_CLAIM: Final = f"""
UPDATE actions SET status = 'claimed', owner = :owner, lease_until = :until, attempts = attempts + 1
 WHERE n = (
  SELECT a.n FROM (
   %s
   UNION ALL
   SELECT * FROM (SELECT action FROM heads INDEXED BY heads_ready WHERE busy = 0 AND owner = :owner
                   ORDER BY urgency DESC, action LIMIT 1)
  ) AS h JOIN actions AS a ON a.n = h.action ORDER BY a.urgency DESC, a.n LIMIT 1)
RETURNING {", ".join(ACTIONS.columns)}
"""
#: The next ready action for an owner that accepts every route: the first of those for any owner and of
#: its own. Each is the first row of a range of an index.
CLAIM_NEXT_ACTION: Final = _CLAIM % (
    "SELECT * FROM (SELECT action FROM heads INDEXED BY heads_ready WHERE busy = 0 AND owner = ''"
    " ORDER BY urgency DESC, action LIMIT 1)"
)
#: The same for an owner that accepts some routes only: the first of each, and of its own.
CLAIM_FITTING_ACTION: Final = _CLAIM % (
    "SELECT (SELECT action FROM heads INDEXED BY heads_routed"
    " WHERE busy = 0 AND owner = '' AND route = r.value"
    " ORDER BY urgency DESC, action LIMIT 1) AS action FROM json_each(:routes) AS r"
)
#: Running sessions of some routes without an owner, in the index's order, so that rows after the limit
#: aren't read.
SELECT_ADOPTABLE_SESSIONS: Final = (
    "SELECT s.session_id FROM json_each(:routes) AS r"
    " CROSS JOIN agent_state AS s INDEXED BY agent_state_begun ON s.route = r.value"
    " LEFT JOIN holds AS h ON h.session_id = s.session_id"
    " WHERE s.status IN ('running', 'paused', 'stopping')"
    " AND (h.lease_until IS NULL OR h.lease_until <= :over_by) LIMIT :limit"
)
#: Live sessions by route, from indexes that are in its order.
_COUNT_LIVE: Final = (
    "SELECT route, CAST(sum(number) AS INTEGER) FROM ("
    "SELECT route, count(*) AS number FROM agent_state INDEXED BY agent_state_begun"
    " WHERE status IN ('running', 'paused', 'stopping') GROUP BY route"
    " UNION ALL SELECT route, count(*) FROM agent_state INDEXED BY agent_state_created"
    " WHERE status = 'created' GROUP BY route) AS live GROUP BY route"
)
_SELECT_ROUTES: Final = "SELECT id, moniker, version, requires FROM routes"


def add_route(connection: sqlite3.Connection, state: AgentState) -> int:
    """Return the route number of a session's requirements; new requirements get a new number."""
    route = find_route(state)
    key = (route.moniker, route.moniker_version or "", to_json(route.requires))
    row = connection.execute(
        "SELECT id FROM routes WHERE moniker = ? AND version = ? AND requires = ?", key
    ).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO routes (moniker, version, requires) VALUES (?, ?, ?) RETURNING id", key
        ).fetchone()
    return int(row[0])


def encode_fitting_routes(connection: sqlite3.Connection, offer: WorkerOffer | None) -> str | None:
    """Encode the route numbers that fit an offer as the JSON parameter of statements."""
    return to_json(find_fitting_routes(connection, offer))


def find_fitting_routes(connection: sqlite3.Connection, offer: WorkerOffer | None) -> list[int]:
    """The numbers of the routes that fit an offer."""
    if offer is None:
        rows = connection.execute(_SELECT_ROUTES)
    else:
        names = to_json(sorted({each.name for each in offer.monikers}))
        rows = connection.execute(
            f"{_SELECT_ROUTES} WHERE moniker IN (SELECT value FROM json_each(?))", (names,)
        )
    return [_ANY_WORKER, *(row[0] for row in rows if is_fitting(offer, _decode(row)))]


def count_loads(connection: sqlite3.Connection, request: LoadQuery) -> RouteLoads:
    """See `RuntimeStore.loads`. It reads indexes and leases, and no snapshot."""
    held: dict[int, list[OwnerLoad]] = {}
    for route, owner, number in connection.execute(
        "SELECT route, owner, count(*) FROM holds WHERE lease_until > ? GROUP BY route, owner"
        " ORDER BY route, owner",
        (request.now,),
    ):
        held.setdefault(route, []).append(OwnerLoad(owner=owner, sessions=number))
    live = dict(connection.execute(_COUNT_LIVE).fetchall())
    return RouteLoads(
        routes=tuple(
            RouteLoad(route=_decode(row), live=live[row[0]], held=tuple(held.get(row[0], ())))
            for row in connection.execute(f"{_SELECT_ROUTES} ORDER BY id")
            if row[0] in live
        )
    )


def _decode(row: tuple[Value, ...]) -> SessionRoute:
    _, moniker, version, requires = row
    return SessionRoute(
        moniker=str(moniker),
        moniker_version=str(version) or None,
        requires=tuple(from_json(requires)),
    )
