"""Sessions come back in another worker as they were, and the one that lost them does nothing more."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import MethodRight, Runtime, RuntimeService
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionQuery,
    AdoptSessions,
    AgentStateList,
    RenewedLeases,
    RenewLeases,
    SessionWrite,
    SessionWriteResult,
    StateQuery,
)
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from tests.runtime.breakable_connection import BreakableConnection
from tests.runtime.harness import LEASE_S, QUICK, RuntimeCore, RuntimeWorker, a_core

Test = Callable[[RuntimeCore], Awaitable[None]]
LATER = 60.0


def run(test: Test, folder: Path, file: Path | None = None) -> None:
    async def whole() -> None:
        async with a_core(folder, file) as core:
            await test(core)

    asyncio.run(whole())


async def lone_steps(core: RuntimeCore, session_id: str) -> list[int]:
    """The iterations of a session's steps, each of which went on from the one before it."""
    steps = await core.steps(session_id)
    tokens = ["start", *(f"n{number + 1}" for number in range(len(steps)))]
    assert [step.step_token for step in steps] == tokens[:-1]
    assert [step.next_step_token for step in steps] == tokens[1:]
    assert [step.state for step in steps] == list(range(1, len(steps) + 1))
    return [step.iteration for step in steps]


def test_each_session_comes_back_as_it_was(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            for id in ("running", "paused", "stopping"):
                await core.wait_until_done(await core.create(id))
                core.monikers.permit(id, 3)
                await core.wait_for_state(id, iteration=3)
            await core.wait_until_done(await core.enqueue(ActionKind.PAUSE, "paused"))
            await core.wait_until_done(
                await core.enqueue(ActionKind.INTERRUPT, "paused", payload={"guidance": "cats"})
            )
            destroy = await core.enqueue(ActionKind.DESTROY, "stopping", payload={"timeout_s": 60})
            await core.wait_for_state("stopping", SessionStatus.STOPPING)
            await first.die()
        core.clock.now += LATER
        async with core.worker() as second:
            stopped = await core.wait_for_state("stopping", SessionStatus.STOPPED)
            assert (stopped.iteration, stopped.epoch) == (3, 2)
            assert (await core.wait_until_done(destroy)).status is ActionStatus.DONE
            core.monikers.permit("running", 2)
            core.monikers.permit("paused", 2)
            await core.wait_for_state("running", iteration=5)
            paused = await core.state("paused")
            assert (paused.status, paused.iteration, paused.epoch) == (SessionStatus.PAUSED, 3, 2)
            assert second.registry.local_epochs() == {"running": 2, "paused": 2}
            await core.wait_until_done(await core.enqueue(ActionKind.RESUME, "paused"))
            await core.wait_for_state("paused", iteration=5)
        for id, count in (("running", 5), ("paused", 5), ("stopping", 3)):
            assert await lone_steps(core, id) == list(range(count))
        assert [step.text for step in await core.steps("paused")][3:] == ["cats", None]

    run(test, tmp_path)


def test_many_come_back_a_few_at_a_time(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        ids = [f"s{number}" for number in range(45)]
        async with core.worker() as first:
            for action in [await core.create(id) for id in ids]:
                await core.wait_until_done(action)
            await first.die()
        core.clock.now += LATER
        given: list[int] = []
        adopt = core.runtime.adopt

        async def counted(ask: AdoptSessions) -> AgentStateList:
            states = await adopt(ask)
            given.append(len(states.states))
            return states

        core.runtime.adopt = counted  # type: ignore[method-assign]
        async with core.worker(batch_size=20) as second:
            for id in ids:
                await core.wait_for_state(id, epoch=2)
            assert len(second.registry) == len(ids)
            assert given == [20, 20, 5]

    run(test, tmp_path)


def test_what_cant_come_back_ends_as_an_error(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            for id in ("s", "asked"):
                await core.wait_until_done(await core.create(id))
                core.monikers.permit(id, 2)
                await core.wait_for_state(id, iteration=2)
            await first.die()
        core.clock.now += LATER
        core.monikers.lost = True
        pause = await core.enqueue(ActionKind.PAUSE, "asked")
        async with core.worker() as second:
            for id in ("s", "asked"):
                state = await core.wait_for_state(id, SessionStatus.ERROR)
                assert state.last_error == "There is no moniker 'counting'."
                *_, step = await core.steps(id)
                assert (step.iteration, step.step_token, step.status) == (2, "n2", "error")
            assert (await core.wait_until_done(pause)).status is ActionStatus.FAILED
            assert second.registry.local_epochs() == {}

    run(test, tmp_path)


class FailingFirstWrite:
    """A runtime that can't keep the first thing that it is told."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def write(self, ask: SessionWrite) -> SessionWriteResult:
        if not self.failed:
            self.failed = True
            raise CommandError("internal", "It failed.")
        return await self._runtime.write(ask)


def test_an_end_that_cant_be_kept_is_kept_later(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            for id in ("s", "t"):
                await core.wait_until_done(await core.create(id))
            await first.die()
        core.clock.now += LATER
        core.monikers.lost = True
        forgetful = FailingFirstWrite(core.runtime)
        async with core.worker(forgetful, poll_s=QUICK):
            for id in ("s", "t"):
                await core.wait_for_state(id, SessionStatus.ERROR)
        assert forgetful.failed

    run(test, tmp_path)


def test_a_worker_that_ends_well_leaves_nothing_to_wait_for(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker():
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 1)
            await core.wait_for_state("s", iteration=1)
        async with core.worker():  # and no time has passed
            core.monikers.permit("s", 1)
            assert (await core.wait_for_state("s", iteration=2)).epoch == 2
        assert await lone_steps(core, "s") == [0, 1]

    run(test, tmp_path)


def test_a_worker_that_was_away_too_long_lets_go_and_nothing_is_doubled(tmp_path: Path) -> None:
    """As by SIGSTOP: its lease is over, another one goes on, and then it wakes up in its step."""

    async def test(core: RuntimeCore) -> None:
        async with core.worker() as old:
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 1)
            await core.wait_for_state("s", iteration=1)
            agent = old.registry.get("s")
            assert agent is not None
            core.clock.now += LATER
            async with core.worker():
                await core.wait_for_state("s", epoch=2)
                core.monikers.permit("s", 2)  # the old one's step ends, too
                await agent.join()
                assert old.registry.local_epochs() == {}
                core.monikers.permit("s", 2)
                await core.wait_for_state("s", iteration=4)
        iterations = await lone_steps(core, "s")
        assert iterations == list(range(len(iterations)))

    run(test, tmp_path)


def test_a_renewal_says_what_to_let_go(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as old:
            await core.wait_until_done(await core.create("s"))
            await core.wait_until_done(await core.create("t"))
            agent = old.registry.get("s")
            assert agent is not None
            core.clock.now += LATER
            before = old.session_host.local_epochs()
            await core.runtime.adopt(_adopt(core, 1))
            renewed = await core.runtime.renew(_renewal(core, old))
            assert await old.session_host.drop_lost_sessions(before, renewed) == ["s"]
            await agent.join()
            assert old.registry.local_epochs() == {"t": 1}

    run(test, tmp_path)


def _adopt(core: RuntimeCore, limit: int) -> AdoptSessions:
    now = core.clock()
    return AdoptSessions(owner="another", now=now, lease_until=now + LEASE_S, limit=limit)


def _renewal(core: RuntimeCore, worker: RuntimeWorker) -> RenewLeases:
    now = core.clock()
    return RenewLeases(owner=worker.owner, now=now, lease_until=now + LEASE_S)


class LostFirstAdoption:
    """A way to the runtime on which the first answer to `adopt` that has any session gets lost, and
    where leases last as long as ever, however often they are renewed.

    Attributes:
        lost: Set once that has happened.
        renewals: How often leases were renewed.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.lost = asyncio.Event()
        self.renewals = 0
        self._renewed = asyncio.Condition()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    async def adopt(self, ask: AdoptSessions) -> AgentStateList:
        states = await self._runtime.adopt(ask)
        if states.states and not self.lost.is_set():
            self.lost.set()
            raise CommandError("worker_lost", "The connection broke.")
        return states

    async def renew(self, ask: RenewLeases) -> RenewedLeases:
        renewed = await self._runtime.renew(replace(ask, lease_until=ask.now + LEASE_S))
        async with self._renewed:
            self.renewals += 1
            self._renewed.notify_all()
        return renewed

    async def next_renewal(self) -> None:
        """Wait until leases were renewed, all of it from now on."""
        async with self._renewed:
            seen = self.renewals
            await self._renewed.wait_for(lambda: self.renewals > seen + 1)


def test_a_session_whose_adoption_got_lost_on_its_way_comes_back(tmp_path: Path) -> None:
    """The Core gave it to us, and the connection broke before we heard of it."""

    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 1)
            await core.wait_for_state("s", iteration=1)
            await first.die()
        lossy = LostFirstAdoption(core.runtime)
        core.clock.now += LATER
        async with core.worker(lossy, lease_s=QUICK, poll_s=QUICK) as second:
            core.monikers.permit("s", 1)
            await lossy.lost.wait()
            while second.registry.get("s") is None:
                core.clock.now += LEASE_S / 10  # what is renewed lasts on
                await lossy.next_renewal()
                assert core.clock.now < 1_000_000 + 2 * LATER, "it is held, and nobody has it"
            await core.wait_for_state("s", iteration=2)
        assert await lone_steps(core, "s") == [0, 1]

    run(test, tmp_path)


def test_sessions_that_dont_fit_into_one_answer_come_back_a_few_at_a_time(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            for action in [await core.create(f"s{number}") for number in range(5)]:
                await core.wait_until_done(action)
            await first.die()
        core.clock.now += LATER
        adopt = core.runtime.adopt

        async def at_most_two(ask: AdoptSessions) -> AgentStateList:
            """They are taken, and then the answer can't be sent."""
            states = await adopt(ask)
            if len(states.states) > 2:
                core.clock.now += LATER  # nobody renews what nobody has
                raise CommandError("too_large", "99999999 bytes don't fit into a message.")
            return states

        core.runtime.adopt = at_most_two  # type: ignore[method-assign]
        async with core.worker(poll_s=QUICK, batch_size=10):
            for number in range(5):
                core.monikers.permit(f"s{number}", 1)
                await core.wait_for_state(f"s{number}", iteration=1)

    run(test, tmp_path)


def test_our_own_session_comes_back_to_us_by_a_new_hold(tmp_path: Path) -> None:
    """All leases were over, and nobody else was there: the old agent goes, a new one goes on."""

    async def test(core: RuntimeCore) -> None:
        async with core.worker() as worker:
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 2)
            await core.wait_for_state("s", iteration=2)
            old = worker.registry.get("s")
            assert old is not None
            core.clock.now += LATER
            await core.wait_until_done(await core.enqueue(ActionKind.PAUSE, "s"))
            await old.join()
            assert worker.registry.local_epochs() == {"s": 2}
            await core.wait_until_done(await core.enqueue(ActionKind.RESUME, "s"))
            core.monikers.permit("s", 1)
            await core.wait_for_state("s", iteration=3)
        assert await lone_steps(core, "s") == [0, 1, 2]

    run(test, tmp_path)


def test_a_broken_connection_changes_nothing(tmp_path: Path) -> None:
    """Claims, steps and actions go on where the next connection stands; leases were cut meanwhile."""

    async def test(core: RuntimeCore) -> None:
        service = RuntimeService(core.runtime, MethodRight.WORK)
        breakable = BreakableConnection(service)
        breakable.connect()
        async with core.worker(RemoteQueue(breakable.connection)) as worker:
            await core.wait_until_done(await core.create("s"))
            for iteration in range(1, 6):
                breakable.break_off()
                await service.close()  # the Core cuts the leases of who was there
                core.monikers.permit("s", 1)
                pause = await core.enqueue(ActionKind.INPUT, "s", payload={"text": f"t{iteration}"})
                breakable.connect_soon()
                await core.wait_until_done(pause)
                await core.wait_for_state("s", iteration=iteration)
            assert worker.registry.local_epochs() == {"s": 1}
            (held,) = (await core.store.states(StateQuery(session_id="s"))).states
            assert held.lease_until == core.clock() + LEASE_S
        assert await lone_steps(core, "s") == [0, 1, 2, 3, 4]
        assert (await core.store.actions(ActionQuery(status=ActionStatus.FAILED))).actions == ()

    run(test, tmp_path)


def test_a_core_that_ends_and_comes_back_finds_all_of_it(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 2)
            await core.wait_for_state("s", iteration=2)
            await core.enqueue(ActionKind.PAUSE, "s")
            await first.die()

    async def again(core: RuntimeCore) -> None:
        core.clock.now += LATER
        core.monikers.permit("s", 1)
        async with core.worker():
            state = await core.wait_for_state("s", SessionStatus.PAUSED)
            assert state.epoch == 2
        iterations = await lone_steps(core, "s")
        assert iterations[:2] == [0, 1]

    run(test, tmp_path, tmp_path / "runtime.sqlite")
    run(again, tmp_path, tmp_path / "runtime.sqlite")
