"""A worker hands sessions over: those first that do nothing, and none in the midst of a step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.routes import OfferedMoniker, RouteCount, SessionRoute, WorkerOffer
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    RenewedLeases,
    SessionWrite,
    SessionWriteResult,
)
from agentstepper_nb.runtime.worker_capacity import WorkerCapacity
from tests.helpers.loops import settle
from tests.runtime.harness import CountingMoniker, RuntimeCore, RuntimeWorker, a_core

ROUTE = SessionRoute(moniker=CountingMoniker.name)
OFFER = WorkerOffer(monikers=(OfferedMoniker(name=CountingMoniker.name),))


def run(test: Callable[[RuntimeCore], Awaitable[None]], folder: Path) -> None:
    async def whole() -> None:
        async with a_core(folder) as core:
            await test(core)

    asyncio.run(whole())


class StuckQueue:
    """A Core's queue, in which one write gets stuck.

    Args:
        core: The Core.

    Attributes:
        is_sticky: Whether the next write gets stuck.
        stuck: Set once it is.
    """

    def __init__(self, core: RuntimeCore) -> None:
        self._runtime = core.runtime
        self.is_sticky = False
        self.stuck = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def write(self, request: SessionWrite) -> SessionWriteResult:
        if self.is_sticky:
            self.is_sticky = False
            self.stuck.set()
            await asyncio.Event().wait()
        return await self._runtime.write(request)


async def ask_to_hand_over(
    worker: RuntimeWorker, number: int, route: SessionRoute = ROUTE, gone: tuple[str, ...] = ()
) -> None:
    """Answer a renewal by this.

    Args:
        worker: Who renewed.
        number: How many sessions are too many.
        route: What they need.
        gone: Sessions that it had as it asked, and has no more.
    """
    surplus = RouteCount(route=route, sessions=number)
    renewed = RenewedLeases(sessions=(), actions=(), hand_over=(surplus,))
    await worker.session_host.drop_lost_sessions(dict.fromkeys(gone, 1), renewed)


async def wait_until_released(worker: RuntimeWorker) -> None:
    """Wait until the Core has back what is handed over: it writes on a thread."""
    while worker.registry.departing:
        await settle()


async def start(core: RuntimeCore, *sessions: str) -> None:
    for session in sessions:
        await core.wait_until_done(await core.create(session))


async def pause(core: RuntimeCore, session: str) -> None:
    """Pause a session: its step ends, and no other begins."""
    await core.wait_until_done(await core.enqueue(ActionKind.PAUSE, session))
    core.monikers.permit(session, 1)
    await core.wait_for_state(session, SessionStatus.PAUSED, iteration=1)


def test_sessions_that_do_nothing_are_handed_over_first(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as worker:
            await start(core, "busy", "other", "paused")
            await pause(core, "paused")
            await ask_to_hand_over(worker, 1)
            assert set(worker.registry.departing) == {"paused"}
            await wait_until_released(worker)
            async with core.worker():
                state = await core.wait_for_state("paused", epoch=2)
                assert (state.status, state.losses) == (SessionStatus.PAUSED, ())
            assert worker.registry.local_epochs() == {"busy": 1, "other": 1}

    run(test, tmp_path)


def test_a_step_under_way_ends_before_its_session_is_handed_over(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as worker:
            await start(core, "s")
            for _ in range(3):  # one that departs is counted, so that none is asked for twice
                await ask_to_hand_over(worker, 1)
            assert worker.registry.departing == {"s": 1}
            # What comes meanwhile is for whoever goes on with it.
            await core.wait_until_done(
                await core.enqueue(ActionKind.INTERRUPT, "s", payload={"guidance": "Faster."})
            )
            core.monikers.permit("s", 1)
            await wait_until_released(worker)
            state = await core.wait_for_state("s", iteration=1)
            assert state.epoch == 1
            async with core.worker() as other:
                await core.wait_for_state("s", epoch=2)
                core.monikers.permit("s", 1)
                await core.wait_for_state("s", iteration=2)
                assert other.registry.local_epochs() == {"s": 2}
            steps = await core.steps("s")
            assert [(step.iteration, step.text) for step in steps] == [(0, None), (1, "Faster.")]

    run(test, tmp_path)


@pytest.mark.parametrize(
    ("kind", "payload", "status", "guidance"),
    [
        (ActionKind.INPUT, {"text": "Faster."}, SessionStatus.PAUSED, "Faster."),
        (ActionKind.RESUME, None, SessionStatus.RUNNING, None),
        (ActionKind.DESTROY, {"timeout_s": 0}, SessionStatus.STOPPED, None),
    ],
)
def test_an_action_whose_write_is_under_way_goes_along_with_its_session(
    tmp_path: Path, kind: ActionKind, payload: Any, status: SessionStatus, guidance: str | None
) -> None:
    async def test(core: RuntimeCore) -> None:
        queue, capacity = StuckQueue(core), WorkerCapacity(OFFER)
        async with core.worker(queue, capacity=capacity) as worker:
            await start(core, "s")
            await pause(core, "s")
            queue.is_sticky = True
            action = await core.enqueue(kind, "s", payload=payload)
            await queue.stuck.wait()
            capacity.is_draining = True
            await worker.session_host.drain(0)
            async with core.worker():
                done = await core.wait_until_done(action)
                assert (done.status, done.error) == (ActionStatus.DONE, None)
                state = await core.state("s")
                assert (state.status, state.guidance) == (status, guidance)

    run(test, tmp_path)


def test_no_more_are_handed_over_than_are_too_many(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as worker:
            await start(core, *"abc")
            for session in "abc":
                await pause(core, session)
            await ask_to_hand_over(
                worker, 3, gone=("one", "two")
            )  # by the Core's count, with these
            assert len(worker.registry.departing) == 1
            await ask_to_hand_over(worker, 3, SessionRoute(moniker="other"))
            assert len(worker.registry.departing) == 1

    run(test, tmp_path)


def test_a_full_worker_claims_its_own_alone(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker(capacity=WorkerCapacity(OFFER, 2)) as worker:
            await start(core, "a", "b")
            waits = await core.create("c")
            await pause(core, "a")
            assert set(worker.registry.local_epochs()) == {"a", "b"}
            assert (await core.state("c")).owner is None
            # There is room once one has ended.
            await core.wait_until_done(
                await core.enqueue(ActionKind.DESTROY, "a", payload={"timeout_s": 0})
            )
            await core.wait_until_done(waits)
            assert set(worker.registry.local_epochs()) == {"b", "c"}

    run(test, tmp_path)


def test_a_worker_adopts_as_much_as_it_has_room_for(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            await start(core, *"abcde")
            await first.close()
        async with core.worker(capacity=WorkerCapacity(OFFER, 3)) as second:
            await core.wait_for_state("a", epoch=2)
            await core.wait_for_state("c", epoch=2)
            await second.session_host.adopt()
            assert set(second.registry.local_epochs()) == set("abc")

    run(test, tmp_path)


def test_a_worker_without_the_moniker_leaves_sessions_alone(tmp_path: Path) -> None:
    """They were ended as errors before workers said what they have."""

    async def test(core: RuntimeCore) -> None:
        other = WorkerOffer(monikers=(OfferedMoniker(name="other"),))
        async with core.worker() as first:
            await start(core, "begun")
            await first.close()
        core.monikers.lost = True
        async with core.worker(capacity=WorkerCapacity(other)) as second:
            created = await core.create("created")
            await second.session_host.adopt()
            assert second.registry.local_epochs() == {}
            assert (await core.state("begun")).status is SessionStatus.RUNNING
            core.monikers.lost = False
            async with core.worker(capacity=WorkerCapacity(OFFER)) as third:
                await core.wait_until_done(created)
                await core.wait_for_state("begun", epoch=2)
                assert set(third.registry.local_epochs()) == {"begun", "created"}

    run(test, tmp_path)


def test_a_config_that_is_bad_still_ends_its_session(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker(capacity=WorkerCapacity(OFFER)):
            await core.wait_until_done(await core.create("s", config="bad"))
            state = await core.state("s")
            assert (state.status, state.last_error) == (SessionStatus.ERROR, "It is bad.")

    run(test, tmp_path)
