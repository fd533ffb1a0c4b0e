"""An action that is claimed before the one before it has heard that it is kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ClaimAction,
    ClaimedAction,
    SessionWrite,
    SessionWriteResult,
)
from tests.runtime.harness import RuntimeCore, a_core


class SlowAnswers:
    """A way to the Core on which the answer to a creation is late: the next action comes before it.

    Args:
        runtime: The Core's.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._claimed = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def claim(self, ask: ClaimAction) -> ClaimedAction:
        claimed = await self._runtime.claim(ask)
        if claimed.action is not None and claimed.action.kind is not ActionKind.CREATE:
            self._claimed.set()
        return claimed

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        written = await self._runtime.write(ask)
        if any(each.kind is ActionKind.CREATE for each in written.actions):
            await self._claimed.wait()
            for _ in range(50):  # its handler gets far
                await asyncio.sleep(0)
        return written


def test_what_comes_at_once_reaches_the_session_that_was_created(tmp_path: Path) -> None:
    """Else the session would have two agents here, each with a snapshot of its own."""

    async def test(core: RuntimeCore) -> None:
        await core.create("s")
        told = await core.enqueue(ActionKind.INPUT, "s", payload={"text": "foxes"})
        core.monikers.permit("s", 3)
        async with core.worker(queue=SlowAnswers(core.runtime)) as worker:
            assert (await core.wait_until_done(told)).status is ActionStatus.DONE
            state = await core.wait_for_state("s", iteration=3)
            assert state.status is SessionStatus.RUNNING
            assert len(worker.registry) == 1
        steps = await core.steps("s")
        assert [step.iteration for step in steps] == [0, 1, 2]
        assert [step.text for step in steps if step.text] == ["foxes"]

    run(test, tmp_path)


def test_what_ends_it_at_once_leaves_nothing(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        await core.create("s")
        end = await core.enqueue(ActionKind.DESTROY, "s", payload={"timeout_s": 0.0})
        async with core.worker(queue=SlowAnswers(core.runtime)) as worker:
            assert (await core.wait_until_done(end)).status is ActionStatus.DONE
            await core.wait_for_state("s", SessionStatus.STOPPED)
            while len(worker.registry):  # it hears of its end by and by
                await asyncio.sleep(0)
        assert await core.steps("s") == ()

    run(test, tmp_path)


def run(test: Any, folder: Path) -> None:
    async def whole() -> None:
        async with a_core(folder) as core:
            await test(core)

    asyncio.run(whole())
