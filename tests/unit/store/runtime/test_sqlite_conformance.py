"""The store in SQLite keeps what every store of the runtime promises; on disk, and in memory."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.conformance import RuntimeStoreConformance
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore, open_runtime_store
from agentstepper_nb.store.runtime.sqlite.runtime_file import RUNTIME_FILE, open_writer


@pytest.fixture(scope="module")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tables: to make them takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / RUNTIME_FILE
    with closing(open_writer(path)):
        return path


class OnDisk(RuntimeStoreConformance):
    durability = Durability.DURABLE

    @pytest.fixture(autouse=True)
    def given(self, tmp_path: Path, empty_file: Path) -> None:
        self.folder = tmp_path
        self.empty_file = empty_file
        self.number = 0

    async def open(self) -> RuntimeStore:
        self.number += 1
        folder = self.folder / f"{self.number}"
        folder.mkdir()
        shutil.copy(self.empty_file, folder)
        return open_runtime_store(folder, self.durability)

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        await store.close()
        return open_runtime_store(self.folder / f"{self.number}", self.durability)

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        self._behind("DELETE FROM agent_state WHERE session_id = ?", session_id)

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        self._behind("UPDATE agent_state SET state = ? WHERE session_id = ?", text, session_id)

    def _behind(self, statement: str, *values: str) -> None:
        path = self.folder / f"{self.number}" / RUNTIME_FILE
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            assert connection.execute(statement, values).rowcount == 1


class TestDurable(OnDisk):
    pass


@pytest.mark.soak  # the same tables and statements, and a call waits for the disk
class TestSynced(OnDisk):
    durability = Durability.SYNC
    random_schedules = 1


@pytest.mark.soak  # the same tables and statements as on disk; the tests of the Core have this store
class TestInMemory(RuntimeStoreConformance):
    async def open(self) -> RuntimeStore:
        return SqliteRuntimeStore(None)

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        return store

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        await self._behind(store, "DELETE FROM agent_state WHERE session_id = ?", session_id)

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        statement = "UPDATE agent_state SET state = ? WHERE session_id = ?"
        await self._behind(store, statement, text, session_id)

    async def _behind(self, store: RuntimeStore, statement: str, *values: str) -> None:
        assert isinstance(store, SqliteRuntimeStore)
        changed = await store._writer.call(lambda connection: connection.execute(statement, values))
        assert changed.rowcount == 1
