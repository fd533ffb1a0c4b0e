"""An action that was claimed of a session that ended before its handler began."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.hub.runtime import Runtime
from agentstepper_nb.protocol.runtime import Action, ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import ClaimAction, ClaimedAction
from tests.runtime.harness import RuntimeCore, RuntimeWorker, a_core

OVER = "can't change any more"


class LateClaims:
    """A way to the Core on which what is claimed after a creation arrives when a test lets it.

    Args:
        runtime: The Core's.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.claimed = asyncio.Event()
        self.arrives = asyncio.Event()
        self._runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def claim(self, ask: ClaimAction) -> ClaimedAction:
        claimed = await self._runtime.claim(ask)
        if claimed.action is not None and claimed.action.kind is not ActionKind.CREATE:
            self.claimed.set()
            await self.arrives.wait()
        return claimed


async def act_late(
    core: RuntimeCore, queue: LateClaims, worker: RuntimeWorker, kind: ActionKind
) -> Action:
    """Have an action claimed while its session lives, and begun once nothing here knows of it."""
    payloads = {ActionKind.INTERRUPT: {"guidance": "on"}, ActionKind.INPUT: {"text": "and on"}}
    await core.wait_until_done(await core.create("s", limits={"max_steps": 2}))
    action = await core.enqueue(kind, "s", payload=payloads.get(kind))
    await queue.claimed.wait()
    core.monikers.permit("s", 5)  # more than it may do
    await core.wait_for_state("s", SessionStatus.STOPPED)
    while len(worker.registry):  # it hears of its end by and by
        await asyncio.sleep(0)
    queue.arrives.set()
    return action


@pytest.mark.parametrize("lost", [False, True], ids=["there", "its moniker is lost"])
@pytest.mark.parametrize("kind", [kind for kind in ActionKind if kind is not ActionKind.CREATE])
def test_it_brings_nothing_back_to_life(kind: ActionKind, lost: bool, tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        queue = LateClaims(core.runtime)
        async with core.worker(queue=queue) as worker:
            action = await act_late(core, queue, worker, kind)
            ended, core.monikers.lost = await core.state("s"), lost
            over = await core.wait_until_done(action)
            if kind is ActionKind.DESTROY:  # it is as it was to be
                assert (over.status, over.error) == (ActionStatus.DONE, None)
            else:
                assert over.status is ActionStatus.FAILED
                assert OVER in (over.error or "")
            while len(worker.registry):
                await asyncio.sleep(0)
            assert await core.state("s") == ended
            assert [step.iteration for step in await core.steps("s")] == [0, 1]
            assert (await core.store.info()).live == 0

    async def whole() -> None:
        async with a_core(tmp_path) as core:
            await test(core)

    asyncio.run(whole())
