"""PostgreSQL's store promises what every store of the runtime does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar, Final

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance import RuntimeStoreConformance
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore, database
from tests.helpers.postgres_server import PostgresServer

#: Takes all rows out of the tables, but for their version, and begins their numbers anew. TRUNCATE would
#: make a new file for each table and index, which takes longer than most tests.
EMPTY: Final = """
DO $$
DECLARE name text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN
        SELECT tablename FROM pg_tables WHERE schemaname = 'agentstepper' AND tablename <> 'meta'
    LOOP
        EXECUTE format('DELETE FROM agentstepper.%I', name);
    END LOOP;
    PERFORM setval(format('agentstepper.%I', sequencename)::regclass, start_value, false)
        FROM pg_sequences WHERE schemaname = 'agentstepper';
END $$
"""


class ReusedConnection(psycopg.Connection):
    """A connection that a later store goes on with: a new one costs more than most tests."""

    free: ClassVar[defaultdict[str, list[psycopg.Connection]]] = defaultdict(list)
    conninfo: str

    @classmethod
    def reuse(cls, conninfo: str, *, autocommit: bool) -> psycopg.Connection:
        """Connect, or take a connection that a store has closed."""
        free = cls.free[conninfo]
        if free:
            return free.pop()
        connection = cls.connect(conninfo, autocommit=autocommit)
        connection.conninfo = conninfo
        return connection

    def close(self) -> None:
        if self.info.transaction_status is TransactionStatus.IDLE:
            self.free[self.conninfo].append(self)
        else:
            super().close()

    @classmethod
    def close_free(cls) -> None:
        for free in cls.free.values():
            for connection in free:
                psycopg.Connection.close(connection)
        cls.free.clear()


@pytest.fixture(scope="module")
def made() -> Iterator[dict[str, psycopg.Connection]]:
    """The databases of earlier tests, and a connection to each: to make one, with its tables, takes
    longer than most tests.
    """
    connections: dict[str, psycopg.Connection] = {}
    yield connections
    ReusedConnection.close_free()
    for connection in connections.values():
        connection.close()


@pytest.mark.slow
class TestPostgres(RuntimeStoreConformance):
    random_schedules = 2

    @pytest.fixture(autouse=True)
    def given(
        self,
        postgres_server: PostgresServer,
        made: dict[str, psycopg.Connection],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(database.psycopg, "connect", ReusedConnection.reuse)
        self.server = postgres_server
        self.made, self.free = made, list(made)

    async def open(self) -> RuntimeStore:
        if self.free:
            self.location = self.free.pop()
            self.made[self.location].execute(EMPTY)
        else:
            self.location = self.server.create_database()
            self.made[self.location] = psycopg.Connection.connect(self.location, autocommit=True)
        return PostgresRuntimeStore(self.location)

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        await store.close()
        return PostgresRuntimeStore(self.location)

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        self._behind("DELETE FROM agentstepper.agent_state WHERE session_id = %s", session_id)

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        statement = "UPDATE agentstepper.agent_state SET state = %s WHERE session_id = %s"
        self._behind(statement, text, session_id)

    def _behind(self, statement: str, *values: str) -> None:
        self.server.execute(statement, *values, location=self.location)
