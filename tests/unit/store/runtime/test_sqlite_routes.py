"""Rows of before there were routes: the migration says what each session needs of its worker."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from agentstepper_nb.protocol.routes import LoadQuery, RouteLoad, SessionRoute
from agentstepper_nb.protocol.runtime_store_messages import AdoptSessions
from agentstepper_nb.store.runtime.conformance.base_suite import (
    LEASE_S,
    START_TIME,
    claim_action_id,
    read_snapshot,
)
from agentstepper_nb.store.runtime.conformance.routing_suite import make_offer
from agentstepper_nb.store.runtime.sqlite import open_runtime_store, runtime_file
from agentstepper_nb.store.sqlite import migrations

#: The version that had no routes.
BEFORE = 2


def plant(connection: sqlite3.Connection, number: int, moniker: str, status: str) -> None:
    """A session as that version kept it, with an action that waits."""
    session = f"{moniker} {status}"
    connection.execute(
        "INSERT INTO agent_state (agent_id, session_id, status, iteration, moniker, limits, step,"
        " ran_s, epoch, created_at, updated_at) VALUES ('a', ?, ?, 0, ?, '{}', 0, 0, 1, ?, ?)",
        (session, status, moniker, START_TIME + number, START_TIME),
    )
    connection.execute(
        "INSERT INTO actions (n, id, created_at, kind, agent_id, session_id, urgency, status,"
        " attempts, rank) VALUES (?, ?, ?, 'agent_input', 'a', ?, 0, 'queued', 0, 2)",
        (number, f"to {session}", START_TIME, session),
    )
    connection.execute(
        "INSERT INTO heads (session_id, action, urgency, owner, busy) VALUES (?, ?, 0, '', 0)",
        (session, number),
    )
    if status == "running":
        connection.execute(
            "INSERT INTO holds (session_id, owner, lease_until) VALUES (?, 'gone', ?)",
            (session, START_TIME),
        )


def plant_file(path: Path) -> None:
    """A file of that version, with sessions of two monikers."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number in range(1, BEFORE + 1):
            for statement in migrations.read_statements(number, runtime_file._FOLDER):
                connection.execute(statement)
        migrations.write_version(connection, BEFORE, runtime_file.APPLICATION_ID)
        sessions = [
            (moniker, status)
            for moniker in ("joke", "review")
            for status in ("created", "running", "done")
        ]
        for number, each in enumerate(sessions, 1):
            plant(connection, number, *each)


async def test_sessions_of_before_need_their_moniker(tmp_path: Path) -> None:
    path = tmp_path / "data" / runtime_file.RUNTIME_FILE
    plant_file(path)
    store = open_runtime_store(path.parent)
    state = await read_snapshot(store, "joke running")
    assert (state.moniker_version, state.requires) == (None, ())
    assert (await store.loads(LoadQuery(now=START_TIME + 1))).routes == tuple(
        RouteLoad(route=SessionRoute(moniker=moniker), live=2) for moniker in ("joke", "review")
    )
    now = START_TIME + 1
    ask = AdoptSessions(owner="two", now=now, lease_until=now + LEASE_S, offer=make_offer("review"))
    assert [each.session_id for each in (await store.adopt(ask)).states] == ["review running"]
    claimed: list[str] = []
    while (
        found := await claim_action_id(store, "two", 1, tuple(claimed), make_offer("review"))
    ) is not None:
        claimed.append(found)
    assert claimed == ["to joke done", "to review created", "to review running", "to review done"]
    await store.close()
