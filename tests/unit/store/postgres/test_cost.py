"""What PostgreSQL reads for a call: the same however many rows wait that it isn't about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentstepper_nb.store.runtime.conformance.base_suite import create_session
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore, changes, queue
from agentstepper_nb.store.runtime.postgres.database import Database
from agentstepper_nb.store.runtime.postgres.statements import Statements
from tests.helpers.postgres_server import PostgresServer

pytestmark = pytest.mark.slow

#: Sessions of a route of their own that wait, each with an action and a step.
PLANT = """
INSERT INTO routes (moniker, version, requires) VALUES ('other', '', '[]');
INSERT INTO agent_state (agent_id, session_id, status, iteration, moniker, limits, step, ran_s, epoch,
    created_at, updated_at, attempt, losses, is_sharing, requires, route)
  SELECT 'a', 's' || n, 'running', 0, 'other', '{}', false, 0, 1, n, n, 0, '[]', false, '[]', 2
    FROM generate_series(1, 20000) AS n;
INSERT INTO actions (id, created_at, kind, agent_id, session_id, urgency, status, attempts, rank)
  SELECT 'a' || n, n, 'agent_input', 'a', 's' || n, 0, 'queued', 0, 2
    FROM generate_series(1, 20000) AS n;
INSERT INTO heads (session_id, action, urgency, owner, busy, route)
  SELECT session_id, n, 0, '', false, 2 FROM actions WHERE kind = 'agent_input';
INSERT INTO agent_steps (id, created_at, agent_id, session_id, iteration, event_seq, step_token, status)
  SELECT 's' || n, n, 'a', 's' || n, 0, 0, 't', 'running' FROM generate_series(1, 20000) AS n;
ANALYZE
"""
NOW = 1e9


@pytest.fixture(scope="module")
def planted(shared_postgres_server: PostgresServer) -> Iterator[Statements]:
    """A database with many rows."""
    shared_postgres_server.start()
    connection = Database(shared_postgres_server.create_database()).connect()
    connection.execute(PLANT.encode())
    yield Statements(connection)
    connection.close()


def explain(connection: Statements, statement: str, *values: Any) -> str:
    """How a statement is done, as prepared for any values."""
    found = connection.execute(f"EXPLAIN {statement}", values)
    return "\n".join(line for (line,) in found)


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        (queue._LOCK_NEXT, ([0, 1], "w")),
        (queue._FIND_READY, ([0, 1], "w")),
        (queue._EXISTS_CLAIMABLE, (NOW, NOW, [0, 1], "w", "w", [], NOW)),
        (queue._FIND_UNACKNOWLEDGED, ("w", [], NOW)),
        (queue._EXISTS_ADOPTABLE, ([0, 1], NOW)),
        (queue._LOCK_ADOPTABLE, ([0, 1], NOW, 100)),
        (queue._SESSIONS_OF_OWNER, ("w",)),
        (changes._FIND_NUMBERS, (*((10**15, 10**16, 100) * 6), 100)),
        (changes._FIND_NEWEST, (10**15,) * 6),
    ],
)
def test_no_table_is_read_whole(planted: Statements, statement: str, values: Any) -> None:
    plan = explain(planted, statement, *values)
    for table in ("actions", "heads", "agent_state", "agent_steps"):
        assert f"Seq Scan on {table} " not in plan, plan


def test_rows_of_other_cores_are_found_by_their_numbers(planted: Statements) -> None:
    seen: list[str] = []

    class Explaining(Statements):
        def execute(self, statement: str, values: Any = ()) -> Any:
            seen.append(explain(planted, statement, *values))
            return planted.execute(statement, values)

    changes.find_changes_of(Explaining(planted._connection), [1 << 14])
    assert len(seen) == 6
    for table in ("actions", "agent_state", "agent_steps"):
        assert not [plan for plan in seen if f"Seq Scan on {table} " in plan]


async def test_size_is_of_all_tables(postgres_server: PostgresServer) -> None:
    store = PostgresRuntimeStore(postgres_server.create_database())
    try:
        await create_session(store)
        info = await store.info()
    finally:
        await store.close()
    assert (info.live, info.open) == (1, 1)
    assert info.size is not None and info.size > 8192
