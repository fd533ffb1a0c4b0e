"""What a worker asked goes on where its connection breaks, and then nobody waits for how it ends."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime.context import wait_shielded
from agentstepper_nb.protocol.runtime_store_messages import SessionWrite
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
from tests.hub.runtime.harness import RuntimeHarness


class LoopErrors:
    """What the running loop logs of tasks that nobody waited for."""

    def __init__(self) -> None:
        self.contexts: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: self.contexts.append(context)
        )


async def cancel_waiting(waiting: asyncio.Task[Any]) -> None:
    """Let a task begin to wait, and cancel it."""
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_refused_write_of_a_worker_that_is_gone_is_no_error_of_the_core() -> None:
    errors, scene = LoopErrors(), RuntimeHarness(SqliteRuntimeStore(None))
    await scene.create("s")
    await scene.begin("s")
    stale = SessionWrite(session_id="s", epoch=99, owner="w", state=None)
    with pytest.raises(CommandError):
        await scene.runtime.write(stale)
    await cancel_waiting(asyncio.create_task(scene.runtime.write(stale)))
    await scene.runtime.close()  # waits for what was begun
    gc.collect()
    assert errors.contexts == []


async def test_another_failure_is_logged_though_nobody_waits() -> None:
    errors = LoopErrors()
    go = asyncio.Event()

    async def fail() -> None:
        await go.wait()
        raise ZeroDivisionError

    task = asyncio.create_task(fail(), name="what fails")
    await cancel_waiting(asyncio.create_task(wait_shielded(task)))
    go.set()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    (context,) = errors.contexts
    assert context["message"] == "what fails failed, for which nobody waits any more"
    assert isinstance(context["exception"], ZeroDivisionError)
