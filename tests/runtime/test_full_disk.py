"""A disk that is full: agents wait, nothing is lost, and it goes on by itself."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from pathlib import Path

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import MethodRight, Runtime, RuntimeService
from agentstepper_nb.protocol.runtime_store_messages import ClaimAction, SessionWrite, StepQuery
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from agentstepper_nb.store.runtime.conformance.base_suite import (
    START_TIME,
    begin_session,
    make_step,
)
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.runtime.breakable_connection import BreakableConnection

LOG = logging.getLogger("agentstepper_nb.test")


async def leave_room(store: SqliteRuntimeStore, pages: int) -> None:
    """Let the file grow by so many pages."""

    def limit(connection: sqlite3.Connection) -> None:
        ((now,),) = connection.execute("PRAGMA page_count")
        connection.execute(f"PRAGMA max_page_count = {now + pages}").fetchall()

    await store._writer.call(limit)


async def test_what_has_no_room_is_written_once_there_is_some(tmp_path: Path) -> None:
    store = SqliteRuntimeStore(tmp_path / "runtime.sqlite")
    runtime = Runtime(store, LOG)
    service = RuntimeService(runtime, MethodRight.WORK)
    breakable = BreakableConnection(service)
    breakable.connect()
    queue = RemoteQueue(breakable.connection, retry_s=0.001)
    await begin_session(store)
    await leave_room(store, 3)
    large = SessionWrite(
        session_id="s",
        epoch=1,
        owner="one",
        steps=(make_step(text="x" * 200_000), make_step(iteration=1)),
    )
    with pytest.raises(CommandError, match="Free disk space") as refused:
        await breakable.connection.call("runtime", "write", large, type(None))
    assert refused.value.code == "store_failed"
    writing = asyncio.create_task(queue.write(large))
    # Others go on meanwhile, which takes more than one of its tries.
    for _ in range(20):
        ask = ClaimAction(owner="one", now=START_TIME, lease_until=START_TIME + 10)
        assert (await queue.claim(ask)).action is None
    assert not writing.done()
    await leave_room(store, 1000)
    assert (await writing).steps == large.steps
    assert (await store.steps(StepQuery())).steps == large.steps
    await runtime.close()
