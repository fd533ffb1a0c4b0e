"""LanceDB's store promises what every store of the runtime does."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.store.lance import LanceRuntimeStore
from agentstepper_nb.store.lance.sql import equals
from agentstepper_nb.store.lance.table_specs import STATES
from agentstepper_nb.store.runtime import RuntimeStore

pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")

from agentstepper_nb.store.runtime.conformance import RuntimeStoreConformance  # noqa: E402


class TestLance(RuntimeStoreConformance):
    random_schedules = 1

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.path = tmp_path
        self.opened_times = 0

    async def open(self) -> RuntimeStore:
        self.opened_times += 1
        return await LanceRuntimeStore.open(self.path / str(self.opened_times))

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        await store.close()
        return await LanceRuntimeStore.open(self.path / str(self.opened_times))

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        assert isinstance(store, LanceRuntimeStore)
        where = equals("session_id", session_id)
        await store._row_store.read(
            lambda tables: tables._tables[STATES.name].delete(where), STATES
        )

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        assert isinstance(store, LanceRuntimeStore)
        where = equals("session_id", session_id)
        await store._row_store.read(
            lambda tables: tables._tables[STATES.name].update({"state": text}, where=where), STATES
        )
