"""PostgreSQL's store promises what every store of the runtime does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance import RuntimeStoreConformance
from agentstepper_nb.store.runtime.postgres import PostgresRuntimeStore
from tests.helpers.postgres_server import PostgresServer

#: Takes all rows out of the tables, but for their version, and begins their numbers anew.
EMPTY: Final = """
DO $$ BEGIN EXECUTE (
    SELECT 'TRUNCATE ' || string_agg(format('agentstepper.%I', tablename), ', ') || ' RESTART IDENTITY'
    FROM pg_tables WHERE schemaname = 'agentstepper' AND tablename <> 'meta'
); END $$
"""


@pytest.fixture(scope="module")
def made() -> list[str]:
    """The databases of earlier tests: to make one, with its tables, takes longer than most tests."""
    return []


class TestPostgres(RuntimeStoreConformance):
    @pytest.fixture(autouse=True)
    def given(self, postgres_server: PostgresServer, made: list[str]) -> Iterator[None]:
        self.server = postgres_server
        self.free, self.used = [*made], list[str]()
        yield
        made[:] = [*self.free, *self.used]

    async def open(self) -> RuntimeStore:
        if self.free:
            self.location = self.free.pop()
            self.server.execute(EMPTY, location=self.location)
        else:
            self.location = self.server.create_database()
        self.used.append(self.location)
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
