"""A store at the other end of a worker's line is a store as well."""

from __future__ import annotations

import asyncio
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw, Struct

from agentstepper_nb.errors import CommandError, ProtocolError, StoreError
from agentstepper_nb.hub.workers import Workers
from agentstepper_nb.protocol.runtime_store_messages import RuntimeStoreInfo, StateQuery
from agentstepper_nb.runtime.store_service import (
    LANCE_FOLDER,
    STORE_VARIABLE,
    RuntimeStoreService,
    create,
    open_chosen_store,
)
from agentstepper_nb.store import folder_lock
from agentstepper_nb.store.runtime import METHODS, RuntimeStore
from agentstepper_nb.store.runtime.remote_store import RemoteRuntimeStore, answer_request
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from agentstepper_nb.store.runtime.sqlite.row_codec import STATES
from agentstepper_nb.worker.services import ENTRY_POINT_GROUP, ServiceContext
from tests.worker.worker_pair import LOG, WorkerConnection

pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")

from agentstepper_nb.store.runtime.conformance import (  # noqa: E402
    RuntimeStoreConformance,
    base_suite,
)

SERVICE = "runtime_store"


def refused(code: str) -> Any:
    return pytest.raises(CommandError, check=lambda error: error.code == code)


class WorkerServedStore(RemoteRuntimeStore):
    """A store in memory that a worker serves, and the way there."""

    def __init__(self) -> None:
        self.near = SqliteRuntimeStore(None)
        self.service = RuntimeStoreService(self.opened)
        workers = Workers(LOG)
        self.wire = WorkerConnection(workers, {SERVICE: self.service})
        super().__init__(lambda *asked: workers.call(SERVICE, *asked))

    async def opened(self) -> RuntimeStore:
        return self.near

    async def close(self) -> None:
        await super().close()
        await self.service.close()
        self.wire.break_off()


class TestRemote(RuntimeStoreConformance):
    async def open(self) -> RuntimeStore:
        return WorkerServedStore()

    async def reopen(self, store: RuntimeStore) -> RuntimeStore:
        return store

    async def delete_snapshot(self, store: RuntimeStore, session_id: str) -> None:
        assert isinstance(store, WorkerServedStore)
        sql = f"DELETE FROM {STATES.name} WHERE session_id = ?"
        await store.near._writer.call(lambda connection: connection.execute(sql, (session_id,)))

    async def write_raw_state(self, store: RuntimeStore, session_id: str, text: str) -> None:
        assert isinstance(store, WorkerServedStore)
        sql = f"UPDATE {STATES.name} SET state = ? WHERE session_id = ?"
        await store.near._writer.call(
            lambda connection: connection.execute(sql, (text, session_id))
        )


async def test_the_proxy_asks_each_method_by_its_own_name() -> None:
    async def ask(*asked: Any) -> Any:
        return asked

    store = RemoteRuntimeStore(ask)
    for name, method in METHODS.items():
        params = [] if method.request is type(None) else [object()]
        asked = await getattr(store, name)(*params)
        assert asked == (name, params[0] if params else None, method.result)


# ---- what it is asked with ----------------------------------------------------------------------


async def test_what_is_no_method_or_no_params_of_it_is_refused() -> None:
    store = SqliteRuntimeStore(None)
    for method in ("close", "_writer", "drop"):  # not what a line may ask
        with refused("unknown_service"):
            await answer_request(store, method, Raw(b"null"))
    for params in (b"null", b"{}", b'{"owner": 1}', b"["):
        with pytest.raises(ProtocolError) as caught:
            await answer_request(store, "claim", Raw(params))
        assert caught.value.code == "invalid_message"
    await store.close()


async def test_what_cannot_be_kept_is_a_store_error_at_the_other_end() -> None:
    far = WorkerServedStore()
    await far.near.close()
    with pytest.raises(StoreError, match="closed"):
        await far.states(StateQuery())
    await far.close()


async def test_what_was_lost_on_its_way_is_asked_for_again() -> None:
    near, asked = SqliteRuntimeStore(None), []

    async def ask(method: str, params: Struct | None, kind: type[Any]) -> Any:
        asked.append(method)
        given = await answer_request(near, method, Raw(msgspec.json.encode(params)))
        if len(asked) % 3:  # it was done, and the answer got lost
            raise CommandError("worker_lost", "It was killed.")
        return given

    store = RemoteRuntimeStore(ask)
    await base_suite.create_session(store)
    assert (await store.info()).open == 1
    assert asked == ["create"] * 3 + ["info"] * 3
    with refused("worker_lost"):  # this isn't
        await base_suite.claim_action(store)
    await near.close()


async def test_a_worker_that_is_lost_again_and_again_is_said_to_be() -> None:
    asked = []

    async def ask(method: str, params: Struct | None, kind: type[Any]) -> Any:
        asked.append(method)
        raise CommandError("worker_lost", "It was killed.")

    with refused("worker_lost"):
        await RemoteRuntimeStore(ask).info()
    assert asked == ["info"] * 4


async def test_a_lost_worker_is_said_to_be_lost() -> None:
    far = WorkerServedStore()
    await far.info()
    far.wire.break_off()
    with refused("unknown_service"):  # nobody serves it: a Core would start a worker
        await far.info()
    await far.service.close()


# ---- the service --------------------------------------------------------------------------------


class FailingOpening:
    """Opens a store, after it has failed so often."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.times = 0

    async def __call__(self) -> RuntimeStore:
        self.times += 1
        if self.times <= self.failures:
            raise StoreError("The disk is gone.")
        return SqliteRuntimeStore(None)


async def test_it_is_opened_once_by_who_asks_first() -> None:
    opening = FailingOpening(0)
    service = RuntimeStoreService(opening)
    assert opening.times == 0
    await asyncio.gather(*(service.call("info", Raw(b"null")) for _ in range(3)))
    assert opening.times == 1
    with refused("unknown_service"):
        service.stream("watch", Raw(b"null"))
    await service.close()
    with refused("store_failed"):
        await service.call("info", Raw(b"null"))


async def test_when_nobody_asks_any_more_it_is_let_go_and_opened_again_for_the_next() -> None:
    opening, closed = FailingOpening(0), asyncio.Event()

    class Store(SqliteRuntimeStore):
        async def close(self) -> None:
            await super().close()
            closed.set()

    async def opened() -> RuntimeStore:
        await opening()
        return Store(None)

    service = RuntimeStoreService(opened, idle_s=0.0)
    for times in (1, 2):
        assert await service.call("info", Raw(b"null")) is not None
        await closed.wait()
        closed.clear()
        assert opening.times == times
    await service.close()


async def test_who_is_asked_keeps_it() -> None:
    reached, go_on = asyncio.Event(), asyncio.Event()

    class Store(SqliteRuntimeStore):
        async def info(self) -> RuntimeStoreInfo:
            reached.set()
            await go_on.wait()
            return await super().info()

    async def opened() -> RuntimeStore:
        return Store(None)

    service = RuntimeStoreService(opened, idle_s=0.0)
    slow = asyncio.create_task(service.call("info", Raw(b"null")))
    await reached.wait()
    await service.call("conversations", Raw(b"{}"))
    for _ in range(10):  # time enough to let it go
        await asyncio.sleep(0)
    go_on.set()
    assert await slow is not None
    await service.close()


async def test_a_folder_is_waited_for_until_the_worker_before_lets_it_go(tmp_path: Path) -> None:
    held = folder_lock.lock_folder(tmp_path / LANCE_FOLDER, "a worker whose Core is gone")
    opening = asyncio.create_task(open_chosen_store("", tmp_path))
    await asyncio.wait((opening,), timeout=0.01)
    assert not opening.done()
    held.release()
    await (await opening).close()


async def test_opening_that_failed_is_tried_again() -> None:
    service = RuntimeStoreService(FailingOpening(1))
    with refused("store_failed"):
        await service.call("info", Raw(b"null"))
    assert await service.call("info", Raw(b"null")) is not None
    await service.close()


async def test_the_variable_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def place(chosen: str) -> str:
        monkeypatch.setenv(STORE_VARIABLE, chosen)
        service = create(ServiceContext(tmp_path))
        info = await service.call("info", Raw(b"null"))
        assert isinstance(info, RuntimeStoreInfo)
        assert info.kind == "lance"
        await service.close()
        return info.place

    assert await place("") == str(tmp_path / LANCE_FOLDER)
    assert await place(f"lance:{tmp_path / 'elsewhere'}") == str(tmp_path / "elsewhere")
    with refused("store_failed"):
        await place("sqlite")


async def test_without_lancedb_it_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(StoreError, match=r'pip install "agentstepper_nb\[lance\]"'):
        await open_chosen_store("", tmp_path)


def test_it_is_installed() -> None:
    (entry,) = entry_points(group=ENTRY_POINT_GROUP, name=SERVICE)
    assert entry.load() is create
