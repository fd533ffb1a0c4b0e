"""The runtime's store on disk: one connection writes, on a thread of its own, another reads."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ....errors import StoreError
from ....protocol.runtime_store_messages import PrunedRows, PruneRows, RuntimeStoreInfo
from ....protocol.store_info import Durability
from ...sqlite.migrations import delete_migration_copies
from . import (
    conversations,
    dead_letters,
    fleet,
    mutations,
    queries,
    queue,
    retention,
    routes,
)
from .runtime_file import (
    IDLE_S,
    RUNTIME_FILE,
    RuntimeStoreWriter,
    Work,
    make_store_error,
    open_reader,
    open_writer,
)

T = TypeVar("T")
Params = TypeVar("Params")


def _writes(
    work: Callable[[sqlite3.Connection, Params], T],
) -> Callable[[SqliteRuntimeStore, Params], Coroutine[Any, Any, T]]:
    """A method of the store that does something on the writer's connection."""

    async def method(store: SqliteRuntimeStore, request: Params) -> T:
        return await store._writer.call(lambda connection: work(connection, request))

    return method


def _reads(
    work: Callable[[sqlite3.Connection, Params], T],
) -> Callable[[SqliteRuntimeStore, Params], Coroutine[Any, Any, T]]:
    """A method of the store that reads the tables."""

    async def method(store: SqliteRuntimeStore, request: Params) -> T:
        return await store._read(lambda connection: work(connection, request))

    return method


class SqliteRuntimeStore:
    """Stores the runtime's rows in a SQLite file. It has each method of `RuntimeStore`.

    Args:
        path: The file, whose folder's lock the caller holds; None: in memory.
        durability: When calls are answered: see `runtime_file.RuntimeStoreWriter`.
        idle_s: See `runtime_file.RuntimeStoreWriter`.

    Raises:
        NewerStoreError: A newer program wrote the file.
        StoreError: The file can't be used.
    """

    create = _writes(queue.create)
    enqueue = _writes(queue.enqueue)
    claim = _writes(queue.claim)
    renew = _writes(queue.renew)
    adopt = _writes(queue.adopt)
    release = _writes(queue.release)
    retry = _writes(queue.retry)
    retry_action = _writes(dead_letters.retry_action)
    discard_action = _writes(dead_letters.discard_action)
    write = _writes(mutations.write)
    save_conversation = _writes(conversations.save_conversation)
    join = _writes(conversations.join)
    leave = _writes(conversations.leave)
    post = _writes(mutations.post)
    advance = _writes(conversations.advance)
    actions = _reads(queries.find_actions)
    states = _reads(queries.find_states)
    steps = _reads(queries.find_steps)
    sessions = _reads(queries.find_sessions)
    conversations = _reads(queries.find_conversations)
    participants = _reads(queries.find_participants)
    messages = _reads(queries.find_messages)
    cursor = _reads(queries.find_cursor)
    changes = _reads(queries.find_changes)
    loads = _reads(routes.count_loads)
    fleet = _reads(fleet.read_fleet)

    def __init__(
        self,
        path: Path | None,
        durability: Durability = Durability.DURABLE,
        idle_s: float = IDLE_S,
    ) -> None:
        self._path = path
        connection = open_writer(path)
        self._reader: _Reader | None = None
        try:
            if path is not None:
                self._reader = _Reader(path)
            self._writer = RuntimeStoreWriter(connection, path, durability, idle_s)
        except BaseException as error:
            if self._reader is not None:
                self._reader.close()
            connection.close()
            if path is not None and isinstance(error, sqlite3.Error):
                raise make_store_error(path, error) from error
            raise

    async def prune(self, request: PruneRows) -> PrunedRows:
        """Delete expired rows: see `RuntimeStore.prune`."""
        pruned = await self._writer.call(lambda connection: retention.prune(connection, request))
        if self._path is not None and pruned != PrunedRows():
            await asyncio.to_thread(delete_migration_copies, self._path)
        return pruned

    async def info(self) -> RuntimeStoreInfo:
        """Report the store's location, and the number of open actions and sessions."""
        return await self._read(lambda connection: queries.read_info(connection, self._path))

    async def close(self) -> None:
        """Finish the calls in progress, sync, and close the file. Idempotent."""
        if self._reader is not None:
            await asyncio.to_thread(self._reader.close)
        await self._writer.close()

    async def _read(self, work: Work[T]) -> T:
        if self._reader is None:
            return await self._writer.call(work, is_write=False)
        return await self._reader.read(work)


class _Reader:
    """A read-only connection, and its thread. It sees all writes that were answered before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_reader(path)
        self._thread = ThreadPoolExecutor(1, "agentstepper-runtime-reader")
        self._closed = False

    async def read(self, work: Work[T]) -> T:
        if self._closed:
            raise StoreError(f"{self._path} is closed: open it again.")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(self._on_thread, work))

    def close(self) -> None:
        """Finish the reads in progress, and close the connection. Blocks; idempotent."""
        self._closed = True
        self._thread.shutdown(wait=True)
        self._connection.close()

    def _on_thread(self, work: Work[Any]) -> Any:
        try:
            self._connection.execute("BEGIN")  # all statements see the same
            try:
                return work(self._connection)
            finally:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise make_store_error(self._path, error) from error


def open_runtime_store(
    folder: Path, durability: Durability = Durability.DURABLE
) -> SqliteRuntimeStore:
    """Open the runtime's store beside a folder's runs. The caller must hold the folder's lock.

    Args:
        folder: The folder; created if it doesn't exist.
        durability: When written data is safe on disk: docs/design/0008-store.md.

    Raises:
        NewerStoreError: A newer program wrote the store.
        StoreError: The store can't be used.
    """
    return SqliteRuntimeStore(folder / RUNTIME_FILE, durability)
